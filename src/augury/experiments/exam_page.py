"""The record of an exam becomes one page: judge by solver, and every loss."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from hashlib import sha256
from itertools import groupby
from typing import Any

from augury.experiments.exam import NO_SUITES, SUITES, VERDICTS, Loss, Result
from augury.experiments.exam_questions import JUDGES
from augury.experiments.exam_solvers import REFERENCE, SOLVERS
from augury.experiments.report import markdown

SHOWN = 3
"""Losses of one kind that the page shows; the record has them all."""
ALL_JUDGES = (*JUDGES, *SUITES)

Results = dict[tuple[Any, ...], Result]


def page(header: dict[str, Any], results: Results) -> str:
    """Return the page of a record."""
    blocks = [
        *_start(header),
        *(_table(results, is_ours) for is_ours in (True, False)),
        VERDICT_WORDS,
        "## What was lost",
        _losses(results),
        "## What was asked",
        _judges(results),
        QUESTION_WORDS.format(seed=header["seed"]),
        "Not available here:",
        _absent(header),
        "## How long it took",
        _seconds(results),
    ]
    return "\n\n".join(blocks) + "\n"


VERDICT_WORDS = """\
- **certified**: right, with a certificate that proves it: a cover, a cut or prices, checked by
  code that shares nothing with any solver.
- **right**: as large and as cheap as the answer of `table`, which is certified; in a suite, a test
  that passes.
- **wrong**: anything else, or a test that fails.
- **refused**: the solver says that it cannot answer.
- **too slow**: one question used up its CPU time; a block of small ones is first halved down to it.
- **left out**: a test that demands one of several right answers, or that NetworkX marks as slow.

Classical code finishes no answer of an engine. In the suites, the only tests that count for an
engine are those in which it solves something; for a peer's own functions all tests count."""

QUESTION_WORDS = """\
The input is the start of a SHA-256 digest of all graphs that `table` was asked, in order. `augury
exam --question JUDGE/NUMBER --out FILE` makes any question again and prints its digest. A solver
that does not get all graphs of an exhaustive judge gets one of each class and 2,000 drawn from all
(seed {seed}); a quick exam asks one of each class, or 500. Bipartite graphs are in one class if
they differ only in the order of the nodes of either side; flow networks, if they differ only in the
order of the inner nodes and in arcs into the source or out of the sink, which change neither a
maximum nor a minimum cut."""


def _start(header: dict[str, Any]) -> list[str]:
    machine = header["machine"]
    peers = ", ".join(f"{name} {number}" for name, number in header["peers"].items())
    option = " --quick" if header["quick"] else ""
    return [
        "# The exam",
        "Every judge, every engine, every peer that is installed: who is right?",
        f"```bash\naugury exam{option}\n```",
        f"Augury {header['version']}, commit `{header['commit'][:12]}`, Python "
        f"{machine['python']}, {machine['cpu']}; {peers}. Seed {header['seed']}; "
        f"{header['seconds']:g} CPU seconds for a question, or for a block of small ones.",
    ]


def _of(results: Results, judges: Container[str], solver: str) -> list[Result]:
    return [r for key, r in results.items() if key[0] in judges and key[1] == solver]


def _cell(results: Results, judge: str, solver: str) -> str:
    counts = sum((result.counts for result in _of(results, {judge}, solver)), Counter[str]())
    told = [f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return ", ".join(told) or "–"


def _asked(results: Results, order: Iterable[str], place: int) -> list[str]:
    """Return the judges, or the solvers, that the record has."""
    there = {key[place] for key in results}
    return [name for name in order if name in there]


def _table(results: Results, is_ours: bool) -> str:
    names = [name for name in _asked(results, SOLVERS, 1) if bool(SOLVERS[name].engine) == is_ours]
    rows = [
        [judge, *(_cell(results, judge, name) for name in names)]
        for judge in _asked(results, ALL_JUDGES, 0)
    ]
    return markdown(["judge", *(f"`{name}`" if is_ours else name for name in names)], rows)


def _losses(results: Results) -> str:
    """Return a list for each judge, solver, verdict and reason, shortened where it is long."""
    found: list[tuple[str, str, Loss]] = [
        (key[0], key[1], loss) for key, result in results.items() for loss in result.losses
    ]
    solvers = list(SOLVERS)

    def place(one: tuple[str, str, Loss]) -> tuple[Any, ...]:
        return ALL_JUDGES.index(one[0]), solvers.index(one[1]), *_alike(one)[2:], one[2].number

    found.sort(key=place)
    rows: list[list[str]] = []
    for (judge, solver, verdict, _), group in groupby(found, key=_alike):
        losses = [loss for *_, loss in group]
        rows += [
            [_question(judge, loss), solver, verdict, _escaped(loss.why), _code(loss.input)]
            for loss in losses[:SHOWN]
        ]
        if len(losses) > SHOWN:
            more = f"{len(losses) - SHOWN:,} more of this kind"
            rows.append([judge, solver, verdict, more, ""])
    return markdown(["question", "solver", "verdict", "why", "input"], rows) if rows else "Nothing."


def _alike(one: tuple[str, str, Loss]) -> tuple[str, str, str, str]:
    """Return what losses shown together have in common: the reason except for its numbers."""
    judge, solver, loss = one
    return judge, solver, loss.verdict, re.sub(r"[\d,.]+", "#", loss.why)


def _question(judge: str, loss: Loss) -> str:
    """Return the name of a question, or of a test without its folders."""
    return _code(f"{judge}/{loss.number}" if judge in JUDGES else str(loss.number).split("/")[-1])


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _judges(results: Results) -> str:
    rows: list[list[str]] = []
    for judge in _asked(results, ALL_JUDGES, 0):
        own = {key: result for key, result in results.items() if key[:2] == (judge, REFERENCE)}
        if judge in SUITES:
            rows.append([judge, "the tests that the installed package brings", "", ""])
        elif own:
            ordered = [own[key] for key in sorted(own, key=lambda key: key[2])]
            digest = sha256("".join(result.input for result in ordered).encode()).hexdigest()
            total = sum(sum(result.counts.values()) for result in ordered)
            rows.append([judge, JUDGES[judge].what, f"{total:,}", f"`{digest[:16]}`"])
    return markdown(["judge", "what", "most questions", "input"], rows)


def _absent(header: dict[str, Any]) -> str:
    told = header["absent"] | {f"{name}'s tests": "its package brings none" for name in NO_SUITES}
    return "\n".join(f"- {name}: {why}." for name, why in told.items())


def _seconds(results: Results) -> str:
    """Return the CPU seconds of each solver, all questions together."""
    rows: list[list[str]] = []
    for name in _asked(results, SOLVERS, 1):
        parts = [[r.seconds for r in _of(results, kind, name)] for kind in (JUDGES, SUITES)]
        rows.append([name, *(f"{sum(part):,.1f}" if part else "–" for part in parts)])
    told = "CPU seconds, as an example: solvers get different questions, and this is no race."
    return f"{told}\n\n{markdown(['solver', 'questions', 'suites'], rows)}"
