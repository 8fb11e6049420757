"""Graphs in files become answers with a proof."""

from __future__ import annotations

import os
import sys
from collections import Counter
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augury import __version__
from augury.apps.commands import terminal
from augury.apps.commands.several import (
    Answers,
    Work,
    digest_of,
    exit_code,
    print_outcomes,
    solve_each,
    solve_on_ray,
)
from augury.apps.commands.shards import solve_in_shards
from augury.apps.commands.terminal import (
    Cost,
    Flow,
    Header,
    IgnoreCosts,
    Json,
    Maximise,
    Seed,
    Sink,
    Source,
    Supply,
    say,
)

if TYPE_CHECKING:
    from augury.classical.answer import How, Progress
    from augury.classical.formats import ReadOptions
    from augury.classical.network import Graph
    from augury.solution import Solution
    from augury.solver import Runner

MAX_ROWS_SHOWN = 20
"""A terminal shows this many pairs; --format and --output give all of them."""

LARGE = 100_000
"""From this many arcs on, a run shows its progress."""

EXAMPLES = (
    "Examples:  augury solve people.csv  ·  augury solve hours.csv --perfect  ·  "
    "augury solve costs.mtx --algorithm assignment  ·  augury solve pipes.max --json  ·  "
    "augury solve arcs.csv --flow --source well --sink town --output flow.csv  ·  "
    "augury solve graphs/ --output answers/  ·  augury solve people.csv --story run.json  ·  "
    "augury solve people.csv --engine plain  ·  zcat graph.mtx.gz | augury solve -  ·  "
    "augury solve roads.csv --algorithm reachability --source home  ·  "
    "augury solve graphs.parquet --ray local --output answers/"
)


class AnswerFormat(StrEnum):
    """How an answer is written."""

    JSON = "json"
    CSV = "csv"
    TABLE = "table"


ANSWER_ENDINGS = {AnswerFormat.CSV: ".csv", AnswerFormat.TABLE: ".txt", AnswerFormat.JSON: ".json"}
"""What is added to a graph's name to name its answer, in a folder of answers."""


