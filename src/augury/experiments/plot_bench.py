"""Records of a benchmark become a plot: graphs a second by size; time and memory by edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augury.files import atomic_file

Record = dict[str, Any]
STYLES = {"table": "-", "network": "--", "peer": ":"}
"""The line of each kind of contestant: compiled, evaluated or looked up, or not ours."""

LEAST = {"seconds": 1e-9, "bytes": 4096}
"""Less cannot be measured (memory comes in pages) or drawn."""


def plot(batches: list[Record], growth: list[Record], path: Path) -> None:
    """Draw one panel for each density, and two for the growth with the edges."""
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
            style = STYLES[rows[0]["kind"]]
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
