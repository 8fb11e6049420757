"""Make the tables of docs/performance.md from the records in docs/results.

    python benchmarks/tables.py [--check]

A table stands between `<!-- table: NAME -->` and `<!-- end -->`, and nothing there is written by
hand. Ratios are to what ran in the same process. Where a measurement was repeated, its records are
NAME.json, NAME-2.json, NAME-3.json, and a figure is the range over them, least to greatest. A
table whose records are not there stays as it is. With `--check` nothing is written, and a page
that is not what the records say is an error.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from augury.experiments import bench_flows
from augury.experiments.report import markdown

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "docs" / "results"

Run = dict[str, Any]
"""What one run of a measurement left."""


def runs_of(name: str, folder: Path = RESULTS) -> list[Run]:
    """Read the records of a measurement, as many runs as there are."""
    paths = [folder / f"{name}.json", *sorted(folder.glob(f"{name}-[0-9].json"))]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def joined(measurements: Sequence[Sequence[Run]]) -> list[Run]:
    """Join the lists of several measurements, run by run, as if they were one."""
    found: list[Run] = []
    for runs in zip(*measurements, strict=False):
        lists = {key for run in runs for key, value in run.items() if isinstance(value, list)}
        both = {key: [record for run in runs for record in run.get(key, [])] for key in lists}
        found.append(runs[0] | both)
    return found


def spread(values: Iterable[float | None], form: str = "{:.1f}") -> str:
    """Write the range of some numbers, or the one number that they all come to.

    >>> spread([1.23, 1.31]), spread([2, 2.01]), spread([None])
    ('1.2–1.3', '2.0', '–')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    ends = [form.format(end) for end in (min(known), max(known))]
    return ends[0] if ends[0] == ends[1] else "–".join(ends)


def digits(value: float) -> str:
    """Write a number with two digits, or all that stand before the point.

    >>> [digits(x) for x in (0.00371, 0.0312, 0.5, 3.44, 24.9, 1204.4)]
    ['0.0037', '0.031', '0.50', '3.4', '25', '1,204']
    """
    return f"{value:,.{max(0, 1 - math.floor(math.log10(value)))}f}"


def ratios(values: Iterable[float | None]) -> str:
    """Write a range of ratios, two digits each."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    ends = [digits(end) for end in (min(known), max(known))]
    return ends[0] if ends[0] == ends[1] else "–".join(ends)


def _keyed(runs: Sequence[Run], part: str, *names: str) -> dict[tuple[Any, ...], list[Run]]:
    """Return the records of all runs by what they have in common, in the order of the first."""
    found: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        for record in run[part]:
            found.setdefault(tuple(record[name] for name in names), []).append(record)
    return found


def _each(records: Sequence[Run], name: str) -> list[Any]:
    return [record[name] for record in records]


SHOWN = {
    "table": "`table`",
    "table, certified": "certified",
    "lookup": "`lookup`",
    "plain": "`plain`",
    "OR-Tools maximum flow": "OR-Tools",
    "igraph": "igraph",
    "NetworkX hopcroft_karp": "NetworkX `hopcroft_karp`",
    "NetworkX maximum_flow": "NetworkX `maximum_flow`",
}
"""Contestants of the batches, and the heads of their columns."""


def batches(runs: Sequence[Run]) -> str:
    """Ratios to SciPy's one call, by size and density."""
    found = _keyed(runs, "batches", "n", "density", "name")
    rows = [
        [
            str(n),
            density,
            *(ratios(_each(found.get((n, density, name), []), "ratio")) for name in SHOWN),
            f"{found[n, density, 'table'][0]['per_second']:,.0f}",
        ]
        for n, density in dict.fromkeys(key[:2] for key in found)
    ]
    return markdown(["n", "p", *SHOWN.values(), "`table`, graphs a second"], rows)


def threads(runs: Sequence[Run]) -> str:
    """What two threads save the table engine."""
    rows = [
        [
            str(n),
            density,
            f"{batch:,}",
            spread(_each(records, "speedup"), "{:.2f}"),
            spread([r["cpu_many"] / r["cpu_one"] for r in records], "{:.2f}"),
            f"{records[0]['per_second']:,.0f}",
        ]
        for (n, density, batch), records in _keyed(runs, "threads", "n", "density", "batch").items()
    ]
    head = ["n", "p", "batch", "× one thread", "CPU seconds × one thread", "graphs a second"]
    return markdown(head, rows)


