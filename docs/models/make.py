"""Fill in the figures of the model cards: `python docs/models/make.py`, after networks or records.

A card is prose with marked places; each is filled from the shipped checkpoint, from records whose
weights have its digest, and from `verify`. README.md has one such place, the table of models.
`tests/models/test_cards.py` fills all of them again and compares.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from augury.cells.network import CellNetwork
from augury.classical.simulate import DECISIONS
from augury.config import Config
from augury.experiments.conditions import Condition
from augury.experiments.paper import papers_figure
from augury.experiments.records import Runs, read_records
from augury.files import write_text
from augury.models.checkpoint import DIGESTS, Checkpoint, find, load
from augury.verify import Proof, verify

HERE = Path(__file__).parent
DOCS = HERE.parent
RECORDS = [
    DOCS / "reproduction" / "records.jsonl.gz",
    DOCS / "results" / "models.jsonl",
    DOCS / "results" / "assignment.jsonl",
]
TEST_GRAPHS = 0
"""The seed of the test graphs; another one is of the graphs that choose among seeds."""
PLACE = re.compile(r"(?<=<!-- made: (\w{5}) -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)
SIZES = {"1/4": "p = 1/4", "3/n": "p = 3/n"}
"""The conditions that the table of models shows."""
NETWORKS = {
    "discrete": "bits between steps, every local case checked",
    "paper-mpnn": "message passing with maximum, the paper's main network",
    "paper-pna": "PNA with mean, minimum, maximum and standard deviation",
    "paper-pna-nostd": "PNA without the standard deviation",
}


class Row(NamedTuple):
    """What a row of a card's table was measured under."""

    p: str
    part: str
    graphs: int
    runs: int


@cache
def model(name: str) -> Checkpoint:
    """Load a shipped network."""
    return load(find(name))


@cache
def measured() -> dict[str, dict[Condition, tuple[int, int, Runs]]]:
    """Return for each digest the largest evaluation of each condition: graphs, runs, records."""
    found: dict[str, dict[Condition, tuple[int, int, Runs]]] = defaultdict(dict)
    for part, runs in (item for path in RECORDS for item in read_records(path).parts.items()):
        own, known = part.extent, found[runs.digest].get(part.condition)
        if own.seed == TEST_GRAPHS and (known is None or known[:2] < (own.graphs, own.runs)):
            found[runs.digest][part.condition] = own.graphs, own.runs, runs
    return found


def of_model(name: str) -> dict[Condition, tuple[int, int, Runs]]:
    """Return the evaluations of a shipped network; refuse one that has none."""
    found = measured().get(model(name).digest)
    if not found:
        command = f"augury evaluate {name} --scales 1,2,4,8 --p 1/4,3/n --out {RECORDS[1].name}"
        raise SystemExit(f"there are no records of the shipped {name}: {command}")
    return found


@cache
def proof_of(name: str) -> Proof | None:
    """Return the proof of a network, if it has cells to enumerate."""
    network = model(name).network
    return verify(network) if isinstance(network, CellNetwork) else None


def facts(name: str) -> str:
    """Return where a network comes from."""
    own, path = model(name), find(name)
    told, scores = own.provenance, own.provenance["scores"]
    executed = [
        f"{scale}x {100 * scores[f'execution_{scale}x']:.1f} %"
        for scale in own.config.training.execution_scales
    ]
    rows = {
        "file": f"`src/augury/models/{path.name}`, {path.stat().st_size:,} bytes",
        "SHA-256": f"`{DIGESTS[name]}`",
        "weights, as records name them": f"`{own.digest}`",
        "parameters": f"{_size(own):,}",
        "trained by": f"`augury train {name} --seed {told['seed']}`",
        "data": _data(own.config),
        "training": _training(own.config),
        "epoch that was kept": f"{told['epoch']}, counted from 0",
        "validation graphs executed rightly": ", ".join(executed),
        "made with": f"Augury {told['version']} at `{told['commit'][:12]}`, "
        f"PyTorch {told['torch']}, {told['device']}",
    }
    return _table(["", ""], [[key, value] for key, value in rows.items()])


def _size(own: Checkpoint) -> int:
    return sum(weight.numel() for weight in own.network.parameters())


def _data(config: Config) -> str:
    own = config.data
    extra = f"; {own.extra_graphs} more for reachability" if own.extra_graphs else ""
    return (
        f"{own.train_graphs} graphs of {own.side} + {own.side} nodes, each edge with probability "
        f"{own.p:g}, and all their rounds{extra}; {own.validation_graphs} graphs for validation; "
        f"walks of {own.walk_length} arcs with capacities to {own.max_capacity}; seed {own.seed}"
    )


def _training(config: Config) -> str:
    own = config.training
    rule = {"execution": "whole executions", "paper": "the paper's rule"}[own.select]
    return (
        f"Adam, learning rate {own.learning_rate:g}, batches of {own.batch_size} rounds, at most "
        f"{own.max_epochs} epochs with a patience of {own.patience}; the epoch chosen by {rule} "
        f"on {own.execution_graphs} graphs of each size"
    )


