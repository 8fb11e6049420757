"""Numbers become plots, as PNG, SVG and PDF; the same numbers give the same bytes.

Colours are those of Okabe and Ito, distinguishable with any kind of colour vision; lines differ in
marker or dash too. A solver has one colour in every plot. Every mean is drawn with an interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.errors import InputError
from augury.experiments.summary import Points, over_seeds
from augury.extras import needs
from augury.files import atomic_file

LOOKS = {
    "paper-mpnn": ("#0072B2", "o"),
    "paper-pna": ("#CC79A7", "D"),
    "paper-pna-nostd": ("#D55E00", "s"),
    "paper-pna-nostd-no-extra": ("#E69F00", "v"),
    "discrete": ("#009E73", "^"),
    "classical": ("#000000", "x"),
    "table": ("#009E73", "^"),
    "certified": ("#0B5D45", "v"),
    "lookup": ("#56B4E9", "o"),
    "plain": ("#0072B2", "s"),
    "fast": ("#004B75", "D"),
    "SciPy": ("#D55E00", "P"),
    "igraph": ("#E69F00", "X"),
    "OR-Tools": ("#CC79A7", "*"),
    "NetworkX": ("#7F7F7F", "d"),
    # In `augury bench`
    "table, certified": ("#0B5D45", "v"),
    "solve, table": ("#0B5D45", "v"),
    "SciPy, block diagonal": ("#D55E00", "P"),
    "SciPy, one by one": ("#E69F74", "P"),
    "SciPy maximum_flow": ("#7A3600", "h"),
    "OR-Tools maximum flow": ("#CC79A7", "*"),
    "NetworkX hopcroft_karp": ("#7F7F7F", "d"),
    "NetworkX maximum_flow": ("#BBBBBB", "H"),
}
"""Colour and marker of each network and contestant; `look` picks those of others."""
OTHER_COLOURS = ("#56B4E9", "#F0E442", "#882255", "#44AA99", "#999933", "#AA4499")
OTHER_MARKERS = "<>hpHd"
STYLE: dict[str, Any] = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "augury",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""By form: what would differ from one drawing to the next."""


def look(name: str) -> tuple[str, str]:
    """Return a solver's colour and marker, the same wherever it is drawn."""
    if name in LOOKS:
        return LOOKS[name]
    place = sum(name.encode())
    return OTHER_COLOURS[place % len(OTHER_COLOURS)], OTHER_MARKERS[place % len(OTHER_MARKERS)]


@dataclass(frozen=True)
class Curve:
    """A network in each epoch: a row for each seed, as long as that seed was trained."""

    network: str
    label: str
    accuracy: Sequence[npt.NDArray[np.float64]]
    """The first is the network that ships."""
    flow_error: Sequence[npt.NDArray[np.float64]]
    chosen: int
    """Its chosen epoch."""


@dataclass(frozen=True)
class Spread:
    """The accuracies of a network's seeds at one size, first that of the network that ships."""

    network: str
    label: str
    accuracy: npt.NDArray[np.float64]
    paper: float | None


