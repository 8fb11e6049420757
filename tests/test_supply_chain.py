"""No file can make us run code, checkpoints match their digests, releases are what is tested."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from augury.algorithms.cells import CELLS
from augury.cells.network import compiled
from augury.cells.proof import is_proven
from augury.cells.table import Table
from augury.errors import InputError
from augury.models import DEFAULT_MODEL, MODELS, TABLE_DIGEST, shipped_table
from augury.models.checkpoint import DIGESTS, find, load
from augury.solver import solve

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
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert solve([("ann", "cook")], engine="plain").is_maximum and "torch" in sys.modules


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def targets(path: Path) -> list[str]:
    """Return what a workflow has `make` make."""
    lines = [line for step in steps(path) for line in step.get("run", "").splitlines()]
    return [word for line in lines for word in re.findall(r"\bmake ([\w-]+)", line)]


def test_workflows_run_the_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted = {path.stem: targets(path) for path in WORKFLOWS}
    assert wanted == {
        "docs": ["docs"],
        "release": ["test", "slow", "dist"],
        "test": ["proof", "test", "light"],
    }
    if not (ROOT / "mkdocs.yml").exists():
        del wanted["docs"]  # its target comes with the site
    for target in {target for some in wanted.values() for target in some}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_no_workflow_holds_a_secret_or_may_write_by_default() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert "secrets." not in text and yaml.safe_load(text)["permissions"] == {
            "contents": "read"
        }
        writing = {name for name, job in jobs(path).items() if "permissions" in job}
        assert writing <= {"publish"}, path


def test_a_release_is_built_and_tested_before_it_is_published_by_its_identity() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    publish = release["publish"]
    assert publish["needs"] == "build" and publish["permissions"] == {"id-token": "write"}
    assert not any("run" in step for step in publish["steps"])  # none of ours has that right


def test_every_version_of_python_that_is_promised_is_tested() -> None:
    light = jobs(ROOT / ".github" / "workflows" / "test.yml")["light"]
    versions = light["strategy"]["matrix"]["python"]
    start = "Programming Language :: Python :: "
    named = [text.removeprefix(start) for text in PROJECT["classifiers"] if text.startswith(start)]
    assert [name for name in named if "." in name] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_the_citation_prefers_the_software_and_lists_the_paper() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert str(cited["version"]) == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert cited["repository-code"] == PROJECT["urls"]["Repository"]
    assert "preferred-citation" not in cited
    [paper] = cited["references"]
    assert paper["title"] == "Neural Bipartite Matching" and paper["year"] == 2020
