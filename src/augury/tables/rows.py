"""Graphs that are read one by one, from rows or files, become rows with their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from augury.algorithms import SUITED
from augury.classical.answer import How
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import NO_MEMORY, InputError
from augury.extras import needs
from augury.solution import Solution
from augury.solver import in_full
from augury.tables.columns import ANSWERS, FLOW, MATCHING, Form, found_schema
from augury.tables.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

SPREAD = 2**24
"""Nodes that a row may have besides 16 for each edge: more are a slip, or an attack."""


def by_themselves(table: pa.Table, form: Form, settings: Settings) -> pa.Table:
    """Solve rows whose graphs are read one by one."""
    import pyarrow as pa

    names = [name for name in form.columns if name in table.column_names]
    rows = table.select(names).to_pylist()
    graphs = [_tried(lambda row=row: _graph(form, row, settings.maximise)) for row in rows]
    told = [_row(one, form.found) for one in solved(graphs, settings)]
    schema = found_schema(form, table.schema)
    return pa.Table.from_pylist([_fitting(row) for row in told], schema=schema)


def answers_of_files(
    files: Sequence[str], options: ReadOptions, settings: Settings
) -> list[dict[str, Any]]:
    """Solve the graph in each file, with its labels as text; a row for each."""
    graphs = [_tried(lambda file=file: read_graph(file, options)) for file in files]
    rows = []
    for file, one in zip(files, solved(graphs, settings), strict=True):
        is_solved = isinstance(one, Solution)
        row = _row(one, (MATCHING if is_solved and one.noun == "matching" else FLOW).found)
        rows.append({"file": file} | _as_text(_fitting(row)))
    return rows


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with labels and cost as text."""
    for name in ("left", "right", "tail", "head"):
        if name in row:
            row[name] = list(map(str, row[name]))
    return row if row.get("cost") is None else row | {"cost": str(row["cost"])}


def files_schema() -> pa.Schema:
    """Return the columns of `answers_of_files`; a cost is text, as it may be any number."""
    with needs("a table of answers"):
        import pyarrow as pa

    labels = {name: pa.list_(pa.string()) for name in ("left", "right", "tail", "head")}
    kinds = {"file": pa.string(), "size": pa.int64(), "cost": pa.string(), **labels}
    kinds |= {"flow": pa.list_(pa.int64())}
    return pa.schema([*kinds.items(), *((name, pa.string()) for name in ANSWERS[1:])])


def solved(graphs: Sequence[Graph | str], settings: Settings) -> Iterator[Solution | str]:
    """Yield the solution of each graph, or why there is none; texts stay as they are."""
    how = How(settings.exact, settings.seed)
    some = [(k, graph) for k, graph in enumerate(graphs) if not isinstance(graph, str)]
    found: dict[int, Solution | str] = {k: x for k, x in enumerate(graphs) if isinstance(x, str)}
    for name in dict.fromkeys(_algorithm(graph, settings) for _, graph in some):
        own = [(k, graph) for k, graph in some if _algorithm(graph, settings) == name]

        def solve(graphs: Sequence[Graph], name: str = name) -> list[Solution]:
            solutions = settings.runner(name).solutions(graphs, how)
            if not settings.perfect:
                return solutions
            return [in_full(*one) for one in zip(graphs, solutions, strict=True)]

        try:
            solutions: list[Solution | str] = [*solve([graph for _, graph in own])]
        except (InputError, MemoryError):
            solutions = [_tried(lambda graph=graph: solve([graph])[0]) for _, graph in own]
        found |= zip((k for k, _ in own), solutions, strict=True)
    return (found[k] for k in range(len(graphs)))


def _algorithm(graph: Graph, settings: Settings) -> str:
    return settings.algorithm or SUITED[graph.kind][0]


Value = TypeVar("Value")


def _tried(make: Callable[[], Value]) -> Value | str:
    """Return what is made, or one sentence on why that is impossible."""
    try:
        return make()
    except (InputError, MemoryError) as error:
        return NO_MEMORY if isinstance(error, MemoryError) else str(error)


def _row(found: Solution | str, names: Sequence[str]) -> dict[str, Any]:
    """Return a solution as the columns of a row; or an error, if it is text."""
    if isinstance(found, str):
        return {"error": found}
    told = zip(*getattr(found, found.noun), strict=True)
    lists = dict(zip(names, map(list, told), strict=False)) or {name: [] for name in names}
    row = {"size": found.size, "cost": found.cost, "verdict": found.certificate.verdict}
    return row | lists | {"engine": found.engine}


MOST = 2**63 - 1
"""The largest number that a column of a table holds."""


def _fitting(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row, or an error where its numbers do not fit."""
    for name in ("size", "cost"):
        value = row.get(name)
        if isinstance(value, int) and abs(value) > MOST:
            return {"error": f"the {name} is {value}, which does not fit into 64 bits"}
    return row


def _graph(form: Form, row: Mapping[str, Any], maximise: bool) -> Graph:
    """Read a graph from a row."""
    lists = [name for name in (*form.lists, "cost") if name in row]
    for name in (*lists, *form.ends):
        value = row[name]
        if value is None:
            raise InputError(f"the column {name!r} is empty")
        if name in lists and None in value:
            raise InputError(f"entry {value.index(None)} of the list {name!r} is empty")
    if len({len(row[name]) for name in lists}) > 1:
        lengths = ", ".join(f"{len(row[name])} in {name!r}" for name in lists)
        raise InputError(f"the lists differ in length: {lengths}")
    columns = [_array(row, name, np.int64) for name in form.lists]
    ends = {name: row[name] for name in form.ends}
    if form is MATCHING:
        counts = [_count(row, "num_left", row["left"]), _count(row, "num_right", row["right"])]
    else:
        counts = [_count(row, "num_nodes", [*row["tail"], *row["head"], *ends.values()])]
    costs = None
    if "cost" in row:
        kind = np.float64 if any(isinstance(cost, float) for cost in row["cost"]) else np.int64
        costs = Costs.of(_array(row, "cost", kind), sum(counts) + 2, maximise)
    parts: list[Any] = [*counts, *columns]
    if form is MATCHING:
        return BipartiteGraph(*parts, costs=costs)
    if costs is None:
        return FlowNetwork.from_arcs(*parts, **ends)
    return CostNetwork(*parts, costs=costs, **ends)


def _array(row: Mapping[str, Any], name: str, kind: type[np.number[Any]]) -> npt.NDArray[Any]:
    try:
        return np.array(row[name], kind)
    except OverflowError:
        told = "holds a number that does not fit into 64 bits"
        raise InputError(f"the column {name!r} {told}") from None


def _count(row: Mapping[str, Any], name: str, nodes: Sequence[int]) -> int:
    """Return how many nodes there are: what the row says, or up to the largest number."""
    given = row.get(name)
    count = max(nodes, default=-1) + 1 if given is None else given
    if count > SPREAD + 16 * len(nodes):
        raise InputError(f"{count} nodes for {len(nodes)} ends of edges: number them from 0 on")
    return count