def growth(runs: Sequence[Run]) -> str:
    """Time and memory of one sparse graph."""
    found = _keyed(runs, "growth", "n", "name")
    names = list(dict.fromkeys(name for _, name in found))
    ours = [name for name in names if name != "SciPy"]
    rows = []
    for n in dict.fromkeys(n for n, _ in found):
        own = {name: found[n, name] for name in names}
        row = [f"{own['SciPy'][0]['edges']:,}"]
        for name in ours:
            row += [ratios(_each(own[name], "ratio")), f"{own[name][0]['bytes'] / 1e6:.1f} MB"]
        row += [f"{1e3 * own['SciPy'][0]['seconds']:.2f} ms"]
        rows.append([*row, f"{own['SciPy'][0]['bytes'] / 1e6:.1f} MB"])
    heads = [head for name in ours for head in (f"{_engine(name)} × SciPy", "")]
    return markdown(["edges", *heads, "SciPy", ""], rows)


def _engine(name: str) -> str:
    return ", ".join(f"`{part}`" for part in name.split(", "))


def hard(runs: Sequence[Run]) -> str:
    """The hard families: the times of the first run, and ratios of all in the last two columns."""
    texts = [bench_flows.markdown(run["records"]).splitlines() for run in runs]
    lines: list[str] = []
    for same in zip(*texts, strict=True):
        cells = [line.strip("| ").split(" | ") for line in same]
        if len(cells[0]) > 2 and cells[0][0] not in ("flow", "matching"):
            found = [
                [float(row[place]) for row in cells if row[place] != "–"] for place in (-2, -1)
            ]
            shown = [*cells[0][:-2], *(spread(numbers, "{:.2f}") for numbers in found)]
            lines.append(f"| {' | '.join(shown)} |")
        else:
            lines.append(same[0])
    return "\n".join(lines)


def operations(runs: Sequence[Run]) -> str:
    """What the loops for large flows do, by size."""
    rows = []
    for row in runs[0]["rows"]:
        looks = row["searched"] + row["scanned"] + row["rescanned"]
        size = f"{row['bytes'] / 1e6:.1f} MB"
        rows.append([row["family"], f"{row['arcs']:,}", size, f"{row['searches']:,}"])
        rows[-1] += [f"{looks / row['arcs']:.1f}", f"{row['pushes'] / row['arcs']:.2f}"]
    return markdown(["flow", "arcs", "memory", "searches", "looks an arc", "pushes an arc"], rows)


def evaluated(runs: Sequence[Run]) -> str:
    """The network itself, times SciPy; in brackets an example in milliseconds."""
    names = ("table", "lookup", "plain")
    rows = [
        [f"{name} ({pairs:,} pairs of arcs)", f"{digits(records[0]['SciPy'])} ms"]
        + [_beside(records, one, "SciPy") for one in names]
        for (name, pairs), records in _keyed(runs, "rows", "network", "pairs").items()
    ]
    return markdown(["network", "SciPy", *(f"`{name}`, × SciPy's time" for name in names)], rows)


def _beside(records: Sequence[Run], name: str, peer: str) -> str:
    """Write times as multiples of a peer's, and those of the first run."""
    times = ratios(record[name] / record[peer] for record in records)
    return f"{times} ({digits(records[0][name])} ms)"


def overhead(runs: Sequence[Run]) -> str:
    """All of `solve`: small graphs beside SciPy, large ones beside the kernel; then commands."""
    rows = [
        [name, _beside(records, "solve", "SciPy"), "SciPy"]
        for (name,), records in _keyed(runs, "small", "input").items()
    ]
    rows += [
        [f"{name}, {arcs:,}", _beside(records, "solve", "kernel"), "its kernel"]
        for (name, arcs), records in _keyed(runs, "large", "input", "arcs").items()
    ]
    own = markdown(["input", "`solve`, × the time of what is beside it", "beside"], rows)
    lasting = {
        f"`{name}`" if part == "commands" else f"reading {name}": records
        for part, key in (("commands", "command"), ("files", "file"))
        for (name,), records in _keyed(runs, part, key).items()
    }
    rows = [[name, spread(_each(own, "seconds"), "{:.2f}")] for name, own in lasting.items()]
    return f"{own}\n\n{markdown(['command, or file of a million edges', 'CPU seconds'], rows)}"


def forms(runs: Sequence[Run]) -> str:
    """Batches in every form, times the peer in a loop."""
    rows = [
        [
            name,
            *(ratios(r[one] / r["peer"] for r in records) for one in ("solved", "read")),
            f"{records[0]['solved']:,.0f}",
            f"{by} {records[0]['peer']:,.0f}",
        ]
        for (name, by), records in _keyed(runs, "rows", "form", "by").items()
    ]
    head = ["form", "`solve_batch` × peer", "read × peer", "`solve_batch`, a second"]
    return markdown([*head, "peer, a second"], rows)


