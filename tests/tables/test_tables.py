"""Each row of a table has the answer that its graph has alone, or its error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augury import BipartiteGraph, FlowNetwork, certify, solve, tables
from augury.algorithms import FORD_FULKERSON
from augury.classical.certificate import MAXIMUM, certify_mates
from augury.classical.formats import ReadOptions
from augury.classical.loops import prove_small
from augury.config import preset
from augury.engines import words
from augury.engines.gpu import OnGpu
from augury.engines.table import TABLE
from augury.errors import InputError
from augury.models import checkpoint
from augury.tables import Settings, answers, packed
from augury.tables.rows import answers_of_files
from proven import untrained

KIND = pa.list_(pa.int32())


def table(rows: list[Any], **more: Any) -> pa.Table:
    left = [row and [u for u, _ in row] for row in rows]
    right = [row and [v for _, v in row] for row in rows]
    return pa.table({"left": pa.array(left, KIND), "right": pa.array(right, KIND), **more})


def graph(row: Any) -> BipartiteGraph:
    left, right = (np.array(own, int) for own in (zip(*row, strict=True) if row else ((), ())))
    return BipartiteGraph(
        int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1, left, right
    )


edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)
wide = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=200)


@given(st.lists(edges | wide, min_size=1, max_size=6), st.integers(1, 4))
def test_every_row_has_the_answer_of_its_graph_alone(rows: Any, some: int) -> None:
    before, tables.ROWS = tables.ROWS, some
    try:
        found = answers(table(rows), Settings()).to_pylist()
    finally:
        tables.ROWS = before
    for row, told in zip(rows, found, strict=True):
        pairs = list(zip(told["left"], told["right"], strict=True))
        alone = solve(graph(row), engine="table")
        assert (told["size"], pairs) == (alone.size, alone.matching)
        assert certify(graph(row), pairs).is_maximum
        assert (told["verdict"], told["engine"], told["error"]) == (MAXIMUM, "table", None)


@pytest.mark.parametrize("columns", [{}, {"cost": [[1]]}])
def test_a_network_that_is_not_proven_has_no_compiled_form_here_either(
    columns: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "mine.safetensors"
    checkpoint.save(path, untrained().state_dict(), preset("discrete"), {})
    own = table([[(0, 0)]], **{name: pa.array(value) for name, value in columns.items()})
    with pytest.raises(InputError, match="not proven"):
        answers(own, Settings(model=str(path), engine="table"))


def test_bad_rows_are_rows_with_their_errors_and_lose_no_other() -> None:
    left = pa.array([[0, 1, 1], None, [0, 1, 1], [-1], [0, None, 1], [0], [3]], KIND)
    right = pa.array([[0, 0, 1], [1], [0, 0, 1], [0], [0, 0, 1], [0, 1], [0]], KIND)
    given = pa.table({"left": left, "right": right, "num_left": [None] * 6 + [3], "id": range(7)})
    found = answers(given, Settings()).to_pylist()
    assert [told["id"] for told in found] == list(range(7))
    assert [told["size"] for told in found] == [2, None, 2, None, None, None, None]
    assert [told["error"] for told in found] == [
        None,
        "the column 'left' is empty",
        None,
        "edge 0 names left node -1, but there are 0",
        "entry 1 of the list 'left' is empty",
        "the lists differ in length: 1 in 'left', 2 in 'right'",
        "edge 0 names left node 3, but there are 3",
    ]


@pytest.mark.parametrize("left", [[-3, 0], [0, 300], [0]])
def test_loops_read_no_edges_of_rows_that_are_left_for_others(
    left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As plain Python they raise an IndexError where compiled they would write anywhere."""
    monkeypatch.setattr(words, "match_packed", words.match_packed.py_func)
    table = pa.table({"left": [left, [0, 1]], "right": [[0, 5], [1, 1]]})
    columns, is_left = packed.small_matchings(table, Settings().runner(FORD_FULKERSON.name))
    assert is_left.tolist() == [True, False]
    assert columns["size"].tolist() == [0, 1]


def test_a_large_number_takes_no_memory() -> None:
    [told] = answers(table([[(2**31 - 1, 0)]]), Settings()).to_pylist()
    assert told["error"] == f"{2**31} nodes for 1 ends of edges: number them from 0 on"


@pytest.mark.parametrize("name", ["left", "cost"])
def test_a_number_beyond_64_bits_is_an_error_of_its_row(name: str) -> None:
    column = pa.array([[2**64 - 1], [0]], pa.list_(pa.uint64()))
    given = {"left": [[0], [0]], "right": [[0], [0]]} | {name: column}
    found = answers(pa.table(given), Settings()).to_pylist()
    assert [told["size"] for told in found] == [None, 1]
    assert found[0]["error"] == f"the column {name!r} holds a number that does not fit into 64 bits"


arcs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), max_size=12)


