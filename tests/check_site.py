"""Refuse a site with a link that leads nowhere, or that loads anything from elsewhere.

    python tests/check_site.py FOLDER

`make docs` runs it on what it has built. Links to other sites are left to the reader.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}
"""What a browser fetches by itself, and where it is named."""
NAMED_ONLY = {"canonical", "next", "prev", "alternate"}
"""Of links in a head, those that are not fetched."""


class Page(HTMLParser):
    """The names and links of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what an element is called, and where it leads."""
        own = {key: value or "" for key, value in attrs}
        self.names |= {own[key] for key in ("id", "name") if key in own}
        target = own.get(LOADED.get(tag, ""))
        if target and not (tag == "link" and own.get("rel", "") in NAMED_ONLY):
            self.loads.append(target)
        elif tag == "a" and "href" in own:
            self.links.append(own["href"])


def is_elsewhere(target: str) -> bool:
    """Whether a target is at another host, or no file at all."""
    parts = urlsplit(target)
    return bool(parts.scheme or parts.netloc)


def faults(folder: Path) -> list[str]:
    """Return what is wrong with a site, a sentence each."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    found: list[str] = []
    for path, page in sorted(pages.items()):
        here = path.relative_to(folder.resolve())
        for target in page.loads:
            if is_elsewhere(target) and not target.startswith("data:"):
                found.append(f"{here}: loads {target} from elsewhere")
        for target in (*page.links, *page.loads):
            if is_elsewhere(target) or path.name == "404.html":  # whose links start at the host
                continue
            parts = urlsplit(target)
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                found.append(f"{here}: {target} leads nowhere")
            elif file in pages and parts.fragment not in ("", *pages[file].names):
                found.append(f"{here}: {target} names no place of that page")
    for style in folder.rglob("*.css"):
        text = style.read_text("utf-8")
        found += [
            f"{style.name}: loads from elsewhere" for word in ("url(http", "url(//") if word in text
        ]
    return found


def main(names: list[str]) -> int:
    """Print the faults of the named folders; 1 if there are any."""
    found = [fault for name in names for fault in faults(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
