"""The results of a run folder become a report in Markdown, with plots, beside the paper's figures.

The text is a function of plan and results alone; times and machines are in a file of their own. So
an interrupted run has the same report as any other.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from augury.experiments import plots
from augury.experiments.paper import (
    AUGMENTATION_ACCURACY,
    GRAPHS,
    TRUE_NEGATIVE_RATE,
    papers_figure,
)
from augury.experiments.plan import EXAM_SEED, NETWORKS, Column, Plan, Row, Section, want_of
from augury.experiments.records import CONDITION_FIELDS, Runs
from augury.experiments.run_folder import Results, write_whole
from augury.experiments.summary import over_seeds

WIDTH = 120
"""Columns of the report's text."""

PLOTS = "reproduction"
"""The folder of plots beside the report; it has the same name under docs/."""

DEFAULT_FOLDER = "runs/reproduction"
"""The default folder of `augury reproduce`, as the commands in the report name it."""


@dataclass(frozen=True)
class Entry:
    """One entry of a table: the paper's figure, and what our seeds did."""

    row: Row
    column: Column
    paper: str
    by_seed: dict[int, Runs]
    best_seed: int

    @property
    def best(self) -> Runs:
        """The best-validated network."""
        return self.by_seed[self.best_seed]

    @property
    def ours(self) -> str:
        """Accuracy of the best-validated network, ± over runs as in the paper."""
        mean = f"{100 * self.best.accuracy:.2f}"
        return mean if len(self.best.by_run) < 2 else f"{mean} ± {100 * self.best.by_run.std():.2f}"

    @property
    def over_seeds(self) -> str:
        """Mean and interval over seeds, and the worst of them."""
        accuracies = np.array([runs.accuracy for runs in self.by_seed.values()])
        if len(accuracies) < 2:
            return "–"
        told = over_seeds(accuracies)
        low, high = told["seed_interval"]
        return (
            f"{100 * told['seed_mean']:.2f} [{100 * low:.2f}, {100 * high:.2f}]; "
            f"{100 * accuracies.min():.1f}"
        )

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, in points; none where the paper has no figure."""
        if self.paper == "–":
            return None
        return 100 * self.best.accuracy - papers_mean(self.paper)

    @property
    def noise(self) -> float:
        """How far two sets of test graphs differ by chance, at 95 %, in points.

        Runs on one graph are alike, so a graph counts as one trial however often it is run.
        """
        share = (self.best.accuracy + papers_mean(self.paper) / 100) / 2
        trials = 1 / GRAPHS + 1 / self.column.extent.graphs
        return 196 * float(np.sqrt(share * (1 - share) * trials))


def papers_mean(figure: str) -> float:
    """Return the mean of a figure such as "95.6 ± 2.65"."""
    return float(figure.partition(" ")[0])


def entry(results: Results, row: Row, column: Column) -> Entry:
    """Collect an entry of a table."""
    want = want_of(row, column)
    own = (getattr(want.condition, name) for name in CONDITION_FIELDS)
    figure = papers_figure(results.config(row.network).name, *own)
    by_seed = {part.seed: results.parts[part] for part in results.parts_of(want)}
    return Entry(row, column, figure, by_seed, results.best(row.network, row.rule).seed)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


class Report:
    """Builds the text; one method for each piece of it."""

    def __init__(self, folder: Path, plan: Plan, results: Results) -> None:
        self.folder, self.plan, self.results = folder, plan, results
        self.entries = {
            section.name: [
                [entry(results, row, column) for column in section.columns] for row in section.rows
            ]
            for section in plan.sections
            if section.rows[0].rule != "every"
        }
        self.changed = {
            network: NETWORKS[network].changed(results.config(network)) for network in plan.networks
        }
        """By network: the settings in which it differs from the one of that name."""

    def _row_label(self, row: Row) -> str:
        return row.label(self.changed[row.network])

    def _label(self, network: str) -> str:
        return ", ".join([NETWORKS[network].label, *self.changed[network]])

    def text(self) -> str:
        """Return the report."""
        lines = [*self._start(), *self._summary()]
        for section in self.plan.sections:
            is_curve = section.rows[0].rule == "every"
            lines += self._plot(section) if is_curve else self._table(section)
            if section.name == "rule":
                lines += ["", RULE_TEXT]
        lines += self._subroutines() + self._spread() + self._sizes() + self._trainings()
        lines += ["", "## Departures from the paper", "", *DEPARTURES]
        lines += ["", "## Files", "", FILES]
        return _wrapped(lines)

    def _start(self) -> list[str]:
        if self.plan.is_quick:
            networks = (
                "This is the quick form: the checkpoints that come with the package, one seed of "
                "each, few graphs."
            )
        else:
            count = len(self.plan.seeds)
            networks = f"{count} {'seed' if count == 1 else 'seeds'} of each network were trained."
        changed = dict.fromkeys(change for found in self.changed.values() for change in found)
        if changed:
            networks += (
                f" They are variants, trained with {', '.join(changed)}: the paper's figures are "
                f"those of other networks, and stand beside none that was changed."
            )
        return [
            "# Reproduction",
            "",
            f"The tables and figures of *Neural Bipartite Matching* (Georgiev & Liò, 2020), "
            f"rebuilt. {networks} A figure is the share of runs that found the maximum flow, in "
            f"per cent.",
            "",
            "- **paper**: as printed there; ± is over ten simulations of one network.",
            "- **ours**: the same for our best-validated network; ± is over its runs (the standard "
            "deviation of their accuracies, as there). The epoch of each seed is the one with the "
            "best score on validation graphs in training; the seed is the one that then does best "
            "in an exam, further graphs of the sizes of the tables. No test graph takes part in "
            "either choice.",
            "- **over seeds**: mean of all seeds with its 95 % interval by Student's t, cut at 0 "
            "and 100, then the lowest seed. The paper has nothing of the kind.",
            "- Test graphs come from a stream of random numbers that no training uses, and are "
            "the same for all networks.",
            "",
            "```bash",
            self.plan.command(),
            "```",
        ]

    def _compared(self) -> list[tuple[Section, Entry]]:
        """Return the entries for which the paper has a figure of the same network."""
        return [
            (section, entry)
            for section in self.plan.sections
            if section.name.startswith("table")
            for row in self.entries[section.name]
            for entry in row
            if entry.paper != "–" and entry.row.network != "discrete"
        ]

    def _summary(self) -> list[str]:
        compared: dict[tuple[Row, int, str], tuple[Section, Entry]] = {}
        for section, entry in self._compared():
            key = (entry.row, entry.column.scale, entry.column.p)
            compared.setdefault(key, (section, entry))
        if not compared:
            return []
        below, above, same = [], [], 0
        for section, entry in compared.values():
            difference = entry.difference
            assert difference is not None
            if abs(difference) <= entry.noise:
                same += 1
                continue
            name = section.title.partition(":")[0]
            text = (
                f"- {name}, {self._row_label(entry.row)} at {entry.column.label}, "
                f"p = {entry.column.p}: paper {entry.paper}, ours {entry.ours}"
            )
            (below if difference < 0 else above).append(text)
        lines = [
            "",
            "## Differences from the paper",
            "",
            f"Of {len(compared)} figures that the paper prints, {same} agree with ours within "
            f"noise, {len(below)} of ours are lower and {len(above)} higher. Noise is what two "
            f"sets of test graphs differ by at 95 %, a graph counting as one trial however often "
            f"it is run.",
        ]
        for title, found in (("Lower than the paper:", below), ("Higher than the paper:", above)):
            lines += ["", title, "", *found] if found else []
        return lines

    def _table(self, section: Section) -> list[str]:
        rows = self.entries[section.name]
        names = [_column_name(section, column) for column in section.columns]
        has_paper = any(entry.paper != "–" for row in rows for entry in row)
        head, body = ["network"], []
        for name in names:
            head += [f"{name} paper", f"{name} ours"] if has_paper else [name]
        for row in rows:
            cells = [self._row_label(row[0].row)]
            for entry in row:
                cells += [entry.paper, entry.ours] if has_paper else [entry.ours]
            body.append(cells)
        lines = ["", f"## {section.title}", "", _extents(section), "", *markdown(head, body)]
        over = [k for k, column in enumerate(section.columns) if column.who == "all"]
        if over and any(len(entry.by_seed) > 1 for row in rows for entry in row):
            lines += ["", "Over seeds: mean [95 % interval]; lowest.", ""]
            lines += markdown(
                ["network", *(names[k] for k in over)],
                ([self._row_label(row[0].row), *(row[k].over_seeds for k in over)] for row in rows),
            )
        if section.name.startswith("table") and has_paper:
            lines += ["", "Beside the discrete network stands the paper's best."]
        return [*lines, "", "```bash", *self._commands(section), "```"]

    def _commands(self, section: Section) -> list[str]:
        """Return the command for the section, and one for each row by itself."""
        lines = [self.plan.command(section)]
        for row in section.rows:
            if row.rule != "execution":
                continue
            for who in ("all", "best"):
                columns = [column for column in section.columns if column.who == who]
                for extent in dict.fromkeys(column.extent for column in columns):
                    chosen = [column for column in columns if column.extent == extent]
                    lines.append(self._command(row, chosen))
        return lines

    def _command(self, row: Row, columns: Sequence[Column]) -> str:
        """Return the command that evaluates one row."""
        model = row.network
        if not self.plan.is_quick:
            model = f"{DEFAULT_FOLDER}/train/{row.network}"
            if columns[0].who == "best":
                model += f"/seed-{self.results.best(row.network).seed}/best.safetensors"
        scales = ",".join(dict.fromkeys(str(column.scale) for column in columns))
        ps = ",".join(dict.fromkeys(column.p for column in columns))
        extent = columns[0].extent
        words = ["augury evaluate", model, f"--scales {scales}"]
        words += [f"--p {ps}"] if ps != "1/4" else []
        words += [f"--termination {row.termination}"] if row.termination != "bfs" else []
        if row.termination == "bfs":
            given = {"bottleneck": row.neural_bottleneck, "augmentation": row.neural_augmentation}
            classical = ",".join(name for name, neural in given.items() if not neural)
            words += [f"--classical {classical}"] if classical else []
        words += [f"--graphs {extent.graphs}"] if extent.graphs != 50 else []
        words += [f"--runs {extent.runs}"] if extent.runs != 10 else []
        return " ".join(words)

    def _plot(self, section: Section) -> list[str]:
        (column,) = section.columns
        curves = [self._curve(row, column) for row in section.rows]
        plots.plot_curves(curves, column.scale, self.folder / PLOTS, section.name)
        body = []
        for curve in curves:
            accuracy = curve.accuracy[curve.best]
            firsts = [_first(row) for row in curve.accuracy]
            reached = [first for first in firsts if first is not None]
            first = firsts[curve.best]
            body.append(
                [
                    curve.label,
                    "never" if first is None else str(first),
                    f"{np.median(reached):g} ({len(reached)} of {len(firsts)})" if reached else "–",
                    f"{100 * accuracy.max():.1f} ({int(accuracy.argmax())})",
                    f"{100 * accuracy[curve.best_epoch]:.1f} ({curve.best_epoch})",
                    f"{100 * accuracy[-1]:.1f} ({len(accuracy) - 1})",
                    f"{100 * np.mean([row[-1] for row in curve.accuracy]):.1f}",
                ]
            )
        head = [
            "network", "first epoch with 99 %", "median of seeds that reach it",
            "highest, % (epoch)", "chosen, % (epoch)", "last, % (epoch)", "last, mean of seeds",
        ]  # fmt: skip
        extent = column.extent
        is_changed = any(self.changed[row.network] for row in section.rows)
        return [
            "",
            f"## {section.title}",
            "",
            f"Solid: accuracy of the best-validated network after each epoch; dashed: its mean "
            f"absolute flow error. The band is the middle half of all seeds that were still in "
            f"training. {extent.graphs} test graphs, {_count(extent.runs, 'run')} each; epochs "
            f"are counted from 0.",
            "",
            self._image(section.name, section.title),
            "",
            *markdown(head, body),
            "",
            *([] if is_changed else [PLOT_TEXT[section.name], ""]),
            "```bash",
            self.plan.command(section),
            "```",
        ]

    def _curve(self, row: Row, column: Column) -> plots.Curve:
        parts = self.results.parts_of(want_of(row, column))
        seeds = self.results.seeds[row.network]
        accuracy, error = [], []
        for seed in seeds:
            mine = sorted((p for p in parts if p.seed == seed.seed), key=lambda p: p.epoch)
            accuracy.append(np.array([self.results.parts[part].accuracy for part in mine]))
            error.append(np.array([self.results.parts[part].flow_error for part in mine]))
        best = self.results.best(row.network)
        label = self._label(row.network)
        return plots.Curve(
            row.network, label, accuracy, error, seeds.index(best), best.epoch("execution")
        )

    def _image(self, name: str, title: str) -> str:
        return f"![{title}]({PLOTS}/{name}.png) [SVG]({PLOTS}/{name}.svg)"

    def _at_table_sizes(self) -> list[list[Entry]]:
        """Return the rows with everything neural at p = 1/4 and the paper's sizes, each once."""
        found: dict[str, list[Entry]] = {}
        for name in ("table-1", "table-2"):
            for row in self.entries.get(name, []):
                head = row[0].row
                is_all = head.neural_bottleneck and head.neural_augmentation
                if head.termination == "bfs" and is_all:
                    found.setdefault(head.network, row)
        return [found[name] for name in NETWORKS if name in found]

    def _subroutines(self) -> list[str]:
        rows = self._at_table_sizes()
        if not rows:
            return []
        body = []
        for row in rows:
            cells = [self._row_label(row[0].row)]
            is_papers = self.results.config(row[0].row.network).name == "paper-mpnn"
            for decision, figure in (
                ("empty_path", TRUE_NEGATIVE_RATE),
                ("augmentation", AUGMENTATION_ACCURACY),
            ):
                best = _share([entry.best for entry in row], decision)
                every = _share([r for entry in row for r in entry.by_seed.values()], decision)
                cells += [f"{figure}" if is_papers else "–", best, every]
            body.append(cells)
        head = [
            "network",
            *("empty paths: paper", "best-validated", "all seeds"),
            *("augmentations: paper", "best-validated", "all seeds"),
        ]
        return [
            "",
            "## Subroutines",
            "",
            "Empty paths recognised is the paper's true-negative rate: of the paths that the "
            "search proposed and that can carry nothing, the share whose bottleneck of 0 was "
            "seen. Augmentations are right if every new capacity on the path is. All sizes of the "
            "tables together.",
            "",
            *markdown(head, body),
        ]

    def _spread(self) -> list[str]:
        rows = self._at_table_sizes()
        if not rows or self.plan.is_quick:
            return []
        spreads: dict[int, list[plots.Spread]] = {}
        for row in rows:
            for entry in row:
                accuracy = np.array([runs.accuracy for runs in entry.by_seed.values()])
                best = list(entry.by_seed).index(entry.best_seed)
                is_paper = entry.paper != "–" and entry.row.network != "discrete"
                paper = papers_mean(entry.paper) if is_paper else None
                label = self._label(entry.row.network)
                spread = plots.Spread(entry.row.network, label, accuracy, best, paper)
                spreads.setdefault(entry.column.scale, []).append(spread)
        plots.plot_seeds(spreads, self.folder / PLOTS, "seeds")
        return [
            "",
            "## All seeds",
            "",
            "The accuracy of every seed, everything neural, end by BFS, p = 1/4. An arrow with a "
            "number is a figure of the paper below the plot.",
            "",
            self._image("seeds", "Accuracy of every seed"),
        ]

    def _sizes(self) -> list[str]:
        lines: dict[str, dict[str, tuple[str, dict[int, float]]]] = {}
        shown = [*self._at_table_sizes()]
        if not {"large", "sparse"} & set(self.entries):
            return []
        shown += [row for name in ("large", "sparse") for row in self.entries.get(name, [])]
        wanted = {row[0].row.network for name in ("large", "sparse")
                  for row in self.entries.get(name, [])}  # fmt: skip
        for row in shown:
            network = row[0].row.network
            if network not in wanted:
                continue
            label = self._label(network)
            for entry in row:
                _, points = lines.setdefault(entry.column.p, {}).setdefault(network, (label, {}))
                points[entry.column.scale] = entry.best.accuracy
        plots.plot_scales(lines, self.folder / PLOTS, "sizes")
        return [
            "",
            "## Accuracy and size",
            "",
            "The best-validated networks, everything neural. At the largest sizes there are few "
            "graphs; the tables say how many.",
            "",
            self._image("sizes", "Accuracy over size"),
        ]

    def _exam(self) -> list[str]:
        if not self.plan.exam:
            return []
        sizes = ", ".join(column.label for column in self.plan.exam)
        graphs = self.plan.exam[0].extent.graphs
        return [
            "",
            f"The exam: the mean accuracy on {graphs} graphs each of {sizes}, p = 1/4, one run "
            f"each, everything neural, end by BFS; of equals the better score decides. Its graphs "
            f"are drawn as those of the tables are, with another seed (`--seed {EXAM_SEED}`).",
        ]

    def _trainings(self) -> list[str]:
        if self.plan.is_quick:
            return []
        body = []
        for network in self.plan.networks:
            seeds = self.results.seeds[network]
            best = self.results.best(network)
            lengths = [len(seed.history) for seed in seeds]
            body.append(
                [
                    self._label(network),
                    f"`{network}`",
                    _range(lengths),
                    ", ".join(str(seed.epoch("execution")) for seed in seeds),
                    str(best.seed),
                    f"{best.score('execution'):.4f}",
                    ", ".join(f"{100 * self.results.examined(seed):.1f}" for seed in seeds)
                    if self.results.exams.get(network)
                    else "–",
                    ", ".join(str(seed.epoch("paper")) for seed in seeds),
                ]
            )
        head = [
            "network", "folder", "epochs trained", "chosen epoch of each seed",
            "best-validated seed", "its score", "exam of each seed, %", "epoch by the paper's rule",
        ]  # fmt: skip
        commands = []
        for network in self.plan.networks:
            settings = (*NETWORKS[network].settings, *self.plan.settings)
            sets = "".join(f" --set {setting}" for setting in settings)
            last = self.plan.seeds[-1]
            commands.append(
                f"augury train {NETWORKS[network].preset} --seeds 0-{last}{sets} "
                f"--out {DEFAULT_FOLDER}/train/{network}"
            )
        return [
            "",
            "## Trainings",
            "",
            "The score is the share of validation graphs of 1x, 2x and 4x that are executed "
            "rightly as a whole, plus up to 0.0001 for a low loss. It chooses among epochs. Many "
            "seeds have all of these graphs right, and none of them is of 8x, where networks part: "
            "so an exam chooses among seeds.",
            *self._exam(),
            "",
            *markdown(head, body),
            "",
            "Each by itself:",
            "",
            "```bash",
            *commands,
            "```",
        ]