def flow_table(rows: Any, **more: Any) -> pa.Table:
    columns = {
        name: pa.array([[entry[k] for entry in row] for row in rows], pa.list_(pa.int64()))
        for k, name in enumerate(("tail", "head", "capacity"))
    }
    ends = {"source": [0] * len(rows), "sink": [5] * len(rows), "num_nodes": [6] * len(rows)}
    return pa.table(columns | ends | more)


@given(st.lists(arcs, min_size=1, max_size=4))
def test_flows_are_those_of_each_network_alone(rows: Any) -> None:
    found = answers(flow_table(rows), Settings()).to_pylist()
    for row, told in zip(rows, found, strict=True):
        columns = [np.array([entry[k] for entry in row], int) for k in range(3)]
        alone = solve(FlowNetwork.from_arcs(6, *columns, source=0, sink=5), engine="table")
        flow = list(zip(told["tail"], told["head"], told["flow"], strict=True))
        assert (told["size"], told["verdict"]) == (alone.size, MAXIMUM)
        assert (
            sum(x for u, _, x in flow if u == 0) - sum(x for _, v, x in flow if v == 0)
            == alone.size
        )


def test_flows_that_might_not_fit_are_read_by_themselves() -> None:
    most = 2**63 - 1
    rows = [[(0, 5, most)], [(0, 5, 1), (5, 9, 1)], [(0, 1, most), (1, 5, most), (0, 5, most)]]
    found = answers(flow_table(rows), Settings()).to_pylist()
    assert [told["size"] for told in found] == [most, None, None]
    assert found[1]["error"] == "edge 1 names receiving node 9, but there are 6"
    assert found[2]["error"].endswith("does not fit into 64 bits")


@pytest.mark.parametrize("cost", [9, -9])
def test_a_cost_beyond_64_bits_is_an_error_of_its_row(cost: int) -> None:
    costs = pa.array([[cost], [cost]], pa.list_(pa.int64()))
    found = answers(flow_table([[(0, 5, 2**61)], [(0, 5, 1)]], cost=costs), Settings()).to_pylist()
    assert found[0]["error"] == f"the cost is {cost * 2**61}, which does not fit into 64 bits"
    assert (found[1]["cost"], found[1]["error"]) == (cost, None)


@pytest.mark.parametrize(("kind", "factor"), [(pa.int64(), 1), (pa.float64(), 0.5)])
def test_costs_are_least_and_of_the_type_that_was_given(kind: Any, factor: float) -> None:
    costs = pa.array([[3 * factor, 1 * factor, 4 * factor], [2 * factor]], pa.list_(kind))
    given = table([[(0, 0), (0, 1), (1, 0)], [(0, 0)]], cost=costs)
    found = answers(given, Settings())
    assert found.schema.field("cost").type == kind
    assert found["cost"].to_pylist() == [5 * factor, 2 * factor]
    assert found["verdict"][0].as_py() == "certified maximum of least cost"
    assert answers(given, Settings(ignore_costs=True))["size"].to_pylist() == [2, 1]


