"""A table with a graph in each row becomes a table with an answer in each row (Arrow).

    left, right                                 lists: a bipartite graph; also num_left, num_right
    left, right, cost                           the same with costs
    tail, head, capacity, source, sink          lists, two numbers: a flow network; also num_nodes
    tail, head, capacity, cost, source, sink    the same with costs

Nodes are numbers from 0. An answer has the columns of `answer_schema`: its size, its cost where
there are costs, the matched pairs or the arcs that carry flow, what the certificate says, the
engine, and the error of a row that holds no graph. Other columns are kept as they are.

Matchings, flows and assignments go from Arrow's lists through arrays to compiled loops, with no
Python object per row. Rows that are unclear there are read one by one, as are flows with costs. A
row's answer does not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from augury.algorithms import ALGORITHMS, ASSIGNMENT, FORD_FULKERSON, MIN_COST_FLOW
from augury.classical.arrays import BoolArray
from augury.classical.batch import MAX_ARCS, starts
from augury.engines.engine import Engine
from augury.engines.gpu import CUDA_TABLE
from augury.engines.table import TABLE
from augury.errors import InputError
from augury.extras import needs
from augury.solver import Runner
from augury.tables.assignments import priced_matchings
from augury.tables.columns import FLOW, MATCHING, Form, answer_schema, form_of, found_schema
from augury.tables.packed import Pack, flows, matchings, small_matchings
from augury.tables.rows import by_themselves
from augury.tables.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2**14
"""The most rows that are solved side by side: this many small graphs stay in the cache."""


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
    schema = found_schema(form, table.schema)
    solve = _way(form, "cost" in table.schema.names, settings)
    found = pa.concat_tables([schema.empty_table(), *map(solve, _chunks(table, form))])
    kept = table.select([name for name in table.column_names if name not in form.columns])
    schema = answer_schema(table.schema)
    return pa.Table.from_arrays([*kept.columns, *found.columns], schema=schema)


Way = Callable[["pa.Table"], "pa.Table"]
"""Solves the graphs of a table, and returns what was found: see `found_schema`."""


def _way(form: Form, has_costs: bool, settings: Settings) -> Way:
    """Return how such graphs are solved: packed where that can be done, or each by itself."""
    if not has_costs and settings.maximise:
        raise InputError("there are no costs to maximise: a table has them in the column 'cost'")
    costly = ASSIGNMENT.name if form is MATCHING else MIN_COST_FLOW.name
    name = settings.algorithm or (costly if has_costs else FORD_FULKERSON.name)
    algorithm = ALGORITHMS[name]
    if algorithm.noun is not None:
        raise InputError(f"tables hold matchings and flows, not what {name} finds")
    if has_costs and not algorithm.minds_costs:
        raise InputError(f"there is a column 'cost', which {name} would ignore: leave it out")
    runner = settings.runner(name)
    way: Way = partial(by_themselves, form=form, settings=settings)
    is_plain = not settings.perfect and has_costs == algorithm.minds_costs
    for pack, engine in reversed(_packs(form, runner, settings) if is_plain else []):
        way = partial(_packed, pack, runner._replace(engine=engine), form, way)
    return way


def _packs(form: Form, runner: Runner, settings: Settings) -> list[tuple[Pack, Engine]]:
    """Return what solves a table and by what engine, in turn: each leaves some rows to the next."""
    engine, algorithm = runner.engine, runner.algorithm
    if (form, algorithm) == (MATCHING, FORD_FULKERSON) and engine.device == CUDA_TABLE.device:
        return [(matchings, engine)]
    if engine is not TABLE:
        return []
    # A core matches a small graph in less time than it takes to lay it out for a GPU.
    larger = CUDA_TABLE if settings.is_free and settings.on_gpu else TABLE
    packs: dict[tuple[Form, str], list[tuple[Pack, Engine]]] = {
        (MATCHING, FORD_FULKERSON.name): [(small_matchings, TABLE), (matchings, larger)],
        (MATCHING, ASSIGNMENT.name): [(partial(priced_matchings, settings.maximise), TABLE)],
        (FLOW, FORD_FULKERSON.name): [(flows, TABLE)],
    }
    return packs.get((form, algorithm.name), [])


def _packed(pack: Pack, runner: Runner, form: Form, others: Way, table: pa.Table) -> pa.Table:
    """Solve what can be solved this way, and leave other rows to `others`."""
    try:
        columns, is_unclear = pack(table, runner)
    except InputError:  # one of them is not for this network or engine
        return others(table)
    found = _table(found_schema(form, table.schema), columns, len(table))
    return _patched(found, is_unclear, lambda some: others(table.take(some)))


def _patched(table: pa.Table, where: BoolArray, solve: Callable[[Any], pa.Table]) -> pa.Table:
    """Replace some rows by what `solve` returns for their numbers."""
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


def _chunks(table: pa.Table, form: Form) -> Iterator[pa.Table]:
    """Cut a table into parts of at most `ROWS` rows and `MAX_ARCS` edges, or of one row."""
    from pyarrow import compute

    pc: Any = compute  # made at run time: type checkers do not know what is in it
    lengths = pc.fill_null(pc.list_value_length(table[form.lists[0]]), 0)
    total = starts(np.asarray(lengths.to_numpy(), np.int64))
    first = 0
    while first < len(table):
        end = int(np.searchsorted(total, total[first] + MAX_ARCS, "right")) - 1
        end = min(max(end, first + 1), first + ROWS)
        yield table.slice(first, end - first)
        first = end
