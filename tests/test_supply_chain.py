"""No file can make us run code, and the shipped checkpoints match their digests."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from augury.algorithms.cells import CELLS
from augury.cells.network import compiled
from augury.cells.proof import is_proven
from augury.cells.table import Table
from augury.errors import InputError
from augury.models import DEFAULT_MODEL, MODELS, TABLE_DIGEST, shipped_table
from augury.models.checkpoint import DIGESTS, find, load

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "augury").rglob("*.py"))

BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
"""Reading any of these runs code."""


def dangers(tree: ast.AST) -> Iterator[str]:
    """Yield every way in which a file could be made to run code from data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (x.name for x in node.names if x.name.split(".")[0] in BANNED_MODULES)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in BANNED_MODULES:
            yield str(node.module)
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if (
                name in ("torch.load", "load_from_checkpoint")
                and given.get("weights_only") != "True"
            ):
                yield f"{name} without weights_only=True"
            if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
                yield f"{name} without allow_pickle=False"
            if name in ("eval", "exec", "yaml.load", "torch.hub.load"):
                yield name


def test_no_file_is_read_in_a_way_that_runs_code() -> None:
    for path in SOURCES:
        assert list(dangers(ast.parse(path.read_text(encoding="utf-8")))) == [], path


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import torch\ntorch.load('x')",
        "torch.load('x', weights_only=False)",
        "np.load('x')",
        "np.load('x', allow_pickle=True)",
        "eval('1')",
    ],
)
def test_each_danger_is_recognised(code: str) -> None:
    assert len(list(dangers(ast.parse(code)))) == 1


def test_every_shipped_checkpoint_is_listed_with_its_digest() -> None:
    found = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in MODELS.glob("*.safetensors")
    }
    assert found == DIGESTS


def test_every_shipped_checkpoint_loads() -> None:
    for name in DIGESTS:
        assert load(find(name)).provenance["commit"]


def test_an_exchanged_checkpoint_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "discrete.safetensors").write_bytes(find("paper-mpnn").read_bytes())
    monkeypatch.setattr("augury.models.checkpoint.MODELS", tmp_path)
    with pytest.raises(InputError, match="not the checkpoint that came with Augury"):
        load(find("discrete"))


def test_the_shipped_table_is_that_of_the_shipped_network_which_is_proven() -> None:
    """If this fails after a new training: write `expected` as JSON, and its digest beside it."""
    checkpoint = load(find(DEFAULT_MODEL))
    assert is_proven(checkpoint.network)
    expected = replace(compiled(checkpoint.network), proven=checkpoint.digest).to_dict()
    assert shipped_table().to_dict() == expected
    assert json.loads((MODELS / "discrete.json").read_bytes()) == expected


def test_an_exchanged_table_is_refused(tmp_path: Path) -> None:
    told = json.loads((MODELS / "discrete.json").read_bytes())
    told["table"]["nearest"].reverse()
    (tmp_path / "discrete.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match="not the table that came with Augury"):
        Table.read(tmp_path / "discrete.json", TABLE_DIGEST, CELLS)


def test_the_shipped_network_is_looked_up_without_its_weights_or_pytorch() -> None:
    code = (
        "import sys; from augury import solve\n"
        "pairs = [('ann', 'cook'), ('bob', 'cook'), ('bob', 'sing')]\n"
        "for engine in ('auto', 'lookup', 'table'):\n"
        "    assert solve(pairs, engine=engine).is_maximum\n"
        "assert 'torch' not in sys.modules\n"
        "assert solve(pairs, engine='plain').is_maximum and 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
