"""Execute the tutorials anew: `python docs/tutorials/make.py [NAME...]`.

Each runs in a folder of its own, and is kept with its outputs and nothing else: no times, no names
of this machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with what its cells give today."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        there = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=600, coalesce_streams=True, resources=there).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def main(names: list[str]) -> None:
    """Execute those named, or all."""
    for path in sorted(HERE.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(executed(path), path)
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
