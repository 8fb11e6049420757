"""Engines and their peers race in one run, and become a table of ratios."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from augury.apps.commands.terminal import (
    print_table,
    refuse_missing_folders,
    refuse_overwriting,
    say,
)

EXAMPLES = (
    "Examples:  augury bench --quick  ·  augury bench --sizes 8,64 --batch 4096  ·  "
    "augury bench --out bench.json --plot bench.svg  ·  augury bench assignments --quick"
)

QUICK_SIZES, QUICK_EDGES = "8,64", "1000,100000"
QUICK_CELLS = 2**22

PLOT_ENDINGS = (".svg", ".png", ".pdf")

BATCHES = {
    "n": "{n}", "p": "{density}", "engine": "{name}", "kind": "{kind}",
    "graphs/s": "{per_second:,.0f}", "times SciPy": "{ratio:.3g}",
}  # fmt: skip
THREADS = {
    "n": "{n}", "p": "{density}", "batch": "{batch:,}", "table, 2 threads": "{per_second:,.0f}",
    "times one": "{speedup:.2f}", "CPU times one": "{cpu:.2f}",
}  # fmt: skip
GROWTH = {
    "edges": "{edges:,}", "one graph": "{name}", "CPU ms": "{ms:.2f}",
    "times SciPy": "{ratio:.3g}", "MB for it": "{MB:.1f}", "MB in all": "{peak_MB:.0f}",
}  # fmt: skip
SINGLE = {
    "graph": "{what}", "costs": "{family}", "ms": "{ms:,.1f}", "peer": "{peer}",
    "times faster": "{faster}",
}  # fmt: skip
"""The columns of the tables, and how each is made of a record."""


def bench(  # noqa: PLR0913  # one parameter for each option
    what: Annotated[
        str, typer.Argument(metavar="[matchings|assignments|costs|flows]", help="What is solved.")
    ] = "matchings",
    sizes: Annotated[str, typer.Option(help="Nodes a side.")] = "8,16,32,64,256,1024",
    batch: Annotated[int, typer.Option(min=2, help="Graphs of each size and density.")] = 256,
    edges: Annotated[
        str, typer.Option(help="Edges of one sparse graph, ten to a node.")
    ] = "1000,10000,100000,1000000",
    cells: Annotated[
        int, typer.Option(min=1, help="Cells of the dense batches that two threads share.")
    ] = 2**25,
    arcs: Annotated[
        str | None,
        typer.Option(help="Arcs or edges of hard graphs.", show_default="4^4 to 4^10"),
    ] = None,
    families: Annotated[
        str | None, typer.Option(help="Families of hard graphs.", show_default="all")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="About how long one call may take; slow ones get fewer or smaller graphs.",
            show_default="2, of assignments 0.2, of flows 10",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "--output", help="Write all records here, as JSON.")
    ] = None,
    add: Annotated[
        bool,
        typer.Option("--add", help="Keep what --out has of other families: flows in several runs."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help=f"Draw the plot here: {', '.join(PLOT_ENDINGS)}.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measure nothing; print records of assignments or flows as Markdown.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and edges.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time our engines beside SciPy, NetworkX, igraph and OR-Tools on the same dense arrays.

    Graphs a second end to end, by CPU time, all answers checked; ratios are to SciPy's one
    block-diagonal call. "table" is the compiled network, "lookup" reads its table, "plain"
    evaluates it. Then what two threads save, and how time and memory grow with one graph.
    "assignments": dense ones in batches, beside lapx, SciPy and OR-Tools. "costs": large sparse
    ones, and flows of least cost.
    "flows": hard families of flows and matchings, each size four times the last, and how time
    grows with them.
    """
    from augury.errors import InputError

    def limit(default: float) -> float:
        return default if seconds is None else seconds

    refuse_missing_folders([out, plot])
    ways: dict[str, Callable[[Path | None, bool, bool], None]] = {
        "matchings": partial(_bench_matchings, sizes, batch, edges, cells, limit(2.0), plot),
        "assignments": partial(_bench_assignments, limit(0.2), markdown),
        "costs": _bench_costs,
        "flows": partial(_bench_flows, arcs, families, limit(10.0), markdown, add),
    }
    if what not in ways:
        raise InputError(f"{what!r} is not one of {', '.join(ways)}")
    ways[what](out, quick, json)