def _wrapped(lines: Sequence[str]) -> str:
    """Join lines, long ones of plain text broken; tables, code and images stay as they are."""
    found: list[str] = []
    is_code = False
    for line in lines:
        is_code ^= line.startswith("```")
        is_text = not is_code and not line.startswith(("|", "#", "!", "```"))
        indent = "  " if line.startswith("- ") else ""
        broken = textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )
        found += (broken or [""]) if is_text else [line]
    return "\n".join(found) + "\n"


def _column_name(section: Section, column: Column) -> str:
    several = len({other.p for other in section.columns}) > 1
    return f"{column.label}, p = {column.p}" if several else column.label


def _extents(section: Section) -> str:
    """Say how many graphs and runs the columns have."""
    extents = dict.fromkeys(column.extent for column in section.columns)
    if len(extents) == 1:
        (extent,) = extents
        return f"{_count(extent.graphs, 'graph')} of each kind, {_count(extent.runs, 'run')} each."
    told = []
    for extent in extents:
        names = [column.label for column in section.columns if column.extent == extent]
        graphs, runs = _count(extent.graphs, "graph"), _count(extent.runs, "run")
        told.append(f"{', '.join(names)}: {graphs}, {runs} each")
    best = " From 16x on only the best-validated seed is run."
    has_best = any(column.who == "best" for column in section.columns)
    return "; ".join(told) + "." + (best if has_best else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _share(parts: Sequence[Runs], decision: str) -> str:
    """Return how many decisions of how many were right, and the share, never rounded up to 1."""
    asked = sum(runs.asked[decision] for runs in parts)
    wrong = sum(runs.wrong[decision] for runs in parts)
    if not asked:
        return "none asked"
    share = (asked - wrong) / asked
    text = f"{share:.4f}" if not wrong else f"{min(share, 0.9999):.4f}"
    return f"{asked - wrong:,} of {asked:,} ({text})"


def _first(accuracy: Any) -> int | None:
    """Return the first epoch with 99 %."""
    good = np.flatnonzero(accuracy >= 0.99)
    return int(good[0]) if len(good) else None


PLOT_TEXT = {
    "figure-2": "The paper: both reach about 100 %, MPNN within 10 epochs, PNA−STD after 35, with "
    "one relapse.",
    "figure-3": "The paper: the network first nears a good solution and overfits after epoch 25; "
    "its final accuracy at 2x is 50 %.",
}

RULE_TEXT = (
    "The paper stops and chooses by the accuracy of the predecessors in the last step, on "
    "validation rounds of the training size. That number does not see reachability, which ends a "
    "run and is what fails at larger sizes. This table takes from the same trainings the epoch "
    "that the paper's rule prefers (with its patience; a training that our rule ended earlier "
    "offers fewer epochs), and the seed that is best by it. Compare the tables above, where whole "
    "executions of validation graphs choose. With t = 1 nothing but the search counts, for the "
    "first invalid path ends a run: there this rule, which looks at the search alone, is at its "
    "best."
)

DEPARTURES = (
    "- **Which epoch.** Ours is chosen by whole executions of validation graphs of 1x, 2x and 4x; "
    "the paper's by the accuracy of predecessors at 1x. The section on the paper's rule shows what "
    "that changes. Our networks have met larger graphs in validation, though never in training.",
    "- **Which network.** The paper shows one network. Ours is the best-validated of all seeds, "
    "by graphs of every size of the tables, and all seeds are shown beside it.",
    "- **Test graphs** are drawn anew from the distribution that the paper describes; the authors' "
    "files are not used.",
    "- **Direction of messages.** A node receives along its incoming arcs, with their own weights, "
    "as the paper's text says; the authors' published code flips the arcs.",
    "- **PNA** aggregates at the receiving end of an arc throughout. In the authors' code mean and "
    "standard deviation aggregate at one end and minimum and maximum at the other, which may be "
    "part of the paper's verdict on the standard deviation.",
    "- **Random walks** for bottleneck and augmentation have capacities 0 to 10 (the paper: 1 to "
    "10), as a path that can carry nothing has to be recognised.",
    "- **Any wrong bottleneck ends a run**, as the paper says; in the authors' code only a 1 in "
    "the place of a 0 does.",
    "- **True-negative rate** is counted over the paths that can carry nothing.",
    "",
    "The rest of what the paper leaves open, and what was chosen: `docs/training.md`.",
)

FILES = (
    f"Hardware and time: [times]({PLOTS}/times.md). In the run folder, `records.jsonl` holds every "
    f"run of every network, a line for each part, `train/` the networks with the history of each, "
    f"and `{PLOTS}/` the plots."
)


def times_text(times: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    """Return the page that says on what machines and how long everything ran.

    Args:
        times: the lines of times.jsonl.
        names: what to call a network, where not by the name of its folder.
    """
    machines: dict[tuple[Any, ...], int] = {}
    sums: dict[tuple[bool, str, str, int], list[float]] = {}
    sittings: list[list[str]] = []
    for told in times:
        machine = tuple(told["machine"].items())
        if told["what"] == "sitting":
            seconds = told["seconds"]
            sittings.append(
                [str(len(sittings) + 1), told["ended"], str(told["slots"]), str(told["tasks"]),
                 f"{seconds / 60:.1f}"]
            )  # fmt: skip
            continue
        machines[machine] = machines.get(machine, 0) + 1
        is_training = told["what"] == "training"
        p, scale = ("–", 0) if is_training else (told["p"], told["scale"])
        key = (not is_training, told["network"], p, scale)
        found = sums.setdefault(key, [0.0, 0.0, 0.0])
        found[0] += 1
        found[1] += told["epochs"] if is_training else 0
        found[2] += told["seconds"]
    lines = ["# Hardware and time", ""]
    for machine, count in machines.items():
        described = ", ".join(f"{name} {value}" for name, value in machine)
        lines.append(f"- {described}: {_count(count, 'task')}")
    lines += ["", "Seconds of tasks, each on one core (or its share of a GPU), added up.", ""]
    body = []
    for (is_part, network, p, scale), (tasks, epochs, seconds) in sorted(sums.items()):
        what, graphs = ("evaluation", f"{scale}x, p = {p}") if is_part else ("training", "–")
        shown = "–" if is_part else f"{epochs:g}"
        body.append(
            [what, names.get(network, network), graphs, f"{tasks:g}", shown, f"{seconds:,.1f}"]
        )
    lines += markdown(["what", "network", "graphs", "tasks", "epochs", "seconds"], body)
    total = sum(found[2] for found in sums.values())
    lines += ["", f"All tasks: {total:,.0f} s, that is {total / 3600:.2f} hours of one core."]
    lines += ["", "Wall time of each sitting; one that was killed left no line.", ""]
    lines += markdown(["sitting", "ended", "side by side", "tasks", "minutes"], sittings)
    return "\n".join(lines) + "\n"


def write_report(
    folder: Path, plan: Plan, results: Results, times: Sequence[dict[str, Any]]
) -> None:
    """Write report, plots and times into a run folder."""
    report = Report(folder, plan, results)
    write_whole(folder / "report.md", report.text())
    names = {
        network: f"{network} ({', '.join(changed)})"
        for network, changed in report.changed.items()
        if changed
    }
    write_whole(folder / PLOTS / "times.md", times_text(times, names))
