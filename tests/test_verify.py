"""A proof holds on every graph, and a wrong network is shown where a run goes wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import torch

from augury import verify as module
from augury.algorithms.cells import CELLS
from augury.algorithms.executor import CellExecutor
from augury.cells.network import CellNetwork
from augury.classical.ford_fulkerson import Settings
from augury.classical.generate import flow, path_state, uniform
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, maximum_values, simulate
from augury.verify import verify
from proven import proven, untrained


def test_a_proven_network_is_told_with_its_range_and_the_number_of_cases() -> None:
    proof = verify(proven())
    assert proof.is_proven and proof.counterexample == ""
    assert proof.conclusion.startswith("Proven in all 140 cases: ")
    assert "at most 2^63 − 1" in proof.conclusion
    told = proof.to_dict()
    assert told["proven"] is True and told["bits"] == 63
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


def test_a_network_of_few_bits_is_refuted_within_its_range() -> None:
    network = untrained()
    for bits in (1, 2):
        network.bits = bits
        graph = rebuilt(verify(network).counterexample)
        assert int((graph.capacity[::2] + graph.capacity[1::2]).max()) < 2**bits
        assert fails_on(network, graph)


@cache
def small_graphs() -> tuple[list[FlowNetwork], list[int]]:
    rng = np.random.default_rng(5)
    graphs = [
        FlowNetwork.from_bipartite(uniform(rng, 4, p=0.5)),
        path_state(rng, 4),
        *(flow(rng, 6, 12, high=2**power - 1) for power in (3, 8, 30, 62)),
    ]
    return graphs, maximum_values(graphs)


def goes_wrong(network: CellNetwork, seed: int) -> bool:
    graphs, maxima = small_graphs()
    rngs = np.random.default_rng(seed).spawn(len(graphs))
    parts = CellExecutor(network, engine="lookup").subroutines()
    runs = simulate(graphs, parts, rngs, Settings(many_paths=True), maxima)
    return any(not run.is_right or any(run.wrong[name] for name in DECISIONS) for run in runs)


FIRST = 20
"""Of so many changed decisions it is seen whether a run shows them."""


@dataclass
class Mutants:
    """Counts of mutated networks, each verified, and executed if proven: none may then go wrong."""

    network: CellNetwork
    looked: int = 0
    proven: int = 0
    changed: int = 0
    """Not proven, and some decision is another."""
    close: int = 0
    """Not proven, though all decisions are right: rounding could change one."""
    seen: int = 0
    """Of the first that changed: how many show it on the small graphs."""

    def look(self, mutation: str) -> bool:
        """Count the network as it is now; returns whether it is proven."""
        proof = verify(self.network, find_counterexample=False)
        is_changed = any(not part.margin > 0 for part in proof.parts)
        self.looked += 1
        self.proven += proof.is_proven
        self.changed += is_changed
        self.close += not proof.is_proven and not is_changed
        assert not (is_changed and proof.is_proven), mutation
        if proof.is_proven:
            assert not goes_wrong(self.network, self.looked), mutation
        elif is_changed and self.changed <= FIRST:
            self.seen += goes_wrong(self.network, self.looked)
        return proof.is_proven

    def mutate(self, rng: np.random.Generator) -> None:
        """Change one weight: its sign, to 0, and by noise of several sizes.

        The noise is at first many times the largest weight of the layer, then ever closer to the
        least that breaks the proof: a wrong verdict is most likely where it is close.
        """
        parameters = dict(self.network.named_parameters())
        name = str(rng.choice(list(parameters)))
        values = parameters[name].data.view(-1)
        place = int(rng.integers(len(values)))
        old, largest = float(values[place]), float(values.abs().max())

        def is_proven_with(new: float) -> bool:
            values[place] = new
            return self.look(f"{name}[{place}]: {old} → {new}")

        is_proven_with(float(rng.choice([-old, 0.0])))
        direction, low, high = float(rng.choice([-1, 1])), -4.0, 10.0
        power = high
        for _ in range(10):
            if not is_proven_with(old + direction * 2**power * largest):
                high = power
            elif power == high:
                break  # this weight does not matter in this direction
            else:
                low = power
            power = rng.uniform(low, high)
        values[place] = old


def planted(monkeypatch: pytest.MonkeyPatch, wanted: int) -> Mutants:
    """Mutate weights until so many mutants have changed a decision."""
    monkeypatch.setattr(module, "_table_words", lambda network: "")  # no part of the verdict
    found, rng = Mutants(proven()), np.random.default_rng(0)
    while found.changed < wanted:
        found.mutate(rng)
    print(replace(found, network=None))  # type: ignore[arg-type]
    return found


def test_no_planted_mutation_passes_verification_and_fails_on_a_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planted(monkeypatch, wanted=70)
    assert found.proven > 15
    # The graphs are hard enough: most of the decisions that changed can be seen in a run.
    assert found.seen > FIRST / 2


@pytest.mark.slow
def test_no_mutation_of_a_thousand_passes_verification_and_fails_on_a_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planted(monkeypatch, wanted=1000)
    assert found.proven > 250