def _bench_matchings(  # noqa: PLR0913  # one parameter for each option
    sizes: str,
    batch: int,
    edges: str,
    cells: int,
    seconds: float,
    plot: Path | None,
    out: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    from augury.errors import InputError
    from augury.experiments.bench import machine, measure_batches, measure_ceilings, measure_threads
    from augury.experiments.growth import measure_growth
    from augury.experiments.plots import plot_bench as draw
    from augury.files import write_text

    refuse_overwriting([], {"--out": [out], "--plot": [plot]})
    if plot is not None and plot.suffix not in PLOT_ENDINGS:
        raise InputError(f"{plot}: the ending must be one of {', '.join(PLOT_ENDINGS)}")
    sides = _numbers("--sizes", QUICK_SIZES if quick else sizes)
    counts = _numbers("--edges", QUICK_EDGES if quick else edges)
    batches = list(measure_batches(sides, batch, seconds=seconds))
    small = [side for side in sides if side <= 64]
    shared = list(measure_threads(small, QUICK_CELLS if quick else cells))
    ceilings = list(measure_ceilings())
    growth = list(measure_growth(counts))
    told: dict[str, Any] = {"machine": machine(), "batches": batches, "threads": shared}
    told |= {"ceilings": ceilings, "growth": growth}
    if out is not None:
        write_text(out, json_text.dumps(told, indent=1) + "\n")
    if plot is not None:
        draw(batches, growth, plot)
    if as_json:
        print(json_text.dumps(told))
        return
    say(", ".join(f"{key} {value}" for key, value in told["machine"].items()))
    _print(BATCHES, batches)
    for record in shared:
        record["cpu"] = record["cpu_many"] / record["cpu_one"]
    _print(THREADS, shared)
    most = ", ".join(f"{record['name']} {record['speedup']:.2f}" for record in ceilings)
    say(f"two threads that share nothing: {most} times one")
    for record in growth:
        record |= {"ms": 1e3 * record["seconds"], "MB": record["bytes"] / 1e6}
        record |= {"peak_MB": record["peak_bytes"] / 1e6}
    _print(GROWTH, growth)


def _bench_assignments(
    seconds: float, markdown: Path | None, out: Path | None, quick: bool, as_json: bool
) -> None:
    from augury.experiments import bench_assignments as dense
    from augury.experiments.bench import machine
    from augury.files import write_text

    if markdown is not None:
        _print_markdown("assignments", markdown, dense.markdown)
        return
    sizes = dense.QUICK_SIZES if quick else dense.SIZES
    told: dict[str, Any] = {"machine": machine(), "peers": dense.versions(), "seed": dense.SEED}
    told |= {"sizes": sizes, "seconds": seconds}
    told["records"] = list(dense.measure_assignments(sizes, seconds))
    if out is not None:
        write_text(out, json_text.dumps(told, indent=1) + "\n")
    if as_json:
        print(json_text.dumps(told))
    else:
        print_table(dense.HEAD, list(dense.rows(told["records"])))


def _bench_costs(out: Path | None, quick: bool, as_json: bool) -> None:
    from augury.experiments.bench import machine
    from augury.experiments.bench_costs import measure_flows, measure_sparse
    from augury.files import write_text

    large = 10_000 if quick else 100_000
    told: dict[str, Any] = {"machine": machine()}
    for name, measure in (("sparse", measure_sparse), ("flows", measure_flows)):
        told[name] = list(measure(large))
        if not as_json:
            shown = [r | {"faster": f"{r['ratio']:.2f}" if r["ratio"] else "–"} for r in told[name]]
            _print(SINGLE, shown)
    if out is not None:
        write_text(out, json_text.dumps(told, indent=1) + "\n")
    if as_json:
        print(json_text.dumps(told))


def _bench_flows(  # noqa: PLR0913  # one parameter for each option
    arcs: str | None,
    families: str | None,
    seconds: float,
    markdown: Path | None,
    add: bool,
    out: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    from augury.experiments import bench_flows as hard
    from augury.experiments.bench import machine
    from augury.files import write_text

    if markdown is not None:
        _print_markdown("flows", markdown, hard.markdown)
        return
    counts = hard.QUICK_ARCS if quick else hard.ARCS
    counts = counts if arcs is None else _numbers("--arcs", arcs)
    names = list(hard.FAMILIES) if families is None else families.split(",")
    told: dict[str, Any] = {"machine": machine(), "peers": hard.versions()}
    told |= {"seed": hard.SEED, "seconds": seconds}
    records = _kept(out, told) if add and out is not None and out.exists() else []
    for family in hard.measure_flows(counts, names, seconds=seconds):
        records = hard.replaced(records, family)
        told["records"] = records
        if not as_json:
            print_table(hard.HEAD, list(hard.rows(family)))
            sys.stdout.flush()  # into a pipe as well: the next family may take minutes
        if out is not None:  # what is measured is kept, however the run ends
            write_text(out, json_text.dumps(told, indent=1) + "\n")
    if as_json:
        print(json_text.dumps(told))
    else:
        say(hard.verdict(records))


def _kept(path: Path, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a file, if they are of this version, machine and limit."""
    from augury.errors import InputError
    from augury.files import named

    with named(path):
        text = path.read_text(encoding="utf-8")
    try:
        before = json_text.loads(text)
        records = before.pop("records")
    except (ValueError, TypeError, LookupError, AttributeError):
        raise InputError(f"{path}: not the records of `augury bench flows --out`") from None
    other = [key for key, value in told.items() if before.get(key) != value]
    if other:
        raise InputError(f"{path}: these records have another {other[0]}; leave out --add")
    return records


def _print_markdown(what: str, path: Path, markdown: Callable[[Any], str]) -> None:
    from augury.errors import InputError
    from augury.files import named

    with named(path):
        text = path.read_text(encoding="utf-8")
    try:
        print(markdown(json_text.loads(text)["records"]))
    except (ValueError, TypeError, LookupError):
        raise InputError(f"{path}: not the records of `augury bench {what} --out`") from None


def _print(columns: dict[str, str], records: list[dict[str, Any]]) -> None:
    rows = [[form.format(**record) for form in columns.values()] for record in records]
    print_table(tuple(columns), rows)


def _numbers(option: str, text: str) -> list[int]:
    """Read whole numbers above 0, separated by commas."""
    from augury.errors import InputError

    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise InputError(f"{option} is {text!r}, but must be whole numbers above 0, with commas")
    return [int(part) for part in parts]
