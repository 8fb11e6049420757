"""The results of a run folder become a report in Markdown, with plots, beside the paper's figures.

The text is a function of plan and results alone; times and machines are in a file of their own. So
an interrupted run has the same report as any other. Its prose is in `report.md`, by name. A report
is made of blocks, each a paragraph, list, table or command, with an empty line between them.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.experiments import plots
from augury.experiments.paper import (
    AUGMENTATION_ACCURACY,
    DENSE,
    GRAPHS,
    TRUE_NEGATIVE_RATE,
    papers_figure,
)
from augury.experiments.plan import NETWORKS, Column, Plan, Row, Rule, Section, want_of
from augury.experiments.records import Runs, write_whole
from augury.experiments.run_folder import TRAININGS, Results, trainings_text
from augury.experiments.summary import Points, over_seeds, wilson

WIDTH = 120
"""Columns of the report's text."""

PLOTS = "reproduction"
"""The folder of plots beside the report; it has the same name under docs/."""

DEFAULT_FOLDER = "runs/reproduction"
"""The default folder of `augury reproduce`, as the commands in the report name it."""


VARIANTS = {"std": [("paper-pna", "bfs")], "first": [("paper-mpnn", "1"), ("paper-mpnn", "bfs")]}
"""Sections of variants, with the networks and terminations that they are compared with."""

RULE_WORDS: dict[Rule, str] = {"execution": "chosen", "last": "last"}
"""What tables of variants call the epochs that a rule chooses."""


@dataclass(frozen=True)
class Entry:
    """One entry of a table: the paper's figure, and what our seeds did."""

    row: Row
    column: Column
    paper: str
    by_seed: dict[int, Runs]
    """The first is the network that ships."""

    @property
    def first(self) -> Runs:
        """The network that ships."""
        return next(iter(self.by_seed.values()))

    @property
    def accuracies(self) -> npt.NDArray[np.float64]:
        """Those of all seeds, the shipped one first."""
        return np.array([runs.accuracy for runs in self.by_seed.values()])

    @property
    def ours(self) -> str:
        """Accuracy of the network that ships, ± over runs as in the paper."""
        runs, mean = self.first.by_run, f"{100 * self.first.accuracy:.2f}"
        return mean if len(runs) < 2 else f"{mean} ± {100 * runs.std():.2f}"

    @property
    def over_seeds(self) -> str:
        """Mean and interval over seeds, and the worst of them."""
        accuracies = self.accuracies
        if len(accuracies) < 2:
            return "–"
        told = over_seeds(accuracies)
        low, high = told["seed_interval"]
        return (
            f"{100 * told['seed_mean']:.2f} [{100 * low:.2f}, {100 * high:.2f}]; "
            f"{100 * accuracies.min():.1f}"
        )

    @property
    def papers_mean(self) -> float | None:
        """The paper's figure, such as the 95.6 of "95.6 ± 2.65"."""
        return None if self.paper == "–" else float(self.paper.partition(" ")[0])

    @property
    def is_below_over_seeds(self) -> bool:
        """Whether the paper's figure is above the interval of our mean over seeds."""
        if self.papers_mean is None or len(self.accuracies) < 2:
            return False
        return self.papers_mean > 100 * over_seeds(self.accuracies)["seed_interval"][1]

    def difference(self, papers_mean: float) -> float:
        """Return ours less the paper's, in points; 0 if that is noise at 95 %.

        Noise is how far two sets of test graphs differ by chance. Runs on one graph are alike, so a
        graph counts as one trial however often it is run.
        """
        share = (self.first.accuracy + papers_mean / 100) / 2
        trials = 1 / GRAPHS + 1 / self.column.extent.graphs
        noise = 196 * float(np.sqrt(share * (1 - share) * trials))
        found = 100 * self.first.accuracy - papers_mean
        return found if abs(found) > noise else 0.0


def entry(results: Results, row: Row, column: Column) -> Entry:
    """Collect an entry of a table."""
    want = want_of(row, column)
    figure = papers_figure(results.config(row.network).name, want.condition)
    by_seed = {part.seed: results.parts[part] for part in results.parts_of(want)}
    return Entry(row, column, figure, by_seed)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    rule = "|" + "---|" * len(head)
    return "\n".join([_line(head), rule, *map(_line, rows)])