def solve(  # noqa: PLR0913  # one parameter for each option
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Matrix Market, DIMACS, CSV or TSV edge list, .npz or JSON, also .gz; "
            "- is standard input. Of several files, or those in a folder, all are solved but the "
            "bad ones.",
            show_default=False,
        ),
    ],
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="ford-fulkerson: a maximum matching or flow; assignment, min-cost-flow: one of "
            "least cost; reachability: the nodes that --source reaches.",
            show_default="by whether there are costs",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Who executes: a shipped network, a checkpoint, classical or bellman-ford.",
            show_default="discrete, proven",
        ),
    ] = None,
    executor: Annotated[str | None, typer.Option(hidden=True)] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="In which form a network runs: auto, plain, lookup, fast, table, cuda, "
            "cuda-table or sharded, for a graph beyond memory; see docs/performance.md."
        ),
    ] = "auto",
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
            help="Write the answer here: .json, .csv or a table. For several files a folder, where "
            "answers that are there and unchanged are not found again.",
        ),
    ] = None,
    format: Annotated[
        AnswerFormat | None, typer.Option(help="How the answer is written, all of it.")
    ] = None,
    json: Json = False,
    story: Annotated[
        Path | None, typer.Option(help="Write every round and step here, as JSON.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(hidden=True)] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the run here as a page that works without a server.")
    ] = None,
    flow: Flow = False,
    header: Header = None,
    source: Source = None,
    sink: Sink = None,
    cost: Cost = False,
    maximise: Maximise = None,
    perfect: Annotated[
        bool,
        typer.Option("--perfect", help="Match all of the smaller side, or prove that none can."),
    ] = False,
    supply: Supply = None,
    ignore_costs: IgnoreCosts = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS|local",
            help="Solve on a Ray cluster: that of this machine, HOST:PORT, or one started here. "
            "Also takes Parquet and JSON lines, a graph in each row; see docs/cluster.md. "
            "With --engine sharded: one graph, in shards there.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Cores of --ray local.", show_default="all")
    ] = None,
) -> None:
    """Find a maximum matching or flow, of least cost or not, or who is reached, and prove it.

    Exit code 0 if there is an answer; 1 if it is proven that there is none, such as no perfect
    matching, or no flow that meets the supplies; 3 if some of several files failed.
    """
    from augury.classical.answer import How
    from augury.classical.formats import answer_text
    from augury.errors import InputError
    from augury.files import write_text

    model, story = _renamed(executor, model, trace, story)
    if device is not None:
        _refuse_classical(model)
    if json and output is None and format not in (None, AnswerFormat.JSON):
        raise InputError(f"--json and --format {format.value} ask for two things; give one")
    said = flow, header, source, sink, ignore_costs, cost, maximise, supply
    if _takes_files(engine) and (ray or _is_folder(output)):
        others = flow, source, sink, cost, supply, perfect, story, html
        runner = {"model": model, "engine": engine, "algorithm": algorithm}
        solve_in_shards(files, output, any(others), runner, ray, json)
        return
    if ray is not None:
        told = {"--json": json, "--story": story, "--html": html, "--supply": supply}
        told["--format"] = format if format is not AnswerFormat.JSON else None
        choices = {"model": model, "device": device, "engine": engine, "perfect": perfect}
        choices |= {"exact": exact, "seed": seed, "ignore_costs": ignore_costs}
        choices |= {"algorithm": algorithm, "maximise": bool(maximise)}
        place = output, ".parquet" if format is None else ".jsonl", ray, workers
        _solve_on_ray(
            files, place, terminal.read_options(*said[:-1], None, algorithm), told, choices
        )
        return
    names = _files_in(files, supply)
    several = len(names) > 1 or os.path.isdir(files[0])
    told = {"--story": story, "--html": html}
    for option in (name for name, path in told.items() if several and path is not None):
        raise InputError(f"{option} writes the run on one graph, not on {len(names)}")
    outputs = _outputs(output, names, format, several)
    terminal.refuse_missing_folders([output, *told.values()])
    networks = [model] if model is not None and os.path.isfile(model) else []
    written = {"--output": outputs, "--story": [story], "--html": [html]}
    terminal.refuse_overwriting([*names, *networks, *([supply] if supply else [])], written)
    options = terminal.read_options(*said, algorithm)
    choices = {"model": model, "device": device, "engine": engine, "perfect": perfect}
    choices["shows_progress"] = not several  # several files have their own
    work = Work(
        read=lambda name: terminal.read(name, options),
        solve=lambda graphs: _solved(graphs, How(exact, seed), algorithm, **choices),
        answer=lambda name, solution: (
            solution.to_dict() | {"file": name, "seed": seed, "version": __version__}
        ),
        text=lambda path, answer: answer_text(answer, (format or _format_of(path)).value),
    )
    printed = AnswerFormat.JSON if json else format if output is None else None
    if several:
        _refuse_nobody(algorithm, model, device, engine)
        settings = repr((options, algorithm, _same(model), engine, device, exact, seed, perfect))
        paths = dict(zip(names, outputs, strict=True)) if output is not None else {}
        _solve_several(names, work, printed, output, paths, settings)
        return
    graph = work.read(names[0])
    [solution] = work.solve([graph])
    terminal.raise_lost()  # before anything is written
    _write_story(solution, story, html)
    answer = work.answer(names[0], solution) if printed or output else {}
    if output is not None:
        write_text(output, work.text(output, answer))
    if printed is not None:
        write_text("-", answer_text(answer, printed.value))
    else:
        _print_solution(graph, solution, [path for path in (output, story, html) if path])
    if solution.certificate.fault:
        raise typer.Exit(1)


def _takes_files(engine: str) -> bool:
    """Whether an engine reads graphs larger than memory from their files."""
    from augury.engines import AUTO, ENGINES

    return engine != AUTO and ENGINES[engine].takes_files


def _is_folder(output: Path | None) -> bool:
    """Whether an output is a folder, by its name: a file of answers has an ending."""
    return output is not None and output.suffix not in ANSWER_ENDINGS.values()


def _solve_several(
    names: list[str],
    work: Work,
    printed: AnswerFormat | None,
    output: Path | None,
    paths: dict[str, Path],
    settings: str,
) -> None:
    """Solve files one after the other, and say what became of each."""
    from augury.classical.formats import answer_text
    from augury.files import write_text

    answers = None if output is None else Answers(output, paths, f"{__version__} {settings}")
    try:
        outcomes = solve_each(names, work, answers, keeps=printed is not None)
    except KeyboardInterrupt:
        if answers is None:
            raise
        told = f"interrupted; the same command goes on with {output}"
        raise terminal.Interrupted(told) from None
    if printed is None:
        print_outcomes(outcomes, output)
    else:
        whole: list[Any] = [outcome.answer for outcome in outcomes if not outcome.fault]
        failed = [{"file": x.file, "error": x.fault} for x in outcomes if x.fault]
        if printed is AnswerFormat.JSON:
            whole = [{"solutions": whole} | ({"failed": failed} if failed else {})]
        for answer in whole:
            write_text("-", answer_text(answer, printed.value))
    if code := exit_code(outcomes):
        raise typer.Exit(code)