def assignments(runs: Sequence[Run]) -> str:
    """Stacks of cost matrices, times lapx: integers, then float32."""
    found = _keyed(runs, "records", "n", "family", "type")
    families = list(dict.fromkeys(family for _, family, _ in found))
    rows = [
        [str(n), *(" / ".join(_over_lapx(found[n, own, k]) for k in KINDS) for own in families)]
        for n in dict.fromkeys(n for n, _, _ in found)
    ]
    return markdown(["n", *families], rows)


KINDS = "int64", "float32"


def _over_lapx(records: Sequence[Run]) -> str:
    return ratios(record["ratio"]["lapjvr_batch"] for record in records)


def one_with_costs(runs: Sequence[Run]) -> str:
    """Large assignments and flows, beside OR-Tools."""
    rows = []
    for part in ("sparse", "flows"):
        for (what, family), records in _keyed(runs, part, "what", "family").items():
            words = what.removeprefix("a ").removesuffix(" with costs")
            times = [record["ratio"] for record in records]
            told = ratios(times) if any(times) else "has no form of it"
            rows.append([words, family.replace("10^6", "10⁶"), told, f"{records[0]['ms']:,.0f}"])
    return markdown(["one graph", "family", "OR-Tools takes, × ours", "ms"], rows)


FAMILIES = {"rank-one": "rank one and noise", "ties": "ties 0 to 9"}
STAGES = [
    (64, 64, "uniform"),
    (128, 128, "uniform"),
    (128, 128, "ties"),
    (300, 300, "uniform"),
    (300, 300, "rank-one"),
    (300, 300, "ties"),
]
"""The shapes and costs of which the page tells the stages."""


def card_assignments(runs: Sequence[Run]) -> str:
    """Assignments of tensors on a GPU."""
    found: dict[tuple[int, ...], dict[str, list[Run]]] = {}
    for run in runs:
        for row in run["rows"]:
            own = found.setdefault(tuple(row["shape"]), {})
            own.setdefault(row["family"], []).append(row)
    families = list(next(iter(found.values())))
    rows = []
    for shape, own in found.items():
        row = [" × ".join([f"{shape[0]:,}", *map(str, shape[1:])])]
        for family in families:
            times = [r["peer"] / r["augury"] for r in own[family]]
            row += [f"{own[family][0]['augury']:.2f}", spread(times)]
        rows.append(row)
    heads = [head for family in families for head in (FAMILIES.get(family, family), "×")]
    return markdown(["problems × n × m", *heads], rows)


def card_stages(runs: Sequence[Run]) -> str:
    """Where a kernel for assignments spends its time: cycles of a problem, in thousands."""
    found: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        for row in run["rows"]:
            found.setdefault((*row["shape"][1:], row["family"]), []).append(row)
    chosen = [found[n, m, family] for n, m, family in STAGES]
    rows = [
        [stage, *(spread((r["cycles"][stage] / 1000 for r in own), "{:,.1f}") for own in chosen)]
        for stage in chosen[0][0]["cycles"]
    ]
    rows.append(
        ["steps of paths", *(spread((r["steps"] for r in own), "{:,.0f}") for own in chosen)]
    )
    heads = [f"{n} × {m}, {FAMILIES.get(family, family)}" for n, m, family in STAGES]
    return markdown(["thousand cycles", *heads], rows)


def card_matchings(runs: Sequence[Run]) -> str:
    """Matchings proven on the card, times SciPy."""
    found = _keyed(runs, "records", "n", "density")
    rows = []
    for (n, density), records in sorted(found.items()):
        rates = _each(records, "rates")
        shown = [[r[name] / r["scipy"] for r in rates] for name in ("tensor", "host", "pinned")]
        rows.append([str(n), density, *map(ratios, shown)])
    return markdown(["n", "p", "tensor", "host", "pinned"], rows)


def card_flows(runs: Sequence[Run]) -> str:
    """Flows of unequal networks, times SciPy in a loop."""
    found = _keyed(runs, "rows", "networks", "what")
    sizes, names = (list(dict.fromkeys(key[k] for key in found)) for k in (0, 1))

    def times(size: str, name: str) -> str:
        peers = _each(found[size, PEER], "per_second")
        return ratios(
            a / b for a, b in zip(_each(found[size, name], "per_second"), peers, strict=True)
        )

    shown = [name for name in names if name != PEER]
    rows = [[size, *(times(size, name) for name in shown)] for size in sizes]
    return markdown(["networks", *shown], rows)


PEER = "SciPy in a loop"


