"""What an exam is: who is asked what, and the verdicts on the answers.

An answer that our certificates prove is certified. A peer's answer is right if it equals one that
`table` finds and a certificate proves, and wrong if not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from augury.experiments.exam_questions import JUDGES
from augury.experiments.exam_solvers import REFERENCE, SOLVERS, Answer

KIND = "augury-exam"
"""The kind of its record."""

CERTIFIED, RIGHT, WRONG, REFUSED = "certified", "right", "wrong", "refused"
TOO_SLOW, CRASHED, UNJUDGED, LEFT_OUT = "too slow", "crashed", "unjudged", "left out"
VERDICTS = (CERTIFIED, RIGHT, WRONG, REFUSED, TOO_SLOW, CRASHED, UNJUDGED, LEFT_OUT)
"""Refused: the solver says it cannot. Unjudged: there is no proof. Left out: see the page."""
LOSSES = VERDICTS[2:]

SUITES = {"SciPy's tests": "scipy", "NetworkX's tests": "networkx"}
"""Test suites that peers' packages include, with the package of each."""
NO_SUITES = ("OR-Tools", "igraph")
"""Peers whose packages include none."""
SUITE_SECONDS = 60.0
"""CPU seconds of one test of a suite."""


@dataclass(frozen=True)
class Exam:
    """Who is asked what."""

    quick: bool = False
    seed: int = 0
    """Of the samples drawn from exhaustive judges."""
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
        """What the record says of it, and of what is installed."""
        absent = {name: why for name in SOLVERS if (why := SOLVERS[name].absence())}
        absent |= {name: why for name in SUITES if (why := self.suite_absence(name))}
        versions = {
            name: solver.version
            for name, solver in SOLVERS.items()
            if solver.version and name not in absent
        }
        settings = {"quick": self.quick, "seed": self.seed, "seconds": self.seconds}
        return settings | {"peers": versions, "absent": absent}

    def blocks(self, judge: str, solver: str) -> list[tuple[int, ...]]:
        """Return the numbers of the questions that a solver is asked, in blocks."""
        if SOLVERS[solver].asks.get(JUDGES[judge].kind) is None:
            return []
        most = SOLVERS[solver].most
        return JUDGES[judge].blocks(_numbers(judge, self.seed, self.quick, most))

    def tasks(self) -> list[Task]:
        """Return everything to ask, block by block; the solver that judges others comes first."""
        found: list[tuple[Any, Task]] = []
        for judge in self.judges:
            for solver in self.present if judge not in SUITES else []:
                for numbers in self.blocks(judge, solver):
                    rank = solver != REFERENCE, self.judges.index(judge), numbers[0]
                    found.append((rank, Task(judge, solver, numbers, self.seconds)))
        return [task for _, task in sorted(found, key=lambda pair: pair[0])]

    def suites(self) -> list[Task]:
        """Return which suites run on which solvers; a quick exam runs SciPy's on one engine."""
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
    """Questions without a proven answer."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes it from others in the record."""
        return self.judge, self.solver, self.numbers[:1], len(self.numbers)


class Loss(NamedTuple):
    """A question that was not answered correctly."""

    number: int | str
    """The question's number; in a suite, the name of a test."""
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
        """Join two halves of a block; the whole has no fingerprint."""
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


def read_results(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], Result]:
    """Return the results of a record, by the keys of their tasks."""
    return {
        (row["judge"], row["solver"], tuple(row["first"]), row["count"]): Result.of(row)
        for row in rows
    }


def judged(answer: Answer, proven: Answer | None) -> tuple[str, str]:
    """Return the verdict on an answer, given a proven one if there is one, and the reason."""
    if answer.refusal:
        return REFUSED, answer.refusal
    truth = proven if proven is not None and proven.is_certified else None
    if truth is not None and answer.value != truth.value:
        return WRONG, f"finds {_words(answer)}, not {_words(truth)}"
    if answer.is_certified:
        return CERTIFIED, ""
    return (RIGHT, "") if truth else (UNJUDGED, f"finds {_words(answer)}, without a proof")


def _words(answer: Answer) -> str:
    if answer.value is None:
        return "that there is no answer"
    size, cost = answer.value
    return f"{size:,}" if cost is None else f"{size:,} at a cost of {cost:,}"
