"""An exam becomes a record and a page: solvers are asked in child processes that can be ended.

A solver is asked the questions of a judge in blocks, in a process that ends itself once a block has
used its CPU time. A block that did not end in time is halved, until a single question is found
too slow.

    DIR/exam.jsonl   the record: a header, then a line for each block and solver
    DIR/exam.md      the page, made from the record

The same exam continues an incomplete record; a different one is refused.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from augury.errors import InputError
from augury.experiments.bench import machine
from augury.experiments.exam import (
    CRASHED,
    KIND,
    LOSSES,
    TOO_SLOW,
    UNJUDGED,
    WRONG,
    Exam,
    Loss,
    Result,
    Task,
    judged,
    read_results,
)
from augury.experiments.exam_page import page
from augury.experiments.exam_questions import JUDGES, fingerprint
from augury.experiments.exam_solvers import REFERENCE, SOLVERS, Answer, warm_up
from augury.experiments.records import Lines, write_whole
from augury.experiments.reproduce import Status
from augury.files import locked, named
from augury.processes import Died, Pool, WorkerError

# What a child does


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End this process once the block has used this much CPU time, even inside compiled code.

    Where the system has no such timer, nothing is ended, and the caller looks at the clock.
    """
    setitimer = getattr(signal, "setitimer", None)
    if setitimer is not None:
        setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process: there is no handler
    try:
        yield
    finally:
        if setitimer is not None:
            setitimer(signal.ITIMER_PROF, 0)


@lru_cache(maxsize=4)
def _graphs(judge: str, numbers: tuple[int, ...]) -> list[Any]:
    return [JUDGES[judge].make(number) for number in numbers]


@lru_cache(maxsize=4)
def _proven(judge: str, numbers: tuple[int, ...]) -> list[Answer]:
    return SOLVERS[REFERENCE].asks[JUDGES[judge].kind](_graphs(judge, numbers))


@cache
def _warm(solver: str, kind: str) -> None:
    warm_up(SOLVERS[solver], kind)


def perform(task: Task) -> Result:
    """Ask a solver a block of questions."""
    kind = JUDGES[task.judge].kind
    _warm(REFERENCE, kind)
    _warm(task.solver, kind)
    graphs = _graphs(task.judge, task.numbers)
    with cpu_limit(task.seconds):
        start = time.process_time()
        answers = SOLVERS[task.solver].asks[kind](graphs)
        seconds = time.process_time() - start
    truth: dict[int, Answer] = {}
    if task.solver != REFERENCE:
        known = tuple(number for number in task.numbers if number not in task.unproven)
        truth = dict(zip(known, _proven(task.judge, known), strict=True))
    counts: Counter[str] = Counter()
    losses: list[Loss] = []
    for number, graph, answer in zip(task.numbers, graphs, answers, strict=True):
        verdict, why = judged(answer, truth.get(number))
        if len(graphs) == 1 and seconds >= task.seconds:
            verdict, why = TOO_SLOW, f"{seconds:.1f} s"
        counts[verdict] += 1
        if verdict in LOSSES:
            losses.append(Loss(number, verdict, why, fingerprint([graph])))
    return Result(counts, losses, fingerprint(graphs), seconds)


# What the parent does


def examine(
    exam: Exam, folder: Path, workers: int, progress: Callable[[Status], None]
) -> dict[tuple[Any, ...], Result]:
    """Ask what the record in a folder lacks, then write the page; returns all results.

    Raises:
        InputError: the folder holds the record of another exam.
    """
    with named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock", folder):
        record = Lines(folder / "exam.jsonl", KIND, **exam.told, machine=machine())
        results = read_results(record.rows)
        refuse_other(record, exam)
        tasks, suites = exam.tasks(), exam.suites()
        driver = Driver(record, results, len([*tasks, *suites]), progress)
        proofs = [task for task in tasks if task.solver == REFERENCE]
        driver.run(proofs, perform, workers)
        others = [task for task in tasks if task.solver != REFERENCE]
        driver.run(driver.without_proof(others), perform, workers)
        if suites:
            from augury.experiments.exam_suites import perform_suite

            driver.run(suites, perform_suite, workers, renewed=True)
        write_whole(folder / "exam.md", page(record.header, results))
    return results