def _solve_on_ray(
    files: list[str],
    place: tuple[Path | None, str, str, int | None],
    options: ReadOptions,
    told: dict[str, Any],
    choices: dict[str, Any],
) -> None:
    """Solve files and tables on a Ray cluster; `told` holds options that are not for it."""
    from augury.errors import InputError
    from augury.tables import Settings

    for option in (name for name, value in told.items() if value):
        raise InputError(f"{option} is not for --ray, which writes a table of answers")
    model, algorithm = choices["model"], choices["algorithm"]
    _refuse_nobody(algorithm, model, choices["device"], choices["engine"])
    if model is not None and os.path.isfile(model):
        choices["model"] = os.path.abspath(model)  # so that other processes find it
    choices["device"] = choices["device"] and terminal.chosen_device(choices["device"])
    solve_on_ray(files, place, options, Settings(**choices))


def _refuse_nobody(
    algorithm: str | None, model: str | None, device: str | None, engine: str
) -> None:
    """Raise at once errors that every file would have: an unknown model, engine or device."""
    from augury.algorithms import ALGORITHMS
    from augury.errors import InputError
    from augury.solver import runner_of

    faults: list[InputError] = []
    rows = [algorithm] if algorithm else list(ALGORITHMS)
    for row in rows:
        try:
            runner_of(model, device and terminal.chosen_device(device), engine, row)
        except InputError as error:
            faults.append(error)
    if len(faults) == len(rows):
        raise faults[0]


def _same(model: str | None) -> str | None:
    """Return what changes whenever a model does: the digest of its file, or its name."""
    return digest_of(model) if model is not None and os.path.isfile(model) else model


def _refuse_classical(model: str | None) -> None:
    from augury.errors import InputError
    from augury.solution import is_classical

    if is_classical(str(model)):
        raise InputError(f"--device is for a network, and {model} is none")


def _solved(graphs: list[Graph], how: How, algorithm: str | None, **choices: Any) -> list[Solution]:
    """Solve graphs side by side, by the algorithm named, or else by the one that suits each."""
    from augury.algorithms import SUITED
    from augury.solver import Runner, in_full, runner_for

    device = choices["device"] and terminal.chosen_device(choices["device"])
    model, engine = choices["model"], choices["engine"]
    rows = [algorithm or SUITED[graph.kind][0] for graph in graphs]
    is_large = sum(graph.num_arcs for graph in graphs) >= LARGE
    shows_progress = choices["shows_progress"] and sys.stderr.isatty() and is_large
    solved = _solved_with_progress if shows_progress else Runner.solutions
    found: dict[int, Solution] = {}
    for row in dict.fromkeys(rows):
        own = [number for number, name in enumerate(rows) if name == row]
        some = [graphs[number] for number in own]
        solutions = solved(runner_for(some, model, device, engine, row), some, how)
        found |= zip(own, solutions, strict=True)
    if choices["perfect"]:
        return [in_full(graph, found[number]) for number, graph in enumerate(graphs)]
    return [found[number] for number in range(len(graphs))]


def _renamed(
    executor: str | None, model: str | None, trace: Path | None, story: Path | None
) -> tuple[str | None, Path | None]:
    """Accept the old names of two options, and say what they are called now."""
    from augury.errors import InputError

    if executor is not None:
        print(f"augury: --executor is called --model: --model {executor}", file=sys.stderr)
        if model is not None and executor != "neural":
            raise InputError(f"--model {model} and --executor {executor} name two executors")
        model = model if executor == "neural" else executor
    if trace is not None:
        print(f"augury: --trace is called --story: --story {trace}", file=sys.stderr)
    return model, story or trace


