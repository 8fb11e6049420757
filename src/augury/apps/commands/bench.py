"""The engines and their peers race: one run, one table, ratios."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from augury.apps.commands.terminal import print_table, say

EXAMPLES = (
    "Examples:  augury bench --quick  ·  augury bench --sizes 8,64 --batch 4096  ·  "
    "augury bench --out bench.json --plot bench.svg"
)

QUICK_SIZES = "8,64"
QUICK_EDGES = (1_000, 100_000)


def bench(
    sizes: Annotated[str, typer.Option(help="Nodes a side.")] = "8,16,32,64,256,1024",
    batch: Annotated[int, typer.Option(min=2, help="Graphs of each size and density.")] = 256,
    out: Annotated[Path | None, typer.Option(help="Write all records here, as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the figure here: .svg, .png.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two sizes, small graphs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time our engines beside SciPy, NetworkX, igraph and OR-Tools on the same dense arrays.

    Graphs a second end to end, by CPU time, all answers checked; ratios are to SciPy's one
    block-diagonal call. "table" is the compiled network, "plain" evaluates it at each step.
    """
    from augury.classical.formats import write_text
    from augury.classical.graph import InputError
    from augury.experiments.bench import machine, measure_batches, measure_growth
    from augury.experiments.plot_bench import plot as draw

    try:
        sides = [int(size) for size in (QUICK_SIZES if quick else sizes).split(",")]
    except ValueError:
        raise InputError(f"--sizes is {sizes!r}, but must be whole numbers with commas") from None
    if min(sides) < 1:
        raise InputError(f"--sizes is {sizes!r}, but a side has at least one node")
    batches = list(measure_batches(sides, batch, seconds=0.5 if quick else 2.0))
    growth = list(measure_growth(QUICK_EDGES) if quick else measure_growth())
    told = {"machine": machine(), "batches": batches, "growth": growth}
    if out is not None:
        write_text(out, json_text.dumps(told, indent=1) + "\n")
    if plot is not None:
        draw(batches, growth, plot)
    if json:
        print(json_text.dumps(told))
        return
    say(", ".join(f"{key} {value}" for key, value in told["machine"].items()))
    rows = [
        (
            str(record["n"]),
            record["density"],
            record["name"],
            record["kind"],
            f"{record['per_second']:,.0f}",
            f"{record['ratio']:.3g}",
        )
        for record in batches
    ]
    print_table(("n", "p", "engine", "kind", "graphs/s", "times SciPy"), rows)
    rows = [
        (
            f"{record['edges']:,}",
            str(record["rounds"]),
            f"{1e3 * record['seconds']:.2f}",
            f"{1e3 * record['scipy_seconds']:.2f}",
            f"{record['ratio']:.2f}",
            f"{record['bytes'] / 1e6:.1f}",
        )
        for record in growth
    ]
    print_table(("edges", "rounds", "table ms", "SciPy ms", "times SciPy", "MB"), rows)
