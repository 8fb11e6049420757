"""What to rebuild becomes a plan: which networks are trained, and what each is evaluated on.

A plan is a list of sections, each a table or a plot of the report. A section says which networks
it needs, by name, and what it wants to know about them; what two sections both want is done once.
Nothing here runs anything: `reproduce` does, and `report` writes up the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from augury.config import Config, changes, preset, with_settings
from augury.experiments.conditions import Condition, Extent

Rule = Literal["execution", "paper", "last", "every"]
"""Which epochs of a training: the one that its own rule chooses, which is executions for most; the
one that the paper's rule chooses; the last one, which the authors' code keeps; or every one."""

Who = Literal["all", "first"]
"""Every seed, or only the first, which is the one that ships."""


@dataclass(frozen=True)
class Network:
    """A network that is trained: a preset and what is changed in it."""

    label: str
    """What the paper calls it; for a variant, what was changed."""
    preset: str
    settings: tuple[str, ...] = ()
    is_variant: bool = False
    """Whether only its mean over seeds is of interest: no such network ships."""

    def config(self, settings: Sequence[str] = ()) -> Config:
        """Return the configuration, with further settings on top."""
        return with_settings(preset(self.preset), [*self.settings, *settings])

    def changed(self, config: Config) -> list[str]:
        """Return what a configuration changes in this network, such as "hidden=64"."""
        return changes(config, self.config())


SUSPECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "as-theirs": ("two ends, early stop", ("network.processor=pna-two-ends", "data.stop_early=1")),
    "two-ends": ("two ends", ("network.processor=pna-two-ends",)),
    "early-stop": ("early stop", ("data.stop_early=1",)),
    "papers-rule": ("nothing else", ()),
}
"""What the authors' code does differently, which may be why PNA with std collapses there; in all
of them the paper's rule ends the training."""

CAUTIOUS = (
    *("data.train_graphs=1200", "data.search_stop_weight=0.35", "data.reach_stop_weight=0.05"),
    *("training.learning_rate=0.001", "training.decay=cosine", "training.max_epochs=24"),
    *("training.patience=24", "training.select=both", "training.execution_graphs=100"),
)
"""A training that is right both where reachability ends a run and where the first invalid path
does."""

NETWORKS: dict[str, Network] = {
    "paper-mpnn": Network("MPNN", "paper-mpnn"),
    "paper-pna": Network("PNA", "paper-pna"),
    "paper-pna-nostd": Network("PNA−STD", "paper-pna-nostd"),
    "paper-pna-nostd-no-extra": Network(
        "PNA−STD, −BFS variety", "paper-pna-nostd", ("data.extra_graphs=0",)
    ),
    "discrete": Network("discrete", "discrete"),
    **{
        f"paper-pna-{name}": Network(
            f"PNA, {label}", "paper-pna", ("training.select=paper", *settings), is_variant=True
        )
        for name, (label, settings) in SUSPECTS.items()
    },
    "paper-mpnn-cautious": Network("MPNN, cautious", "paper-mpnn", CAUTIOUS, is_variant=True),
}
"""By their name in records, tables and folders, which for most is the preset."""


@dataclass(frozen=True)
class Row:
    """A row of a table: a network and which decisions are its own."""

    network: str
    termination: str = "bfs"
    neural_bottleneck: bool = True
    neural_augmentation: bool = True
    rule: Rule = "execution"

    @property
    def end(self) -> str:
        """What ends a run."""
        return "BFS" if self.termination == "bfs" else f"t = {self.termination}"

    def label(self, name: str) -> str:
        """Return the row's name, in the paper's words, given that of its network."""
        name, comma, rest = (name, "", "") if "(" in name else name.partition(", ")
        less = [rest] if comma else []
        if self.termination == "bfs":
            less += [] if self.neural_bottleneck else ["−bottle"]
            less += [] if self.neural_augmentation else ["−augment"]
        return ", ".join([f"{name} ({self.end})", *less])


@dataclass(frozen=True)
class Column:
    """A column of a table: a family of graphs, how many of them, and whose runs."""

    scale: int
    p: str
    extent: Extent
    who: Who = "all"

    @property
    def label(self) -> str:
        """The column's name."""
        return f"{self.scale}x"


@dataclass(frozen=True)
class Want:
    """What a section needs: runs of some epochs of some seeds of a network."""

    network: str
    rule: Rule
    who: Who
    condition: Condition
    extent: Extent


def want_of(row: Row, column: Column) -> Want:
    """Return what an entry of a table needs."""
    neural = row.neural_bottleneck, row.neural_augmentation
    condition = Condition(column.scale, column.p, row.termination, *neural)
    return Want(row.network, row.rule, column.who, condition, column.extent)


@dataclass(frozen=True)
class Section:
    """A table or a plot of the report."""

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    @property
    def option(self) -> str:
        """The option that asks for it, such as "--table 1" or "--beyond rule"."""
        kind, dash, number = self.name.partition("-")
        return f"--{kind} {number}" if dash else f"--beyond {kind}"

    def wants(self) -> list[Want]:
        """Return what all entries need."""
        return [want_of(row, column) for row in self.rows for column in self.columns]


