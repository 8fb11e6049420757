"""Numbers become plots, each as PNG and as SVG; the same numbers give the same bytes.

Colours are those of Okabe and Ito, distinguishable with any kind of colour vision; lines differ in
marker or dash too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.extras import needs
from augury.files import atomic_file

LOOKS = {
    "paper-mpnn": ("#0072B2", "o"),
    "paper-pna": ("#CC79A7", "D"),
    "paper-pna-nostd": ("#D55E00", "s"),
    "paper-pna-nostd-no-extra": ("#E69F00", "v"),
    "discrete": ("#009E73", "^"),
}
"""Colour and marker of each network."""
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
}


@dataclass(frozen=True)
class Curve:
    """A network in each epoch: a row for each seed, as long as that seed was trained."""

    network: str
    label: str
    accuracy: Sequence[npt.NDArray[np.float64]]
    flow_error: Sequence[npt.NDArray[np.float64]]
    best: int
    """Which row is the best-validated network."""
    best_epoch: int
    """Its chosen epoch."""


@dataclass(frozen=True)
class Spread:
    """The accuracies of a network's seeds at one size."""

    network: str
    label: str
    accuracy: npt.NDArray[np.float64]
    best: int
    paper: float | None


@contextmanager
def _drawn(folder: Path, name: str, *shape: int, **more: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a plot and its panels; then write it in both forms, without dates and versions."""
    with needs("drawing"):
        import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = STYLE  # its keys are checked by matplotlib, not by type
    without: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}}
    with matplotlib.rc_context(style):
        plot, panels = pyplot.subplots(*shape, **more)
        yield plot, panels
        folder.mkdir(parents=True, exist_ok=True)
        for kind, metadata in without.items():
            with atomic_file(folder / f"{name}.{kind}") as file:
                plot.savefig(file, format=kind, dpi=160, metadata=metadata)
        pyplot.close(plot)


def _quartiles(rows: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Return the quarter and three-quarter values in each epoch, of the seeds that reached it."""
    longest = max(map(len, rows))
    return np.array(
        [
            np.quantile([row[epoch] for row in rows if epoch < len(row)], [0.25, 0.75])
            for epoch in range(longest)
        ]
    ).T


def plot_curves(curves: Sequence[Curve], scale: int, folder: Path, name: str) -> None:
    """Draw accuracy (solid) and flow error (dashed) over epochs, as the paper's Figures 2 and 3."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    with _drawn(folder, name, figsize=(6.4, 4.0)) as (plot, left):
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        right = left.twinx()
        right.grid(visible=False)
        right.spines["right"].set_visible(True)
        top = 0.0
        for curve in curves:
            colour, marker = LOOKS[curve.network]
            accuracy, error = 100 * curve.accuracy[curve.best], curve.flow_error[curve.best]
            epochs = np.arange(len(accuracy))
            if len(curve.accuracy) > 1:
                low, high = 100 * _quartiles(curve.accuracy)
                reached = np.arange(len(low))
                left.fill_between(reached, low, high, color=colour, alpha=0.16, linewidth=0)
            left.plot(epochs, accuracy, color=colour, linewidth=1.8, label=curve.label)
            right.plot(epochs, error, color=colour, linewidth=1.4, linestyle=(0, (4, 2)))
            left.plot(
                curve.best_epoch, accuracy[curve.best_epoch], marker, color=colour,
                markersize=8, markeredgecolor="black",
            )  # fmt: skip
            top = max(top, float(error.max()))
        left.set(
            xlabel="epoch",
            ylabel=f"maximum flow found, {scale}x (%)",
            ylim=(-2, 104),
            xlim=(0, None),
        )
        right.set(ylabel="mean absolute flow error (pairs)", ylim=(-0.02 * top, 1.04 * top or 1.0))
        handles = [*left.get_legend_handles_labels()[0]]
        handles += [
            Line2D([], [], color="#444444", linewidth=1.8, label="accuracy"),
            Line2D([], [], color="#444444", linestyle=(0, (4, 2)), label="flow error"),
            Line2D([], [], color="#bbbbbb", marker="o", markeredgecolor="black", linestyle="",
                   label="chosen epoch"),
        ]  # fmt: skip
        plot.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=10)


def plot_seeds(spreads: Mapping[int, Sequence[Spread]], folder: Path, name: str) -> None:
    """Draw the accuracy of every seed: a panel for each size, a column for each network."""
    from matplotlib.lines import Line2D

    size = 1.2 + 2.1 * len(spreads), 4.2
    shape: dict[str, Any] = {"figsize": size, "sharey": True, "squeeze": False}
    with _drawn(folder, name, 1, len(spreads), **shape) as (plot, panels):
        shown: dict[str, Any] = {}
        seen = [100 * spread.accuracy.min() for row in spreads.values() for spread in row]
        low = min(90.0, 10 * np.floor(min(seen) / 10))
        low, high = low - 0.02 * (100 - low), 100 + 0.04 * (100 - low)
        for panel, (scale, row) in zip(panels[0], spreads.items(), strict=True):
            for place, spread in enumerate(row):
                count = len(spread.accuracy)
                # Side by side in the order of seeds, so that equal accuracies stay visible.
                aside = np.linspace(-0.28, 0.28, count) if count > 1 else np.zeros(1)
                colour, marker = LOOKS[spread.network]
                (dots,) = panel.plot(
                    place + aside, 100 * spread.accuracy, marker, color=colour, markersize=5,
                    alpha=0.75, clip_on=False, label=spread.label,
                )  # fmt: skip
                panel.plot(
                    place + aside[spread.best], 100 * spread.accuracy[spread.best], marker,
                    color="none", markeredgecolor="black", markersize=8, clip_on=False,
                )  # fmt: skip
                if spread.paper is not None and spread.paper >= low:
                    panel.hlines(spread.paper, place - 0.4, place + 0.4, color="black", linewidth=2)
                elif spread.paper is not None:
                    # Far below all of ours: drawn to scale it would press them together.
                    panel.annotate(
                        f"{spread.paper:g}", (place, low), (place, low + 0.12 * (high - low)),
                        ha="center", fontsize=9, arrowprops={"arrowstyle": "->"},
                    )  # fmt: skip
                shown[spread.label] = dots
            panel.set(title=f"{scale}x", xticks=[], xlim=(-0.6, len(row) - 0.4), ylim=(low, high))
        panels[0][0].set_ylabel("maximum flow found (%)")
        handles = [*shown.values()]
        if any(spread.paper is not None for row in spreads.values() for spread in row):
            handles.append(Line2D([], [], color="black", linewidth=2, label="the paper's network"))
        handles += [
            Line2D([], [], color="none", marker="o", markeredgecolor="black", markersize=8,
                   label="best-validated seed"),
        ]  # fmt: skip
        plot.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=10)


def plot_scales(
    lines: Mapping[str, Mapping[str, tuple[str, dict[int, float]]]], folder: Path, name: str
) -> None:
    """Draw accuracy over size: a panel for each density, a line for each network.

    `lines` holds by density and by network its label and its accuracy at each scale.
    """
    size = 1.0 + 3.6 * len(lines), 3.9
    shape: dict[str, Any] = {"figsize": size, "sharey": True, "squeeze": False}
    with _drawn(folder, name, 1, len(lines), **shape) as (plot, panels):
        handles: dict[str, Any] = {}
        for panel, (p, row) in zip(panels[0], lines.items(), strict=True):
            scales = sorted({scale for _, points in row.values() for scale in points})
            for network, (label, points) in row.items():
                at = sorted(points)
                colour, marker = LOOKS[network]
                (handles[label],) = panel.plot(
                    [scales.index(scale) for scale in at],
                    [100 * points[scale] for scale in at],
                    marker=marker, color=colour, linewidth=1.8, label=label,
                    clip_on=False,
                )  # fmt: skip
            panel.set(
                title=f"p = {p}", xlabel="scale (1 is 8 + 8 nodes)", ylim=(-2, 104),
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
    with needs("drawing"):
        import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    densities = list(dict.fromkeys(record["density"] for record in batches))
    drawing, panels = plt.subplots(
        1,
        len(densities) + 2 * bool(growth),
        figsize=(4.6 * (len(densities) + 2 * bool(growth)), 4.8),
        squeeze=False,
        layout="constrained",
    )
    colours = plt.get_cmap("tab20").colors  # type: ignore[reportAttributeAccessIssue]
    for panel, density in zip(panels[0], densities, strict=False):
        for colour, name in enumerate(dict.fromkeys(record["name"] for record in batches)):
            rows = [r for r in batches if r["name"] == name and r["density"] == density]
            sizes, speeds = [r["n"] for r in rows], [r["per_second"] for r in rows]
            style = BENCH_STYLES[rows[0]["kind"]]
            panel.loglog(sizes, speeds, style, marker=".", label=name, color=colours[colour])
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
            panel.loglog([r["edges"] for r in rows], values, style, marker=".", label=name)
        panel.set(title="one sparse graph", xlabel="edges", ylabel=title)
        panel.legend(fontsize="x-small")
    with atomic_file(path) as file:
        drawing.savefig(file, format=path.suffix.removeprefix("."), dpi=120)
    plt.close(drawing)
