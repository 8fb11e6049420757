"""The command: what it prints and writes, its exit codes, and one sentence for every mistake."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer.main
from typer.testing import CliRunner

from augury import __version__
from augury.apps import cli
from augury.apps.commands import generate as generate_command
from augury.classical.generate import FAMILIES
from augury.models import checkpoint
from command import Augury, Done, runner
from documents import parse

JOBS = "person,job\nann,cook\nbob,cook\nbob,sing\n"
PIPES = "p max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 3 1\na 2 4 2\na 3 4 3\n"
COMMAND = [sys.executable, "-m", "augury.apps.cli"]


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in an empty folder that holds jobs.csv and pipes.max."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("jobs.csv").write_text(JOBS)
    Path("pipes.max").write_text(PIPES)

    return runner(monkeypatch, capfd)


def test_version_and_help(augury: Augury) -> None:
    assert augury("--version") == Done(0, f"augury {__version__}\n", "")
    for arguments in (["--help"], ["-h"]):
        done = augury(*arguments)
        assert done.code == 0
        assert all(command in done.out for command in ("solve", "certify", "generate"))
    for command in ("solve", "certify", "generate"):
        done = augury(command, "--help")
        assert done.code == 0
        assert "Example" in done.out


def test_a_matching_is_printed_with_its_proof(augury: Augury) -> None:
    code, out, err = augury("solve", "jobs.csv")
    assert (code, err) == (0, "")
    assert out == (
        "matching of 2 in a bipartite graph of 2 + 2 nodes and 3 edges\n"
        "discrete executor (lookup engine), 2 rounds, done\n"
        "certified maximum: 2 nodes cover every edge: ann, bob\n"
        "\nleft  right\nann   cook\nbob   sing\n"
    )


def test_a_flow_is_printed_with_its_proof(augury: Augury) -> None:
    code, out, err = augury("solve", "pipes.max", "--executor", "bellman-ford")
    assert (code, err) == (0, "")
    assert out.startswith("flow of 5 in a network of 4 nodes and 5 arc pairs\nbellman-ford exec")
    assert "certified maximum: a cut of capacity 5, source side: " in out
    assert "\ntail  head  flow\n" in out


def test_json_has_the_promised_keys(augury: Augury) -> None:
    answer = json.loads(augury("solve", "jobs.csv", "--json").out)
    assert answer["matching"] == [["ann", "cook"], ["bob", "sing"]]
    assert {"size", "is_maximum", "rounds", "executor"} < set(answer)
    assert (answer["size"], answer["is_maximum"], answer["executor"]) == (2, True, "discrete")
    assert (answer["file"], answer["seed"], answer["version"]) == ("jobs.csv", 0, __version__)
    assert "matching" not in json.loads(augury("solve", "pipes.max", "--json").out)
    assert json.loads(augury("solve", "pipes.max", "--json").out)["size"] == 5


def test_formats_and_output_files(augury: Augury) -> None:
    assert augury("solve", "jobs.csv", "--format", "csv").out == "left,right\nann,cook\nbob,sing\n"
    assert augury("solve", "jobs.csv", "--format", "table").out.startswith("left  right\n")
    for name in ("answer.json", "answer.csv", "answer.txt"):
        done = augury("solve", "jobs.csv", "--output", name)
        assert done.code == 0
        assert f"written to {name}\n" in done.out
    assert json.loads(Path("answer.json").read_text())["size"] == 2
    assert Path("answer.csv").read_text() == "left,right\nann,cook\nbob,sing\n"
    assert Path("answer.txt").read_text() == "left  right\nann   cook\nbob   sing\n"
    done = augury("solve", "jobs.csv", "--output", "again.txt", "--json")
    assert json.loads(done.out)["size"] == 2
    assert Path("again.txt").exists()


def test_only_the_first_of_many_pairs_are_shown_and_the_rest_counted(augury: Augury) -> None:
    assert augury("generate", "complete", "--n", "30", "--output", "big.csv").code == 0
    lines = augury("solve", "big.csv").out.splitlines()
    assert lines[-1] == "… and 10 more: --format csv or --output FILE gives all"
    assert len(lines) == 3 + 1 + 1 + 20 + 1
    assert len(augury("solve", "big.csv", "--format", "csv").out.splitlines()) == 31


def test_labels_with_brackets_are_printed_unchanged(augury: Augury) -> None:
    Path("odd.csv").write_text("left,right\n[bold]ann[/bold],[red]\n")
    out = augury("solve", "odd.csv").out
    assert "\n[bold]ann[/bold]  [red]\n" in out
    assert "covers every edge: [bold]ann[/bold]\n" in out
    assert "\x1b" not in out


def test_flow_edge_lists_take_source_and_sink(augury: Augury) -> None:
    Path("arcs.csv").write_text("well,a,3\na,town,2\n")
    done = augury("solve", "arcs.csv", "--flow", "--source", "well", "--sink", "town", "--json")
    assert json.loads(done.out)["flow"] == [["well", "a", 2], ["a", "town", 2]]


def test_certify_tells_maximum_short_and_illegal_answers_apart(augury: Augury) -> None:
    augury("solve", "jobs.csv", "--output", "best.json")
    code, out, err = augury("certify", "jobs.csv", "best.json")
    assert (code, err) == (0, "")
    assert out.startswith("legal, size 2\ncertified maximum: 2 nodes cover every edge")

    Path("short.csv").write_text("left,right\nbob,cook\n")
    done = augury("certify", "jobs.csv", "short.csv")
    assert done == Done(0, "legal, size 1\nlegal, but 1 short of the maximum\n", "")
    told = json.loads(augury("certify", "jobs.csv", "short.csv", "--json").out)
    assert (told["legal"], told["maximum"], told["shortfall"]) == (True, False, 1)

    Path("wrong.csv").write_text("left,right\nann,sing\n")
    fault = "there is no edge between 'ann' and 'sing'"
    sentence = f"augury: wrong.csv: this is not a matching of jobs.csv: {fault}\n"
    assert augury("certify", "jobs.csv", "wrong.csv") == Done(2, "", sentence)
    code, out, err = augury("certify", "jobs.csv", "wrong.csv", "--json")
    assert (code, err, json.loads(out)["fault"]) == (2, sentence, fault)


def test_certify_reads_flows_too(augury: Augury) -> None:
    augury("solve", "pipes.max", "--output", "flow.csv")
    assert "certified maximum: a cut" in augury("certify", "pipes.max", "flow.csv").out
    Path("leak.csv").write_text("tail,head,flow\n1,2,1\n")
    done = augury("certify", "pipes.max", "leak.csv")
    assert (done.code, done.out) == (2, "")
    assert "this is not a flow of pipes.max: flow is not preserved at " in done.err


def test_certify_checks_every_arc_of_a_flow_and_not_the_net(augury: Augury) -> None:
    Path("arcs.csv").write_text("tail,head,capacity\ns,a,3\na,t,3\n")
    ends = "--source", "s", "--sink", "t"
    for claim in ("s,a,5\na,s,2\na,t,3\n", '[["s", "a", 5], ["a", "s", 2], ["a", "t", 3]]'):
        Path("claim").write_text(claim)
        done = augury("certify", "arcs.csv", "claim", *ends)
        assert (done.code, done.out) == (2, "")
        assert "not a flow of arcs.csv: the arc from 's' to 'a' carries 5, but" in done.err
        told = json.loads(augury("certify", "arcs.csv", "claim", *ends, "--json").out)
        assert (told["legal"], told["maximum"], told["size"]) == (False, False, 3)


BAD: list[tuple[list[str], str]] = [
    (["solve", "nowhere.csv"], "nowhere.csv: there is no such file"),
    (["certify", ".", "jobs.csv"], "this is a folder"),
    (["solve", "empty.csv"], "empty.csv: the file is empty"),
    (["solve", "broken.json"], "broken.json, line 1: this is not JSON"),
    (["solve", "broken.mtx"], "broken.mtx"),
    (["solve", "broken.max"], "broken.max, line 3"),
    (["solve", "jobs.csv", "--output", "missing/answer.json"], "missing: there is no such folder"),
    (["solve", "jobs.csv", "--output", "."], "this is a folder"),
    (["certify", "jobs.csv", "nowhere.json"], "nowhere.json: there is no such file"),
    (["certify", "jobs.csv", "pipes.max"], "pipes.max"),
    (["certify", "-", "-"], "cannot both come from standard input"),
    (["generate", "unifrom", "--n", "3", "--output", "x.csv"], "did you mean 'uniform'?"),
    (["generate", "uniform", "--output", "x.csv"], "the family uniform needs n"),
    (["generate", "path", "--n", "3", "--p", "1/2", "--output", "x.csv"], "but not p"),
    (["generate", "uniform", "--n", "-3", "--output", "x.csv"], "n is -3, not a whole number"),
    (["generate", "uniform", "--n", "3", "--p", "3/2", "--output", "x.csv"], "p is 1.5"),
    (["generate", "uniform", "--n", "3", "--output", "x.doc"], "the ending must be one of"),
    (["generate", "uniform", "--n", "3", "--output", "jobs.csv/x.csv"], "jobs.csv: this is a file"),
    (["generate", "uniform", "--n", "3", "--output", "new/deep/x.doc"], "new/deep/x.doc: the end"),
    (["generate", "uniform", "--n", "3", "--output", "new/x.max"], "new/x.max: a bipartite graph"),
    (["solve", "jobs.csv", "--source", "ann"], "jobs.csv: a bipartite graph has no source"),
    (["certify", "jobs.csv", "jobs.csv", "--sink", "t"], "jobs.csv: a bipartite graph has no sink"),
    (["solve", "jobs.csv", "--model", "."], ".: this is a folder, and one network is wanted"),
    (["verify", "."], ".: this is a folder, and one network is wanted"),
    (["reproduce", "--quick", "--out", "jobs.csv"], "jobs.csv: this is a file, not a folder"),
    (["generate", "uniform", "--n", "3", "--count", "2", "--output", "x.csv"], "must hold {}"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(bad[0]) for bad in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(
    augury: Augury, arguments: list[str], message: str
) -> None:
    Path("empty.csv").write_text("")
    Path("broken.json").write_text("{")
    Path("broken.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 5\n1 1\n")
    Path("broken.max").write_text("p max 2 1\nn 1 s\nn two t\na 1 2 1\n")
    before = everything()
    code, out, err = augury(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("augury: ")
    assert message in err
    assert err.count("\n") == 1
    assert everything() == before


def everything() -> dict[Path, bytes | None]:
    """Return all files here with what they hold, and all folders."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command"),
        (["solve"], "Missing argument"),
        (["solve", "jobs.csv", "--frobnicate"], "No such option"),
        (["solve", "jobs.csv", "--executor", "oracle"], "'oracle' is not one of"),
        (["solve", "jobs.csv", "--seed", "-1"], "--seed"),
        (["solve", "jobs.csv", "--format", "xml"], "'xml' is not one of"),
        (["certify", "jobs.csv"], "Missing argument"),
        (["generate", "uniform", "--n", "3"], "Missing option"),
        (["generate", "uniform", "--n", "3.5", "--output", "x.csv"], "--n"),
        (["generate", "uniform", "--n", "3", "--p", "half", "--output", "x.csv"], "--p"),
        (["generate", "uniform", "--n", "3", "--p", "1/0", "--output", "x.csv"], "1/4"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(
    augury: Augury, arguments: list[str], message: str
) -> None:
    code, out, err = augury(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


# Enough for each family to make something; the rest are its defaults.
EXAMPLES: dict[str, list[str]] = {name: ["--n", "6"] for name in FAMILIES} | {
    "regular": ["--n", "6", "--degree", "2"],
    "communities": ["--n", "6", "--p-within", "3/4", "--p-between", "0.1"],
    "flow": ["--nodes", "6", "--arcs", "12", "--high", "255"],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_written_and_read_back(augury: Augury, family: str) -> None:
    arguments = EXAMPLES[family]
    code, out, err = augury("generate", family, *arguments, "--output", "new/graph.json.gz")
    assert (code, err) == (0, "")
    assert out.startswith("new/graph.json.gz: a ")
    answer = json.loads(augury("solve", "new/graph.json.gz", "--json").out)
    assert answer["is_maximum"]


def test_several_graphs_are_numbered_and_the_seed_decides(augury: Augury) -> None:
    for folder in ("one", "two"):
        output = f"{folder}/{{}}.csv"
        done = augury("generate", "uniform", "--n", "8", "--count", "3", "--output", output)
        assert done.code == 0
        assert len(done.out.splitlines()) == 3
    texts = [[Path(f"{f}/{k}.csv").read_text() for k in range(3)] for f in ("one", "two")]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 3
    augury("generate", "uniform", "--n", "8", "--seed", "7", "--output", "other.csv")
    assert Path("other.csv").read_text() != texts[0][0]


def test_a_family_that_does_not_exist_leaves_no_folder(augury: Augury) -> None:
    assert augury("generate", "unifrom", "--n", "3", "--output", "new/x.csv").code == 2
    assert not Path("new").exists()


def test_every_keyword_of_a_family_is_an_option_and_the_other_way_round() -> None:
    hints = get_type_hints(generate_command.generate, include_extras=True)
    options = set(inspect.signature(generate_command.generate).parameters)
    keywords = {p.name for family in FAMILIES.values() for p in family.parameters}
    assert options - {"family", "output", "seed", "count"} == keywords
    for family in FAMILIES.values():
        for parameter in family.parameters:
            told = get_args(get_args(hints[parameter.name])[0])
            assert parameter.kind in told or str in told  # text where fractions like 1/4 are taken


def test_the_help_of_generate_names_every_family() -> None:
    out = CliRunner().invoke(cli.app, ["generate", "--help"], env={"COLUMNS": "400"}).output
    assert all(family in out for family in FAMILIES)


def test_the_examples_of_every_help_parse() -> None:
    for name, command in typer.main.get_command(cli.app).commands.items():  # type: ignore
        examples = re.findall(r"(?:^|\s)(augury [^·;\n]+)", command.epilog)
        assert examples, name
        for example in examples:
            parse(tuple(shlex.split(example)))


def test_several_files_or_a_folder_are_one_batch(augury: Augury) -> None:
    Path("folder").mkdir()
    Path("folder", "b.csv").write_text(JOBS)
    Path("folder", "a.max").write_text(Path("pipes.max").read_text())
    Path("folder", "README").write_text("not a graph")
    code, out, err = augury("solve", "jobs.csv", "folder")
    assert (code, err) == (0, "")
    assert out == (
        "file          answer    size  rounds  proof\n"
        "jobs.csv      matching  2     2       certified maximum\n"
        "folder/a.max  flow      5     2       certified maximum\n"
        "folder/b.csv  matching  2     2       certified maximum\n"
        "3 of 3 answers certified maximum\n"
    )
    told = json.loads(augury("solve", "jobs.csv", "folder", "--json").out)["solutions"]
    assert [answer["file"] for answer in told] == ["jobs.csv", "folder/a.max", "folder/b.csv"]
    alone = json.loads(augury("solve", "jobs.csv", "--json").out)
    assert told[0] == alone
    assert augury("solve", "jobs.csv", "jobs.csv", "--format", "csv").out == 2 * (
        "left,right\nann,cook\nbob,sing\n"
    )
    Path("answers").mkdir()
    assert augury("solve", "folder", "--output", "answers").code == 0
    assert sorted(path.name for path in Path("answers").iterdir()) == ["a.max.json", "b.csv.json"]
    assert json.loads(Path("answers", "b.csv.json").read_text())["size"] == 2
    assert augury("solve", "folder", "--output", "answers", "--format", "csv").code == 0
    assert Path("answers", "a.max.csv").read_text().startswith("tail,head,flow\n")


def test_a_batch_in_which_one_file_is_bad_writes_nothing(augury: Augury) -> None:
    Path("answers").mkdir()
    Path("bad.csv").write_text("a\n")
    done = augury("solve", "jobs.csv", "bad.csv", "--output", "answers")
    assert (done.code, done.out) == (2, "")
    assert "bad.csv" in done.err
    assert not list(Path("answers").iterdir())


def test_another_network_may_solve_and_need_not_be_finished_classically(augury: Augury) -> None:
    out = augury("solve", "jobs.csv", "--model", "paper-mpnn").out
    assert "\npaper-mpnn executor (fast engine), 2 rounds, done\n" in out
    # The one path left is so long that its distance passes eight bits.
    assert augury("generate", "path-state", "--n", "40", "--output", "long.max").code == 0
    network = "--model", "paper-mpnn"
    out = augury("solve", "long.max", *network).out
    who = "\npaper-mpnn executor (fast engine), "
    assert f"{who}1 round (0 neural, 1 classical), gave up\ncertified max" in out
    out = augury("solve", "long.max", *network, "--no-exact").out
    assert f"{who}0 rounds, gave up\nlegal, but 1 short of the maximum\n" in out


def test_an_engine_may_be_chosen(augury: Augury) -> None:
    out = augury("solve", "jobs.csv", "--engine", "table").out
    assert "\ndiscrete executor (table engine), 1 round, done\ncertified maximum" in out
    answer = json.loads(augury("solve", "jobs.csv", "--engine", "plain", "--json").out)
    assert answer["engine"] == "plain"
    augury("solve", "jobs.csv", "--engine", "table", "--trace", "run.json")
    assert json.loads(Path("run.json").read_text())["model"]["engine"] == "table"
    for options, message in (
        (("--engine", "table", "--model", "paper-mpnn"), "'paper-mpnn' is none"),
        (("--engine", "table", "--executor", "classical"), "and classical is none"),
        (("--engine", "warp"), "'warp' is not one of"),
    ):
        failed = augury("solve", "jobs.csv", *options)
        assert failed.code == 2 and message in failed.err


def test_the_run_is_written_as_json_and_as_a_page(augury: Augury) -> None:
    done = augury("solve", "jobs.csv", "--trace", "run.json", "--html", "run.html")
    assert done.out.endswith("written to run.json\nwritten to run.html\n")
    story = json.loads(Path("run.json").read_text())
    assert (story["format"], story["version"]) == ("augury-story", 1)
    assert story["solution"]["size"] == 2
    assert "<script" in Path("run.html").read_text()
    answer = json.loads(augury("solve", "jobs.csv", "--trace", "again.json", "--json").out)
    assert answer["size"] == 2
    assert json.loads(Path("again.json").read_text()) == story


def test_solve_refuses_what_does_not_go_together(augury: Augury) -> None:
    Path("empty").mkdir()
    for arguments, message in {
        ("jobs.csv", "--model", "oracle"): "oracle: there is no such checkpoint",
        ("jobs.csv", "--model", "discrete", "--executor", "classical"): "but --executor is class",
        ("jobs.csv", "--device", "cpu", "--executor", "classical"): "--device is for a network",
        ("jobs.csv", "--json", "--format", "csv"): "--json and --format csv ask for two things",
        ("jobs.csv", "--device", "moon"): "the device is 'moon'",
        ("jobs.csv", "pipes.max", "--trace", "t.json"): "--trace writes the run on one graph",
        ("jobs.csv", "pipes.max", "--html", "t.html"): "--html writes the run on one graph",
        ("jobs.csv", "--html", "nowhere/t.html"): "nowhere: there is no such folder",
        ("jobs.csv", "pipes.max", "--output", "nowhere/at"): "nowhere: there is no such folder",
        ("jobs.csv", "pipes.max", "--output", "jobs.csv"): "jobs.csv: this is a file, and the answ",
        ("jobs.csv", "jobs.csv", "--output", "empty"): "both answers would be empty/jobs.csv.json",
        ("empty",): "empty: no file in this folder ends in .csv, ",
        ("-", "-"): "only one graph can come from standard input",
    }.items():
        code, out, err = augury("solve", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert not list(Path("empty").iterdir())


def test_the_folder_for_several_answers_is_made(augury: Augury) -> None:
    assert augury("solve", "jobs.csv", "pipes.max", "--output", "answers").code == 0
    assert {path.name for path in Path("answers").iterdir()} == {"jobs.csv.json", "pipes.max.json"}
    both = augury("solve", "jobs.csv", "--output", "answer.csv", "--format", "csv", "--json")
    assert json.loads(both.out)["size"] == 2
    assert Path("answer.csv").read_text().startswith("left,right\n")


def test_what_is_written_is_called_out_or_output_in_every_command() -> None:
    for name, command in typer.main.get_command(cli.app).commands.items():  # type: ignore
        names = {option for parameter in command.params for option in parameter.opts}
        assert ("--out" in names) == ("--output" in names), name


@pytest.mark.parametrize("what", ["folder", "file"])
def test_nothing_that_lies_here_takes_the_place_of_a_shipped_network(
    augury: Augury, what: str
) -> None:
    if what == "folder":
        Path("discrete").mkdir()
    else:
        Path("discrete").write_bytes((checkpoint.MODELS / "paper-mpnn.safetensors").read_bytes())
    assert augury("verify").code == augury("solve", "jobs.csv").code == 0
    small = ("--scales", "1", "--graphs", "1", "--runs", "1", "--json")
    assert json.loads(augury("evaluate", "discrete", *small).out)["model"] == "discrete"
    here = augury("verify", "./discrete")
    assert here.code == 2
    assert ("is a folder" if what == "folder" else "this is paper-mpnn") in here.err


def shell(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **options)


def classical(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Solve without a network: what is printed, and how, does not depend on who solved."""
    return shell("solve", "--executor", "classical", *arguments, **options)


def test_the_graph_may_come_from_standard_input() -> None:
    done = classical("-", "--json", input=JOBS)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["size"] == 2
    wrong = classical("-", input="")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "augury: standard input: the file is empty\n"


def test_output_into_a_pipe_is_plain() -> None:
    done = classical("-", input=JOBS, env=os.environ | {"TERM": "xterm-256color"})
    assert done.stdout.startswith("matching of 2 in a bipartite graph")
    assert "\x1b" not in done.stdout


def test_labels_beyond_the_encoding_of_the_terminal_are_printed_as_numbers() -> None:
    data = '{"left": ["\\ud800é"], "right": ["x"], "edges": [["\\ud800é", "x"]]}'
    done = classical("-", input=data, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\ud800\\xe9" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "evaluate classical --scales 1 --graphs 1 --runs 1",
        # The first process of a reproduction hands out tasks and writes; others compute.
        "reproduce --figure 2 --seeds 1 --stop-after 0 --out run",
    ],
)
def test_what_computes_no_network_needs_no_heavy_library(tmp_path: Path, arguments: str) -> None:
    code = (
        f"import sys\nsys.argv = ['augury', *{arguments.split()}]\n"
        "from augury.apps.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    heavy = ('torch', 'scipy', 'networkx', 'matplotlib', 'torch_geometric', 'lightning')\n"
        "    print(end.code, [name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(("executor", "rows"), [("neural", 3), ("classical", 30_000)])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, executor: str, rows: int) -> None:
    graph = tmp_path / "graph.csv"
    graph.write_text("left,right\n" + "".join(f"l{i},r{i}\n" for i in range(rows)))
    command = [*COMMAND, "solve", str(graph), "--format", "csv", "--executor", executor]
    # With a buffer, a short answer fails only when it is flushed at the very end.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, text=True, env=buffered
        )
    assert (done.returncode, done.stderr) == (0, "")


WAITS_FOR_INPUT = """
import signal, sys, time, types

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

def read(size):
    print("ready", flush=True)
    time.sleep(60)

sys.stdin = types.SimpleNamespace(buffer=types.SimpleNamespace(read=read))
sys.argv = ["augury", "solve", "-"]
from augury.apps.cli import main
main()
"""


def test_an_interrupt_is_said_in_one_sentence() -> None:
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", WAITS_FOR_INPUT], text=True, **pipes) as process:  # type: ignore
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == cli.INTERRUPTED
        assert process.stderr.read() == "augury: interrupted\n"


def test_a_missing_output_folder_is_refused_before_the_work(augury: Augury) -> None:
    done = augury("solve", "there-is-no-graph-either.csv", "--output", "no/answer.json")
    assert done.code == 2
    assert done.err == "augury: no: there is no such folder\n"