@contextmanager
def _drawn(files: Sequence[Path], *shape: int, **more: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a plot and its panels; then write it to files, in the format of each one's suffix."""
    for path in files:
        if path.suffix[1:] not in METADATA:
            raise InputError(f"{path}: a plot is a file in {', '.join(METADATA)}")
    with needs("drawing"):
        import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = STYLE  # its keys are checked by matplotlib, not by type
    with matplotlib.rc_context(style):
        plot, panels = pyplot.subplots(*shape, **more)
        yield plot, panels
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            kind = path.suffix[1:]
            with atomic_file(path) as file:
                plot.savefig(file, format=kind, dpi=160, metadata=METADATA[kind])
        pyplot.close(plot)


def every_form(folder: Path, name: str) -> list[Path]:
    """Return the files of a plot in each form."""
    return [folder / f"{name}.{kind}" for kind in METADATA]


def _quartiles(rows: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Return the quarter and three-quarter values in each epoch that enough seeds reached."""
    longest = sorted(map(len, rows))[-min(ENOUGH, len(rows))]
    return np.array(
        [
            np.quantile([row[epoch] for row in rows if epoch < len(row)], [0.25, 0.75])
            for epoch in range(longest)
        ]
    ).T


def _lowest(values: Sequence[float]) -> float:
    """Return where a percentage axis begins, so that its lower part is not empty."""
    return float(max(0.0, 5 * np.floor(min(values) / 5 - 0.01)))


ENOUGH = 5
"""The fewest seeds that a band is drawn from."""
SETTLED = 3
"""The first epochs, whose accuracies may lie below the plot."""


def plot_curves(curves: Sequence[Curve], scale: int, files: Sequence[Path]) -> None:
    """Draw accuracy and flow error over epochs, as the paper's Figures 2 and 3."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    shape: dict[str, Any] = {"figsize": (6.4, 5.2), "sharex": True, "height_ratios": (3, 2)}
    with _drawn(files, 2, 1, **shape) as (plot, (above, below)):
        above.xaxis.set_major_locator(MaxNLocator(integer=True))
        shown: list[float] = []
        highest = 0.0
        for curve in curves:
            colour, marker = look(curve.network)
            for panel, rows in (
                (above, [100 * row for row in curve.accuracy]),
                (below, curve.flow_error),
            ):
                low, high = _quartiles(rows)
                reached = np.arange(len(low))
                panel.fill_between(reached, low, high, color=colour, alpha=0.18, linewidth=0)
                panel.plot(np.arange(len(rows[0])), rows[0], color=colour, linewidth=1.8)
                panel.plot(
                    curve.chosen, rows[0][curve.chosen], marker, color=colour,
                    markersize=8, markeredgecolor="black",
                )  # fmt: skip
                settled = min(SETTLED, len(rows[0]) - 1)
                if panel is above:
                    shown += [*low[settled:], *rows[0][settled:]]
                else:
                    highest = max(highest, *high[settled:], *rows[0][settled:])
        low = _lowest(shown)
        above.set(
            ylabel=f"maximum flow found, {scale}x (%)", ylim=(low, 100 + 0.04 * (100 - low)),
            xlim=(0, None),
        )  # fmt: skip
        below.set(xlabel="epoch", ylabel="flow error (pairs)", ylim=(0, 1.06 * highest or 1.0))
        handles: list[Any] = [
            Line2D([], [], color=look(curve.network)[0], linewidth=1.8, label=curve.label)
            for curve in curves
        ]
        handles += [
            Patch(color="#bbbbbb", label="middle half of the seeds"),
            Line2D([], [], color="#bbbbbb", marker="o", markeredgecolor="black", linestyle="",
                   label="chosen epoch"),
        ]  # fmt: skip
        plot.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=10)


FAR = 90.0
"""Per cent below which a seed or the paper is an arrow: to scale, it would squash the rest."""


def plot_seeds(spreads: Mapping[int, Sequence[Spread]], files: Sequence[Path]) -> None:
    """Draw the accuracy of every seed: a panel for each size, a column for each network."""
    from matplotlib.lines import Line2D

    size = 1.2 + 2.4 * len(spreads), 4.2
    with _drawn(files, 1, len(spreads), figsize=size, squeeze=False) as (plot, panels):
        shown: dict[str, Any] = {}
        for panel, (scale, row) in zip(panels[0], spreads.items(), strict=True):
            seen = [value for spread in row for value in (*100 * spread.accuracy, spread.paper)]
            bottom = min(
                [99.0, *(np.floor(value) for value in seen if value is not None and value >= FAR)]
            )
            has_arrow = any(value is not None and value < FAR for value in seen)
            room = 0.3 if has_arrow else 0.02
            ends = bottom - room * (100 - bottom), 100 + 0.04 * (100 - bottom)
            for place, spread in enumerate(row):
                shown[spread.label] = _draw_spread(panel, place, spread, ends)
            panel.set(title=f"{scale}x", xticks=[], xlim=(-0.6, len(row) - 0.4), ylim=ends)
        panels[0][0].set_ylabel("maximum flow found (%)")
        handles = [*shown.values()]
        if any(spread.paper is not None for row in spreads.values() for spread in row):
            handles.append(Line2D([], [], color="black", linewidth=2, label="the paper's network"))
        handles += [
            Line2D([], [], color="none", marker="o", markeredgecolor="black", markersize=8,
                   label="the seed that ships"),
            Line2D([], [], color="#666666", marker="o", markersize=3, label="mean, 95 %"),
        ]  # fmt: skip
        plot.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=10)


def _draw_spread(panel: Any, place: int, spread: Spread, ends: tuple[float, float]) -> Any:
    """Draw the seeds of one network, their mean with its interval, and the paper's figure."""
    low, high = ends
    percent, count = 100 * spread.accuracy, len(spread.accuracy)
    colour, marker = look(spread.network)
    # Side by side in the order of seeds, so that equal accuracies stay visible.
    aside = np.linspace(-0.28, 0.28, count) if count > 1 else np.zeros(1)
    inside = percent >= low
    (dots,) = panel.plot(
        place + aside[inside], percent[inside], marker, color=colour, markersize=5,
        alpha=0.6, clip_on=False, label=spread.label,
    )  # fmt: skip
    below = [f"{value:.0f}" for value in percent[~inside]]
    if inside[0]:
        panel.plot(
            place + aside[0], percent[0], marker, color="none", markeredgecolor="black",
            markersize=8, clip_on=False,
        )  # fmt: skip
    if count > 1:
        told = over_seeds(spread.accuracy)
        mean, interval = 100 * told["seed_mean"], 100 * np.array(told["seed_interval"])
        bar = np.clip(interval, low, high)
        panel.plot([place + 0.38] * 2, bar, color="#666666", marker="_", linewidth=1.2)
        if mean >= low:
            panel.plot(place + 0.38, mean, "o", color="#666666", markersize=3)
    step = 0.12 * (high - low)
    if spread.paper is not None and spread.paper >= low:
        panel.hlines(spread.paper, place - 0.4, place + 0.3, color="black", linewidth=2)
    elif spread.paper is not None:
        panel.annotate(
            f"{spread.paper:g}", (place - 0.2, low), (place - 0.2, low + step),
            ha="center", fontsize=9, arrowprops={"arrowstyle": "->"},
        )  # fmt: skip
    if below:
        panel.annotate(
            ", ".join(below), (place + 0.2, low), (place + 0.2, low + 2 * step), color=colour,
            ha="center", fontsize=9, arrowprops={"arrowstyle": "->", "color": colour},
        )  # fmt: skip
    return dots


