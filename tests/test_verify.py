"""A proof holds on every graph, a wrong network is shown where, and rounding is accounted for."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from augury import verify as module
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Settings
from augury.classical.generate import flow, path_state, uniform
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, maximum_values, simulate
from augury.neural.discrete import DiscreteExecutor, DiscreteNetwork
from augury.neural.layers import Linear
from augury.neural.wiring import Wiring
from augury.verify import KINDS, PARTS, SETS, UNIT, Cases, verify
from proven import proven, untrained

COUNTS = {
    "search": 32,
    "termination": 32,
    "predecessor": 62,
    "bottleneck": 64,
    "augmentation": 16,
}

LAST = {
    "search": "reached",
    "termination": "changed",
    "predecessor": "score",
    "bottleneck": "candidate",
    "augmentation": "difference",
}
"""The layer that speaks last in each part, and in no other."""


def layer(network: DiscreteNetwork, name: str) -> Linear:
    found = network.get_submodule(name)
    assert isinstance(found, Linear)
    return found


def test_a_good_network_is_proven_in_every_case() -> None:
    proof = verify(proven())
    assert {part.name: part.cases for part in proof.parts} == COUNTS
    for part in proof.parts:
        assert part.right == part.cases and part.is_proven and part.wrong == ""
        assert part.margin > part.bound > 0
    assert proof.is_proven and proof.counterexample == ""
    assert proof.conclusion.startswith("Proven: ")
    assert "at most 2^63 − 1" in proof.conclusion
    told = proof.to_dict()
    assert told["proven"] is True and told["bits"] == 63
    assert told["table"] == "208 cases, complete, equal to Edmonds-Karp's"
    assert verify(untrained(), find_counterexample=False).table == (
        "208 cases, complete, different from Edmonds-Karp's in "
        "reached, changed, candidate, difference, rank"
    )
    assert {name: part["right"] for name, part in told["parts"].items()} == COUNTS


def test_the_expected_answers_are_the_rules_of_the_theorem() -> None:
    """Signed margins of the proven network say what it decides: hold that against the rules."""
    network = proven()
    wiring, bits, is_usable = module._stars()
    prepared = network.processor.prepare(network.encode_links(is_usable))
    reached, changed = network.reach_logits(bits, prepared, wiring)
    for place, (own, kinds) in enumerate(product((0, 1), SETS)):
        node = int(wiring.source[place])
        assert bool(reached[node] > 0) == bool(own or (1, 1) in kinds)
        assert bool(changed[node] > 0) == ((1, 1) in kinds and not own)
        heard = range(int(wiring.start[node]), int(wiring.start[node + 1]) - 1)
        seen = {(int(bits[wiring.sender[link]]), int(is_usable[link])) for link in heard}
        assert seen == set(kinds) and int(bits[node]) == own
    assert len(set(SETS)) == 16 and set(KINDS) == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("make", [proven, untrained])
def test_the_type_of_the_weights_makes_no_difference(make: Callable[[], DiscreteNetwork]) -> None:
    single, double = verify(make()), verify(make().double())
    for one, other in zip(single.parts, double.parts, strict=True):
        assert (one.right, one.wrong) == (other.right, other.wrong)
        assert one.margin == pytest.approx(other.margin, rel=1e-9)
    assert single.counterexample == double.counterexample
    assert torch.get_default_dtype() == torch.float32


def rebuilt(counterexample: str) -> FlowNetwork:
    sink, arcs = re.fullmatch(r"from 0 to (\d+) over (.*): found .* wrong", counterexample).groups()  # type: ignore[union-attr]
    tail, head, amount = zip(
        *(map(int, re.split("→| ", arc)) for arc in arcs.split(", ")), strict=True
    )
    return FlowNetwork.from_arcs(int(sink) + 1, tail, head, amount, source=0, sink=int(sink))


def fails_on(network: DiscreteNetwork, graph: FlowNetwork) -> bool:
    """Tell whether a run goes wrong, for some weights of 20."""
    rngs = np.random.default_rng(0).spawn(20)
    runs = simulate([graph] * 20, DiscreteExecutor(network).subroutines(), rngs)
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


WORDS = {
    "search": "a node that is not reached and hears ",
    "termination": "a node that is not reached and hears ",
    "predecessor": "a valid link of weight 1 against one of weight 2",
    "bottleneck": "an arc with (candidate, digit) (0, 0) on a path with nothing else",
    "augmentation": "the digit of 0 − 0 with borrow 0",
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_part_that_says_the_opposite_is_the_one_that_is_named(name: str) -> None:
    network = proven()
    last = layer(network, LAST[name])
    with torch.no_grad():
        last.weight.neg_()
        assert last.bias is not None
        last.bias.neg_()
    proof = verify(network, find_counterexample=False)
    assert [part.name for part in proof.parts if not part.is_proven] == [name]
    part = next(part for part in proof.parts if part.name == name)
    assert part.right == 0 and part.wrong.startswith(WORDS[name])


@pytest.mark.parametrize("name", COUNTS)
def test_a_part_that_always_says_no_is_refuted_by_a_run(name: str) -> None:
    network = proven()
    last = layer(network, LAST[name])
    with torch.no_grad():
        last.weight.zero_()
        assert last.bias is not None
        last.bias.fill_(-1)
    proof = verify(network)
    assert [part.name for part in proof.parts if not part.is_proven] == [name]
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


def with_margin(name: str, factor: float) -> DiscreteNetwork:
    """Shift a proven network's last bias until the smallest margin is a multiple of the bound."""
    network = proven()
    part = next(part for part in verify(network).parts if part.name == name)
    last = layer(network, LAST[name])
    assert last.bias is not None
    cases = exact(network, name)
    with torch.no_grad():
        # The positive decisions come nearer to 0, all by the same amount.
        positive = (cases.signed == cases.size) & (cases.signed > 0)
        last.bias.sub_(float(cases.signed[positive].min()) - factor * part.bound)
    return network


