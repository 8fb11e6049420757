"""Many graphs in files and datasets, solved in pieces: here, and on a real Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury.ray
import augury.ray.pieces
from augury.classical.batch import starts
from augury.classical.formats import ReadOptions
from augury.errors import InputError
from augury.ray import MADE
from augury.ray import solve_sources as solved
from augury.ray.pieces import Piece, pieces_of
from augury.ray.writing import UNFINISHED, Done, Plan, counted, solve_piece
from augury.tables import Settings, answers
from documents import ROOT, run_python

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated")  # Ray, of its own settings
ROWS = 500


def graphs(seed: int = 0, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(seed)
    graph, left, right = np.nonzero(rng.random((rows, 5, 5)) < 0.3)
    start = pa.array(starts(np.bincount(graph, minlength=rows)).astype(np.int32))
    ends = (pa.ListArray.from_arrays(start, own.astype(np.int32)) for own in (left, right))
    return pa.table(dict(zip(("left", "right"), ends, strict=True)))


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augury.ray.pieces, "PIECE_ROWS", 200)
    monkeypatch.setattr(augury.ray.pieces, "PIECE_BYTES", 2**13)


def write_parquet(path: Path, table: pa.Table, rows: int = 90) -> str:
    pq.write_table(table, path, row_group_size=rows)
    return str(path)


def write_lines(path: Path, rows: list[Any]) -> str:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return str(path)


def solve_here(sources: list[str], output: Path, ending: str = ".parquet") -> list[Done]:
    output.mkdir(exist_ok=True)
    plan = Plan(pieces_of(sources, Settings()), str(output), ending, ReadOptions())
    done = [solve_piece(piece, plan, Settings()) for piece in plan.pieces]
    assert {str(path) for path in output.iterdir()} == {plan.path(piece) for piece in plan.pieces}
    return done


def test_a_parquet_file_is_cut_between_row_groups(tmp_path: Path, few_rows: None) -> None:
    source = write_parquet(tmp_path / "a.parquet", graphs())
    pieces = pieces_of([source], Settings())
    assert [(own.first, own.last, own.row) for own in pieces] == [
        (0, 2, 0), (2, 4, 180), (4, 6, 360),
    ]  # fmt: skip
    done = solve_here([source], tmp_path / "out")
    assert [(own.rows, own.failed, own.fault) for own in done] == [
        (180, 0, ""), (180, 0, ""), (140, 0, ""),
    ]  # fmt: skip
    found = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").iterdir()))
    assert found["row"].to_pylist() == list(range(ROWS))
    assert set(found["file"].to_pylist()) == {source}
    expected = answers(graphs(), Settings())
    assert found.select(expected.column_names).to_pylist() == expected.to_pylist()


def test_pieces_of_very_large_sources_are_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_rows: None
) -> None:
    (tmp_path / "graphs").mkdir()
    source = Path(write_parquet(tmp_path / "graphs" / "a.parquet", graphs()))
    write_lines(tmp_path / "graphs" / "b.jsonl", graphs().to_pylist())
    before = [own.read for own in pieces_of([str(source.parent)], Settings())]
    total = sum(path.stat().st_size for path in source.parent.iterdir())
    monkeypatch.setattr(augury.ray.pieces, "LARGE", total // 2)
    now = [own.read for own in pieces_of([str(source.parent)], Settings())]
    assert (before.count("parquet"), now.count("parquet")) == (3, 1)
    assert now.count("lines") == -(-before.count("lines") // 3)


def test_json_lines_are_cut_anywhere_and_each_line_is_read_once(
    tmp_path: Path, few_rows: None
) -> None:
    rows = graphs().to_pylist()
    lines: list[Any] = [*rows[:250], "", {"left": [0]}, "{", '{"left": ["a"], "right": [1]}', "3"]
    lines += rows[250:]
    source = write_lines(tmp_path / "a.jsonl", lines)
    assert len(pieces_of([source], Settings())) > 3
    done = solve_here([source], tmp_path / "out", ".jsonl")
    assert sum(own.rows for own in done) == ROWS + 4
    assert sum(own.failed for own in done) == 4
    paths = sorted((tmp_path / "out").iterdir())
    found = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    text = Path(source).read_bytes()
    sizes = answers(graphs(), Settings())["size"].to_pylist()
    good = [told for told in found if "error" not in told]
    assert [told["size"] for told in good] == sizes
    at = [told["byte"] for told in found]
    assert at == sorted(at)
    assert [json.loads(text[k:].split(b"\n")[0]) for k in (told["byte"] for told in good)] == rows
    errors = [told["error"] for told in found if "error" in told]
    assert errors[0] == "the column 'right' is empty"
    assert errors[1].startswith("this is no JSON: ")
    assert errors[3] == "this is no JSON object"
    assert [counted(str(path), "").failed for path in paths] == [own.failed for own in done]


def test_a_line_that_starts_where_a_piece_does_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"left": [0], "right": [0]}'
    monkeypatch.setattr(augury.ray.pieces, "PIECE_BYTES", 2 * len(line) + 2)
    source = write_lines(tmp_path / "a.jsonl", [line] * 7)
    assert [own.rows for own in solve_here([source], tmp_path / "out")] == [2, 2, 2, 1]


def test_the_same_piece_is_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "a.parquet", graphs())
    for name in ("one", "two"):
        solve_here([source], tmp_path / name)
    [one], [two] = (list((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_piece_that_cannot_be_read_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    source = Path(write_parquet(tmp_path / "a.parquet", graphs()))
    output = tmp_path / "out"
    output.mkdir()
    plan = Plan(pieces_of([str(source)], Settings()), str(output), ".parquet", ReadOptions())
    text = bytearray(source.read_bytes())
    text[10:200] = bytes(190)
    source.write_bytes(text)
    done = solve_piece(plan.pieces[0], plan, Settings())
    assert done.fault.startswith(f"{source}: ")
    source.unlink()
    told = solve_piece(plan.pieces[0], plan, Settings()).fault
    assert told == f"{source}: there is no such file or folder"
    assert list(output.iterdir()) == []


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_a_piece_that_always_ends_its_process_is_given_up(tmp_path: Path, ending: str) -> None:
    """Ray Data would try again for ever; every attempt leaves an unfinished file."""
    source = write_parquet(tmp_path / "a.parquet", graphs())
    output = tmp_path / "out"
    output.mkdir()
    plan = Plan(pieces_of([source], Settings()), str(output), ending, ReadOptions())
    [piece] = plan.pieces
    for attempt in range(3):
        (output / f"{UNFINISHED}{piece.name}-{attempt}").touch()
        (output / f"{UNFINISHED}other-{attempt}").touch()
    assert solve_piece(piece, plan, Settings()).rows == ROWS
    (output / f"{UNFINISHED}{piece.name}-3").touch()
    told = solve_piece(piece, plan, Settings()).fault
    assert told == f"{source}: its piece {piece.name} ended its process 4 times"


def test_a_piece_is_begun_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_parquet(tmp_path / "a.parquet", graphs())
    output = tmp_path / "out"
    output.mkdir()
    plan = Plan(pieces_of([source], Settings()), str(output), ".parquet", ReadOptions())
    seen: list[str] = []

    def read(*given: Any) -> Iterator[pa.Table]:
        seen.extend(path.name for path in output.iterdir())
        yield from ()

    monkeypatch.setattr("augury.ray.writing.solved_parts", read)
    with pytest.raises(StopIteration):
        solve_piece(plan.pieces[0], plan, Settings())
    assert [name.startswith(f"{UNFINISHED}{plan.pieces[0].name}-") for name in seen] == [True]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nowhere", None, "there is no such file or folder"),
        ("a.parquet", "text", "a.parquet: "),
        ("a.jsonl", "{", "a.jsonl: the first line: this is no JSON"),
        ("a.jsonl", '{"x": 1}', "a.jsonl: there are neither columns left, right"),
        ("a.jsonl", "", "there are neither columns"),
    ],
)
def test_an_unreadable_source_is_one_sentence(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        pieces_of([str(tmp_path / name)], Settings())
    assert message in str(error.value)


def test_a_folder_without_graphs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file in this folder ends in .parquet, "):
        pieces_of([str(tmp_path)], Settings())


def test_without_ray_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--ray needs Ray: pip install 'augury\[cluster\]'"):
        next(solved(["x"], tmp_path, Settings()))


class Mapped:
    """Remembers how a dataset was mapped."""

    def map_batches(self, perform: Any, **how: Any) -> Any:
        return perform, how


@pytest.mark.parametrize(
    ("resources", "settings", "share", "processes"),
    [
        ({"CPU": 8.0}, {}, None, None),
        ({"CPU": 8.0, "GPU": 1.0}, {}, 1 / 8, 8),
        ({"CPU": 8.0, "GPU": 2.0}, {}, 1 / 4, 8),
        ({"CPU": 17.0, "GPU": 1.0}, {}, None, None),  # most cores would be idle
        ({"CPU": 17.0, "GPU": 1.0}, {"engine": "cuda-table"}, 1 / 16, 16),
        ({"CPU": 4.0, "GPU": 8.0}, {"device": "cuda"}, 1, 8),
        ({"CPU": 8.0, "GPU": 1.0}, {"engine": "table"}, None, None),
    ],
)
def test_gpus_are_shared_by_the_cores_or_left_alone(
    resources: Any, settings: Any, share: Any, processes: Any
) -> None:
    ray = SimpleNamespace(cluster_resources=lambda: resources)
    placed = augury.ray._placed(ray, Settings(**settings))
    perform = partial(answers, settings=placed)
    dataset: Any = Mapped()
    how: Any = augury.ray._mapped(ray, dataset, perform, 1, 100)[1]  # type: ignore[reportIndexIssue]
    assert (how.get("num_gpus"), how.get("concurrency"), how["num_cpus"]) == (share, processes, 1)
    assert placed.on_gpu == (share is not None and not settings)


def test_a_gpu_that_is_not_there_is_one_sentence() -> None:
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 2.0})
    perform = partial(answers, settings=Settings(engine="cuda-table"))
    dataset: Any = Mapped()
    with pytest.raises(InputError, match="the cluster has no GPU"):
        augury.ray._mapped(ray, dataset, perform, 1)


def test_what_is_there_is_not_solved_again_and_nothing_is_lost(
    tmp_path: Path, joined: Any, few_rows: None
) -> None:
    (tmp_path / "graphs").mkdir()
    write_parquet(tmp_path / "graphs" / "a.parquet", graphs())
    write_lines(tmp_path / "graphs" / "b.jsonl", [*graphs(1, 50).to_pylist(), "bad"])
    (tmp_path / "graphs" / "jobs.csv").write_text("person,job\nann,cook\nbob,cook\nbob,sing\n")
    output = tmp_path / "out"
    call = [str(tmp_path / "graphs")], output, Settings()
    plan, *rest = solved(*call)
    assert isinstance(plan, Plan)
    done = [own for own in rest if isinstance(own, Done)]
    assert len(done) == len(rest)
    assert sum(own.rows for own in done) == ROWS + 51 + 1
    assert sum(own.failed for own in done) == 1
    assert all(own.is_new and not own.fault for own in done)
    paths = sorted(output.glob("*.parquet"))
    before = {path: path.read_bytes() for path in paths}
    paths[1].unlink()
    (output / f"{UNFINISHED}x").write_text("left by a process that was killed")
    again = [own for own in solved(*call) if isinstance(own, Done)]
    assert sorted(own.name for own in again if own.is_new) == [paths[1].stem]
    assert {own.name: own[1:3] for own in again} == {own.name: own[1:3] for own in done}
    assert {path: path.read_bytes() for path in paths} == before
    assert {path.name for path in output.iterdir()} == {MADE, *(path.name for path in paths)}
    with pytest.raises(InputError, match="are to other sources, or by other options"):
        next(solved(*call[:2], Settings(seed=1)))


def test_a_dataset_gets_the_answers_of_its_rows(joined: Any) -> None:
    import ray.data

    table = graphs().append_column("id", pa.array(range(ROWS)))
    dataset = augury.ray.solve(ray.data.from_arrow(table))
    found = pa.concat_tables(dataset.iter_batches(batch_format="pyarrow", batch_size=None))
    found = found.sort_by("id").combine_chunks()
    assert found.to_pylist() == answers(table, Settings()).to_pylist()
    with pytest.raises(InputError, match="'color' is none of the settings"):
        augury.ray.solve(dataset, color=1)
    with pytest.raises(InputError, match="there are neither columns"):
        augury.ray.solve(ray.data.from_arrow(table.drop_columns("right")))


def test_the_example_of_the_document_runs(joined: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_python(ROOT / "docs" / "cluster.md")
    assert "7 2 certified maximum" in capsys.readouterr().out


@pytest.mark.slow
def test_killed_workers_lose_nothing(
    tmp_path: Path, joined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever process is working is killed, several times."""
    monkeypatch.setattr(augury.ray.pieces, "PIECE_ROWS", 5000)
    source = write_parquet(tmp_path / "a.parquet", graphs(0, 100_000), 5000)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not over.wait(1.0) and len(killed) < 3:
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                if path.read_bytes().startswith(b"ray::") and b"Map" in path.read_bytes():
                    killed.append(int(path.parent.name))
                    os.kill(killed[-1], signal.SIGKILL)
                    break

    thread = threading.Thread(target=kill)
    thread.start()
    found_parts = solved([source], tmp_path / "out", Settings())
    done = [own for own in found_parts if isinstance(own, Done)]
    over.set()
    thread.join()
    assert sum(own.rows for own in done) == 100_000
    found = pq.read_table(tmp_path / "out").sort_by("row")
    assert found["row"].to_pylist() == list(range(100_000))


def test_a_plan_knows_where_answers_go() -> None:
    piece = Piece("00000-a-00000", "parquet", ("a.parquet",))
    assert Plan([piece], "out", ".jsonl", ReadOptions()).path(piece) == os.path.join(
        "out", "00000-a-00000.jsonl"
    )