def plot_scales(
    lines: Mapping[str, Mapping[str, tuple[str, Points]]], files: Sequence[Path]
) -> None:
    """Draw accuracy over size: a panel for each density, a line for each network.

    `lines` holds, by density and network, the label and the accuracy at each scale.
    """
    size = 1.4 + 3.6 * len(lines), 3.9
    shape: dict[str, Any] = {"figsize": size, "sharey": True, "squeeze": False}
    with _drawn(files, 1, len(lines), **shape) as (plot, panels):
        handles: dict[str, Any] = {}
        ends = [
            low
            for row in lines.values()
            for _, points in row.values()
            for _, low, _ in points.values()
        ]
        bottom = _lowest([100 * end for end in ends])
        for panel, (p, row) in zip(panels[0], lines.items(), strict=True):
            scales = sorted({scale for _, points in row.values() for scale in points})
            for number, (network, (label, points)) in enumerate(row.items()):
                at = sorted(points)
                share, low, high = 100 * np.array([points[scale] for scale in at]).T
                colour, marker = look(network)
                # Slightly apart, so that equal intervals stay visible.
                aside = 0.12 * (number - (len(row) - 1) / 2)
                handles[label] = panel.errorbar(
                    [scales.index(scale) + aside for scale in at], share,
                    np.maximum([share - low, high - share], 0), marker=marker, color=colour,
                    linewidth=1.8, elinewidth=1.0, capsize=2.5, label=label, clip_on=False,
                )  # fmt: skip
            panel.set(
                title=f"p = {p}", xlabel="scale (1 is 8 + 8 nodes)",
                ylim=(bottom, 100 + 0.04 * (100 - bottom)),
                xticks=range(len(scales)), xticklabels=scales,
            )  # fmt: skip
        panels[0][0].set_ylabel("maximum flow found (%)")
        plot.legend(handles=[*handles.values()], loc="outside upper center", ncols=3, fontsize=10)


BENCH_STYLES = {"table": "-", "network": "--", "peer": ":"}
"""The line of each kind of contestant: compiled, evaluated or looked up, or not ours."""

LEAST = {"seconds": 1e-9, "bytes": 4096}
"""Less cannot be measured (memory comes in pages) or drawn."""


def plot_bench(batches: list[dict[str, Any]], growth: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel for each density, and two for the growth with the edges."""
    densities = list(dict.fromkeys(record["density"] for record in batches))
    count = len(densities) + 2 * bool(growth)
    shape: dict[str, Any] = {"figsize": (4.6 * count, 4.8), "squeeze": False}
    with _drawn([path], 1, count, **shape) as (drawing, panels):
        _draw_bench(drawing, panels, batches, growth)


def _draw_bench(
    drawing: Any, panels: Any, batches: list[dict[str, Any]], growth: list[dict[str, Any]]
) -> None:
    densities = list(dict.fromkeys(record["density"] for record in batches))
    for panel, density in zip(panels[0], densities, strict=False):
        for name in dict.fromkeys(record["name"] for record in batches):
            rows = [r for r in batches if r["name"] == name and r["density"] == density]
            sizes, speeds = [r["n"] for r in rows], [r["per_second"] for r in rows]
            colour, marker = look(name)
            style = BENCH_STYLES[rows[0]["kind"]] + marker
            panel.loglog(sizes, speeds, style, markersize=4, label=name, color=colour)
            panel.set_xticks(sizes, [str(size) for size in sizes], minor=False)
            panel.set_xticks([], minor=True)
        panel.set(title=f"p = {density}", xlabel="nodes a side", ylabel="graphs a second")
    if batches:
        lines, names = panels[0][0].get_legend_handles_labels()
        drawing.legend(lines, names, loc="outside lower center", ncols=6, fontsize="small")
    axes = (("seconds", "CPU seconds"), ("bytes", "bytes beyond the graph"))
    for panel, (field, title) in zip(panels[0][len(densities) :], axes, strict=False):
        for name in dict.fromkeys(record["name"] for record in growth):
            rows = [record for record in growth if record["name"] == name]
            values = [max(record[field], LEAST[field]) for record in rows]
            style = ":" if name == "SciPy" else "--" if name == "lookup" else "-"
            edges, (colour, marker) = [r["edges"] for r in rows], look(name)
            panel.loglog(edges, values, style + marker, markersize=4, label=name, color=colour)
        panel.set(title="one sparse graph", xlabel="edges", ylabel=title)
        panel.legend(fontsize="x-small")