def exact(network: DiscreteNetwork, name: str) -> Cases:
    with torch.no_grad():
        return PARTS[name](copy.deepcopy(network).double())


@pytest.mark.parametrize("name", ["search", "termination", "bottleneck"])
def test_a_right_decision_within_reach_of_rounding_is_no_proof(name: str) -> None:
    for factor, is_proven in ((0.3, False), (3.0, True)):
        network = with_margin(name, factor)
        with torch.no_grad():
            assert (exact(network, name).signed > 0).all()
            assert (PARTS[name](network).signed > 0).all()
        proof = verify(network)
        part = next(part for part in proof.parts if part.name == name)
        assert part.margin > 0
        assert part.is_proven == proof.is_proven == is_proven
        assert (part.wrong == "") == is_proven
        assert proof.counterexample == ""


def test_only_the_margin_relative_to_the_weights_counts() -> None:
    network = proven()
    before = verify(network)
    with torch.no_grad():
        for name in LAST.values():
            for parameter in layer(network, name).parameters():
                parameter.mul_(2.0**-23)
    after = verify(network)
    assert after.is_proven
    for one, other in zip(before.parts, after.parts, strict=True):
        assert other.margin == pytest.approx(one.margin * 2.0**-23)
        assert other.bound == pytest.approx(one.bound * 2.0**-23)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_numbers_that_are_none_prove_nothing(value: float) -> None:
    for name in LAST.values():
        network = proven()
        with torch.no_grad():
            layer(network, name).weight[0, 0] = value
        assert not verify(network, find_counterexample=False).is_proven


