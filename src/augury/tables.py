"""A table with a graph in each row becomes a table with an answer in each row (Arrow).

    left, right                                 lists: a bipartite graph; also num_left, num_right
    left, right, cost                           the same with costs
    tail, head, capacity, source, sink          lists, two numbers: a flow network; also num_nodes
    tail, head, capacity, cost, source, sink    the same with costs

Nodes are numbers from 0. An answer has the columns of `answer_schema`: its size, its cost where
there are costs, the matched pairs or the arcs that carry flow, what the certificate says, the
engine, and the error of a row that holds no graph. Further columns are kept as they are.

Graphs without costs go from Arrow's lists through arrays to compiled loops, with no Python object
for a row. Whatever is unclear there is read by itself, as is every graph with costs. A row's answer
does not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from augury.algorithms import ALGORITHMS, FORD_FULKERSON, suited
from augury.classical.answer import How
from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import MAX_ARCS, starts, sums
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.certificate import MAXIMUM
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.classical.proofs import flows_of, matchings_of
from augury.engines import AUTO
from augury.engines.engine import Engine
from augury.engines.gpu import CUDA, CUDA_TABLE, OnGpu
from augury.engines.table import TABLE, match_packed, push_flows
from augury.errors import NO_MEMORY, InputError
from augury.extras import needs
from augury.inputs.packed import Arcs, Lists, as_flows, as_matchings, as_small
from augury.solution import Solution
from augury.solver import COMPILED, MAX_CELLS, Runner, in_full, runner_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2**14
"""Rows that are solved side by side, at most: so many small graphs stay in the cache."""

SPREAD = 2**24
"""Nodes that a row may have beside 16 for each edge: more are a slip, or an attack."""


class Settings(NamedTuple):
    """How graphs are solved; see `solver.solve`."""

    algorithm: str | None = None
    maximise: bool = False
    perfect: bool = False
    model: str | None = None
    engine: str = AUTO
    exact: bool = True
    device: str | None = None
    seed: int = 0
    ignore_costs: bool = False
    on_gpu: bool = False
    """Whether matchings beyond 64 nodes a side may run on a GPU, where nobody says otherwise."""

    @property
    def is_free(self) -> bool:
        """Whether nobody has said who solves."""
        return self.engine == AUTO and self.model is None and self.device is None

    @property
    def needs_gpu(self) -> bool:
        """Whether somebody has said that a GPU solves."""
        is_named = self.engine in (CUDA.name, CUDA_TABLE.name)
        return is_named or str(self.device).startswith("cuda")

    def runner(self, algorithm: str) -> Runner:
        """Return who runs an algorithm: compiled loops, unless somebody is named."""
        return runner_of(
            self.model, self.device, COMPILED if self.is_free else self.engine, algorithm
        )


class Form(NamedTuple):
    """Which columns hold a graph, and which its answer."""

    lists: tuple[str, ...]
    ends: tuple[str, ...]
    counts: tuple[str, ...]
    """Numbers of nodes, which may be left out."""
    found: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All that may hold something of a graph."""
        return (*self.lists, "cost", *self.ends, *self.counts)


MATCHING = Form(("left", "right"), (), ("num_left", "num_right"), ("left", "right"))
FLOW = Form(
    ("tail", "head", "capacity"), ("source", "sink"), ("num_nodes",), ("tail", "head", "flow")
)
FORMS = (MATCHING, FLOW)


def form_of(schema: pa.Schema) -> Form:
    """Return how graphs lie in the columns of a table.

    Raises:
        InputError: there are none, or a column holds something else than numbers.
    """
    for form in FORMS:
        if {*form.lists, *form.ends} <= set(schema.names):
            break
    else:
        ways = " nor ".join(", ".join((*form.lists, *form.ends)) for form in FORMS)
        raise InputError(f"there are neither columns {ways}, but {', '.join(schema.names)}")
    for name in schema.names:
        _check_column(form, name, schema.field(name).type)
    return form


