"""The types that the comments of the JavaScript promise hold; TypeScript checks them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from augury.apps.explore import page

FOLDER = Path(page.__file__).parent
TSC = shutil.which("tsc")
OPTIONS = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022"]
LIBRARIES = ["--lib", "es2022,dom,dom.iterable"]


def complaints(*files: Path) -> str:
    assert TSC is not None
    command = [TSC, *OPTIONS, *LIBRARIES, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler, tsc, is not installed")
def test_the_scripts_are_typed() -> None:
    assert complaints(*sorted(FOLDER.glob("*.js"))) == ""


@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler, tsc, is not installed")
def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.js"
    wrong.write_text("/** @type {number} */\nconst length = framesOf(1).size;\n")
    assert "wrong.js" in complaints(*sorted(FOLDER.glob("*.js")), wrong)


def test_every_script_is_strict_and_puts_no_markup_together() -> None:
    for path in FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"use strict";')
        for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert banned not in text, path