def _line(entries: Sequence[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def _shell(*lines: str) -> str:
    return "\n".join(["```bash", *lines, "```"])


@cache
def _prose() -> dict[str, str]:
    """Return the texts of `report.md` by name."""
    text = (files("augury.experiments") / "report.md").read_text(encoding="utf-8")
    _, *found = re.split(r"<!-- (\S+) -->\n", text)
    return {name: words.strip() for name, words in zip(found[::2], found[1::2], strict=True)}


def _told(name: str, **values: object) -> str:
    """Return a text of `report.md`."""
    return _prose()[name].format(**values)


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
        return row.label(self._label(row.network))

    def _label(self, network: str) -> str:
        """Return the paper's name of a network; of a variant its own, with what was changed."""
        is_variant = NETWORKS[network].is_variant or self.changed[network]
        return self.results.config(network).name if is_variant else NETWORKS[network].label

    def text(self) -> str:
        """Return the report."""
        blocks = [self._start(), *self._summary()]
        for section in self.plan.sections:
            is_curve = section.rows[0].rule == "every"
            is_variants = all(NETWORKS[row.network].is_variant for row in section.rows)
            made = self._plot if is_curve else self._variants if is_variants else self._table
            blocks += made(section)
            if section.name in ("rule", *VARIANTS):
                blocks.append(_told(section.name))
        blocks += self._subroutines() + self._spread() + self._sizes() + self._trainings()
        return _wrapped("\n\n".join([*blocks, _told("end", plots=PLOTS)]))

    def _start(self) -> str:
        networks = f"{_count(len(self.plan.seeds), 'seed')} of each network were trained."
        if self.plan.is_quick:
            networks = _told("quick")
        changed = dict.fromkeys(change for found in self.changed.values() for change in found)
        if changed:
            networks += " " + _told("variants", changes=", ".join(changed))
        return _told("start", networks=networks, command=self.plan.command())

    def _summary(self) -> list[str]:
        compared: dict[tuple[Row, int, str], tuple[str, float, str]] = {}
        for section in self.plan.sections:
            for entry in itertools.chain(*self.entries.get(section.name, [])):
                key = (entry.row, entry.column.scale, entry.column.p)
                is_table = section.name.startswith("table")
                if is_table and entry.papers_mean is not None and key not in compared:
                    which = (
                        f"- {section.title.partition(':')[0]}, {self._row_label(entry.row)} at "
                        f"{entry.column.label}, p = {entry.column.p}: paper {entry.paper}"
                    )
                    over = f"{which}, ours {entry.over_seeds}" if entry.is_below_over_seeds else ""
                    difference = entry.difference(entry.papers_mean)
                    compared[key] = f"{which}, ours {entry.ours}", difference, over
        if not compared:
            return []
        below = [text for text, difference, _ in compared.values() if difference < 0]
        above = [text for text, difference, _ in compared.values() if difference > 0]
        mean_below = [text for *_, text in compared.values() if text]
        counts = {"compared": len(compared), "below": len(below), "above": len(above)}
        same = len(compared) - len(below) - len(above)
        blocks = [_told("differences", same=same, mean_below=len(mean_below), **counts)]
        for title, found in (
            ("Lower than the paper:", below),
            ("Higher than the paper:", above),
            ("Lower over seeds, the paper's figure above the interval of our mean:", mean_below),
        ):
            blocks += [title, "\n".join(found)] if found else []
        return blocks

    def _table(self, section: Section) -> list[str]:
        rows = self.entries[section.name]
        several = len({column.p for column in section.columns}) > 1
        names = [f"{c.label}, p = {c.p}" if several else c.label for c in section.columns]
        has_paper = any(entry.paper != "–" for row in rows for entry in row)
        head, body = ["network"], []
        for name in names:
            head += [f"{name} paper", f"{name} ours"] if has_paper else [name]
        for row in rows:
            cells = [self._row_label(row[0].row)]
            for entry in row:
                cells += [entry.paper, entry.ours] if has_paper else [entry.ours]
            body.append(cells)
        blocks = [f"## {section.title}", _extents(section), markdown(head, body)]
        over = [k for k, column in enumerate(section.columns) if column.who == "all"]
        if over and any(len(entry.by_seed) > 1 for row in rows for entry in row):
            head = ["network", *(names[k] for k in over)]
            body = [
                [self._row_label(row[0].row), *(row[k].over_seeds for k in over)] for row in rows
            ]
            blocks += ["Over seeds: mean [95 % interval]; lowest.", markdown(head, body)]
        return [*blocks, _shell(*self._commands(section))]

    def _variants(self, section: Section) -> list[str]:
        """Return a table of means over seeds, under the paper's own row."""
        head = ["network", "epoch", "end", "seeds", *(column.label for column in section.columns)]
        body = [
            [
                *(self._label(row[0].row.network), RULE_WORDS[row[0].row.rule], row[0].row.end),
                *(str(len(row[0].by_seed)), *(entry.over_seeds for entry in row)),
            ]
            for row in self.entries[section.name]
        ]
        papers = [
            ["the paper's", "–", Row(network, end).end, "1", *DENSE[network, end]]
            for network, end in VARIANTS[section.name]
            if not any(self.changed[row.network] for row in section.rows)
        ]
        told = "Over seeds: mean [95 % interval]; lowest."
        blocks = [f"## {section.title}", _extents(section) + " " + told]
        return [*blocks, markdown(head, [*papers, *body]), _shell(self.plan.command(section))]

    def _commands(self, section: Section) -> list[str]:
        """Return the command for the section, and one for each row by itself."""
        lines = [self.plan.command(section)]
        for row in section.rows:
            if row.rule != "execution":
                continue
            for who in ("all", "first"):
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
            if columns[0].who == "first":
                model = row.network
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
        plots.plot_curves(curves, column.scale, self._files(section.name))
        body = []
        for curve in curves:
            accuracy = curve.accuracy[0]
            firsts = [_first(row) for row in curve.accuracy]
            reached = [first for first in firsts if first is not None]
            first = firsts[0]
            body.append(
                [
                    curve.label,
                    "never" if first is None else str(first),
                    f"{np.median(reached):g} ({len(reached)} of {len(firsts)})" if reached else "–",
                    f"{100 * accuracy.max():.1f} ({int(accuracy.argmax())})",
                    f"{100 * accuracy[curve.chosen]:.1f} ({curve.chosen})",
                    f"{100 * accuracy[-1]:.1f} ({len(accuracy) - 1})",
                    f"{100 * np.mean([row[-1] for row in curve.accuracy]):.1f}",
                ]
            )
        head = [
            "network", "first epoch with 99 %", "median of seeds that reach it",
            "highest, % (epoch)", "chosen, % (epoch)", "last, % (epoch)", "last, mean of seeds",
        ]  # fmt: skip
        extent, name = column.extent, section.name
        is_changed = any(self.changed[row.network] for row in section.rows)
        return [
            f"## {section.title}",
            _told("curves", graphs=extent.graphs, runs=_count(extent.runs, "run")),
            self._image(name, section.title),
            markdown(head, body),
            *([] if is_changed else [_told(name)]),
            _shell(self.plan.command(section)),
        ]

    def _curve(self, row: Row, column: Column) -> plots.Curve:
        parts = self.results.parts_of(want_of(row, column))
        seeds = self.results.seeds[row.network]
        accuracy, error = [], []
        for seed in seeds:
            mine = sorted((p for p in parts if p.seed == seed.seed), key=lambda p: p.epoch)
            accuracy.append(np.array([self.results.parts[part].accuracy for part in mine]))
            error.append(np.array([self.results.parts[part].flow_error for part in mine]))
        chosen = self.results.first(row.network).epoch("execution")
        return plots.Curve(row.network, self._label(row.network), accuracy, error, chosen)

    def _files(self, name: str) -> list[Path]:
        return plots.every_form(self.folder / PLOTS, name)

    def _image(self, name: str, title: str) -> str:
        return f"![{title}]({PLOTS}/{name}.png) [SVG]({PLOTS}/{name}.svg) [PDF]({PLOTS}/{name}.pdf)"

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
                first = _share([entry.first for entry in row], decision)
                every = _share([r for entry in row for r in entry.by_seed.values()], decision)
                cells += [f"{figure}" if is_papers else "–", first, every]
            body.append(cells)
        head = [
            "network",
            *("empty paths: paper", "ours", "all seeds"),
            *("augmentations: paper", "ours", "all seeds"),
        ]
        return [_told("subroutines"), markdown(head, body)]

    def _spread(self) -> list[str]:
        rows = self._at_table_sizes()
        if not rows or self.plan.is_quick:
            return []
        spreads: dict[int, list[plots.Spread]] = {}
        for row in rows:
            for entry in row:
                network, label = entry.row.network, self._label(entry.row.network)
                spread = plots.Spread(network, label, entry.accuracies, entry.papers_mean)
                spreads.setdefault(entry.column.scale, []).append(spread)
        plots.plot_seeds(spreads, self._files("seeds"))
        return [_told("seeds"), self._image("seeds", "Accuracy of every seed")]

    def _sizes(self) -> list[str]:
        beyond = [row for name in ("large", "sparse") for row in self.entries.get(name, [])]
        if not beyond:
            return []
        drawn = {(row[0].row.network, row[0].column.p) for row in beyond}
        lines: dict[str, dict[str, tuple[str, Points]]] = {}
        for entry in itertools.chain(*self._at_table_sizes(), *beyond):
            network, p = entry.row.network, entry.column.p
            if (network, p) in drawn:
                named = self._label(network), {}
                _, points = lines.setdefault(p, {}).setdefault(network, named)
                share = entry.first.accuracy
                low, high = wilson(share, entry.column.extent.graphs)
                points[entry.column.scale] = share, low, high
        plots.plot_scales(lines, self._files("sizes"))
        return [_told("sizes"), self._image("sizes", "Accuracy over size")]

    def _trainings(self) -> list[str]:
        if self.plan.is_quick:
            return []
        body = []
        for network in self.plan.networks:
            seeds = self.results.seeds[network]
            lengths = [seed.num_epochs for seed in seeds]
            body.append(
                [
                    self._label(network),
                    f"`{network}`",
                    " to ".join(map(str, sorted({min(lengths), max(lengths)}))),
                    ", ".join(str(seed.epoch("execution")) for seed in seeds),
                    ", ".join(str(seed.epoch("paper")) for seed in seeds),
                ]
            )
        head = [
            "network", "folder", "epochs trained", "chosen epoch of each seed",
            "epoch by the paper's rule",
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
        return [_told("trainings"), markdown(head, body), "Each by itself:", _shell(*commands)]


def _wrapped(text: str) -> str:
    """Rewrap plain text; tables, code, headings and images stay as they are."""
    found: list[str] = []
    for block in text.split("\n\n"):
        if block.startswith(("|", "#", "!", "```")):
            found.append(block)
            continue
        lines: list[str] = []
        for item in re.split(r"\n(?=- )", block):
            indent = "  " if item.startswith("- ") else ""
            words = " ".join(item.split())
            lines += textwrap.wrap(
                words, WIDTH, subsequent_indent=indent,
                break_on_hyphens=False, break_long_words=False,
            )  # fmt: skip
        found.append("\n".join(lines))
    return "\n\n".join(found) + "\n"


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
    first = " From 16x on only the network that ships is run."
    has_first = any(column.who == "first" for column in section.columns)
    return "; ".join(told) + "." + (first if has_first else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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


def times_text(times: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    """Return the page that says on what machines and how long everything ran.

    `names` holds the names of networks that are not called after their folder.
    """
    tasks = [told for told in times if told["what"] != "sitting"]
    machines = Counter(tuple(told["machine"].items()) for told in tasks)
    described = [
        f"- {', '.join(f'{name} {value}' for name, value in machine)}: {_count(count, 'task')}"
        for machine, count in machines.items()
    ]
    groups: dict[tuple[bool, str, str, int], list[dict[str, Any]]] = {}
    for told in tasks:
        key = told["what"] == "part", told["network"], told.get("p", ""), told.get("scale", 0)
        groups.setdefault(key, []).append(told)
    body = []
    for (is_part, network, p, scale), alike in sorted(groups.items()):
        what, graphs = ("evaluation", f"{scale}x, p = {p}") if is_part else ("training", "–")
        epochs = "–" if is_part else str(sum(told["epochs"] for told in alike))
        seconds = f"{sum(told['seconds'] for told in alike):,.1f}"
        body.append([what, names.get(network, network), graphs, str(len(alike)), epochs, seconds])
    total = sum(told["seconds"] for told in tasks)
    ended = [told for told in times if told["what"] == "sitting"]
    sittings = [
        [
            str(n),
            told["ended"],
            str(told["slots"]),
            str(told["tasks"]),
            f"{told['seconds'] / 60:.1f}",
        ]
        for n, told in enumerate(ended, 1)
    ]
    blocks = [
        "# Hardware and time",
        "\n".join(described),
        "Seconds of tasks, each on one core (or its share of a GPU), added up.",
        markdown(["what", "network", "graphs", "tasks", "epochs", "seconds"], body),
        f"All tasks: {total:,.0f} s, that is {total / 3600:.2f} hours of one core.",
        "Wall time of each sitting; one that was killed left no line.",
        markdown(["sitting", "ended", "side by side", "tasks", "minutes"], sittings),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def write_report(
    folder: Path, plan: Plan, results: Results, times: Sequence[dict[str, Any]]
) -> None:
    """Write report, plots and times into a run folder."""
    report = Report(folder, plan, results)
    write_whole(folder / "report.md", report.text())
    write_whole(folder / PLOTS / TRAININGS, trainings_text(results))
    names = {
        network: f"{network} ({', '.join(changed)})"
        for network, changed in report.changed.items()
        if changed
    }
    if times:
        write_whole(folder / PLOTS / "times.md", times_text(times, names))
