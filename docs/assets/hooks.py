"""What the site needs beyond `docs/`: pages and files of the project that documents link to.

MkDocs knows only its own folder. Here `CONTRIBUTING.md` and `CHANGELOG.md` become pages of the
site, and any other file of the project that a page links to is copied to `files/`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Documents beside `docs/`, and what they are called on the site."""
OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)")
DOCUMENT = re.compile(r'href="(?!https?:)([^"#]+\.(?:md|ipynb))')


def place_of(target: str, page: str) -> str | None:
    """Return where on the site a link of a page leads if it leaves `docs/`, and None if not."""
    path = os.path.normpath(Path("docs", page).parent / target)
    if Path(path).parts[0] == "docs" or not (ROOT / path).is_file():
        return None
    return PAGES.get(path, f"files/{path}")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files from outside."""
    for source, name in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    for page in list(files.documentation_pages()):
        if not page.src_uri.endswith(".md"):
            continue
        for target in OUTSIDE.findall(page.content_string):
            place = place_of(target, page.src_uri)
            if place and place not in files.src_uris:
                source = ROOT / place.removeprefix("files/")
                files.append(File.generated(config, place, abs_src_path=str(source)))
    return files


def inside(target: str, page: str) -> str:
    """Return a link of a page as the site has it."""
    place = place_of(target, page)
    return target if place is None else os.path.relpath(place, Path(page).parent)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links that leave `docs/` lead to these."""
    here = page.file.src_uri
    return OUTSIDE.sub(lambda found: f"]({inside(found[1], here)}", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Let the links of notebooks lead to pages; MkDocs does so for Markdown alone."""
    here = page.file.src_uri
    if not here.endswith(".ipynb"):
        return html
    return DOCUMENT.sub(
        lambda found: f'href="{inside(found[1], here).rpartition(".")[0]}.html', html
    )
