"""Bakes the commit into what is built; all else stands in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent / "src"))

from augury.provenance import BAKED, UNKNOWN, commit


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


setup(cmdclass={"build_py": BuildPackage, "sdist": BuildArchive})
