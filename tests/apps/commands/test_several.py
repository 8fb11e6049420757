"""`augury solve FOLDER`: bad files stop no other, and what is done is not done again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from augury import ray
from augury.apps.commands import several
from augury.classical.formats import ReadOptions
from augury.solver import Runner
from command import JOBS, Augury

SOLVE = ("solve", "graphs", "--output", "answers")


@pytest.fixture
def graphs(augury: Augury) -> Path:
    """Make a folder of three graphs."""
    folder = Path("graphs")
    folder.mkdir()
    for name in ("a.csv", "c.csv"):
        (folder / name).write_text(JOBS)
    (folder / "b.max").write_text(Path("pipes.max").read_text())
    return folder


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the graphs of every call that solves some."""
    counts: list[int] = []
    original = Runner.solutions

    def counted(runner: Any, given: list[Any], how: Any) -> Any:
        counts.append(len(given))
        return original(runner, given, how)

    monkeypatch.setattr(Runner, "solutions", counted)
    return counts


def written() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path("answers").glob("[!.]*")}


def test_the_others_are_solved_and_each_failure_is_said(augury: Augury, graphs: Path) -> None:
    (graphs / "aa.csv").write_text("a\n")
    (graphs / "bb.json").write_text("{")
    code, out, err = augury(*SOLVE)
    assert code == several.FAILED == 3
    assert err.splitlines() == [
        "augury: graphs/aa.csv, line 1: an edge needs two columns",
        "augury: graphs/bb.json, line 1: this is not JSON: "
        "Expecting property name enclosed in double quotes",
    ]
    assert out.endswith("3 of 3 answers certified maximum\n2 files failed\nwritten to answers\n")
    assert written().keys() == {"a.csv.json", "b.max.json", "c.csv.json"}


def test_what_can_be_read_but_not_solved_fails_alone(
    augury: Augury, graphs: Path, solved: list[int]
) -> None:
    """An engine refuses the batch; then each graph has its own try."""
    words = ("solve", "graphs", "--perfect")
    code, out, err = augury(*words)
    assert code == 3
    assert err == "augury: graphs/b.max: a perfect matching is one of a bipartite graph\n"
    assert "2 of 2 answers certified maximum\n1 file failed\n" in out
    told = json.loads(augury(*words, "--json").out)
    assert [answer["file"] for answer in told["solutions"]] == ["graphs/a.csv", "graphs/c.csv"]
    assert [failed["file"] for failed in told["failed"]] == ["graphs/b.max"]


