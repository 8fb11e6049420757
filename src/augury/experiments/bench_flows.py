"""Hard flows and matchings become seconds and growth exponents: our engines and their peers.

All get the same graphs (`classical.hard`), on one thread; seconds are CPU seconds of the process,
taken in turn, for short calls the least of several. What counts is:

- `table`: the compiled loops, from arrays with the arcs sorted by sender (a CSR matrix for
  matchings) to the residual (the mates);
- `certified`: all of `solve`, from a `FlowNetwork` or `BipartiteGraph` to a proven `Solution`;
- `lookup` and `plain`: the same with the table looked up, and with the network evaluated;
- the peers' own call, on a graph that they already hold in their own form: see `peers`.

Each of our answers is certified, and all sizes must be equal. A contestant that takes longer than a
limit, or would judging by its last two sizes, gets no larger graphs of that family. A ratio is the
time of the better of SciPy and OR-Tools over a contestant's own: above 1 is in its favour. The
growth exponent is the slope of log seconds over log arcs at the largest sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from augury.classical.batch import Batch
from augury.classical.certificate import certify_found
from augury.classical.graph import BipartiteGraph
from augury.classical.hard import HARD_FLOWS, HARD_MATCHINGS
from augury.classical.network import FlowNetwork
from augury.engines.table import match_sparse, push_flows
from augury.errors import Choices, InputError
from augury.experiments import peers
from augury.experiments.bench import Record
from augury.experiments.bench_costs import once
from augury.experiments.peers import Arcs, Edges, Problem
from augury.processes import use_one_thread
from augury.solver import solve

ARCS = tuple(4**power for power in range(4, 11))
QUICK_ARCS = ARCS[:4]
FAMILIES = Choices(HARD_FLOWS | HARD_MATCHINGS)
FAMILIES.noun = "families"
PILOTS = tuple(4**power for power in range(3, 10))
"""Sizes that are tried, but not recorded, where larger ones are asked for."""
SEED = 0

FITTED = 4
"""How many of the largest sizes a growth exponent is fitted to."""
STEP = 8
"""The least factor by which we expect the next size to take longer."""
SHORT = 0.2
"""Seconds after which a call is no longer repeated."""
WARM = (64, 1_000, 20_000)
"""Arcs of the graphs to warm up on: all of them for `OURS`, the first for other contestants."""


class Contestant(NamedTuple):
    """One way to solve flows and matchings."""

    flow: Callable[[FlowNetwork], Problem]
    matching: Callable[[BipartiteGraph], Problem]
    needs: str = ""
    """The optional package that it needs."""

    def problem(self, graph: Any) -> Problem:
        """Hand over a graph; this is not timed."""
        hand: Any = self.flow if isinstance(graph, FlowNetwork) else self.matching
        return hand(graph)


def _table_flow(network: FlowNetwork) -> Problem:
    batch = Batch.of([network])
    return Problem(
        lambda: push_flows(batch)[0], lambda residual: _proven(network, network.found(residual))
    )


def _table_matching(graph: BipartiteGraph) -> Problem:
    matrix = peers.csr_of(Edges.of(graph))
    return Problem(lambda: match_sparse(matrix).mates, lambda mates: _proven(graph, mates))


def _proven(graph: Any, found: Any) -> int:
    certificate = certify_found(graph, found)
    if not certificate.is_maximum:
        raise InputError(f"not proven: {certificate}")
    return certificate.size


def _solved(engine: str) -> Callable[[Any], Problem]:
    """Return a function that hands a graph to `solve`, which proves the answer."""

    def proven(graph: Any) -> int:
        solution = solve(graph, engine=engine)
        if not solution.is_maximum:
            raise InputError(f"not proven: {solution.certificate}")
        return solution.size

    return lambda graph: Problem(partial(proven, graph), int)


def _ours(engine: str) -> Contestant:
    return Contestant(_solved(engine), _solved(engine))


def _peer(
    flow: Callable[[Arcs], Problem], matching: Callable[[Edges], Problem], needs: str
) -> Contestant:
    return Contestant(
        lambda network: flow(Arcs.of(network)), lambda graph: matching(Edges.of(graph)), needs
    )


CONTESTANTS: dict[str, Contestant] = {
    "table": Contestant(_table_flow, _table_matching),
    "certified": _ours("table"),
    "lookup": _ours("lookup"),
    "plain": _ours("plain")._replace(needs="torch"),
    "SciPy": _peer(peers.scipy_flow, peers.scipy_matching, "scipy"),
    "OR-Tools": _peer(
        peers.ortools_flow, lambda edges: peers.ortools_flow(edges.as_arcs()), "ortools"
    ),
    "igraph": _peer(peers.igraph_flow, peers.igraph_matching, "igraph"),
    "NetworkX": _peer(peers.networkx_flow, peers.networkx_matching, "networkx"),
}
"""Our engines and their peers, by name."""
PEERS = ("SciPy", "OR-Tools", "igraph", "NetworkX")
RIVALS = PEERS[:2]
"""The peers that ratios compare with."""
OURS = ("table", "certified")
"""The contestants whose ratios are reported."""
SHOWN = (*OURS, *PEERS)
"""The columns in the documents."""
NOISE = 0.1
"""Growth exponents closer than this count as equal."""


def measure_flows(
    arcs: Sequence[int] = ARCS,
    families: Sequence[str] = tuple(FAMILIES),
    names: Sequence[str] = tuple(CONTESTANTS),
    seconds: float = 10.0,
) -> Iterator[list[Record]]:
    """Yield the records of each family: one for each size and contestant.

    Args:
        arcs: about how many arcs or edges, in ascending order.
        families: names in `classical.hard`.
        names: who takes part.
        seconds: how long a call may take before its contestant gets no larger graphs of the family.
    """
    use_one_thread()
    makers = [FAMILIES[family] for family in families]
    here = {
        name: CONTESTANTS[name]
        for name in names
        if not CONTESTANTS[name].needs or find_spec(CONTESTANTS[name].needs)
    }
    for make in (HARD_FLOWS["random-flow"], HARD_MATCHINGS["random-edges"]):
        for name, contestant in here.items():  # the first call imports and compiles
            for size in WARM if name in OURS else WARM[:1]:
                contestant.problem(make(np.random.default_rng(SEED), size)).solved()
    for family, make in zip(families, makers, strict=True):
        yield list(_family(family, make, sorted(arcs), here, seconds))


def _family(
    family: str,
    make: Callable[[np.random.Generator, int], FlowNetwork | BipartiteGraph],
    arcs: Sequence[int],
    here: dict[str, Contestant],
    seconds: float,
) -> Iterator[Record]:
    """Yield the records of one family; smaller sizes first, to see what would be too slow."""
    times: dict[str, list[float]] = {name: [] for name in here}
    why = dict.fromkeys(here, "")
    largest = 0
    pilots = [size for size in PILOTS if size < arcs[0]]
    for asked in (*pilots, *arcs):
        graph = make(np.random.default_rng(SEED), asked)
        told = {"family": family, "noun": graph.noun, "asked": asked} | _measures(graph)
        if told["arcs"] <= largest:
            continue  # as small as this family gets
        largest = told["arcs"]
        for name in here:
            if not why[name] and _expected(times[name]) > seconds:
                why[name] = f"over {seconds:g} s"
        running = {name: here[name] for name in here if not why[name]}
        measured, failures = _raced(running, graph, told, seconds)
        why |= failures
        for name, taken in measured.items():
            times[name].append(taken)
        if asked in pilots:
            continue
        best = min((measured[name] for name in RIVALS if name in measured), default=None)
        for name in here:
            taken = measured.get(name)
            ratio = best / taken if best and taken else None
            result = {"name": name, "ms": taken and 1e3 * taken, "ratio": ratio}
            yield told | result | {"why": why[name] if taken is None else ""}


def _measures(graph: FlowNetwork | BipartiteGraph) -> Record:
    if isinstance(graph, FlowNetwork):
        return {"arcs": int(np.count_nonzero(graph.capacity)), "nodes": graph.num_nodes}
    return {"arcs": graph.num_edges, "nodes": graph.num_left + graph.num_right}


def _expected(times: Sequence[float]) -> float:
    """Return the seconds that the next size will take, judging by the last two."""
    if not times:
        return 0.0
    growth = times[-1] / times[-2] if len(times) > 1 else 0.0
    return times[-1] * max(growth, STEP)


def _raced(
    running: dict[str, Contestant], graph: Any, told: Record, seconds: float
) -> tuple[dict[str, float], dict[str, str]]:
    """Time contestants in turn on one graph; also return which failed, and why.

    The size of the answer goes into `told`; all must find the same.
    """
    problems: dict[str, Problem] = {}
    least: dict[str, float] = {}
    failures: dict[str, str] = {}
    for name, contestant in running.items():
        problem = contestant.problem(graph)
        found: list[Any] = []
        try:
            least[name] = once(lambda p=problem, f=found: f.append(p.solve()))
        except RecursionError as error:
            failures[name] = type(error).__name__
            continue
        size = problem.size(found.pop())
        if size != told.setdefault("size", size):
            place = f"{told['family']} of {told['arcs']:,} arcs"
            raise InputError(f"{place}: {name} finds {size:,}, and others {told['size']:,}")
        problems[name] = problem
    spent = dict.fromkeys((name for name in problems if least[name] < seconds), 0.0)
    while waiting := [name for name in spent if spent[name] < SHORT]:
        for name in waiting:
            taken = once(problems[name].solve)
            least[name] = min(least[name], taken)
            spent[name] += max(taken, SHORT / 100)  # at most a hundred times
    return {name: max(taken, 1e-9) for name, taken in least.items()}, failures


def growth(records: Sequence[Record], name: str, beside: str | None = None) -> float | None:
    """Return the growth exponent of a contestant on one family; None for fewer than two sizes.

    With `beside`, only sizes that this contestant finished as well count.
    """
    known = {r["asked"] for r in records if r["name"] == (beside or name) and r["ms"]}
    own = [r for r in records if r["name"] == name and r["ms"] and r["asked"] in known][-FITTED:]
    if len(own) < 2:
        return None
    arcs, ms = (np.log([record[key] for record in own]) for key in ("arcs", "ms"))
    return float(np.polyfit(arcs, ms, 1)[0])


def replaced(records: Sequence[Record], family: Sequence[Record]) -> list[Record]:
    """Return the records with those of one family added, or replaced, in their place."""
    others = [record for record in records if record["family"] != family[0]["family"]]
    order = list(FAMILIES)
    return sorted([*others, *family], key=lambda record: order.index(record["family"]))


def by_family(records: Iterable[Record]) -> list[list[Record]]:
    """Return the records of each family."""
    return [list(own) for _, own in groupby(records, key=itemgetter("family"))]


HEAD = ("family", "arcs", *CONTESTANTS, "table ×", "certified ×")


def rows(records: Sequence[Record]) -> Iterator[list[str]]:
    """Yield the rows of a table of one family, as `HEAD`: milliseconds by size, then growth."""
    family = records[0]["family"]
    for _, group in groupby(records, key=itemgetter("asked")):
        own = {record["name"]: record for record in group}
        ms = [_milliseconds(own.get(name, {}).get("ms")) for name in CONTESTANTS]
        ratios = [_shown(own.get(name, {}).get("ratio"), "{:.2f}") for name in OURS]
        arcs = next(iter(own.values()))["arcs"]
        yield [family, f"{arcs:,}", *ms, *ratios]
    yield [
        family,
        "growth",
        *(_shown(growth(records, name), "{:.2f}") for name in CONTESTANTS),
        "",
        "",
    ]


def verdict(records: Iterable[Record]) -> str:
    """Say in how many families `table` is ahead, near, and grows no faster than the rivals."""
    families = by_family(records)
    ratios: list[float] = []
    faster: list[str] = []
    for own in families:
        ratios += [r["ratio"] for r in own if r["name"] == "table" and r["ratio"]][-1:]
        for rival in RIVALS:
            ours, theirs = growth(own, "table", rival), growth(own, rival, "table")
            if ours is not None and theirs is not None and ours > theirs + NOISE:
                faster.append(f"{own[0]['family']} ({ours:.2f}, {rival} {theirs:.2f})")
    ahead, near = sum(r >= 1 for r in ratios), sum(r >= 0.5 for r in ratios)
    told = f"table on {len(ratios)} families, the largest that both finish: ahead of the better of "
    told += f"{' and '.join(RIVALS)} on {ahead}, within twice its time on {near}"
    return f"{told}; grows faster on {len(faster)}{': ' * bool(faster)}{', '.join(faster)}"


def markdown(records: Iterable[Record]) -> str:
    """Return the tables of docs/performance.md: each family at the largest size a rival finishes.

    Milliseconds and, in brackets, growth exponents.
    """
    tables: dict[str, list[str]] = {}
    for own in by_family(records):
        known = [r["asked"] for r in own if r["name"] == "table" and r["ratio"]]
        largest = known[-1] if known else own[-1]["asked"]
        last = {r["name"]: r for r in own if r["asked"] == largest}
        row = [own[0]["family"], f"{next(iter(last.values()))['arcs']:,}"]
        for name in SHOWN:
            row.append(_milliseconds(last.get(name, {}).get("ms")))
            exponent = growth(own, name)
            row[-1] += "" if exponent is None else f" ({exponent:.1f})"
        row += [_shown(last.get(name, {}).get("ratio"), "{:.2f}") for name in OURS]
        tables.setdefault(own[0]["noun"], []).append(f"| {' | '.join(row)} |")
    engines = [f"`{name}`" if name == "table" else name for name in SHOWN]
    texts: list[str] = []
    for noun, lines in tables.items():
        head = [noun, "edges" if noun == "matching" else "arcs", *engines]
        head += ["`table` ×", "certified ×"]
        texts.append("\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines]))
    return "\n\n".join(texts)


def versions() -> dict[str, str]:
    """Return the versions of the peers that are installed."""
    needed = {name: CONTESTANTS[name].needs for name in PEERS}
    return {name: version(package) for name, package in needed.items() if find_spec(package)}


def _milliseconds(number: float | None) -> str:
    """Write three digits, or all those before the point."""
    digits = 2 - math.floor(math.log10(number)) if number else 0
    return _shown(number, f"{{:,.{max(0, min(digits, 3))}f}}")


def _shown(number: float | None, form: str) -> str:
    """Write a number, or a dash if it is not known."""
    return "–" if number is None else form.format(number)
