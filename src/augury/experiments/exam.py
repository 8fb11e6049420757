"""Judges and solvers become verdicts: every answer is proven, or compared with a proven one.

A solver is asked the questions of a judge in blocks, in a process that ends itself once a block has
used its CPU time. A block that did not end in time is halved, until a single question is what was
too slow. What our certificates prove is certified. What a peer says is right if it equals what
`table` finds and a certificate proves, and wrong if not.

    DIR/exam.jsonl   the record: a header, then a line for each block and solver
    DIR/exam.md      the page, made of the record

The same exam continues a record that is not complete; another one is refused.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from augury.errors import InputError
from augury.experiments.bench import machine
from augury.experiments.exam_questions import JUDGES, fingerprint
from augury.experiments.exam_solvers import REFERENCE, SOLVERS, Answer, warm_up
from augury.experiments.records import Lines, write_whole
from augury.experiments.reproduce import Status
from augury.files import locked, named
from augury.processes import Died, Pool, WorkerError

KIND = "augury-exam"

CERTIFIED, RIGHT, WRONG, REFUSED = "certified", "right", "wrong", "refused"
TOO_SLOW, CRASHED, UNJUDGED, LEFT_OUT = "too slow", "crashed", "unjudged", "left out"
VERDICTS = (CERTIFIED, RIGHT, WRONG, REFUSED, TOO_SLOW, CRASHED, UNJUDGED, LEFT_OUT)
"""Refused: it says that it cannot. Unjudged: nobody has a proof. Left out: see the page."""
LOSSES = VERDICTS[2:]

SUITES = {"SciPy's tests": "scipy", "NetworkX's tests": "networkx"}
"""Test suites that a peer's package brings along, by the package."""
NO_SUITES = {"OR-Tools": "ortools", "igraph": "igraph"}
"""Peers whose packages bring none."""
SUITE_SECONDS = 60.0
"""CPU seconds of one test of a suite."""


@dataclass(frozen=True)
class Exam:
    """Who is asked what."""

    quick: bool = False
    seed: int = 0
    """Of the samples of what is too much for a slow solver."""
    seconds: float = 5.0
    """CPU seconds that a question may take, or a block of small ones."""
    judges: tuple[str, ...] = (*JUDGES, *SUITES)
    solvers: tuple[str, ...] = tuple(SOLVERS)

    def __post_init__(self) -> None:
        for name in self.judges:
            if name not in SUITES:
                JUDGES[name]
        for name in self.solvers:
            SOLVERS[name]

    @property
    def present(self) -> list[str]:
        """The solvers that can run here."""
        return [name for name in self.solvers if not SOLVERS[name].absence()]

    @property
    def told(self) -> dict[str, Any]:
        """What the record says of it."""
        versions = {name: SOLVERS[name].version for name in self.present if SOLVERS[name].version}
        return {"quick": self.quick, "seed": self.seed, "seconds": self.seconds, "peers": versions}

    def blocks(self, judge: str, solver: str) -> list[tuple[int, ...]]:
        """Return the numbers of the questions that a solver is asked, in blocks."""
        if SOLVERS[solver].asks.get(JUDGES[judge].kind) is None:
            return []
        most = SOLVERS[solver].most
        return JUDGES[judge].blocks(_numbers(judge, self.seed, self.quick, most))

    def tasks(self) -> list[Task]:
        """Return everything to ask: first who judges the others, then block by block."""
        found: list[tuple[Any, Task]] = []
        for judge in self.judges:
            for solver in self.present if judge not in SUITES else []:
                for numbers in self.blocks(judge, solver):
                    rank = solver != REFERENCE, self.judges.index(judge), numbers[0]
                    found.append((rank, Task(judge, solver, numbers, self.seconds)))
        return [task for _, task in sorted(found, key=lambda pair: pair[0])]

    def suites(self) -> list[Task]:
        """Return which suites are run on whom; a quick exam has SciPy's on one engine."""
        found: list[Task] = []
        for judge in self.judges:
            if judge not in SUITES or self.suite_absence(judge):
                continue
            for solver in self.present:
                is_asked = SOLVERS[solver].is_proven and not SOLVERS[solver].needs_device
                is_asked |= SOLVERS[solver].needs == SUITES[judge]
                if is_asked and not (self.quick and (judge, solver) != QUICK_SUITE):
                    found.append(Task(judge, solver, (), SUITE_SECONDS))
        return found

    @staticmethod
    def suite_absence(judge: str) -> str:
        """Say why a suite cannot run here; "" if it can."""
        package = SUITES[judge]
        if not find_spec(package):
            return f"{package} is not installed"
        return "" if find_spec("pytest") else "pytest is not installed"