def card_kernels(runs: Sequence[Run]) -> str:
    """The kernels alone, batches of a million, in the best layout."""
    rows = []
    for (n, density), records in _keyed(runs, "records", "n", "density").items():
        large = [record for record in records if record["batch"] == 1_000_000]
        row = [str(n), density]
        for name, form in (("packed", "{:,.0f}"), ("dense", "{:,.0f}"), ("network", "{:.2f}")):
            best = max(large, key=lambda record, name=name: record[f"{name}_ratio"])
            rate = form.format(best[f"{name}_per_second"] / 1e6)
            row += [f"{rate} million", f"{best[f'{name}_ratio']:,.0f}"]
        rows.append(row)
    head = ["n", "p", "`cuda-table`, packed on the card", "× SciPy"]
    head += ["from dense bytes on the card", "× SciPy", "`cuda`, from dense bytes", "× SciPy"]
    return markdown(head, rows)


def card_batches(runs: Sequence[Run]) -> str:
    """`solve_batch` from host memory, as it was before covers were made on the card."""
    names = ("cuda", "cuda-table", "table")
    rows = [
        [str(n), density]
        + [ratios([r[name] / r["scipy_per_second"] for r in records]) for name in names]
        + [f"{records[0]['scipy_per_second']:,.0f}"]
        for (n, density), records in _keyed(runs, "solve_batch", "n", "density").items()
    ]
    head = ["n", "p", *(f"`{name}` × SciPy" for name in names), "SciPy, graphs a second"]
    return markdown(head, rows)


def paper(runs: Sequence[Run]) -> str:
    """The paper's networks, fast and plain: an epoch, and a pass over the test graphs."""
    rows = []
    for (network, what), records in _keyed(runs, "rows", "network", "what").items():
        times = ratios(record["plain"] / record["fast"] for record in records)
        seconds = (ratios(_each(records, form)) for form in ("fast", "plain"))
        words = f"a pass at {what}" if what.endswith("x") else what
        rows.append([f"`{network}`", words, *seconds, times])
    return markdown(["network", "what", "fast", "plain", "plain takes, × fast"], rows)


class Table(NamedTuple):
    """A table of the page."""

    records: tuple[str, ...]
    """The measurements that it is made from."""
    make: Callable[[Sequence[Run]], str]


TABLES = {
    "batches": Table(("bench-cpu",), batches),
    "threads": Table(("bench-threads",), threads),
    "growth": Table(("bench-cpu",), growth),
    "hard": Table(("bench-flows",), hard),
    "operations": Table(("flow-operations",), operations),
    "evaluated": Table(("evaluated",), evaluated),
    "overhead": Table(("overhead",), overhead),
    "forms": Table(("batches",), forms),
    "assignments": Table(("bench-assignments",), assignments),
    "one with costs": Table(("bench-costs",), one_with_costs),
    "card assignments": Table(("cuda-assign",), card_assignments),
    "card masks": Table(("cuda-assign-half",), card_assignments),
    "card stages": Table(("cuda-stages",), card_stages),
    "card matchings": Table(("cuda-match", "cuda-match64"), card_matchings),
    "card flows": Table(("cuda-flows",), card_flows),
    "card kernels": Table(("bench-h200",), card_kernels),
    "card batches": Table(("bench-h200",), card_batches),
    "paper": Table(("paper",), paper),
}


def origin(runs: Sequence[Run]) -> str:
    """Say how many runs there were, and of which machine and version."""
    first = runs[0].get("machine", runs[0])
    names = ("cpu", "device", "cores", "python", "version", "commit")
    told = {name: first[name] for name in names if name in first}
    told |= {"cores": f"{told['cores']} cores"} if "cores" in told else {}
    told |= {"python": f"Python {told['python']}"} if "python" in told else {}
    told |= {"version": f"Augury {told['version']}"} if "version" in told else {}
    told |= {"commit": f"commit `{told['commit'][:7]}`"} if "commit" in told else {}
    words = {1: "One run", 2: "Two runs", 3: "Three runs"}.get(len(runs), f"{len(runs)} runs")
    return f"{words}: {', '.join(dict.fromkeys(told.values()))}."


MARKED = re.compile(r"(<!-- table: (.*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def made(text: str, folder: Path = RESULTS) -> str:
    """Return the page with every table whose records are there made anew."""

    def table(found: re.Match[str]) -> str:
        start, name, now, end = found.groups()
        runs = joined([runs_of(record, folder) for record in TABLES[name].records])
        body = f"\n{TABLES[name].make(runs)}\n\n{origin(runs)}\n\n" if runs else now
        return start + body + end

    return MARKED.sub(table, text)


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    options = parser.parse_args()
    now = PAGE.read_text(encoding="utf-8")
    then = made(now)
    if options.check:
        sys.exit(
            0 if now == then else f"{PAGE}: not what the records say; run benchmarks/tables.py"
        )
    PAGE.write_text(then, encoding="utf-8")


if __name__ == "__main__":
    main()