def _check_column(form: Form, name: str, kind: Any) -> None:
    import pyarrow.types as types

    if name not in form.columns:
        if name in ANSWERS or name in form.found:
            raise InputError(f"the column {name!r} is one of the answers: rename it")
        return
    is_list = name in (*form.lists, "cost")
    are_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    number = kind.value_type if is_list and are_lists else None if is_list else kind
    is_cost = name == "cost" and number is not None and types.is_floating(number)
    if number is None or not (types.is_integer(number) or types.is_null(number) or is_cost):
        numbers = "numbers" if name == "cost" else "whole numbers"
        raise InputError(f"the column {name!r} holds {kind}, not {'lists of ' * is_list}{numbers}")


ANSWERS = ("size", "verdict", "engine", "error")
"""Columns that every answer has."""


def answer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of the answers to a table: those that are kept, then those found."""
    form = form_of(schema)
    import pyarrow as pa

    return pa.schema([*(field for field in schema if field.name not in form.columns),
                      *_found_schema(form, schema)])  # fmt: skip


def _found_schema(form: Form, schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    fields: list[Any] = [("size", pa.int64())]
    if "cost" in schema.names:
        kind = schema.field("cost").type.value_type
        fields.append(("cost", pa.float64() if pa.types.is_floating(kind) else pa.int64()))
    kinds = (pa.int64() if name == "flow" else pa.int32() for name in form.found)
    fields += zip(form.found, map(pa.list_, kinds), strict=True)
    words = pa.dictionary(pa.int32(), pa.string())  # the same in nearly every row
    return pa.schema([*fields, ("verdict", words), ("engine", words), ("error", pa.string())])


def answers(table: pa.Table, settings: Settings) -> pa.Table:
    """Solve the graph in each row.

    Raises:
        InputError: the columns hold no graphs, or there is no such model, engine or algorithm.
    """
    with needs("a table of graphs"):
        import pyarrow as pa

    if settings.ignore_costs and "cost" in table.column_names:
        table = table.drop_columns("cost")
    form = form_of(table.schema)
    schema = _found_schema(form, table.schema)
    solve = _way(form, "cost" in table.schema.names, settings)
    found = pa.concat_tables([schema.empty_table(), *map(solve, _chunks(table, form))])
    kept = table.select([name for name in table.column_names if name not in form.columns])
    schema = answer_schema(table.schema)
    return pa.Table.from_arrays([*kept.columns, *found.columns], schema=schema)


Way = Callable[["pa.Table"], "pa.Table"]
"""Solves the graphs of a table, and returns what was found: see `_found_schema`."""


def _way(form: Form, has_costs: bool, settings: Settings) -> Way:
    """Return how such graphs are solved: packed where that can be done, or each by itself."""
    if not has_costs and settings.maximise:
        raise InputError("there are no costs to maximise: a table has them in the column 'cost'")
    costly = "assignment" if form is MATCHING else "min-cost-flow"
    name = settings.algorithm or (costly if has_costs else FORD_FULKERSON.name)
    algorithm = ALGORITHMS[name]
    if algorithm.noun is not None:
        raise InputError(f"tables hold matchings and flows, not what {name} finds")
    if has_costs and not algorithm.minds_costs:
        raise InputError(f"there is a column 'cost', which {name} would ignore: leave it out")
    runner = settings.runner(name)

    def by_themselves(table: pa.Table) -> pa.Table:
        return _by_themselves(table, form, settings)

    if runner.algorithm is not FORD_FULKERSON or settings.perfect:
        return by_themselves
    way: Way = by_themselves
    for pack, engine in reversed(_packs(form, runner.engine, settings)):
        way = partial(_packed, pack, runner._replace(engine=engine), form, way)
    return way


def _packs(form: Form, engine: Engine, settings: Settings) -> list[tuple[Pack, Engine]]:
    """Return who solves a table and by what, in turn: each leaves some rows to the next."""
    if form is FLOW:
        return [(_flows, engine)] if engine is TABLE else []
    if isinstance(engine, OnGpu):
        return [(_matchings, engine)]
    if engine is not TABLE:
        return []
    # A core matches a small graph in less time than it takes to lay it out for a GPU.
    larger = CUDA_TABLE if settings.is_free and settings.on_gpu else TABLE
    return [(_small_matchings, TABLE), (_matchings, larger)]


def _packed(pack: Pack, runner: Runner, form: Form, others: Way, table: pa.Table) -> pa.Table:
    """Solve what can be solved so, and leave other rows to others."""
    try:
        columns, is_unclear = pack(table, runner)
    except InputError:  # one of them is not for this network or engine
        return others(table)
    found = _table(_found_schema(form, table.schema), columns, len(table))
    return _patched(found, is_unclear, lambda some: others(table.take(some)))


def _patched(table: pa.Table, where: BoolArray, solve: Callable[[Any], pa.Table]) -> pa.Table:
    """Put in place of some rows what `solve` returns for their numbers."""
    if not where.any():
        return table
    import pyarrow as pa

    some = np.flatnonzero(where)
    order = np.arange(len(table))
    order[some] = len(table) + np.arange(len(some))
    return pa.concat_tables([table, solve(some)]).take(order)


def _table(schema: pa.Schema, columns: Mapping[str, Any], count: int) -> pa.Table:
    """Return a table of these columns, the others empty."""
    import pyarrow as pa

    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def repeated(text: str, count: int) -> pa.Array:
    """Return a column with the same text in every row."""
    import pyarrow as pa

    place = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(place, pa.array([text]))


def _chunks(table: pa.Table, form: Form) -> Iterator[pa.Table]:
    """Cut a table into parts of at most `ROWS` rows and `MAX_ARCS` edges, or of one row."""
    from pyarrow import compute

    pc: Any = compute

    lengths = pc.fill_null(
        pc.list_value_length(  # type: ignore[attr-defined]
            table[form.lists[0]]
        ),
        0,
    )
    total = starts(np.asarray(lengths.to_numpy(), np.int64))
    first = 0
    while first < len(table):
        end = int(np.searchsorted(total, total[first] + MAX_ARCS, "right")) - 1
        end = min(max(end, first + 1), first + ROWS)
        yield table.slice(first, end - first)
        first = end


def _lists(table: pa.Table, name: str) -> tuple[Lists, BoolArray]:
    """Return the lists of a column, and which of them have something missing."""
    import pyarrow as pa

    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    if not isinstance(column, pa.ListArray | pa.LargeListArray):
        column = column.cast(pa.list_(column.type.value_type))
    start = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(start[0], start[-1] - start[0])
    start -= start[0]
    is_unclear = _is_null(column)
    if values.null_count:
        is_unclear |= sums(_is_null(values), start) > 0
        values = values.fill_null(0)
    if is_unclear.any() or pa.types.is_null(values.type):
        lists = Lists(start, np.asarray(values.to_numpy(zero_copy_only=False)))
        return lists.without(is_unclear), is_unclear
    return Lists(start, values.to_numpy()), is_unclear


def _is_null(column: Any) -> BoolArray:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _numbers(table: pa.Table, name: str) -> WideArray:
    """Return the numbers of a column, −1 where one is missing."""
    if name not in table.column_names:
        return np.full(len(table), -1)
    import pyarrow as pa

    column = table[name].combine_chunks()
    values = column.cast(pa.int64(), safe=False) if column.type != pa.int64() else column
    return np.asarray(values.fill_null(-1).to_numpy(), np.int64)


Packed = tuple[dict[str, Any], BoolArray]
"""The columns of the answers, and which rows are unclear."""


def _matchings(table: pa.Table, runner: Runner) -> Packed:
    (left, no_left), (right, no_right) = (_lists(table, name) for name in MATCHING.lists)
    counts = (_numbers(table, name) for name in MATCHING.counts)
    batch, is_unclear = as_matchings(left, right, *counts)
    if isinstance(runner.engine, OnGpu):
        mates, is_proven = _on_gpu(batch, runner)
        sizes = sums(mates >= 0, batch.left)
    else:
        mates, _ = runner.engine.match_batch(batch, runner.executor)
        proofs = matchings_of(batch, mates)
        sizes, is_proven = proofs.sizes, proofs.is_proven
    is_unclear |= no_left | no_right | ~is_proven
    return _pairs(mates, batch.left, sizes, runner), is_unclear


def _small_matchings(table: pa.Table, runner: Runner) -> Packed:
    """Match graphs of at most 64 nodes a side; others are left for `_matchings`."""
    from augury.classical.loops import prove_small

    (left, no_left), (right, no_right) = (_lists(table, name) for name in MATCHING.lists)
    numbers = (_numbers(table, name) for name in MATCHING.counts)
    start, ends, counts, is_small = as_small(left, right, *numbers)
    mates, _ = match_packed(start, ends, counts)
    sizes, is_proven = np.empty(len(is_small), np.int64), np.empty(len(is_small), np.bool_)
    prove_small(start, ends, counts, mates, (sizes, is_proven))
    is_left = no_left | no_right | ~is_small | ~is_proven
    return _pairs(mates, starts(counts[0]), sizes, runner), is_left


def _pairs(
    mates: npt.NDArray[Any], first: WideArray, sizes: WideArray, runner: Runner
) -> dict[str, Any]:
    """Return matchings as columns; `first` has the first row of each graph."""
    from augury.classical.loops import list_pairs

    start = starts(sizes)
    left, right = np.empty((2, int(start[-1]) + 1), np.int32)
    list_pairs(mates, first, left, right)
    columns = {"size": sizes, "left": left[:-1], "right": right[:-1]}
    return _columns(columns, start, runner)


def _on_gpu(batch: BipartiteBatch, runner: Runner) -> tuple[npt.NDArray[Any], BoolArray]:
    """Match and prove the graphs of each shape as stacks; none that is too large."""
    from augury.engines.cuda_match import MOST_SIDE

    mates, is_proven = np.full(int(batch.left[-1]), -1, np.int32), np.zeros(len(batch), np.bool_)
    shapes = np.stack([np.diff(batch.left), np.diff(batch.right)], axis=1)
    kinds, kind = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    for shape, first, end in zip(kinds, *_bounds(kind[order], len(kinds)), strict=True):
        if shape.max() > MOST_SIDE:
            continue
        at_once = max(1, MAX_CELLS // max(1, int(shape.prod())))
        for some in range(first, end, at_once):
            own = order[some : min(some + at_once, end)]
            rows = (batch.left[own][:, None] + np.arange(shape[0])).reshape(-1)
            proven = runner.engine.prove_stack(_stack(batch, rows, shape), runner.executor)
            if proven is not None:
                proofs: Any = proven[1]
                mates[rows] = proofs.mates.reshape(-1)
                is_proven[own] = proofs.is_proven
    return mates, is_proven


def _bounds(kind: WideArray, count: int) -> tuple[list[int], list[int]]:
    """Return where each of so many kinds starts and ends among sorted ones."""
    places = np.searchsorted(kind, np.arange(count + 1)).tolist()
    return places[:-1], places[1:]


def _stack(batch: BipartiteBatch, rows: WideArray, shape: WideArray) -> npt.NDArray[np.uint8]:
    """Return these rows of a batch as matrices of one shape."""
    first, degree = batch.indptr[rows], batch.indptr[rows + 1] - batch.indptr[rows]
    edge = np.repeat(first - starts(degree)[:-1], degree) + np.arange(int(degree.sum()))
    stack = np.zeros((len(rows), int(shape[1])), np.uint8)
    stack[np.repeat(np.arange(len(rows)), degree), batch.indices[edge]] = 1
    return stack.reshape(-1, *shape.tolist())


def _flows(table: pa.Table, runner: Runner) -> Packed:
    lists, missing = zip(*(_lists(table, name) for name in FLOW.lists), strict=True)
    arcs = Arcs(*lists, *(_numbers(table, name) for name in (*FLOW.ends, *FLOW.counts)))
    batch, is_unclear = as_flows(arcs)
    residual, _ = push_flows(batch, runner.executor.network.bits)
    proofs = flows_of((), batch, residual)
    arc = np.flatnonzero(proofs.flow > 0)
    start = starts(sums(proofs.flow > 0, batch.arc_start))
    shift = np.repeat(batch.node_start[:-1], np.diff(start)).astype(np.int32)
    told = batch.sender[arc] - shift, batch.receiver[arc] - shift, proofs.flow[arc]
    columns = {"size": proofs.sizes.astype(np.int64)} | dict(zip(FLOW.found, told, strict=True))
    is_unclear |= np.any(missing, axis=0) | ~proofs.is_proven
    return _columns(columns, start, runner), is_unclear


Pack = Callable[["pa.Table", Runner], Packed]


def _columns(
    columns: dict[str, npt.NDArray[Any]], start: WideArray, runner: Runner
) -> dict[str, Any]:
    """Return what was found and proven as columns: all but the size are lists with these starts."""
    import pyarrow as pa

    offsets, count = pa.array(start.astype(np.int32)), len(start) - 1
    told = {"verdict": MAXIMUM, "engine": str(runner.engine.name)}
    return {name: repeated(text, count) for name, text in told.items()} | {
        name: pa.array(values) if name == "size" else pa.ListArray.from_arrays(offsets, values)
        for name, values in columns.items()
    }


def _by_themselves(table: pa.Table, form: Form, settings: Settings) -> pa.Table:
    """Solve rows whose graphs are read one by one."""
    import pyarrow as pa

    names = [name for name in form.columns if name in table.column_names]
    rows = table.select(names).to_pylist()
    graphs = [_tried(lambda row=row: _graph(form, row, settings.maximise)) for row in rows]
    told = [_row(one, form.found) for one in solved(graphs, settings)]
    schema = _found_schema(form, table.schema)
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
    return settings.algorithm or suited(graph)


Value = TypeVar("Value")


def _tried(make: Callable[[], Value]) -> Value | str:
    """Return what is made, or in one sentence why that cannot be done."""
    try:
        return make()
    except (InputError, MemoryError) as error:
        return NO_MEMORY if isinstance(error, MemoryError) else str(error)


def _row(found: Solution | str, names: Sequence[str]) -> dict[str, Any]:
    """Return a solution as the columns of a row; or an error, where it is a text."""
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
    columns = [np.array(row[name], np.int64) for name in form.lists]
    ends = {name: row[name] for name in form.ends}
    if form is MATCHING:
        counts = [_count(row, "num_left", row["left"]), _count(row, "num_right", row["right"])]
    else:
        counts = [_count(row, "num_nodes", [*row["tail"], *row["head"], *ends.values()])]
    costs = None
    if "cost" in row:
        kind = np.float64 if any(isinstance(cost, float) for cost in row["cost"]) else np.int64
        costs = Costs.of(np.array(row["cost"], kind), sum(counts) + 2, maximise)
    parts: list[Any] = [*counts, *columns]
    if form is MATCHING:
        return BipartiteGraph(*parts, costs=costs)
    if costs is None:
        return FlowNetwork.from_arcs(*parts, **ends)
    return CostNetwork(*parts, costs=costs, **ends)


def _count(row: Mapping[str, Any], name: str, nodes: Sequence[int]) -> int:
    """Return how many nodes there are: what the row says, or up to the largest number."""
    given = row.get(name)
    count = max(nodes, default=-1) + 1 if given is None else given
    if count > SPREAD + 16 * len(nodes):
        raise InputError(f"{count} nodes for {len(nodes)} ends of edges: number them from 0 on")
    return count
