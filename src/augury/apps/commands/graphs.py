"""A graph in a file becomes an answer with a proof; a family becomes files."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augury import __version__
from augury.apps.commands.interrupts import raise_lost
from augury.apps.commands.terminal import (
    chosen_device,
    print_table,
    refuse_missing_folders,
    refuse_overwriting,
    say,
)

if TYPE_CHECKING:
    from augury.classical.formats import ReadOptions
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork

MAX_ROWS_SHOWN = 20
"""A terminal shows this many pairs; --format and --output give all of them."""

LARGE = 100_000
"""Arcs from which on a run shows its progress."""

SOLVE_EXAMPLES = (
    "Examples:  augury solve people.csv  ·  augury solve pipes.max --json  ·  "
    "augury solve arcs.csv --flow --source well --sink town --output flow.csv  ·  "
    "augury solve graphs/ --output answers/  ·  augury solve people.csv --trace run.json  ·  "
    "augury solve large.mtx --engine table  ·  zcat graph.mtx.gz | augury solve -"
)

CERTIFY_EXAMPLES = (
    "Example:  augury solve graph.csv --output answer.json; augury certify graph.csv answer.json"
)

GENERATE_EXAMPLES = (
    "Examples:  augury generate uniform --n 8 --p 1/4 --output graph.csv  ·  "
    "augury generate flow --nodes 20 --arcs 60 --high 255 --output net.max.gz  ·  "
    "augury generate sparse --n 64 --count 50 --output graphs/{}.mtx"
)


class AnswerFormat(StrEnum):
    """How an answer is written."""

    JSON = "json"
    CSV = "csv"
    TABLE = "table"


ANSWER_ENDINGS = {
    AnswerFormat.CSV: ".csv",
    AnswerFormat.TABLE: ".txt",
    AnswerFormat.JSON: ".json",
}
"""What follows the name of the graph in the name of its answer, in a folder of answers."""


class Engine(StrEnum):
    """How a network is computed."""

    AUTO = "auto"
    PLAIN = "plain"
    LOOKUP = "lookup"
    FAST = "fast"
    TABLE = "table"
    CUDA = "cuda"
    CUDA_TABLE = "cuda-table"


class Executor(StrEnum):
    """Who runs the subroutines."""

    NEURAL = "neural"
    CLASSICAL = "classical"
    BELLMAN_FORD = "bellman-ford"


Flow = Annotated[
    bool, typer.Option("--flow", help="Read a flow network where the file could be either.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of an edge list names the columns.",
        show_default="decided by looking",
    ),
]
Source = Annotated[
    str | None, typer.Option(help="Label of the source, where the file does not say it.")
]
Sink = Annotated[
    str | None, typer.Option(help="Label of the sink, where the file does not say it.")
]
IgnoreCosts = Annotated[
    bool,
    typer.Option(
        "--ignore-costs",
        help="Read edges and ignore costs or weights: the matching is of greatest cardinality.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]


def solve(  # noqa: PLR0913  # one parameter for each option
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Matrix Market, DIMACS max-flow, CSV or TSV edge list, .npz or JSON, also .gz; "
            "- is standard input. Several files, or the files of a folder, are one batch.",
            show_default=False,
        ),
    ],
    executor: Annotated[
        Executor, typer.Option(help="Who runs the subroutines: a network, or classical code.")
    ] = Executor.NEURAL,
    model: Annotated[
        str | None,
        typer.Option(
            help="The network: a shipped one or a checkpoint.", show_default="discrete, proven"
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="How the network is computed: auto evaluates it at each step, table looks its "
            "decisions up, cuda and cuda-table do these two on a GPU; see docs/performance.md."
        ),
    ] = Engine.AUTO,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact/--no-exact", help="Finish by classical search what the network ended early."
        ),
    ] = True,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, or auto: cuda if there is one.", show_default="the engine's"),
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            help="Write the answer here: .json, .csv or a table. For several files a folder.",
        ),
    ] = None,
    format: Annotated[
        AnswerFormat | None, typer.Option(help="How the answer is written, all of it.")
    ] = None,
    json: Json = False,
    trace: Annotated[
        Path | None, typer.Option(help="Write every round and step here, as JSON.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the run here as a page that works without a server.")
    ] = None,
    flow: Flow = False,
    header: Header = None,
    source: Source = None,
    sink: Sink = None,
    ignore_costs: IgnoreCosts = False,
) -> None:
    """Find a maximum matching or flow, and prove that it is one."""
    from augury.classical.formats import ReadOptions
    from augury.errors import InputError

    _refuse_contradictions(executor, {"--model": model, "--device": device})
    if json and output is None and format not in (None, AnswerFormat.JSON):
        raise InputError(f"--json and --format {format.value} ask for two things; give one")
    names = _files_in(files)
    several = len(names) > 1 or os.path.isdir(files[0])
    told = {"--trace": trace, "--html": html}
    for option in (name for name, path in told.items() if several and path is not None):
        raise InputError(f"{option} writes the run on one graph, not on {len(names)}")
    outputs = _outputs(output, names, format, several)
    refuse_missing_folders([output, *told.values()])
    networks = [model] if model is not None and os.path.isfile(model) else []
    refuse_overwriting(
        [*names, *networks], {"--output": outputs, "--trace": [trace], "--html": [html]}
    )
    options = ReadOptions(flow, header, source, sink, ignore_costs)
    graphs = [_read(name, options) for name in names]
    how: dict[str, Any] = {"model": model, "engine": engine.value, "exact": exact, "seed": seed}
    if executor is not Executor.NEURAL:
        how["model"] = executor.value
    elif device is not None or engine not in (Engine.CUDA, Engine.CUDA_TABLE):
        how["device"] = chosen_device(device or "cpu")
    solutions = _solved_with_progress(graphs, **how)
    raise_lost()  # before anything is written
    answers = [
        solution.to_dict() | {"file": name, "seed": seed, "version": __version__}
        for name, solution in zip(names, solutions, strict=True)
    ]
    _write_story(solutions[0], trace, html)
    if output is not None:
        _write_answers(outputs, answers, format, output if several else None)
    if json or (format is not None and output is None):
        _print_answers(answers, several, AnswerFormat.JSON if json else format)
    elif several:
        _print_solutions(graphs, answers, output)
    else:
        _print_solution(graphs[0], answers[0], [path for path in (output, trace, html) if path])


def certify(  # noqa: PLR0913  # one parameter for each option
    file: Annotated[str, typer.Argument(help="The graph, as for solve.", show_default=False)],
    answer: Annotated[
        str,
        typer.Argument(
            help="A matching or flow: JSON as solve writes it, or CSV (left,right or "
            "tail,head,flow).",
            show_default=False,
        ),
    ],
    json: Json = False,
    flow: Flow = False,
    header: Header = None,
    source: Source = None,
    sink: Sink = None,
    ignore_costs: IgnoreCosts = False,
) -> None:
    """Check anybody's matching or flow: is it legal, is it maximum, and if not, by how much.

    Exit code 0 if the answer is legal, maximum or not; 2 if it is not.
    """
    from augury.classical.certificate import certify_amounts, certify_pairs
    from augury.classical.formats import ReadOptions, answer_text, read_answer
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError
    from augury.files import write_text

    if file == answer == "-":
        raise InputError("graph and answer cannot both come from standard input")
    graph = _read(file, ReadOptions(flow, header, source, sink, ignore_costs))
    claimed = read_answer(answer, graph)
    if isinstance(graph, BipartiteGraph):
        certificate = certify_pairs(graph, claimed)
    else:
        certificate = certify_amounts(graph, claimed)
    if json:
        told = certificate.to_dict() | {"file": file, "answer": answer, "version": __version__}
        write_text("-", answer_text(told, "json"))
    elif certificate.is_legal:
        say(("legal", "bold"), f", size {certificate.size:,}")
        _say_proof(certificate.to_dict())
    if not certificate.is_legal:
        raise InputError(f"{answer}: this is not a {_noun(graph)} of {file}: {certificate.fault}")


def generate(  # noqa: PLR0913  # one parameter for each option
    family: Annotated[
        str,
        typer.Argument(
            help="uniform, sparse, regular, power-law, complete, communities, path, ladder, "
            "path-state, ladder-state, partly-matched or flow.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "--out",
            help="File to write; its ending is the format. With --count, {} stands for the number.",
        ),
    ],
    seed: Seed = 0,
    count: Annotated[int, typer.Option(min=1, help="How many graphs to write.")] = 1,
    n: Annotated[int | None, typer.Option(help="Nodes on a side (left, where m is given).")] = None,
    m: Annotated[int | None, typer.Option(help="Nodes on the right.")] = None,
    p: Annotated[str | None, typer.Option(help="Probability of an edge: 0.25 or 1/4.")] = None,
    c: Annotated[float | None, typer.Option(help="Mean degree of sparse.")] = None,
    degree: Annotated[int | None, typer.Option(help="Degree of regular.")] = None,
    mean_degree: Annotated[float | None, typer.Option(help="Mean degree of power-law.")] = None,
    exponent: Annotated[float | None, typer.Option(help="Exponent of power-law.")] = None,
    p_within: Annotated[str | None, typer.Option(help="Edges within a community.")] = None,
    p_between: Annotated[str | None, typer.Option(help="Edges between communities.")] = None,
    share: Annotated[float | None, typer.Option(help="Largest share of matched pairs.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes of a flow network.")] = None,
    arcs: Annotated[int | None, typer.Option(help="Arcs of a flow network.")] = None,
    low: Annotated[int | None, typer.Option(help="Smallest capacity.")] = None,
    high: Annotated[int | None, typer.Option(help="Largest capacity.")] = None,
) -> None:
    """Write graphs of a family to files."""
    import numpy as np

    from augury.classical.formats import write_graph
    from augury.classical.generate import generate as make
    from augury.errors import InputError

    given: dict[str, Any] = {
        "n": n, "m": m, "c": c, "degree": degree, "mean_degree": mean_degree, "exponent": exponent,
        "share": share, "nodes": nodes, "arcs": arcs, "low": low, "high": high,
        "p": _fraction("p", p), "p_within": _fraction("p-within", p_within),
        "p_between": _fraction("p-between", p_between),
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    if count > 1 and "{}" not in output:
        raise InputError(
            f"--output {output} must hold {{}} for the number of each of {count} files"
        )
    rng = np.random.default_rng(seed)
    for number in range(count):
        name = output.replace("{}", str(number))
        graph = make(family, rng, **given)
        with _folder_of(name):
            write_graph(graph, name)
        say(f"{name}: {_described(graph)}")


@contextmanager
def _folder_of(name: str) -> Generator[None]:
    """Make the folders that a file is to lie in; take them away if it cannot be written."""
    from augury.files import named

    folder = Path(name).parent
    with named(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # somebody else's file is in it by now
            for path in made:
                path.rmdir()
        raise


def _read(file: str, options: ReadOptions) -> BipartiteGraph | FlowNetwork:
    from augury.classical.formats import read_graph
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError

    graph = read_graph(file, options)
    for option, label in {"--source": options.source, "--sink": options.sink}.items():
        if label is not None and isinstance(graph, BipartiteGraph):
            raise InputError(
                f"{file}: a bipartite graph has no {option[2:]}, but {option} is {label}; "
                "--flow reads a flow network"
            )
    return graph


def _refuse_contradictions(executor: Executor, of_networks: dict[str, str | None]) -> None:
    """Refuse options that say how a network runs where none does."""
    from augury.errors import InputError

    for option, value in of_networks.items():
        if value is not None and executor is not Executor.NEURAL:
            raise InputError(f"{option} is for a network, but --executor is {executor.value}")


def _files_in(files: list[str]) -> list[str]:
    """Put in place of a folder the files in it that look like graphs, by name."""
    from augury.classical.formats import WRITERS, ending_of
    from augury.errors import InputError, visible

    names: list[str] = []
    for file in files:
        if not os.path.isdir(file):  # unlike Path's, never raises
            names.append(file)
            continue
        inside = sorted(path for path in Path(file).iterdir() if ending_of(path) in WRITERS)
        answers = _answers_among(inside)
        if answers:
            told = f"{file}: {_counted(len(answers), 'answer')} beside the graphs left out"
            print(f"augury: {visible(told)}", file=sys.stderr)
        inside = [path for path in inside if path not in answers]
        if not inside:
            raise InputError(f"{file}: no file in this folder ends in {', '.join(WRITERS)}")
        names += map(str, inside)
    if names.count("-") > 1:
        raise InputError("only one graph can come from standard input")
    return names


def _answers_among(paths: list[Path]) -> set[Path]:
    """Return the files that are called as the answers to others are; see `_outputs`."""
    endings = ANSWER_ENDINGS.values()
    return {
        _answer_path(graph.parent, graph, ending) for graph in paths for ending in endings
    } & set(paths)


def _answer_path(folder: Path, graph: Path, ending: str) -> Path:
    return folder / f"{graph.name.removesuffix('.gz')}{ending}"


def _outputs(
    output: Path | None, names: list[str], format: AnswerFormat | None, several: bool
) -> list[Path]:
    """Return the file for the answer: of several each one's own, called after it, in a folder."""
    from augury.errors import InputError

    if output is None or not several:
        return [] if output is None else [output]
    if os.path.isfile(output):
        raise InputError(
            f"{output}: this is a file, and the answers to several graphs go into a folder"
        )
    ending = ANSWER_ENDINGS[format or AnswerFormat.JSON]
    paths = [_answer_path(output, Path(name), ending) for name in names]
    double = next((path for path in paths if paths.count(path) > 1), None)
    if double is not None:
        raise InputError(f"two graphs have the same name: both answers would be {double}")
    return paths


