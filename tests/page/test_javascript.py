"""TypeScript checks the JSDoc types of the scripts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from augury import page

FOLDER = Path(page.__file__).parent
TSC = shutil.which("tsc")
OPTIONS = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--skipLibCheck", "--target", "es2022"]
LIBRARIES = ["--lib", "es2022,dom,dom.iterable"]


@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler, tsc, is not installed")
def test_the_scripts_are_typed_and_a_wrong_type_would_be_found(tmp_path: Path) -> None:
    assert TSC is not None
    wrong = tmp_path / "wrong.js"
    wrong.write_text("/** @type {string} */\nconst count = framesOf(player.stories[0]).length;\n")
    files = map(str, [*sorted(FOLDER.glob("*.js")), wrong])
    done = subprocess.run(
        [TSC, *OPTIONS, *LIBRARIES, *files], capture_output=True, text=True, check=False
    )
    complaints = done.stdout.splitlines()
    assert [line for line in complaints if "wrong.js" not in line] == []
    assert len(complaints) == 1, "the planted fault was not found"


def test_every_script_is_strict_and_puts_no_markup_together() -> None:
    for path in FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"use strict";')
        for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert banned not in text, path