def score(name: str) -> str:
    """Return how often a network found the maximum or, with costs, the optimum."""
    rows: dict[Row, dict[int, tuple[Condition, Runs]]] = defaultdict(dict)
    for condition, (graphs, runs, told) in of_model(name).items():
        row = Row(condition.p, _part(condition), graphs, runs)
        rows[row][condition.scale] = condition, told
    scales = sorted({scale for cells in rows.values() for scale in cells})
    head = ["edges", "the network's part", "graphs × runs", *(f"{scale}x" for scale in scales)]
    lines: list[list[str]] = []
    for row in sorted(rows, key=lambda row: (row.p != "1/4", row.p, row.part, -row.graphs)):
        cells, start = rows[row], [f"p = {row.p}", row.part]
        ours = [_accuracy(cells[scale][1]) if scale in cells else "" for scale in scales]
        lines.append([*start, f"{row.graphs} × {row.runs}", *ours])
        paper = [_papers(name, cells[scale][0]) if scale in cells else "" for scale in scales]
        if any(paper):
            lines.append([*start, "the paper's", *paper])
    return f"{_table(head, lines)}\n\n{_decisions(name)}"


def _papers(name: str, condition: Condition) -> str:
    """Return the paper's figure beside its own networks, and none beside others."""
    return papers_figure(name, condition).strip("–") if name.startswith("paper-") else ""


def _accuracy(runs: Runs) -> str:
    return f"{100 * runs.accuracy:.1f} ± {100 * float(runs.by_run.std()):.1f}"


def _part(condition: Condition) -> str:
    if condition.costs:
        return f"all, {condition.algorithm}, costs to {condition.costs:,}"
    if condition.termination != "bfs":
        return f"search alone, t = {condition.termination}"
    classical = {
        "bottleneck": not condition.neural_bottleneck,
        "augmentation": not condition.neural_augmentation,
    }
    without = " and ".join(part for part, is_classical in classical.items() if is_classical)
    return "all" + f" but {without}" * bool(without)


def _decisions(name: str) -> str:
    """Return how many decisions were wrong, everything together."""
    every = [runs for _, _, runs in of_model(name).values()]
    told = [
        f"{decision.replace('_', ' ')} {wrong:,} of {asked:,}"
        for decision in DECISIONS
        for asked, wrong in [
            (sum(r.asked[decision] for r in every), sum(r.wrong[decision] for r in every))
        ]
        if asked
    ]
    return f"Decisions that were wrong, all rows together: {', '.join(told)}."


def proof(name: str) -> str:
    """Return what is proven of a network."""
    own = proof_of(name)
    if own is None:
        return "None: its states are real numbers, so its cases cannot be enumerated."
    head = ["cell", "decisions", "proven", "least margin", "rounding moves it by at most"]
    rows = [
        [
            f"`{part.name}`",
            f"{part.cases}",
            f"{part.proven}",
            f"{part.margin:.2f}",
            _small(part.bound),
        ]
        for part in own.parts
    ]
    holds = [arithmetic for arithmetic, does in own.holds.items() if does]
    fails = [arithmetic for arithmetic, does in own.holds.items() if not does]
    ends = f"The proof holds in {' and '.join(holds)}" + f", not in {', '.join(fails)}" * bool(
        fails
    )
    return f"{_table(head, rows)}\n\n{own.conclusion}\n\n{ends}."


def _small(value: float) -> str:
    return f"{value:.1g}" if value >= 1e-4 else f"{value:.1e}"


def table(prefix: str = "") -> str:
    """Return the table of all models; links start with the prefix."""
    scales = [1, 2, 4, 8]
    head = ["model", "network", "parameters", "proven"]
    head += [f"{words}, {scale}x" for words in SIZES.values() for scale in scales]
    rows = []
    for name, network in NETWORKS.items():
        found, own = of_model(name), proof_of(name)
        cells = [found.get(Condition(scale=scale, p=p)) for p in SIZES for scale in scales]
        rows.append(
            [f"[`{name}`]({prefix}{name}.md)", network, f"{_size(model(name)):,}"]
            + ["every size" if own and own.is_proven else "no"]
            + [f"{100 * cell[2].accuracy:.1f}" if cell else "" for cell in cells]
        )
    return _table(head, rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "".join(f"| {cell} " if cell else "| " for cell in line) + "|" for line in lines
    )


MAKERS: dict[str, Callable[[str], str]] = {"facts": facts, "score": score, "proof": proof}
"""What can stand in a card, each five letters long."""


def filled(path: Path) -> str:
    """Return a document with every marked place filled in."""

    def fill(place: re.Match[str]) -> str:
        if place.group(1) == "table":
            return table("" if path.parent == HERE else "docs/models/")
        return MAKERS[place.group(1)](path.stem)

    return PLACE.sub(fill, path.read_text(encoding="utf-8"))


def documents() -> list[Path]:
    """Return every document with such places."""
    return [*sorted(HERE.glob("*.md")), DOCS.parent / "README.md"]


if __name__ == "__main__":
    for document in documents():
        write_text(document, filled(document))