def _files_in(files: list[str], supply: str | None) -> list[str]:
    """Replace each folder by the files in it that look like graphs, sorted by name."""
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
            told = f"{file}: {terminal.counted(len(answers), 'answer')} beside the graphs left out"
            print(f"augury: {visible(told)}", file=sys.stderr)
        inside = [path for path in inside if path not in answers]
        if not inside:
            raise InputError(f"{file}: no file in this folder ends in {', '.join(WRITERS)}")
        names += map(str, inside)
    if [*names, supply].count("-") > 1:
        raise InputError("only one file can come from standard input")
    return names


def _answers_among(paths: list[Path]) -> set[Path]:
    """Return the files that are named like answers to others; see `_outputs`."""
    named = product(paths, ANSWER_ENDINGS.values())
    return {_answer_path(graph.parent, graph, ending) for graph, ending in named} & set(paths)


def _answer_path(folder: Path, graph: Path, ending: str) -> Path:
    return folder / f"{graph.name.removesuffix('.gz')}{ending}"


def _outputs(
    output: Path | None, names: list[str], format: AnswerFormat | None, several: bool
) -> list[Path]:
    """Return the file for the answer; for several graphs, one named after each, in a folder."""
    from augury.errors import InputError

    if output is None or not several:
        return [] if output is None else [output]
    if os.path.isfile(output):
        told = "this is a file, and the answers to several graphs go into a folder"
        raise InputError(f"{output}: {told}")
    ending = ANSWER_ENDINGS[format or AnswerFormat.JSON]
    paths = [_answer_path(output, Path(name), ending) for name in names]
    double, times = Counter(paths).most_common(1)[0]
    if times > 1:
        raise InputError(f"two graphs have the same name: both answers would be {double}")
    return paths


def _solved_with_progress(runner: Runner, graphs: list[Graph], how: How) -> list[Solution]:
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:

        def progress(now: Progress) -> None:
            done = f"{now.finished:,} of {len(graphs):,} graphs, " if len(graphs) > 1 else ""
            status.update(f"{now.doing}: {done}round {now.rounds}, size {now.size:,}")

        return runner.solutions(graphs, how._replace(progress=progress))


def _write_story(solution: Solution, file: Path | None, html: Path | None) -> None:
    """Write the run step by step, as JSON or as a page or both, as asked for."""
    import json

    from augury.files import write_text

    if file is None and html is None:
        return
    story = solution.story()
    if file is not None:
        write_text(file, json.dumps(story) + "\n")
    if html is not None:
        from augury.page import page_of

        write_text(html, page_of(story))


def _print_solution(graph: Graph, solution: Solution, written: list[Path]) -> None:
    from augury.classical.formats.answers import COLUMNS
    from augury.solution import is_classical

    noun, size, rounds = solution.noun, solution.size, solution.rounds
    found = f"{noun} of {size:,}"
    if noun == "reached":
        found = f"{terminal.counted(size, 'node')} reached"
    if solution.cost is not None:
        found += f", cost {solution.cost:,},"
    say((found, "bold"), f" in {graph.words}")
    rounds = terminal.counted(rounds, "round")
    if solution.classical_rounds and not is_classical(solution.executor):
        rounds += f" ({solution.neural_rounds:,} neural, {solution.classical_rounds:,} classical)"
    form = f" ({solution.engine} engine)" if solution.engine else ""
    say((f"{solution.executor} executor{form}, {rounds}, {solution.ending}", "dim"))
    terminal.say_proof(solution.certificate)
    for path in written:
        say(f"written to {path}")
    if written:
        return
    rows, head = getattr(solution, noun), COLUMNS[noun]
    if solution.certificate.fault:
        return
    if noun == "matching" and solution.cost is not None:
        rows, head = _with_costs(graph, rows), (*head, "cost")
    print()
    shown = [["" if x is None else str(x) for x in row] for row in rows[:MAX_ROWS_SHOWN]]
    terminal.print_table(head, shown)
    if len(rows) > MAX_ROWS_SHOWN:
        print(f"… and {len(rows) - MAX_ROWS_SHOWN:,} more: --format csv or --output FILE gives all")


def _with_costs(graph: Any, rows: list[Any]) -> list[Any]:
    """Add its cost to each pair of a matching."""
    worth = map(graph.costs.worth, graph.costs.amount.tolist())
    costs = dict(zip(graph.edges(), worth, strict=True))
    return [(*row, costs[row]) for row in rows]


def _format_of(path: Path) -> AnswerFormat:
    formats = {ending: format for format, ending in ANSWER_ENDINGS.items()}
    return formats.get(path.suffix.lower(), AnswerFormat.TABLE)