def test_other_settings_count() -> None:
    given = table([[(0, 0), (1, 0)], [(0, 0)]])
    counted = given.append_column("num_right", pa.array([2, 1]))
    perfect = answers(counted, Settings(perfect=True)).to_pylist()
    assert [told["verdict"] for told in perfect] == ["there is no answer", MAXIMUM]
    classical = answers(given, Settings(model="classical")).to_pylist()
    assert [(told["size"], told["engine"]) for told in classical] == [(1, None)] * 2
    cost = pa.array([[1, 5], [2]], pa.list_(pa.int64()))
    dearest = answers(given.append_column("cost", cost), Settings(maximise=True))
    assert dearest["cost"].to_pylist() == [5, 2]


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({"x": [1]}, {}, "there are neither columns left, right nor tail, head, capacity, source, "
                         "sink, but x"),
        ({"left": [["a"]], "right": [[1]]}, {}, "'left' holds list<item: string>, not lists of "
                                                "whole numbers"),
        ({"left": [1], "right": [[1]]}, {}, "'left' holds int64, not lists of whole numbers"),
        ({"left": [[1.5]], "right": [[1]]}, {}, "'left' holds list<item: double>"),
        ({"left": [[1]], "right": [[1]], "size": [3]}, {}, "'size' is one of the answers"),
        ({"left": [[1]], "right": [[1]]}, {"engine": "none"}, "'none' is not one of the engines"),
        ({"left": [[1]], "right": [[1]]}, {"maximise": True}, "no costs to maximise"),
        ({"left": [[1]], "right": [[1]], "cost": [[1]]}, {"algorithm": "ford-fulkerson"},
         "which ford-fulkerson would ignore"),
        ({"left": [[1]], "right": [[1]]}, {"algorithm": "reachability"}, "matchings and flows"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_all_rows_is_one_error(
    columns: Any, settings: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        answers(pa.table(columns), Settings(**settings))


def test_a_slice_of_a_table_in_chunks_is_read_as_it_is() -> None:
    whole = pa.concat_tables([table([[(0, 0)], [(0, 0), (1, 1)]]), table([[], [(0, 2), (1, 2)]])])
    assert answers(whole.slice(1), Settings())["size"].to_pylist() == [2, 0, 1]
    assert answers(whole.slice(0, 0), Settings()).num_rows == 0


def test_files_have_their_labels_and_a_bad_one_its_error(tmp_path: Any) -> None:
    (tmp_path / "jobs.csv").write_text("person,job\nann,cook\nbob,cook\nbob,sing\n")
    (tmp_path / "bad.max").write_text("p max\n")
    files = [str(tmp_path / name) for name in ("jobs.csv", "bad.max")]
    jobs, bad = answers_of_files(files, ReadOptions(), Settings())
    assert (jobs["left"], jobs["right"]) == (["ann", "bob"], ["cook", "sing"])
    assert set(bad) == {"file", "error"}
    assert "bad.max" in bad["error"]


def on_this_machine(self: OnGpu, stack: Any, executor: Any) -> Any:
    """Stand in for a GPU: what it is asked for, by the loops of `table`."""
    assert stack.dtype == np.uint8
    found = TABLE.match(stack, executor)
    proven = certify_mates(BipartiteGraph.from_dense(stack[0]), found.mates[0]).is_maximum
    is_proven = np.full(len(stack), proven)
    return found.rounds, SimpleNamespace(mates=found.mates, is_proven=is_proven)


@pytest.mark.parametrize(
    ("settings", "small", "large"),
    [
        (Settings(engine="cuda-table"), "cuda-table", None),
        (Settings(on_gpu=True), "table", "table"),
    ],
)
def test_a_gpu_gets_the_graphs_of_each_shape_as_stacks(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, small: str, large: str | None
) -> None:
    monkeypatch.setattr(OnGpu, "prove_stack", on_this_machine)
    monkeypatch.setattr(packed, "MAX_CELLS", 10_000)  # so that a shape needs several
    rng = np.random.default_rng(0)
    sides = [(70, 70)] * 5 + [(3, 80), (80, 3), (5, 5), (70, 70), (1025, 1)]
    rows = [np.argwhere(rng.random(side) < 0.05).tolist() for side in sides]
    given = table(rows, num_left=[n for n, _ in sides], num_right=[n for _, n in sides])
    found = answers(given, settings).to_pylist()
    assert [told["engine"] for told in found] == ["cuda-table"] * 7 + [small, "cuda-table", large]
    for row, told in zip(rows, found, strict=True):
        if told["engine"] is None:
            assert told["error"] == "on a GPU a graph has at most 1024 nodes a side, not 1025"
        else:
            pairs = list(zip(told["left"], told["right"], strict=True))
            assert (told["size"], told["verdict"]) == (len(pairs), MAXIMUM)
            assert certify(graph(row), pairs).is_maximum


@pytest.mark.gpu
def test_a_gpu_proves_what_it_matches() -> None:
    rng = np.random.default_rng(0)
    sides = [(int(a), int(b)) for a, b in rng.integers(1, 200, (300, 2))]
    rows = [np.argwhere(rng.random(side) < 3 / max(side)).tolist() for side in sides]
    given = table(rows, num_left=[n for n, _ in sides], num_right=[n for _, n in sides])
    expected = answers(given, Settings())["size"].to_pylist()
    for settings in (Settings(engine="cuda-table"), Settings(on_gpu=True)):
        found = answers(given, settings)
        assert found["size"].to_pylist() == expected
        assert set(found["verdict"].to_pylist()) == {MAXIMUM}
        assert "cuda-table" in found["engine"].to_pylist()


two = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4)


@given(st.lists(two | edges, min_size=1, max_size=4), st.data())
@example([[(0, 0), (1, 0)]], [[0, 0]])
@example([[(0, 0), (1, 1)]], [[1, 0]])
@example([[(0, 0)]], [[1]])
def test_only_a_maximum_matching_is_proven(rows: Any, data: Any) -> None:
    """The compiled check agrees with the one that knows no loops, on any mates whatever."""
    graphs = [graph(row) for row in rows]
    sizes_of = [own.num_left for own in graphs]
    mates = data if isinstance(data, list) else [
        data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)) for n in sizes_of
    ]  # fmt: skip
    start = np.cumsum([0, *map(len, rows)])
    flat = [np.array([e[k] for row in rows for e in row], np.int64) for k in (0, 1)]
    counts = tuple(np.array([getattr(x, n) for x in graphs]) for n in ("num_left", "num_right"))
    sizes, is_proven = np.empty(len(rows), np.int64), np.empty(len(rows), np.bool_)
    every = np.array([mate for own in mates for mate in own], np.int32)
    prove_small(start, tuple(flat), counts, every, (sizes, is_proven))
    for own, mate, size, proven in zip(graphs, mates, sizes, is_proven, strict=True):
        alone = certify_mates(own, np.array(mate, np.int32))
        assert (proven, size) == (alone.is_maximum, sum(v >= 0 for v in mate))