def _solved_with_progress(graphs: list[BipartiteGraph | FlowNetwork], **how: Any) -> Sequence[Any]:
    from augury.solver import Progress, num_arcs, solve_batch

    if sum(map(num_arcs, graphs)) < LARGE or not sys.stderr.isatty():
        return solve_batch(graphs, **how)
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:

        def progress(now: Progress) -> None:
            done = f"{now.finished:,} of {len(graphs):,} graphs, " if len(graphs) > 1 else ""
            status.update(f"{done}round {now.rounds}, size {now.size:,}")

        return solve_batch(graphs, **how, progress=progress)


def _write_story(solution: Any, trace: Path | None, html: Path | None) -> None:
    """Write the run step by step, as JSON and as a page; whichever is asked for."""
    import json

    from augury.files import write_text

    if trace is None and html is None:
        return
    story = solution.story()
    if trace is not None:
        write_text(trace, json.dumps(story) + "\n")
    if html is not None:
        from augury.page import page_of

        write_text(html, page_of(story))


def _write_answers(
    paths: list[Path],
    answers: list[dict[str, Any]],
    format: AnswerFormat | None,
    folder: Path | None,
) -> None:
    """Write each answer to its file, in a folder that is made if need be."""
    from augury.classical.formats import answer_text
    from augury.files import named, write_text

    if folder is not None:
        with named(folder):
            folder.mkdir(exist_ok=True)
    for path, answer in zip(paths, answers, strict=True):
        write_text(path, answer_text(answer, (format or _format_of(path)).value))