@dataclass(frozen=True)
class Plan:
    """Sections, and the seeds that are trained for them."""

    sections: tuple[Section, ...]
    seeds: tuple[int, ...] = tuple(range(10))
    settings: tuple[str, ...] = ()
    """Settings on top of every network's own; for tests and trials."""
    is_quick: bool = False
    """Shipped checkpoints instead of trainings."""
    asked: str = "--all"
    """The options that ask for these sections …"""
    options: str = ""
    """… and those that say how, as the report repeats them."""

    def command(self, section: Section | None = None) -> str:
        """Return the command for all of it, or for one section by itself."""
        asked = section.option if section else self.asked
        return " ".join(filter(None, ["augury reproduce", asked, self.options]))

    @property
    def networks(self) -> list[str]:
        """The networks that sections need, each once, in the order of `NETWORKS`."""
        needed = {row.network for section in self.sections for row in section.rows}
        return [name for name in NETWORKS if name in needed]

    def wants(self) -> list[Want]:
        """Return what all sections want, each once."""
        return list(dict.fromkeys(want for section in self.sections for want in section.wants()))

    def config(self, network: str) -> Config:
        """Return the configuration that a network is trained with."""
        return NETWORKS[network].config(self.settings)


ABLATIONS = ((True, True), (False, True), (True, False), (False, False))
"""Whether bottleneck and augmentation are the network's, in the order of Table 2."""

TABLE_SCALES = (1, 2, 4, 8)
LARGE: dict[str, dict[int, int]] = {
    "1/4": {16: 50, 32: 10, 64: 2, 128: 1},
    "3/n": {16: 50, 32: 50, 64: 50, 128: 20},
}
"""Graphs at scales beyond the paper's, where one run has thousands of rounds; one run each."""

CURVE_RUNS = 2
"""Runs on each graph in every epoch of a plot."""

BEST_ROWS = (Row("paper-mpnn"), Row("paper-pna-nostd"), Row("discrete"))


@dataclass(frozen=True)
class Size:
    """How much is run."""

    graphs: int = 50
    runs: int = 10
    max_scale: int = 128

    def columns(self, scales: Iterable[int], p: str = "1/4") -> tuple[Column, ...]:
        """Return a column for each scale."""
        found: list[Column] = []
        for scale in (scale for scale in scales if scale <= self.max_scale):
            if scale in TABLE_SCALES:
                found.append(Column(scale, p, Extent(self.graphs, self.runs)))
            else:
                graphs = min(self.graphs, LARGE[p][scale])
                found.append(Column(scale, p, Extent(graphs, 1), "first"))
        return tuple(found)


def _ablated(network: str) -> list[Row]:
    return [Row(network, "bfs", *neural) for neural in ABLATIONS]


ROWS: dict[str, tuple[Row, ...]] = {
    "table-1": (*(Row("paper-mpnn", t) for t in "135"), *BEST_ROWS),
    "table-2": (
        *(*_ablated("paper-mpnn"), *_ablated("paper-pna"), Row("paper-pna-nostd-no-extra")),
        *(*_ablated("paper-pna-nostd"), Row("discrete")),
    ),
    "table-3": BEST_ROWS,
    "figure-2": (Row("paper-pna-nostd", rule="every"), Row("paper-mpnn", rule="every")),
    "figure-3": (Row("paper-pna", rule="every"),),
    "rule": (
        Row("paper-mpnn", "1", rule="paper"),
        *(Row(n, rule="paper") for n in NETWORKS if not NETWORKS[n].is_variant and n != "discrete"),
    ),
    "std": tuple(
        Row(f"paper-pna-{n}", rule=rule) for n in SUSPECTS for rule in ("last", "execution")
    ),
    "first": tuple(Row("paper-mpnn-cautious", end) for end in ("1", "bfs")),
    "large": BEST_ROWS,
    "sparse": BEST_ROWS,
}
"""The rows of each section, by its name, in the order of the report."""

TITLES = {
    "table-1": "Table 1: accuracy at different sizes",
    "table-2": "Table 2: without neural bottleneck or augmentation, with std, without extra data",
    "table-3": "Table 3: other probabilities of an edge",
    "figure-2": "Figure 2: accuracy and flow error in each epoch, 1x",
    "figure-3": "Figure 3: PNA with std in each epoch, 2x",
    "rule": "The paper's own selection rule",
    "std": "Why PNA with std collapses in the paper",
    "first": "A training for t = 1 and for BFS",
    "large": "Beyond the paper: larger graphs",
    "sparse": "Beyond the paper: sparse graphs, p = 3/n",
}


def sections(size: Size) -> dict[str, Section]:
    """Return every section by its name."""
    others = (size.columns([scale], p) for scale in (1, 2) for p in ("1/5", "1/2", "3/4"))
    curve = Extent(size.graphs, min(size.runs, CURVE_RUNS))
    columns = {
        "table-3": tuple(chain(*others)),
        "figure-2": (Column(1, "1/4", curve),),
        "figure-3": tuple(replace(column, extent=curve) for column in size.columns([2])),
        "std": tuple(replace(column, extent=curve) for column in size.columns(TABLE_SCALES)),
        "large": size.columns(LARGE["1/4"]),
        "sparse": size.columns((*TABLE_SCALES, *LARGE["3/n"]), "3/n"),
    }
    table = size.columns(TABLE_SCALES)
    return {
        name: Section(name, TITLES[name], rows, columns.get(name, table))
        for name, rows in ROWS.items()
    }


FULL = Size()
QUICK = Size(graphs=6, runs=2, max_scale=8)
"""What `--quick` runs: minutes on one core."""


def quick(plan: Plan, shipped: Iterable[str]) -> Plan:
    """Reduce a plan to what shipped checkpoints can answer: no epochs, one seed."""
    there = set(shipped)

    def left(section: Section) -> Section:
        rows = (row for row in section.rows if row.rule == "execution" and row.network in there)
        return replace(section, rows=tuple(rows))

    kept = tuple(section for section in map(left, plan.sections) if section.rows)
    return replace(plan, sections=kept, is_quick=True)
