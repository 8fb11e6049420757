"""Shards find what the network does, pair for pair and step for step, whatever becomes of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury import BipartiteGraph, FlowNetwork, solve
from augury.algorithms.executor import CellExecutor
from augury.classical.answer import Progress
from augury.classical.batch import Batch
from augury.classical.certificate import certify_mates
from augury.classical.generate import power_law, sparse
from augury.engines import match_dense
from augury.engines.sharded_check import Checker, Verdict
from augury.engines.sharded_files import Layout, read_pairs
from augury.engines.sharded_part import Shard
from augury.engines.sharded_run import (
    State,
    make_shards,
    rounds,
    solve_file,
    solve_folder,
    solve_graph,
)
from augury.engines.sharded_team import InTurn, Lost, Post
from augury.engines.small import _match_rounds, turning_weights
from augury.errors import InputError
from augury.models import shipped_table
from graphs import ISOLATED, JOBS, NOTHING, STAR
from proven import untrained


def some_graphs(seed: int) -> list[BipartiteGraph]:
    rng = np.random.default_rng(seed)
    made = [sparse(rng, 90, c=c) for c in (1.0, 2.5, 4.0)] + [power_law(rng, 120)]
    wide = rng.random((30, 150)) < 0.03
    made += [BipartiteGraph.from_dense(edges) for edges in (wide, wide.T)]
    return [*made, ISOLATED, NOTHING, STAR]


def by_rounds(graph: BipartiteGraph) -> tuple[list[int], int]:
    columns = [0] * graph.num_right
    for u, v in zip(graph.left.tolist(), graph.right.tolist(), strict=True):
        columns[v] |= 1 << u
    return _match_rounds(graph.num_left, columns)


def chain(length: int) -> BipartiteGraph:
    """A path in which the first choices are wrong, so that the last augmenting path is long."""
    rows = np.arange(length)
    ends = np.concatenate([rows, rows[1:]]), np.concatenate([rows, rows[:-1]])
    return BipartiteGraph(length, length, length - 1 - ends[0], ends[1])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_shards_makes_the_rounds_of_the_small_engine(
    count: int, tmp_path: Path
) -> None:
    for number, graph in enumerate([*some_graphs(count), chain(40)]):
        found = solve_graph(graph, tmp_path / str(number), count)
        mates = np.load(found.mates)
        assert (mates.tolist(), found.state.rounds) == by_rounds(graph)
        assert found.verdict.is_maximum
        assert found.layout.num_edges == graph.num_edges == found.verdict.arcs
        certificate = certify_mates(graph, mates)
        assert certificate.is_maximum
        assert certificate.size == found.verdict.size == found.state.size
        assert found.verdict.size == solve(graph, engine="table").size


def test_it_takes_the_rounds_of_the_network() -> None:
    stack = np.random.default_rng(3).random((6, 12, 10)) < 0.15
    network = match_dense(stack, engine="lookup")
    for edges, mates, count in zip(stack, network.mates, network.rounds, strict=True):
        solution = solve(BipartiteGraph.from_dense(edges), engine="sharded")
        pairs = [(u, v) for u, v in enumerate(mates.tolist()) if v >= 0]
        assert (solution.matching, solution.rounds) == (pairs, count)
        assert solution.is_maximum
        assert solution.engine == "sharded"


class Seen:
    """An observer of the network, and what it saw: who is reached after each step."""

    def __init__(self) -> None:
        self.steps: list[Any] = []

    def searched(self, values: Any, arc: Any, belief: Any, goes_on: float) -> None:
        self.steps.append((values.copy(), arc.copy()))

    def reached(self, values: Any, goes_on: float) -> None:
        raise AssertionError

    compared: Any = reached


class Watched(InTurn):
    """Shards, and who is reached after each of their steps."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(Shard, folder, count)
        self.left: list[Any] = []
        self.right: list[Any] = []

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        told = super().tell(method, *given, post=post)
        count = len(self.members)
        if method in ("start", "ask", "hear"):
            name, steps = ("level", self.right) if method == "hear" else ("root", self.left)
            parts = [getattr(member, name) >= 0 for member in self.members]
            steps.append(_in_order(parts, count))
        return told

    def in_order(self, name: str) -> Any:
        return _in_order([getattr(member, name) for member in self.members], len(self.members))


def _in_order(parts: list[Any], count: int) -> Any:
    whole = np.empty(sum(map(len, parts)), parts[0].dtype)
    for number, part in enumerate(parts):
        whole[number::count] = part
    return whole


