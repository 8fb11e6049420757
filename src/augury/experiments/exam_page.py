"""The record of an exam becomes one page: judge by solver, and every loss."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from itertools import groupby
from typing import Any

from augury.experiments.exam import NO_SUITES, SUITES, VERDICTS, Exam, Loss, Result
from augury.experiments.exam_questions import JUDGES
from augury.experiments.exam_solvers import REFERENCE, SOLVERS
from augury.experiments.report import markdown

SHOWN = 3
"""Losses of one kind that the page shows; the record has them all."""
PARTS = (("Engines", True), ("Peers", False))

Results = dict[tuple[Any, ...], Result]


def page(header: dict[str, Any], results: Results, exam: Exam) -> str:
    """Return the page."""
    blocks = [
        *_start(header, exam),
        *(_table(results, exam, is_ours) for _, is_ours in PARTS),
        VERDICT_WORDS,
        "## What was lost",
        *_losses(results),
        "## What was asked",
        _judges(results, exam),
        QUESTION_WORDS.format(seed=exam.seed),
        *_absent(exam),
        "## How long it took",
        _seconds(results, exam),
    ]
    return "\n\n".join(blocks) + "\n"


VERDICT_WORDS = """\
- **certified**: right, and a certificate proves it: a cover, a cut or prices, checked by code that
  knows no solver.
- **right**: as large, and as cheap, as what `table` finds and a certificate proves; of a suite, a
  test that passes.
- **wrong**: anything else, or a test that fails.
- **refused**: it says that it cannot.
- **too slow**: a question used up its CPU time; a block of small ones is first halved down to it.
- **left out**: a test that demands one of several right answers, or that NetworkX marks slow.

No answer of an engine is finished by classical code. In the suites only those tests count in which
an engine of ours solves something; of a peer's own functions all do."""

QUESTION_WORDS = """\
The input is the start of a SHA-256 digest of all graphs that `table` was asked, in order. `augury
exam --question JUDGE/NUMBER --out FILE` makes any question again, and prints its own. Who does not
get all graphs of an exhaustive judge gets one of each class and 2,000 drawn from all (seed {seed});
a quick exam asks one of each class, or 500. For bipartite graphs a class is all orders of the nodes
of either side; for flow networks all orders of the inner nodes, once arcs into the source and out
of the sink, which change neither a maximum nor a minimum cut, are left out."""


def _start(header: dict[str, Any], exam: Exam) -> list[str]:
    machine = header["machine"]
    peers = ", ".join(f"{name} {number}" for name, number in header["peers"].items())
    option = " --quick" if exam.quick else ""
    return [
        "# The exam",
        "Every judge that there is, every engine and every peer that is installed: who is right.",
        f"```bash\naugury exam{option}\n```",
        f"Augury {header['version']}, commit `{header['commit'][:12]}`, Python "
        f"{machine['python']}, {machine['cpu']}; {peers}. Seed {exam.seed}; {exam.seconds:g} CPU "
        "seconds for a question, or for a block of small ones.",
    ]


def _cell(results: Results, judge: str, solver: str) -> str:
    counts = sum((result.counts for key, result in results.items() if key[:2] == (judge, solver)),
                 Counter[str]())  # fmt: skip
    told = [f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return ", ".join(told) or "–"


def _table(results: Results, exam: Exam, is_ours: bool) -> str:
    asked = {key[1] for key in results}
    names = [
        name for name in exam.present if name in asked and bool(SOLVERS[name].engine) == is_ours
    ]
    rows = [
        [judge, *(_cell(results, judge, name) for name in names)]
        for judge in exam.judges
        if any(key[0] == judge for key in results)
    ]
    return markdown(["judge", *(f"`{name}`" if is_ours else name for name in names)], rows)


def _losses(results: Results) -> list[str]:
    """Return a list for each judge, solver, verdict and reason, shortened where it is long."""
    found: list[tuple[str, str, Loss]] = [
        (key[0], key[1], loss) for key, result in results.items() for loss in result.losses
    ]
    order = [*JUDGES, *SUITES]
    solvers = list(SOLVERS)

    def place(one: tuple[str, str, Loss]) -> tuple[Any, ...]:
        return order.index(one[0]), solvers.index(one[1]), *_alike(one)[2:], one[2].number

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
    if not rows:
        return ["Nothing."]
    return [markdown(["question", "solver", "verdict", "why", "input"], rows)]


def _alike(one: tuple[str, str, Loss]) -> tuple[str, str, str, str]:
    """Return what losses have in common that are shown together: the reason but for its numbers."""
    judge, solver, loss = one
    return judge, solver, loss.verdict, re.sub(r"[\d,.]+", "#", loss.why)


def _question(judge: str, loss: Loss) -> str:
    """Return the name of a question, or of a test without its folders."""
    return _code(f"{judge}/{loss.number}" if judge in JUDGES else str(loss.number).split("/")[-1])


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _judges(results: Results, exam: Exam) -> str:
    rows: list[list[str]] = []
    for judge in exam.judges:
        own = {key: result for key, result in results.items() if key[:2] == (judge, REFERENCE)}
        if judge in JUDGES and own:
            ordered = [own[key] for key in sorted(own, key=lambda key: key[2])]
            digest = sha256("".join(result.input for result in ordered).encode()).hexdigest()
            total = sum(sum(result.counts.values()) for result in ordered)
            rows.append([judge, JUDGES[judge].what, f"{total:,}", f"`{digest[:16]}`"])
        elif judge in SUITES:
            rows.append([judge, "the tests that the installed package brings", "", ""])
    return markdown(["judge", "what", "most questions", "input"], rows)


def _absent(exam: Exam) -> list[str]:
    told = {name: SOLVERS[name].absence() for name in exam.solvers}
    told |= {judge: exam.suite_absence(judge) for judge in exam.judges if judge in SUITES}
    told |= {f"{name}'s tests": "its package brings none" for name in NO_SUITES}
    lines = [f"- {name}: {why}." for name, why in told.items() if why]
    return ["Not available here:", "\n".join(lines)] if lines else []


def _seconds(results: Results, exam: Exam) -> str:
    """Return the CPU seconds of each solver, all questions together."""
    rows = []
    for name in exam.present:
        own = [r.seconds for key, r in results.items() if key[1] == name and key[0] in JUDGES]
        tests = [r.seconds for key, r in results.items() if key[1] == name and key[0] in SUITES]
        if own or tests:
            shown = [f"{sum(part):,.1f}" if part else "–" for part in (own, tests)]
            rows.append([name, *shown])
    told = "CPU seconds, as an example: solvers get different questions, and this is no race."
    return f"{told}\n\n{markdown(['solver', 'questions', 'suites'], rows)}"
