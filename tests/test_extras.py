"""A missing package is one sentence that says what to install; a broken one keeps its own error."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from augury import extras
from augury.errors import InputError
from augury.extras import EXTRAS, MissingExtra, needs, require

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PEERS = {"igraph", "lap", "ortools", "pytest"}
"""What only `augury bench` and `augury exam` import, each where it is installed."""
BY_NAME = {"tensorboard", "wandb"}
"""What is imported as PyTorch's, or by its name."""
BROUGHT = {"llvmlite", "pydantic", "starlette"}
"""What numba and FastAPI bring."""


def packages(requirements: list[str]) -> set[str]:
    """Return the modules of requirements such as "cupy-cuda13x>=13.6"."""
    return {re.split(r"[>\[-]", requirement)[0] for requirement in requirements}


def test_every_module_is_brought_by_the_extra_that_is_named() -> None:
    offered = PROJECT["optional-dependencies"]
    for module, (_, wanted) in EXTRAS.items():
        extra = re.fullmatch(r"augury\[(\w+)\]", wanted)
        assert module in packages(offered[extra.group(1)] if extra else [wanted]), module


def test_everything_that_is_imported_is_required_or_an_extra() -> None:
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
    known = packages(PROJECT["dependencies"]) | EXTRAS.keys() | PEERS | BROUGHT
    assert found - sys.stdlib_module_names - {"augury"} == known - BY_NAME


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    told = "evaluating networks needs PyTorch: pip install 'augury[neural]'"
    with pytest.raises(MissingExtra, match=re.escape(told)), needs("evaluating networks"):
        import torch  # noqa: F401
    with pytest.raises(InputError, match=re.escape(told)):
        require("evaluating networks", "matplotlib", "torch")
    assert issubclass(MissingExtra, ImportError)  # for whoever tries an import and does without


@pytest.mark.parametrize(
    "code", ["import missing_beneath", "import broken.gone", "raise ImportError('libfoo.so')"]
)
def test_a_broken_package_is_not_called_missing(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text(code + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(extras.EXTRAS, "broken", ("Broken", "augury[neural]"))
    require("this", "broken")
    with pytest.raises(ImportError) as raised, needs("this"):
        import broken  # type: ignore[reportMissingImports]  # noqa: F401
    assert not isinstance(raised.value, MissingExtra)
