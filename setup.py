"""Bakes the commit into what is built, and makes the README's links absolute for a package index.

All else stands in pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent / "src"))

from augury.provenance import BAKED, UNKNOWN, commit

ROOT = Path(__file__).parent
RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")
"""A Markdown link to a file of the repository; with ! a picture."""


def readme() -> str:
    """Return README.md with links to the files of this version, wherever it is read."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, tag = project["urls"]["Repository"], f"v{project['version']}"

    def absolute(link: re.Match[str]) -> str:
        is_picture, text, path = link.groups()
        return f"{is_picture}[{text}]({repository}/{'raw' if is_picture else 'blob'}/{tag}/{path})"

    return RELATIVE_LINK.sub(absolute, (ROOT / "README.md").read_text(encoding="utf-8"))


def bake(package: Path) -> None:
    """Write the commit, if it is known, into a package that is being built."""
    (package / BAKED).unlink(missing_ok=True)  # that of an earlier build, or a link to the source's
    if (known := commit()) != UNKNOWN:
        (package / BAKED).write_text(f"{known}\n", encoding="utf-8")


class BuildPackage(build_py):
    """Of the wheel; an editable one is the source tree itself, which asks git."""

    def run(self) -> None:
        """Build, then bake."""
        super().run()
        if not self.editable_mode:
            bake(Path(self.build_lib) / "augury")


class BuildArchive(sdist):
    """Of the source archive."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Put the files together, then bake."""
        super().make_release_tree(base_dir, files)
        bake(Path(base_dir) / "src" / "augury")


setup(
    cmdclass={"build_py": BuildPackage, "sdist": BuildArchive},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