def _print_answers(answers: list[dict[str, Any]], several: bool, format: Any) -> None:
    """Print all of every answer: one JSON object, or one table after another."""
    from augury.classical.formats import answer_text
    from augury.files import write_text

    if several and format is AnswerFormat.JSON:
        answers = [{"solutions": answers}]
    for answer in answers:
        write_text("-", answer_text(answer, format.value))


def _print_solutions(
    graphs: list[BipartiteGraph | FlowNetwork], answers: list[dict[str, Any]], output: Path | None
) -> None:
    rows: list[list[str]] = []
    for graph, answer in zip(graphs, answers, strict=True):
        short = answer["certificate"]["shortfall"]
        proof = "certified maximum" if answer["is_maximum"] else f"{short:,} short of the maximum"
        sizes = [f"{answer['size']:,}", f"{answer['rounds']:,}"]
        rows.append([answer["file"], _noun(graph), *sizes, proof])
    print_table(["file", "answer", "size", "rounds", "proof"], rows)
    proven = sum(answer["is_maximum"] for answer in answers)
    say((f"{proven:,} of {_counted(len(answers), 'answer')} certified maximum", "bold"))
    if output is not None:
        say(f"written to {output}")


def _print_solution(
    graph: BipartiteGraph | FlowNetwork, answer: dict[str, Any], written: list[Path]
) -> None:
    from augury.classical.formats import answer_text

    noun = _noun(graph)
    say((f"{noun} of {answer['size']:,}", "bold"), f" in {_described(graph)}")
    rounds = _counted(answer["rounds"], "round")
    if answer["classical_rounds"] and answer["executor"] not in list(Executor):
        rounds += f" ({answer['neural_rounds']:,} neural, {answer['classical_rounds']:,} classical)"
    form = f" ({answer['engine']} engine)" if answer["engine"] else ""
    say((f"{answer['executor']} executor{form}, {rounds}, {answer['ending']}", "dim"))
    _say_proof(answer["certificate"])
    for path in written:
        say(f"written to {path}")
    if written:
        return
    rows = answer[noun]
    print()
    print(answer_text({noun: rows[:MAX_ROWS_SHOWN]}, "table"), end="")
    if len(rows) > MAX_ROWS_SHOWN:
        print(f"… and {len(rows) - MAX_ROWS_SHOWN:,} more: --format csv or --output FILE gives all")