def test_every_step_reaches_whom_the_network_s_table_reaches(tmp_path: Path) -> None:
    graph = sparse(np.random.default_rng(5), 40, c=2.5)
    network = FlowNetwork.from_bipartite(graph)
    batch = Batch.of([network])
    pairs = np.stack([graph.left, graph.right], 1).astype(np.int64)
    layout = make_shards([pairs], tmp_path, 3, sizes=(graph.num_left, graph.num_right))
    team = Watched(tmp_path, 3)
    left, right = slice(1, 1 + graph.num_left), slice(1 + graph.num_left, -1)
    state, mates, lengths = State(), np.full(graph.num_left, -1, np.int32), []
    while not state.is_done:
        team.left, team.right = [], []
        before = state
        state = next(rounds(team, layout, state))
        seen = Seen()
        executor = CellExecutor(shipped_table(), observer=seen)
        residual = residual_of(graph, network, mates)
        executor.search(batch, residual, turning_weights(batch, before.rounds))
        for step, (own_left, own_right) in enumerate(zip(team.left, team.right, strict=True)):
            np.testing.assert_array_equal(own_left, seen.steps[2 * step][0][left])
            is_reached, arc = seen.steps[min(2 * step + 1, len(seen.steps) - 1)]
            np.testing.assert_array_equal(own_right, is_reached[right])
            sender = np.where(arc[right] >= 0, network.sender[arc[right]] - 1, -1)
            parent = np.where(own_right, team.in_order("parent"), -1)
            np.testing.assert_array_equal(parent, sender)
        mates = team.in_order("mates")
        assert certify_mates(graph, mates).is_legal
        if not state.is_done:
            lengths.append(state.length)
            assert state.size == np.count_nonzero(mates >= 0) > before.size
    assert lengths == sorted(lengths)  # shortest paths never get shorter
    assert max(lengths) > 2
    assert state.phases == len(set(lengths))


def residual_of(graph: BipartiteGraph, network: FlowNetwork, mates: Any) -> Any:
    """The residual of a matching in the network of a graph."""
    used = {(0, 1 + u) for u, v in enumerate(mates.tolist()) if v >= 0}
    first = 1 + graph.num_left
    used |= {(1 + u, first + v) for u, v in enumerate(mates.tolist()) if v >= 0}
    used |= {(first + v, network.sink) for v in mates.tolist() if v >= 0}
    residual = network.capacity.copy()
    for arc in range(0, network.num_arcs, 2):
        ends = int(network.sender[arc]), int(network.receiver[arc])
        ends = ends if ends[0] != network.source else (0, ends[1])
        if ends in used:
            residual[arc], residual[arc + 1] = 0, 1
    return residual


class Stop(Exception):
    pass


def stopping_at(number: int) -> Callable[[Progress], None]:
    def progress(now: Progress) -> None:
        if now.rounds == number:
            raise Stop

    return progress


def test_a_run_that_stops_goes_on_where_it_was(tmp_path: Path) -> None:
    graph = sparse(np.random.default_rng(7), 150, c=3.0)
    whole = solve_graph(graph, tmp_path / "whole", 2)
    folder = tmp_path / "parts"
    with pytest.raises(Stop):
        solve_graph(graph, folder, 2, stopping_at(2))
    layout = Layout.read(folder)
    assert layout is not None
    begun: list[int] = []
    with pytest.raises(Stop):
        solve_folder(folder, layout, progress=stopping_at(4))
    found = solve_folder(folder, layout, progress=lambda now: begun.append(now.rounds))
    assert begun[0] == 5  # the fourth was saved
    assert found.mates.read_bytes() == whole.mates.read_bytes()
    assert found.state._replace(cpu=0) == whole.state._replace(cpu=0)
    again = solve_folder(folder, layout)  # nothing is left to do
    assert again.to_dict() == found.to_dict()


class Losing(InTurn):
    """Shards one of which is lost in the middle of a round, and again."""

    calls = 0
    times = 2

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        Losing.calls += 1
        if Losing.times and method == "exchange" and Losing.calls > 30:
            Losing.times -= 1
            self.members[0].exchange(*(post or [[]])[0])  # half of it is done
            raise Lost("a process")
        return super().tell(method, *given, post=post)