def refuse_other(record: Lines, exam: Exam) -> None:
    """Refuse to continue an exam of other settings, or of another state of the package."""
    now = exam.told | {name: machine()[name] for name in ("version", "commit")}
    for name, value in now.items():
        if record.header.get(name) != value:
            told = f"{name} was {record.header.get(name)}, and is {value}"
            raise InputError(f"{record.path}: this is the record of another exam: {told}")


class Driver:
    """Hands out tasks and writes results into the record."""

    def __init__(
        self,
        record: Lines,
        results: dict[tuple[Any, ...], Result],
        total: int,
        progress: Callable[[Status], None],
    ) -> None:
        self.record, self.results, self.total, self.progress = record, results, total, progress
        self.started, self.num_new, self.num_done = time.monotonic(), 0, 0

    def without_proof(self, tasks: Sequence[Task]) -> list[Task]:
        """Say in each task which questions the solver that judges others could not prove."""
        unproven = {
            (key[0], loss.number)
            for key, result in self.results.items()
            if key[1] == REFERENCE
            for loss in result.losses
        }
        return [
            task._replace(
                unproven=frozenset(n for n in task.numbers if (task.judge, n) in unproven)
            )
            if unproven
            else task
            for task in tasks
        ]

    def run(
        self, tasks: Sequence[Task], perform: Callable[[Task], Result], workers: int, **how: Any
    ) -> None:
        """Do the tasks that the record lacks."""
        missing = deque(task for task in tasks if task.key not in self.results)
        self.num_done += len(tasks) - len(missing)
        if not missing:
            return
        under_way: dict[Future[Result], Task] = {}
        with closing(Pool(perform, min(workers, len(missing)), retries=0, **how)) as pool:
            while missing or under_way:
                while missing and len(under_way) <= pool.slots:
                    task = missing.popleft()
                    under_way[pool.submit(task)] = task
                done, _ = wait(under_way, timeout=1, return_when=FIRST_COMPLETED)
                for future in done:
                    task = under_way.pop(future)
                    self._keep(task, _result(future, task, pool))
                self._tell(next(iter(under_way.values()), None))

    def _keep(self, task: Task, result: Result) -> None:
        self.record.append(result.line(task))
        self.results[task.key] = result
        self.num_done += 1
        self.num_new += 1

    def _tell(self, task: Task | None) -> None:
        left = self.total - self.num_done
        pace = (time.monotonic() - self.started) / max(self.num_new, 1)
        text = "the page" if task is None else f"{task.judge}, {task.solver}"
        self.progress(Status(text, self.num_done, left, left * pace))


def _result(future: Future[Result], task: Task, pool: Pool) -> Result:
    """Return the result of a task; one whose process died is asked again in halves."""
    try:
        return future.result()
    except Died as death:
        if len(task.numbers) > 1:
            middle = len(task.numbers) // 2
            halves = task.numbers[:middle], task.numbers[middle:]
            one, other = (task._replace(numbers=half) for half in halves)
            both = [(pool.submit(half), half) for half in (one, other)]
            first, second = (_result(asked, half, pool) for asked, half in both)
            return first + second
        return _lost(task, *_cause(death, task.seconds))
    except WorkerError as error:  # never an error of a solver: those are answers
        raise InputError(f"{task.judge}, {task.solver}: {error}") from None


def _cause(death: Died, seconds: float) -> tuple[str, str]:
    if death.code == -getattr(signal, "SIGPROF", 0):
        return TOO_SLOW, f"over {seconds:g} s"
    return CRASHED, str(death)


def _lost(task: Task, verdict: str, why: str) -> Result:
    number: Any = task.numbers[0] if task.numbers else "the suite"
    graph = fingerprint(_graphs(task.judge, task.numbers)) if task.numbers else ""
    return Result(Counter({verdict: 1}), [Loss(number, verdict, why, graph)], graph, task.seconds)


def failures(results: dict[tuple[Any, ...], Result]) -> list[tuple[str, str, Loss]]:
    """Return what the verified network got wrong: nothing, if it is what it claims to be."""
    return [
        (key[0], key[1], loss)
        for key, result in results.items()
        if SOLVERS[key[1]].is_proven
        for loss in result.losses
        if loss.verdict in (WRONG, CRASHED, UNJUDGED)
    ]


def default_workers() -> int:
    """Return the default number of processes."""
    return min(2, os.cpu_count() or 1)
