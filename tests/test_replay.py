"""A proof object is checked by code of its own: whatever is changed in one is found."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from augury import replay as module
from augury.algorithms import ALGORITHMS
from augury.algorithms.cells import CELLS as CELLS_OF_ALL
from augury.cells.exact import Weight
from augury.cells.network import CellNetwork
from augury.cells.proof import decided
from augury.errors import InputError
from augury.models.checkpoint import find, load, save
from augury.replay import ARITHMETICS, CELLS, OUTPUTS, RULES, UNIT, WEIGHT, Layers, replay
from augury.verify import proof_object, verify
from mutants import mutants, small
from proven import DISCRETE, proven

SOURCE = Path(str(module.__file__))
Told = dict[str, Any]


@cache
def shipped_text() -> str:
    checkpoint = load(find("discrete"))
    proof = verify(checkpoint.network, algorithm=ALGORITHMS["reachability"])
    return json.dumps(proof_object(checkpoint.network, proof, "discrete", checkpoint.digest))


def shipped() -> Told:
    """The proof that the shipped network reaches the right nodes: the two cells that are first."""
    return json.loads(shipped_text())


def replayed(told: Any, folder: Path) -> module.Replayed:
    (folder / "proof.json").write_text(json.dumps(told))
    return replay(folder / "proof.json")


def test_every_proof_holds_that_was_written(tmp_path: Path) -> None:
    found = replayed(shipped(), tmp_path)
    assert found == (76, 92, ["float32", "tf32"], "")


def test_it_is_short_and_shares_no_code_with_the_prover() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert text.count("\n") < 300
    names = {
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name])
    }
    own = {name for name in names if str(name).startswith("augury")}
    assert own == {"augury.errors", "augury.files"}
    assert {str(name).partition(".")[0] for name in names - own} <= sys.stdlib_module_names


def test_it_needs_neither_pytorch_nor_numpy(tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(shipped_text())
    code = (
        "import sys; from augury.replay import replay\n"
        "assert replay(sys.argv[1]).fault == ''\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "proof.json")], check=True)


def test_its_rules_are_those_of_the_cells() -> None:
    """Written twice, and equal."""
    assert {name: tuple(cell.name for cell in row.cells) for name, row in ALGORITHMS.items()} == {
        name: tuple(cells) for name, cells in CELLS.items()
    }
    for cell in ALGORITHMS["ford-fulkerson"].cells:
        assert RULES[cell.name] == {(case.own, case.kinds): case.expected for case in cell.cases}
        assert OUTPUTS[cell.name] == (cell.outputs or ("",))


def first(told: Told) -> Told:
    return told["parts"][0]["cases"][0]


CHANGES: dict[str, tuple[Callable[[Told], Any], str]] = {
    "another weight": (
        lambda told: told["weights"]["flood.own.weight"]["whole"][3].__setitem__(0, 1 << 20),
        "its weights are not those of the checkpoint that it names",
    ),
    "another digest": (
        lambda told: told.update(digest="0" * 12),
        "its weights are not those of the checkpoint that it names",
    ),
    "a part is missing": (
        lambda told: told["parts"].pop(),
        "it does not have each part of its algorithm once",
    ),
    "a part twice": (
        lambda told: told["parts"].append(told["parts"][0]),
        "it does not have each part of its algorithm once",
    ),
    "another algorithm": (
        lambda told: told.update(algorithm="ford-fulkerson"),
        "it does not have each part of its algorithm once",
    ),
    "no claim": (
        lambda told: told["holds"].update(float32=False),
        "it claims nothing of float32",
    ),
    "a claim too many": (
        lambda told: told["holds"].update(bfloat16=True),
        "this is not safe in bfloat16",
    ),
    "a case is missing": (
        lambda told: told["parts"][0]["cases"].pop(),
        "flood does not have every case once",
    ),
    "a case that never occurs": (
        lambda told: first(told).update(kinds=[3]),
        "flood does not have every case once",
    ),
    "a decision": (
        lambda told: first(told).update(decision=True),
        "this decision is against the rule",
    ),
    "a margin": (
        lambda told: first(told)["margin"].__setitem__(0, first(told)["margin"][0] + 1),
        "the margin is another one",
    ),
    "a bound": (
        lambda told: first(told)["bound"].update(float32=[1, -30]),
        "the bound is too low for float32",
    ),
    "the bound of another format": (
        lambda told: first(told)["bound"].update(tf32=[1, -30]),
        "the bound is too low for tf32",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_is_changed_is_found(name: str, tmp_path: Path) -> None:
    change, fault = CHANGES[name]
    told = shipped()
    change(told)
    found = replayed(told, tmp_path)
    assert fault in found.fault and found.holds == []


BROKEN: dict[str, Callable[[Told], Any]] = {
    "another format": lambda told: told.update(format="augury-checkpoint"),
    "another version": lambda told: told.update(format_version=2),
    "no weights": lambda told: told.pop("weights"),
    "weights as a list": lambda told: told.update(weights=[1]),
    "a number with a point": lambda told: first(told).update(margin=[1.5, 0]),
    "a power without end": lambda told: first(told).update(margin=[1, 10**12]),
    "a weight without end": lambda told: told["weights"]["flood.own.weight"].update(power=10**9),
    "no float32": lambda told: told["weights"]["flood.own.weight"]["whole"][0].__setitem__(
        0, 2**60 + 1
    ),
    "rows of unequal length": lambda told: told["weights"]["flood.own.weight"]["whole"][0].append(
        0
    ),
    "no rows": lambda told: told["weights"]["flood.own.weight"].update(whole=[]),
    "true for one": lambda told: first(told).update(own=True),
    "an unknown algorithm": lambda told: told.update(algorithm="sorting"),
    "a width of no network": lambda told: told.update(hidden=31),
    "a case twice": lambda told: told["parts"][0]["cases"].append(first(told)),
    "no bound": lambda told: first(told).pop("bound"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_of_another_content_is_one_sentence(name: str, tmp_path: Path) -> None:
    told = shipped()
    BROKEN[name](told)
    with pytest.raises(InputError, match=r"proof\.json: this is not a proof object of format 1"):
        replayed(told, tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", "null", "[" * 100_000, "\x00", "9" * 5000])
def test_any_text_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(text)
    with pytest.raises(InputError, match="this is not a proof object of format 1"):
        replay(tmp_path / "proof.json")


@pytest.mark.parametrize(
    ("name", "count"), [("flood", 9), ("nearest", 2), ("least", 6), ("subtract", 9)]
)
def test_prover_and_checker_compute_the_same_for_mutants(name: str, count: int) -> None:
    """Margins are equal, and bounds are but for the prover's rounding up in doubles."""
    cell = next(cell for cell in CELLS_OF_ALL if cell.name == name)
    for _, weights, _ in mutants(np.random.default_rng(4), cell, count, small):
        if not all(np.isfinite(own).all() for own in weights.values()):
            continue
        parts, cases = decided(cell, weights), list(RULES[name])
        exact = {key: Weight.of(own).exact for key, own in weights.items()}
        scaled = {key: own.at(-WEIGHT).tolist() for key, own in exact.items()}
        for place, arithmetic in enumerate(ARITHMETICS):
            layers = Layers(scaled, *ARITHMETICS[arithmetic])
            formula = {"nearest": layers.choices, "subtract": layers.points}.get(name, layers.sets)
            for case, row in zip(cases, formula(cases), strict=True):
                for output, part in enumerate(parts):
                    own = next(d for d in part.decisions if (d.case.own, d.case.kinds) == case)
                    sign = 1 if own.case.expected[output] else -1
                    assert sign * row.values[output] == own.margin[0] << UNIT + own.margin[1]
                    bound = Fraction(row.errors[output], 2**UNIT)
                    assert bound <= Fraction(own.bounds[place]) <= bound * (1 + Fraction(1, 2**30))