def test_a_lost_shard_loses_nothing(tmp_path: Path) -> None:
    graph = sparse(np.random.default_rng(7), 150, c=3.0)
    Losing.calls, Losing.times = 0, 2
    found = solve_graph(graph, tmp_path, 2, hire=Losing)
    assert Losing.times == 0
    assert np.load(found.mates).tolist() == by_rounds(graph)[0]
    assert found.verdict.is_maximum


class LostEarly(InTurn):
    """Shards that are lost while they are made."""

    times = 0

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        if method == "build" and LostEarly.times:
            LostEarly.times -= 1
            self.members[0].build(*given)  # half of it is done
            raise Lost("a process")
        return super().tell(method, *given, post=post)


def test_a_shard_that_is_lost_while_it_is_made_is_made_again(tmp_path: Path) -> None:
    graph = sparse(np.random.default_rng(7), 150, c=3.0)
    LostEarly.times = 3
    found = solve_graph(graph, tmp_path / "a", 2, hire=LostEarly)
    assert np.load(found.mates).tolist() == by_rounds(graph)[0]
    LostEarly.times = 4
    with pytest.raises(InputError, match="shards were lost 4 times, being made: a process"):
        solve_graph(graph, tmp_path / "b", 2, hire=LostEarly)


def test_shards_that_are_always_lost_are_given_up(tmp_path: Path) -> None:
    Losing.calls, Losing.times = 0, 1000
    with pytest.raises(InputError, match="shards were lost 4 times in a round: a process"):
        solve_graph(sparse(np.random.default_rng(7), 150, c=3.0), tmp_path, 2, hire=Losing)


def checked(folder: Path, saved: int, count: int) -> Verdict:
    team = InTurn(Checker, folder, count)
    post = team.send("claim", saved)
    return sum(team.tell("confirm", saved, post=post), Verdict())


def change(path: Path, place: int, value: Any) -> None:
    array = np.load(path)
    array[place] = value
    np.save(path, array)


def test_the_check_finds_what_is_wrong(tmp_path: Path) -> None:
    graph = sparse(np.random.default_rng(2), 100, c=2.0)
    found = solve_graph(graph, tmp_path / "right", 2)
    saved, mates = found.state.rounds, np.load(found.mates)
    assert checked(tmp_path / "right", saved, 2).is_maximum
    own = mates[::2]
    place = int(np.flatnonzero(own >= 0)[0])
    taken, free = int(own[own >= 0][1]), int(np.flatnonzero(own < 0)[0])
    cover = np.load(tmp_path / "right/cover_right.npy")
    inside = int(np.flatnonzero(cover[::2])[0])
    faults: dict[str, tuple[str, int, Any, str]] = {
        "a mate forgotten": (f"mates-{saved}", place, -1, "disagreeing"),
        "a mate of two": (f"mates-{saved}", place, taken, "disagreeing"),
        "a mate made up": (f"mates-{saved}", free, taken, "disagreeing"),
        "no such node": (f"mates-{saved}", place, 10**6, "strangers"),
        "another row": (
            f"mate_of-{saved}",
            int(np.flatnonzero(cover[::2])[0]),
            10**6,
            "disagreeing",
        ),
        "an edge left bare": ("cover_right", inside, False, "bare"),
        "a node too many": (
            "cover_left",
            int(np.flatnonzero(~np.load(tmp_path / "right/cover_left.npy")[::2])[0]),
            True,
            "",
        ),
    }
    for name, (file, at, value, told) in faults.items():
        folder = tmp_path / name
        shutil.copytree(tmp_path / "right", folder)
        change(folder / f"shard-0/{file}.npy", at, value)
        verdict = checked(folder, saved, 2)
        assert not verdict.is_maximum, name
        assert not told or getattr(verdict, told) > 0, name


def written(folder: Path, pairs: Any) -> dict[str, Path]:
    """The same edges in all kinds of files."""
    import pyarrow as pa
    from pyarrow import parquet

    lines = [f"{u},{v}" for u, v in pairs.tolist()]
    texts = {"plain.csv": lines, "header.csv": ["who,what", *lines]}
    texts["tabs.tsv"] = [line.replace(",", "\t") for line in lines]
    for name, rows in texts.items():
        (folder / name).write_text("\n".join(rows) + "\n")
    columns = {"left": pairs[:, 0], "right": pairs[:, 1]}
    np.savez(folder / "arrays.npz", **columns)
    np.savez_compressed(
        folder / "packed.npz", **{k: v.astype(np.int16) for k, v in columns.items()}
    )
    parquet.write_table(pa.table(columns), folder / "rows.parquet")
    names = [*texts, "arrays.npz", "packed.npz", "rows.parquet"]
    return {name: folder / name for name in names}