CONSUMERS = {
    "node_bit": [
        *(("processor.message", 0), ("processor.message", 1), ("processor.join", 0)),
        *(("reached", 0), ("changed", 0), ("score_hidden", 0)),
    ],
    "link_bit": [("processor.message", 2), ("score_hidden", 1)],
    "processor.message": [("processor.join", 1)],
    "processor.join": [("reached", 1), ("changed", 1)],
    "link_weight": [("score_hidden", 2)],
    "score_hidden": [("score", 0)],
    "candidate_bits": [("candidate_message", 0), ("candidate_join", 0)],
    "candidate_message": [("candidate_join", 1)],
    "candidate_join": [("candidate", 0)],
    "digits": [("difference", 0)],
}
"""Which inputs of which layers read the outputs of a layer."""


def reordered(network: DiscreteNetwork, seed: int) -> DiscreteNetwork:
    """Return the same function with all hidden units renumbered, so that sums run differently."""
    network = copy.deepcopy(network)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, consumers in CONSUMERS.items():
            order = torch.randperm(network.hidden, generator=generator)
            made = layer(network, name)
            made.weight.copy_(made.weight[order])
            if made.bias is not None:
                made.bias.copy_(made.bias[:, order])
            for reader, position in consumers:
                start = position * network.hidden
                columns = layer(network, reader).weight[:, start : start + network.hidden]
                columns.copy_(columns[:, order].clone())
    return network


def bounds(network: DiscreteNetwork, name: str) -> Tensor:
    """Return the bound of each case; `verify` tells the largest, and counts all roundings.

    The longest way is that of the search: 3 in the encoding, K + 3 in a message, K + 2 where it is
    joined, 2 K + 1 at the end.
    """
    part = next(part for part in verify(network, False).parts if part.name == name)
    absolute = copy.deepcopy(network).double()
    with torch.no_grad():
        for parameter in absolute.parameters():
            parameter.abs_()
    size = exact(absolute, name).size
    assert part.bound >= 2 * (4 * network.hidden + 9) * UNIT * float(size.max())
    return part.bound * size / size.max()


@pytest.mark.parametrize("name", COUNTS)
def test_no_order_of_summation_moves_a_decision_beyond_the_bound(name: str) -> None:
    largest = 0.0
    for seed in range(4):
        network = untrained(seed) if seed else proven()
        allowed, truth = bounds(network, name), exact(network, name).signed
        for order in range(10):
            other = reordered(network, order)
            torch.testing.assert_close(exact(other, name).signed, truth, rtol=1e-9, atol=1e-12)
            with torch.no_grad():
                moved = (PARTS[name](other).signed.double() - truth).abs()
            assert (moved < allowed).all()
            largest = max(largest, float(moved.max()))
    assert largest > 0