QUICK_SUITE = ("SciPy's tests", REFERENCE)


@cache
def _numbers(judge: str, seed: int, quick: bool, most: float) -> Any:
    return JUDGES[judge].numbers(seed, quick=quick, most=most)


class Task(NamedTuple):
    """A block of questions to one solver."""

    judge: str
    solver: str
    numbers: tuple[int, ...]
    seconds: float
    unproven: frozenset[int] = frozenset()
    """Questions to which nobody has a proven answer."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from others in the record."""
        return self.judge, self.solver, self.numbers[:1], len(self.numbers)


class Loss(NamedTuple):
    """A question that was not answered rightly."""

    number: int | str
    """Of the question; of a suite, the name of a test."""
    verdict: str
    why: str
    input: str = ""
    """The fingerprint of the graph."""


@dataclass
class Result:
    """How a solver did on a block."""

    counts: Counter[str]
    losses: list[Loss]
    input: str = ""
    seconds: float = 0.0

    def __add__(self, other: Result) -> Result:
        """Join two halves of a block; the fingerprint of the whole is not theirs."""
        return Result(
            self.counts + other.counts,
            self.losses + other.losses,
            "",
            self.seconds + other.seconds,
        )

    def line(self, task: Task) -> str:
        """Return the line of the record."""
        told = {"judge": task.judge, "solver": task.solver, "first": list(task.numbers[:1])}
        told |= {"count": len(task.numbers), "counts": dict(self.counts), "losses": self.losses}
        told |= {"input": self.input, "seconds": round(self.seconds, 3)}
        return json.dumps(told, separators=(",", ":"), ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, row: dict[str, Any]) -> Result:
        """Read a line of the record."""
        losses = [Loss(*entry) for entry in row["losses"]]
        return cls(Counter(row["counts"]), losses, row["input"], row["seconds"])


# What a child does


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End this process once the block has used so much CPU time, even inside of compiled code.

    Where the system has no such timer, nothing is ended, and whoever calls looks at the clock.
    """
    setitimer = getattr(signal, "setitimer", None)
    if setitimer is not None:
        setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process: nobody handles it
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
        if len(graphs) == 1 and seconds > task.seconds:
            verdict, why = TOO_SLOW, f"{seconds:.1f} s"
        counts[verdict] += 1
        if verdict in LOSSES:
            losses.append(Loss(number, verdict, why, fingerprint([graph])))
    return Result(counts, losses, fingerprint(graphs), seconds)


def judged(answer: Answer, proven: Answer | None) -> tuple[str, str]:
    """Return the verdict on an answer, given a proven one if there is, and the reason."""
    if answer.refusal:
        return REFUSED, answer.refusal
    is_known = proven is not None and proven.is_certified
    if is_known and answer.value != proven.value:
        return WRONG, f"finds {_words(answer)}, not {_words(proven)}"
    if answer.is_certified:
        return CERTIFIED, ""
    return (RIGHT, "") if is_known else (UNJUDGED, f"finds {_words(answer)}, without a proof")


def _words(answer: Answer) -> str:
    if answer.value is None:
        return "that there is no answer"
    size, cost = answer.value
    return f"{size:,}" if cost is None else f"{size:,} at a cost of {cost:,}"


# What the parent does


def examine(
    exam: Exam, folder: Path, workers: int, progress: Callable[[Status], None]
) -> dict[tuple[Any, ...], Result]:
    """Ask what the record in a folder lacks, then write the page; returns all results.

    Raises:
        InputError: the folder holds the record of another exam.
    """
    from augury.experiments.exam_page import page

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
        write_whole(folder / "exam.md", page(record.header, results, exam))
    return results


def read_results(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], Result]:
    """Return the results of a record, by the keys of their tasks."""
    return {
        (row["judge"], row["solver"], tuple(row["first"]), row["count"]): Result.of(row)
        for row in rows
    }


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
    except WorkerError as error:  # nothing that a solver does comes through: its errors are answers
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
    """Return how many processes ask by default."""
    return min(2, os.cpu_count() or 1)