def test_files_on_the_command_line_are_treated_likewise(augury: Augury) -> None:
    done = augury("solve", "nowhere.csv", "jobs.csv")
    assert (done.code, done.err) == (3, "augury: nowhere.csv: there is no such file or folder\n")
    assert "jobs.csv  matching  2" in done.out
    done = augury("solve", "nowhere.csv", "nowhere.max")
    assert (done.code, done.out) == (3, "2 files failed\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "nobody"), "nobody: there is no such checkpoint"),
        (("--engine", "steam"), "'steam' is not one of the engines"),
        (("--device", "moon"), "the device is 'moon'"),
        (("--algorithm", "magic"), "'magic' is not one of the algorithms"),
    ],
)
def test_what_would_be_wrong_with_every_file_is_said_once(
    augury: Augury, graphs: Path, words: tuple[str, ...], told: str
) -> None:
    done = augury(*SOLVE, *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert told in done.err and not Path("answers").exists()


def test_a_file_that_has_no_answer_is_no_failure(augury: Augury) -> None:
    Path("short.min").write_text("p min 2 1\nn 1 4\nn 2 -4\na 1 2 0 3 1\n")
    assert augury("solve", "short.min", "jobs.csv").code == 1
    assert augury("solve", "short.min", "jobs.csv", "--output", "answers").code == 1
    assert augury("solve", "short.min", "jobs.csv", "--output", "answers").code == 1
    assert augury("solve", "short.min", "nowhere.csv").code == 3


def test_only_what_changed_is_solved_again(augury: Augury, graphs: Path, solved: list[int]) -> None:
    first = augury(*SOLVE)
    assert (first.code, sum(solved)) == (0, 3)
    again = augury(*SOLVE)
    assert sum(solved) == 3
    shown = first.out.removesuffix("written to answers\n")
    assert again.out == f"{shown}3 answers there already, and unchanged\nwritten to answers\n"
    before = written()

    def counts(*words: str) -> int:
        solved.clear()
        assert augury(*SOLVE, *words).code == 0
        return sum(solved)

    (graphs / "a.csv").write_text("ann,cook\n")
    assert counts() == 1
    assert written()["a.csv.json"] != before["a.csv.json"]
    Path("answers", "c.csv.json").write_text("{}")
    Path("answers", "b.max.json").unlink()
    assert counts() == 2
    assert written()["c.csv.json"] == before["c.csv.json"]
    assert written()["b.max.json"] == before["b.max.json"]
    os.utime(graphs / "a.csv")
    assert counts() == 0
    assert counts("--seed", "1") == 3  # any option that decides an answer
    assert counts("--format", "csv") == 3
    assert counts("--format", "csv") == 0


def test_a_model_that_changed_is_another(augury: Augury, graphs: Path, solved: list[int]) -> None:
    from augury.models.checkpoint import MODELS

    words = (*SOLVE, "--model", "own.safetensors")
    for shipped in ("paper-mpnn", "paper-mpnn", "discrete"):
        Path("own.safetensors").write_bytes((MODELS / f"{shipped}.safetensors").read_bytes())
        assert augury(*words).code == 0
    assert sum(solved) == 6


def test_what_was_written_before_an_end_stands(
    augury: Augury, graphs: Path, solved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file at a time; Ctrl-C while the second is solved."""
    monkeypatch.setattr(several, "MANY_FILES", 1)
    original = Runner.solutions

    def interrupted(*given: Any) -> Any:
        if sum(solved) == 1:
            raise KeyboardInterrupt
        return original(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "solutions", interrupted)
        done = augury(*SOLVE)
    sentence = "augury: interrupted; the same command goes on with answers\n"
    assert (done.code, done.err) == (130, sentence)
    assert written().keys() == {"a.csv.json"}
    solved.clear()
    assert augury(*SOLVE).code == 0
    assert sum(solved) == 2 and len(written()) == 3


def test_a_damaged_list_of_what_is_done_only_means_more_work(
    augury: Augury, graphs: Path, solved: list[int]
) -> None:
    assert augury(*SOLVE).code == 0
    done = Path("answers", several.DONE)
    whole = done.read_bytes()
    done.write_bytes(whole[:-20])  # as a killed process leaves it
    solved.clear()
    assert augury(*SOLVE).code == 0
    assert sum(solved) == 1
    assert augury(*SOLVE).code == 0
    assert sum(solved) == 1
    done.write_bytes(b'[]\n{"answer": "a.csv.json"}\n\xff\n{"answer": [], "row": 3}\n')
    solved.clear()
    assert augury(*SOLVE).code == 0
    assert sum(solved) == 3


def test_large_graphs_are_solved_before_the_next_is_read(
    augury: Augury, graphs: Path, solved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert augury("solve", "graphs/a.csv", "graphs/c.csv").code == 0
    assert solved == [2]  # small ones go side by side
    solved.clear()
    monkeypatch.setattr(several, "MANY_ARCS", 1)
    assert augury(*SOLVE).code == 0
    assert solved == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "--ray writes a table of answers: give --output FOLDER"),
        (["--output", "out", "--json"], "--json is not for --ray, which writes a table of answers"),
        (["--output", "out", "--format", "csv"], "--format is not for --ray, which writes a table"),
        (["--output", "x/out"], "x: there is no such folder"),
        (["--output", "out", "--engine", "none"], "'none' is not one of the engines"),
        (["--output", "out", "--model", "nobody"], "nobody"),
    ],
)
def test_what_ray_cannot_do_is_one_sentence_before_it_starts(
    augury: Augury, options: list[str], told: str
) -> None:
    done = augury("solve", "jobs.csv", "--ray", "local", *options)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not Path("out").exists()


def test_pieces_are_counted_and_faults_told(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ray.Plan([ray.Piece("a", "files", ("jobs.csv",))] * 3, "out", ".jsonl", ReadOptions())
    done = [ray.Done("a", 5, 1), ray.Done("b", 4, 0, is_new=False), ray.Done("c", 0, 0, "c: bad")]
    monkeypatch.setattr(ray, "solve_sources", lambda *given, **how: (x for x in [plan, *done]))
    told = augury("solve", "jobs.csv", "--ray", "local", "--output", "out", "--format", "json")
    assert told.code == several.FAILED
    assert told.err == "augury: c: bad\n"
    assert told.out.splitlines() == [
        "8 graphs solved",
        "1 row failed: see the column error",
        "1 piece failed",
        "4 answers there already, and unchanged",
        "written to out",
    ]