def saved_proof(network: CellNetwork, folder: Path) -> Told:
    """Save a network and prove what was saved."""
    save(folder / "mutant.safetensors", network.state_dict(), DISCRETE, {"seed": 0})
    checkpoint = load(folder / "mutant.safetensors")
    proof = verify(checkpoint.network, False, ALGORITHMS["reachability"])
    return proof_object(checkpoint.network, proof, "mutant", checkpoint.digest)


def test_minus_zeros_and_subnormal_weights_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    network = proven()
    with torch.no_grad():
        last: Any = network["subtract"].get_submodule("head")
        last.weight[0, :3] = torch.tensor([-0.0, 1e-41, -1e-45])
    told = saved_proof(network, tmp_path)
    assert told["weights"]["subtract.head.weight"]["minus_zeros"] == [0]
    told["holds"] = dict.fromkeys(told["holds"], False)
    assert replayed(told, tmp_path).fault == "it claims nothing of float32"  # beyond the digest
    del told["weights"]["subtract.head.weight"]["minus_zeros"]
    assert "its weights are not those" in replayed(told, tmp_path).fault


def test_a_margin_at_the_bound_is_no_proof(tmp_path: Path) -> None:
    """Bounds that claim more than they are do not help: the checker has its own."""
    network = proven()
    with torch.no_grad():
        for weights in network["flood"].get_submodule("head").parameters():
            weights.mul_(1e-41)
    told = saved_proof(network, tmp_path)
    assert told["holds"] == {"float32": False, "tf32": False, "bfloat16": False}
    lying = copy.deepcopy(told)
    lying["holds"]["float32"] = True
    assert "this is not safe in float32" in replayed(lying, tmp_path).fault
    for case in lying["parts"][0]["cases"]:
        case["bound"]["float32"] = [1, -400]
    assert "the bound is too low for float32" in replayed(lying, tmp_path).fault