def test_every_kind_of_file_is_read_alike_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.engines.sharded_files.CHUNK", 64)
    pairs = np.random.default_rng(0).integers(0, 90, (500, 2))  # some of them twice
    for path in written(tmp_path, pairs).values():
        np.testing.assert_array_equal(np.concatenate(list(read_pairs(path))), pairs)
    graph = BipartiteGraph(90, 90, *np.unique(pairs, axis=0).T)
    found = solve_file(tmp_path / "arrays.npz", tmp_path / "out", shards=3)
    assert found.layout.num_edges == graph.num_edges
    assert np.load(found.mates).tolist() == by_rounds(graph)[0]
    answer = json.loads((tmp_path / "out/answer.json").read_text())
    assert answer["is_maximum"]
    left, right = (np.load(tmp_path / f"out/cover_{side}.npy") for side in ("left", "right"))
    assert left.sum() + right.sum() == found.verdict.size == answer["size"]
    assert (left[graph.left] | right[graph.right]).all()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "ann,cook\nbob,sing\n", "'bob'.*two columns of node numbers"),
        ("a.csv", "0,1\n2,-3\n", "numbers from 0 to .*, not -3"),
        ("a.csv", "0,1,7\n", "two columns of node numbers, left and right, not 3"),
        ("a.csv", "0,1\n5\n", "Expected 2 columns"),
        ("a.csv", "0,1\n5,\n", "a node number is missing"),
        ("a.csv", "0,1\n5,1.5\n", "1.5"),
        ("a.npz", "no archive", "the arrays 'left' and 'right'"),
        ("a.parquet", "no table", "Parquet"),
        ("a.mtx", "", r"ends in \.csv, \.tsv, \.parquet, \.npz"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        solve_file(tmp_path / name, tmp_path / "out", shards=2)
    assert not (tmp_path / "out/graph.json").exists()


def test_arrays_that_are_no_columns_are_refused(tmp_path: Path) -> None:
    right = np.arange(4)
    for left in (np.arange(3), np.arange(4.0), np.ones((2, 2), int)):
        np.savez(tmp_path / "a.npz", left=left, right=right)
        with pytest.raises(InputError, match=r"differ in length|array of integers"):
            solve_file(tmp_path / "a.npz", tmp_path / "out", shards=2)


def test_a_folder_that_does_not_fit_together_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("0,0\n1,0\n1,1\n2,1\n")
    found = solve_file(path, tmp_path / "out", shards=2)
    change(tmp_path / f"out/shard-0/mates-{found.state.rounds}.npy", 0, -1)
    with pytest.raises(InputError, match="does not fit together"):
        solve_file(path, tmp_path / "out", shards=2)


def test_only_proven_networks_and_bipartite_graphs_are_taken() -> None:
    with pytest.raises(InputError, match="not proven"):
        solve(JOBS, model=CellExecutor(untrained()), engine="sharded")
    with pytest.raises(InputError, match="flow network"):
        solve(FlowNetwork.from_bipartite(JOBS), engine="sharded")


@pytest.mark.slow
def test_nodes_beyond_32_bits_are_matched_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Layout, "kind", np.int64)
    for number, graph in enumerate(some_graphs(1)):
        found = solve_graph(graph, tmp_path / str(number), 3)
        assert np.load(found.mates).tolist() == by_rounds(graph)[0]
        assert found.verdict.is_maximum


@pytest.mark.slow
def test_a_shard_killed_on_ray_loses_nothing(tmp_path: Path) -> None:
    import psutil

    graph = sparse(np.random.default_rng(7), 3000, c=3.0)
    np.savez(tmp_path / "a.npz", left=graph.left, right=graph.right)
    killed: list[int] = []

    def progress(now: Progress) -> None:
        if now.rounds == 4 and not killed:
            own = psutil.Process().children(recursive=True)
            shards = [child.pid for child in own if "_Member" in " ".join(child.cmdline())]
            killed.append(shards[0])
            os.kill(shards[0], signal.SIGKILL)

    found = solve_file(
        tmp_path / "a.npz", tmp_path / "out", address="local", shards=2, progress=progress
    )
    here = solve_file(tmp_path / "a.npz", tmp_path / "here", shards=3)
    assert killed
    assert found.verdict.is_maximum
    assert found.mates.read_bytes() == here.mates.read_bytes()
