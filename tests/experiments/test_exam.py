"""An exam: verdicts, the record, the page, and what becomes of solvers that never end."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from augury.errors import InputError
from augury.experiments import exam, exam_driver
from augury.experiments.exam import KIND, Exam, Loss, Result, Task, judged, read_results
from augury.experiments.exam_driver import (
    Driver,
    cpu_limit,
    examine,
    failures,
    machine,
    perform,
    refuse_other,
)
from augury.experiments.exam_page import page
from augury.experiments.exam_questions import JUDGES, fingerprint, question
from augury.experiments.exam_solvers import SOLVERS, Answer, Solver
from augury.experiments.records import Lines, read_rows
from command import Augury, runner
from examining import examine_deadly, examine_faultily

PROVEN = Answer((3, None), True)
PRICED = Answer((3, 7), True)


@pytest.mark.parametrize(
    ("answer", "proven", "expected"),
    [
        (Answer((3, None), True), PROVEN, ("certified", "")),
        (Answer((3, None), True), None, ("certified", "")),
        (Answer((3, None)), PROVEN, ("right", "")),
        (Answer((2, None)), PROVEN, ("wrong", "finds 2, not 3")),
        (Answer((4, None), True), PROVEN, ("wrong", "finds 4, not 3")),  # a proof that is none
        (Answer((3, 8)), PRICED, ("wrong", "finds 3 at a cost of 8, not 3 at a cost of 7")),
        (Answer(None), PRICED, ("wrong", "finds that there is no answer, not 3 at a cost of 7")),
        (Answer(None), Answer(None, True), ("right", "")),
        (Answer((3, None)), None, ("unjudged", "finds 3, without a proof")),
        (Answer((3, None)), Answer((3, None)), ("unjudged", "finds 3, without a proof")),
        (Answer(refusal="too large"), PROVEN, ("refused", "too large")),
    ],
)
def test_a_verdict(answer: Answer, proven: Answer | None, expected: tuple[str, str]) -> None:
    assert judged(answer, proven) == expected


def bad(graphs: Sequence[Any]) -> list[Answer]:
    """Answer rightly, but for two."""
    found = [
        answer._replace(is_certified=False) for answer in SOLVERS["table"].asks["flow"](graphs)
    ]
    if len(found) > 1:  # not while it is warmed up
        value: Any = found[1].value
        found[1] = Answer((value[0] + 1, None))
        found[2] = Answer(refusal="not today")
    return found


def test_a_solver_that_errs_loses_with_the_input_and_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SOLVERS, "bad", Solver("errs", {"flow": bad}))
    numbers = (700, 701, 702, 703)
    result = perform(Task("flows-all", "bad", numbers, 600))
    assert result.counts == {"right": 2, "wrong": 1, "refused": 1}
    wrong, refused = result.losses
    assert wrong[:2] == (701, "wrong") and refused[:3] == (702, "refused", "not today")
    assert wrong.input == fingerprint([question("flows-all", 701)])
    assert result.input == fingerprint([question("flows-all", number) for number in numbers])
    # Nobody has a proof of 700: the solver may say what it likes.
    unproven = perform(Task("flows-all", "bad", numbers, 600, frozenset([700])))
    assert unproven.counts == {"right": 1, "wrong": 1, "refused": 1, "unjudged": 1}


def test_our_engines_prove_what_they_answer() -> None:
    for name in ("table", "lookup"):
        for judge in ("bipartite-all", "flows-all", "costs-all"):
            numbers = tuple(range(60, 100))
            assert perform(Task(judge, name, numbers, 600)).counts == {"certified": 40}


def record(folder: Path, whole: Exam) -> Lines:
    return Lines(folder / "exam.jsonl", KIND, **whole.told, machine=machine())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no timer that ends a process")
def test_a_question_that_never_ends_is_too_slow_and_one_that_kills_has_crashed(
    tmp_path: Path,
) -> None:
    lines = record(tmp_path, Exam())
    driver = Driver(lines, {}, 1, lambda status: None)
    driver.run([Task("flows-all", "SciPy", (1, 7, 9), 0.3)], examine_deadly, 1)
    [result] = driver.results.values()
    assert result.counts == {"right": 1, "too slow": 1, "crashed": 1}
    slow, crashed = result.losses
    assert slow == Loss(7, "too slow", "over 0.3 s", fingerprint([question("flows-all", 7)]))
    assert crashed[:2] == (9, "crashed") and "exit code 5" in crashed.why
    assert read_results(record(tmp_path, Exam()).rows) == driver.results


def test_every_task_is_asked_once_and_who_judges_others_comes_first() -> None:
    some = Exam(quick=True, solvers=("SciPy", "table", "paper-mpnn"))
    tasks = some.tasks()
    assert len({task.key for task in tasks}) == len(tasks)
    is_reference = [task.solver == "table" for task in tasks]
    assert is_reference == sorted(is_reference, reverse=True)
    assert not [task for task in tasks if task.solver == "paper-mpnn" and "flow" in task.judge]
    assert [task[:2] for task in some.suites()] == [("SciPy's tests", "table")]
    numbers = Exam().blocks("flows-all", "table")
    assert sum(map(len, numbers)) == 532_179 and max(map(len, numbers)) == 2048
    assert sum(map(len, Exam().blocks("flows-all", "lookup"))) == 532_179
    assert sum(map(len, Exam().blocks("flows-all", "plain"))) < 4000


def test_no_suite_is_run_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {task.judge for task in Exam().suites()} == {"SciPy's tests", "NetworkX's tests"}
    absent = {"networkx"}
    monkeypatch.setattr(exam, "find_spec", lambda name: None if name in absent else name)
    assert {task.judge for task in Exam().suites()} == {"SciPy's tests"}
    assert Exam().told["absent"]["NetworkX's tests"] == "networkx is not installed"
    absent.add("pytest")
    assert not Exam().suites()


def test_what_was_not_proven_judges_nobody(tmp_path: Path) -> None:
    lost = Result(Counter({"too slow": 1}), [Loss(3, "too slow", "over 5 s")])
    driver = Driver(record(tmp_path, Exam()), {("flows", "table", (3,), 1): lost}, 1, print)
    tasks = [Task("flows", "SciPy", (number,), 5) for number in (2, 3)]
    assert [task.unproven for task in driver.without_proof(tasks)] == [set(), {3}]


def test_a_solver_whose_own_losses_are_many_still_judges_nobody(tmp_path: Path) -> None:
    lost = Result(Counter(wrong=1), [Loss(3, "wrong", "finds 1, not 2")])
    driver = Driver(record(tmp_path, Exam()), {("flows", "SciPy", (3,), 1): lost}, 1, print)
    [task] = driver.without_proof([Task("flows", "igraph", (3,), 5)])
    assert not task.unproven


def test_what_judges_is_asked_first_and_each_suite_has_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[set[str], str, dict[str, Any]]] = []
    unproven: set[int] = set()

    def run(self: Driver, tasks: Sequence[Task], how: Any, workers: int, **more: Any) -> None:
        calls.append(({task.solver for task in tasks}, how.__name__, more))
        for task in tasks:
            unproven.update(task.unproven)
            is_lost = task.solver == "table" and 0 in task.numbers
            losses = [Loss(0, "too slow", "over 2 s")] if is_lost else []
            self.results[task.key] = Result(Counter(certified=1), losses)

    monkeypatch.setattr(Driver, "run", run)
    judges = "cost-flows", "flows", "SciPy's tests"
    whole = Exam(True, judges=judges, solvers=("igraph", "table"))
    results = examine(whole, tmp_path, 1, print)
    assert calls == [
        ({"table"}, "perform", {}),
        ({"igraph"}, "perform", {}),
        ({"table"}, "perform_suite", {"renewed": True}),
    ]
    assert unproven == {0}
    assert page(record(tmp_path, whole).header, results) == (tmp_path / "exam.md").read_text()


def test_the_record_of_another_commit_is_not_continued(tmp_path: Path) -> None:
    lines = record(tmp_path, Exam())
    lines.header["commit"] = "another"
    with pytest.raises(InputError, match="this is the record of another exam: commit was another"):
        refuse_other(lines, Exam())


def test_a_limit_ends_with_its_block() -> None:
    with cpu_limit(60):
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_where_nothing_ends_a_process_the_clock_tells_what_was_too_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exam_driver, "cpu_limit", lambda seconds: nullcontext())
    assert perform(Task("flows-all", "table", (4,), 0)).counts == {"too slow": 1}
    assert perform(Task("flows-all", "table", (4, 5), 0)).counts == {"certified": 2}


def test_a_fault_of_the_exam_itself_is_told_and_blamed_on_nobody(tmp_path: Path) -> None:
    driver = Driver(record(tmp_path, Exam()), {}, 1, lambda status: None)
    with pytest.raises(InputError, match=r"flows-all, SciPy: .*out of order"):
        driver.run([Task("flows-all", "SciPy", (1,), 5)], examine_faultily, 1)
    assert not driver.results


RESULTS = {
    ("flows", "table", (5,), 4): Result(Counter({"certified": 3, "too slow": 1}), [], "b", 0.25),
    ("flows", "table", (0,), 5): Result(Counter(certified=5), [], "a", 1.5),
    ("flows", "SciPy", (0,), 9): Result(
        Counter(right=4, wrong=5),
        [Loss(n, "wrong", f"finds {n}, not 9", f"input{n}") for n in (8, 1, 2, 3, 4)],
        "abc",
        2.25,
    ),
    ("SciPy's tests", "table", (), 0): Result(
        Counter({"right": 8, "left out": 1}),
        [Loss("a/b.py::test_c", "left out", "x | y")],
        seconds=7.0,
    ),
}
HEADER = {
    "version": "0.1.0",
    "commit": "0123456789abcdef",
    "quick": False,
    "seed": 3,
    "seconds": 2.0,
    "peers": {"SciPy": "1.2"},
    "absent": {"cuda": "there is no CUDA device here"},
    "machine": {"cpu": "abacus", "python": "3.14"},
}


def test_the_page_shows_counts_and_every_kind_of_loss() -> None:
    text = page(HEADER, RESULTS)
    ours, _, theirs = text.partition("| judge | SciPy |")
    assert "| judge | `table` |" in ours
    assert "| flows | 8 certified, 1 too slow |" in ours  # both blocks
    assert "| SciPy's tests | 8 right, 1 left out |" in ours
    assert "| flows | 4 right, 5 wrong |" in theirs and "| SciPy's tests | – |" in theirs
    assert "| `flows/1` | SciPy | wrong | finds 1, not 9 | `input1` |" in text
    assert "| flows | SciPy | wrong | 2 more of this kind |  |" in text and "flows/8" not in text
    assert "| `b.py::test_c` | table | left out | x \\| y |  |" in text
    assert "| table | 1.8 | 7.0 |" in text and "| SciPy | 2.2 | – |" in text


def test_the_page_says_what_was_asked_of_whom_and_who_was_absent() -> None:
    text = page(HEADER, RESULTS)
    digest = sha256(b"ab").hexdigest()[:16]  # in the order of the questions
    assert f"| flows | {JUDGES['flows'].what} | 9 | `{digest}` |" in text
    assert "drawn from all\n(seed 3)" in text
    assert "commit `0123456789ab`, Python 3.14, abacus; SciPy 1.2. Seed 3; 2 CPU seconds" in text
    assert "- cuda: there is no CUDA device here.\n- OR-Tools's tests: its package brings" in text
    assert "\naugury exam\n" in text
    assert "\naugury exam --quick\n" in page(HEADER | {"quick": True}, RESULTS)


def test_the_published_page_is_made_of_the_published_record(augury: Augury) -> None:
    docs = Path(__file__).parents[2] / "docs"
    told = docs / "results" / "exam.jsonl.gz"
    assert augury("exam", "--from", str(told), "--out", ".")[:2] == (0, ".: exam.md\n")
    assert Path("exam.md").read_text() == (docs / "exam.md").read_text()
    header, *rows = read_rows(told, KIND)
    assert not header["quick"]
    for judge in ("bipartite-all", "flows-all", "costs-all"):
        for name in ("table", "lookup"):  # every one of them
            own = [row for row in rows if (row["judge"], row["solver"]) == (judge, name)]
            assert sum(row["counts"]["certified"] for row in own) == JUDGES[judge].count
    assert not [loss for judge, _, loss in failures(read_results(rows)) if judge in JUDGES]


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capfd)


SMALL = ("exam", "--quick", "--judge", "cost-flows", "--workers", "1", "--out", "run")


def test_an_exam_goes_on_where_it_was_stopped(augury: Augury) -> None:
    words = (*SMALL, "--solver", "table", "--solver", "OR-Tools")
    code, out, err = augury(*words)
    assert (code, err) == (0, "") and "run: exam.md, exam.jsonl" in out
    told, text = Path("run/exam.jsonl").read_text(), Path("run/exam.md").read_text()
    assert "| cost-flows | 2 certified |" in text and "| cost-flows | 2 right |" in text
    lines = told.splitlines(keepends=True)
    assert len(lines) == 1 + 2 + 2
    Path("run/exam.jsonl").write_text("".join(lines[:-1]) + lines[-1][:20])  # as after a kill
    assert augury(*words)[0] == 0
    # All but the seconds of the one that was asked again.
    again = Path("run/exam.jsonl").read_text().splitlines(keepends=True)
    assert again[:-1] == lines[:-1]
    assert {**json.loads(again[-1]), "seconds": 0} == {**json.loads(lines[-1]), "seconds": 0}
    code, _, err = augury(*words, "--seed", "1")
    assert code == 2
    assert err == (
        "augury: run/exam.jsonl: this is the record of another exam: seed was 0, and is 1\n"
    )


def test_a_wrong_answer_of_ours_fails_the_exam() -> None:
    lost = Result(Counter(wrong=1), [Loss(3, "wrong", "finds 1, not 2")])
    assert failures({("flows", "lookup", (3,), 1): lost})
    assert not failures({("flows", "SciPy", (3,), 1): lost})
    assert not failures({("matchings", "paper-mpnn", (3,), 1): lost})  # which claims nothing
    for verdict, is_failure in (("crashed", True), ("unjudged", True), ("too slow", False)):
        lost = Result(Counter(), [Loss(3, verdict, "")])
        assert bool(failures({("flows", "lookup", (3,), 1): lost})) == is_failure


def test_a_question_is_made_again(augury: Augury) -> None:
    code, out, _ = augury("exam", "--question", "flows-all/4711", "--out", "one.max")
    assert code == 0
    assert out == ("flows-all/4711: a network of 4 nodes and 4 arc pairs, input 977e4ff7c5ef37d2\n")
    code, out, _ = augury("solve", "one.max")
    assert code == 0 and "certified maximum" in out
    code, _, err = augury("exam", "--question", "4711")
    assert (code, err) == (
        2,
        "augury: --question is '4711', not JUDGE/NUMBER such as flows-all/17\n",
    )


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="'oral' is not one of the judges"):
        Exam(judges=("oral",))
    with pytest.raises(InputError, match="'me' is not one of the solvers"):
        Exam(solvers=("me",))