def _say_proof(certificate: dict[str, Any]) -> None:
    if not certificate["maximum"]:
        say((f"legal, but {certificate['shortfall']:,} short of the maximum", "yellow"))
        return
    if "cover" in certificate:
        cover = certificate["cover"]["left"] + certificate["cover"]["right"]
        verb = "covers" if len(cover) == 1 else "cover"
        proof = f"{_counted(len(cover), 'node')} {verb} every edge{_listed(cover)}"
    else:
        cut = certificate["cut"]
        side = _listed(cut["source_side"])
        proof = f"a cut of capacity {cut['capacity']:,}, source side{side}"
    say(("certified maximum", "green"), f": {proof}")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _listed(labels: list[Any]) -> str:
    if not 0 < len(labels) <= MAX_ROWS_SHOWN:
        return ""
    return ": " + ", ".join(map(str, labels))


def _noun(graph: BipartiteGraph | FlowNetwork) -> str:
    return "matching" if hasattr(graph, "num_left") else "flow"


def _described(graph: BipartiteGraph | FlowNetwork) -> str:
    from augury.classical.graph import BipartiteGraph

    if isinstance(graph, BipartiteGraph):
        return (
            f"a bipartite graph of {graph.num_left:,} + {graph.num_right:,} nodes "
            f"and {graph.num_edges:,} edges"
        )
    return f"a network of {graph.num_nodes:,} nodes and {graph.num_arcs // 2:,} arc pairs"


def _format_of(path: Path) -> AnswerFormat:
    known = {".json": AnswerFormat.JSON, ".csv": AnswerFormat.CSV}
    return known.get(path.suffix.lower(), AnswerFormat.TABLE)


def _fraction(name: str, text: str | None) -> float | None:
    from fractions import Fraction

    if text is None:
        return None
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{text!r} is not a number such as 0.25 or 1/4", param_hint=f"--{name}"
        ) from None