def crowds(rng: np.random.Generator, count: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield a node's bit and the kinds of many links into it: few kinds, many times each."""
    for _ in range(count):
        present = rng.choice(4, rng.integers(0, 5), replace=False)
        chosen = rng.choice(present, rng.integers(len(present), 60)) if len(present) else []
        kinds = [KINDS[kind] for kind in [*present, *chosen]]
        yield int(rng.integers(2)), [kinds[place] for place in rng.permutation(len(kinds))]


@pytest.mark.parametrize("make", [proven, untrained])
def test_the_set_of_kinds_decides_what_a_node_does_however_many_there_are(
    make: Callable[[], DiscreteNetwork],
) -> None:
    network, neighbourhoods = make(), list(crowds(np.random.default_rng(0), 300))
    graphs, bits = [], []
    for own, kinds in neighbourhoods:
        leaves = range(1, len(kinds) + 1)
        ends = [
            (leaf, 0) if usable else (0, leaf)
            for leaf, (_, usable) in zip(leaves, kinds, strict=True)
        ]
        tails, heads = [tail for tail, _ in ends], [head for _, head in ends]
        size, ones = len(kinds) + 2, np.ones(len(ends), np.int64)
        graphs.append(FlowNetwork.from_arcs(size, tails, heads, ones, source=0, sink=size - 1))
        bits += [own, *(bit for bit, _ in kinds), 0]
    batch = Batch.of(graphs)
    wiring = Wiring.of(batch)
    is_usable = wiring.on_links(torch.from_numpy(batch.capacity > 0))
    cases: list[object] = list(product((0, 1), SETS))
    place = [cases.index((own, tuple(sorted(set(kinds))))) for own, kinds in neighbourhoods]
    assert len(set(place)) == 32
    with torch.no_grad():
        prepared = network.processor.prepare(network.encode_links(is_usable))
        found = network.reach_logits(torch.tensor(bits), prepared, wiring)
        star_wiring, star_bits, star_usable = module._stars()
        prepared = network.processor.prepare(network.encode_links(star_usable))
        expected = network.reach_logits(star_bits, prepared, star_wiring)
    for many, few in zip(found, expected, strict=True):
        many, few = many[wiring.source], few[star_wiring.source][place]
        assert torch.equal(many > 0, few > 0)
        # Equal up to how a product of matrices is cut into pieces: the messages are the same.
        torch.testing.assert_close(many, few, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [proven, untrained])
def test_the_set_of_kinds_decides_what_an_arc_does_however_long_its_path_is(
    make: Callable[[], DiscreteNetwork],
) -> None:
    network, paths = make(), list(crowds(np.random.default_rng(1), 300))
    rows = [[(own, 1 - own), *kinds] for own, kinds in paths]
    width = max(map(len, rows))
    filled = torch.tensor([[*row, *[(1, 0)] * (width - len(row))] for row in rows])
    is_padding = torch.arange(width) >= torch.tensor([len(row) for row in rows])[:, None]
    cases: list[object] = list(product(KINDS, SETS))
    with torch.no_grad():
        logits = network.candidate_logits(filled[..., 0], filled[..., 1], is_padding)
        few = module._bottleneck_cases(network).size
    checked = set()
    for row, found in zip(rows, logits, strict=True):
        for place, kind in enumerate(row):
            case = cases.index((kind, tuple(sorted(set(row)))))
            assert (found[place] > 0) == (few[case] > 0)
            torch.testing.assert_close(found[place], few[case], rtol=1e-5, atol=1e-5)
            checked.add(case)
    # A path contains the arc itself: of the 64 cases half do not occur but by its own presence.
    assert len(checked) >= 24


@cache
def small_graphs() -> tuple[list[FlowNetwork], list[int]]:
    rng = np.random.default_rng(5)
    graphs = [
        FlowNetwork.from_bipartite(uniform(rng, 4, p=0.5)),
        path_state(rng, 4),
        *(flow(rng, 6, 12, high=2**power - 1) for power in (3, 8, 30, 62)),
    ]
    return graphs, maximum_values(graphs)


def goes_wrong(network: DiscreteNetwork, seed: int) -> bool:
    graphs, maxima = small_graphs()
    rngs = np.random.default_rng(seed).spawn(len(graphs))
    parts = DiscreteExecutor(network).subroutines()
    runs = simulate(graphs, parts, rngs, Settings(many_paths=True), maxima)
    return any(not run.is_right or any(run.wrong[name] for name in DECISIONS) for run in runs)


FIRST = 40
"""Of so many changed decisions it is seen whether a run shows them."""


@dataclass
class Mutants:
    """Counts of mutated networks, each verified, and executed if proven: none may then go wrong."""

    network: DiscreteNetwork
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
    monkeypatch.setattr(module, "_stars", cache(module._stars))  # the same each time
    monkeypatch.setattr(module, "_table_words", lambda network: "")  # no part of the verdict
    found, rng = Mutants(proven()), np.random.default_rng(0)
    while found.changed < wanted:
        found.mutate(rng)
    print(replace(found, network=None))  # type: ignore[arg-type]
    return found


def test_no_planted_mutation_passes_verification_and_fails_on_a_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planted(monkeypatch, wanted=200)
    assert found.proven > 50
    # The graphs are hard enough: most of the decisions that changed can be seen in a run.
    assert found.seen > FIRST / 2


@pytest.mark.slow
def test_no_mutation_of_a_thousand_passes_verification_and_fails_on_a_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planted(monkeypatch, wanted=1000)
    assert found.proven > 250
