"""A proof holds on every graph, and a wrong network is shown where a run goes wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from augury.algorithms.cells import CELLS
from augury.algorithms.executor import CellExecutor
from augury.cells.network import CellNetwork
from augury.classical.network import FlowNetwork
from augury.classical.simulate import simulate
from augury.verify import verify
from proven import proven, untrained


def test_a_proven_network_is_told_with_its_range_and_the_number_of_cases() -> None:
    proof = verify(proven())
    assert proof.is_proven and proof.counterexample == ""
    assert proof.conclusion.startswith("Proven in all 116 cases, 140 decisions: ")
    assert "at most 2^63 − 1" in proof.conclusion
    told = proof.to_dict()
    assert told["proven"] is True and (told["bits"], told["cases"]) == (63, 116)
    assert told["holds"] == {"float32": True, "tf32": True, "bfloat16": False}
    assert told["table"] == "140 decisions, equal to the rules"
    assert sum(part["cases"] for part in told["parts"].values()) == 140
    assert verify(untrained(), find_counterexample=False).table == (
        "140 decisions, different from the rules in flood, nearest, least, subtract"
    )


def rebuilt(counterexample: str) -> FlowNetwork:
    sink, arcs = re.fullmatch(r"from 0 to (\d+) over (.*): found .* wrong", counterexample).groups()  # type: ignore[union-attr]
    tail, head, amount = zip(
        *(map(int, re.split("→| ", arc)) for arc in arcs.split(", ")), strict=True
    )
    return FlowNetwork.from_arcs(int(sink) + 1, tail, head, amount, source=0, sink=int(sink))


def fails_on(network: CellNetwork, graph: FlowNetwork) -> bool:
    """Tell whether a run goes wrong, for some weights of 20."""
    rngs = np.random.default_rng(0).spawn(20)
    runs = simulate([graph] * 20, CellExecutor(network).subroutines(), rngs)
    return any(sum(run.wrong.values()) or not run.is_right for run in runs)


@pytest.mark.parametrize("seed", range(3))
def test_an_untrained_network_is_refuted_by_a_case_and_a_run(seed: int) -> None:
    network = untrained(seed)
    proof = verify(network)
    assert not proof.is_proven
    assert proof.conclusion.startswith("Not proven: ")
    failed = [part for part in proof.parts if not part.is_proven]
    for part in failed:
        assert part.right < part.cases and part.wrong and part.margin < part.bound
        assert part.verdict == "wrong"
        assert part.name in proof.conclusion
    graph = rebuilt(proof.counterexample)
    assert fails_on(network, graph)
    assert not fails_on(proven(), graph)


@pytest.mark.parametrize("name", [cell.name for cell in CELLS])
def test_a_cell_that_always_says_no_is_refuted_by_a_run(name: str) -> None:
    network = proven()
    last = network[name].get_submodule("score" if name == "nearest" else "head")
    with torch.no_grad():
        last.weight.zero_()  # type: ignore[operator]
        last.bias.fill_(-1)  # type: ignore[operator]
    proof = verify(network)
    assert {part.name.split()[0] for part in proof.parts if not part.is_proven} == {name}
    graph = rebuilt(proof.counterexample)
    assert fails_on(network, graph)
    assert not fails_on(proven(), graph)


def test_right_by_too_thin_a_margin_is_another_verdict_than_wrong() -> None:
    network = proven()
    with torch.no_grad():
        for name in ("least", "subtract"):
            for weights in network[name].get_submodule("head").parameters():
                weights.mul_(1e-41)
        for weights in network["flood"].get_submodule("head").parameters():
            weights.neg_()
    proof = verify(network)
    verdicts = {part.name: part.verdict for part in proof.parts}
    assert verdicts == {
        "flood reached": "wrong",
        "flood changed": "wrong",
        "nearest": "proven",
        "least candidate": "thin",
        "subtract digit": "thin",
        "subtract borrow": "thin",
    }
    assert proof.conclusion == (
        "Not proven: flood reached, flood changed wrong in at least one case; least candidate, "
        "subtract digit, subtract borrow right in every case, but by a margin that rounding could "
        "use up."
    )
    assert not any(proof.holds.values())


def test_a_network_of_few_bits_is_refuted_within_its_range() -> None:
    network = untrained()
    for bits in (1, 2):
        network.bits = bits
        graph = rebuilt(verify(network).counterexample)
        assert int((graph.capacity[::2] + graph.capacity[1::2]).max()) < 2**bits
        assert fails_on(network, graph)
