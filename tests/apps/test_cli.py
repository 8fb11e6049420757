"""The command line: exit codes, help, pipes, and one sentence for every mistake."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from augury import __version__
from augury.apps import cli
from augury.models import checkpoint
from command import Augury, Done
from documents import parse

COMMAND = [sys.executable, "-m", "augury.apps.cli"]


def test_version_and_help(augury: Augury) -> None:
    assert augury("--version") == Done(0, f"augury {__version__}\n", "")
    for arguments in (["--help"], ["-h"]):
        done = augury(*arguments)
        assert done.code == 0
        assert all(command in done.out for command in ("solve", "certify", "generate"))
    for command, module in cli.COMMANDS.items():
        summary = " ".join(getattr(module, command).__doc__.partition("\n\n")[0].split())
        assert summary in " ".join(augury("--help").out.split())
        done = augury(command, "--help")
        assert done.code == 0
        assert summary in " ".join(done.out.split())
        assert "Example" in done.out


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
    (["certify", "-", "-"], "only one of the files can come from standard input"),
    (["generate", "unifrom", "--n", "3", "--output", "x.csv"], "did you mean 'uniform'?"),
    (["generate", "uniform", "--output", "x.csv"], "the family uniform needs n"),
    (["generate", "path", "--n", "3", "--p", "1/2", "--output", "x.csv"], "but not p"),
    (["generate", "uniform", "--n", "-3", "--output", "x.csv"], "n is -3, not a whole number"),
    (["generate", "uniform", "--n", "3", "--p", "3/2", "--output", "x.csv"], "p is 1.5"),
    (["generate", "uniform", "--n", "3", "--output", "x.doc"], "the ending must be one of"),
    (["generate", "uniform", "--n", "3", "--output", "jobs.csv/x.csv"], "jobs.csv: this is a file"),
    (["generate", "uniform", "--n", "3", "--output", "new/deep/x.doc"], "new/deep/x.doc: the end"),
    (
        ["generate", "uniform", "--n", "3", "--output", "new/x.max"],
        "new/x.max: a DIMACS file holds no bipartite graph",
    ),
    (["solve", "jobs.csv", "--source", "ann"], "jobs.csv: a bipartite graph has no source"),
    (["certify", "jobs.csv", "jobs.csv", "--sink", "t"], "jobs.csv: a bipartite graph has no sink"),
    (
        ["solve", "jobs.csv", "--model", "."],
        ".: there is no seed-*/best.safetensors in this folder",
    ),
    (["verify", "."], ".: there is no seed-*/best.safetensors in this folder"),
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
    """Return the contents of all files here, and all folders."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command"),
        (["solve"], "Missing argument"),
        (["solve", "jobs.csv", "--frobnicate"], "No such option"),
        (["solve", "jobs.csv", "--model", "oracle"], "oracle: there is no such checkpoint"),
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


def test_a_file_in_place_of_a_command_leads_to_solve(augury: Augury) -> None:
    Path("hours.csv").write_text("person,job,hours\nann,cook,4\n")
    code, _, err = augury("hours.csv")
    assert code == 2 and "'hours.csv' is a file, not a command; try: augury solve hours.csv" in err


def test_help_shows_each_example_on_a_line_of_its_own(augury: Augury) -> None:
    _, out, _ = augury("solve", "--help")
    examples = out.partition("Examples:")[2].splitlines()
    assert len(examples) == cli.command("solve").epilog.count("augury ")
    assert all(line.count("augury ") == 1 for line in examples)


def test_the_examples_of_every_help_parse() -> None:
    for name in cli.COMMANDS:
        examples = re.findall(r"(?:^|\s)(augury [^·;\n]+)", cli.command(name).epilog)
        assert examples, name
        for example in examples:
            parse(tuple(shlex.split(example)))


def test_what_is_written_is_called_out_or_output_in_every_command() -> None:
    for name in cli.COMMANDS:
        names = {option for parameter in cli.command(name).params for option in parameter.opts}
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
    assert ("in this folder" if what == "folder" else "this is paper-mpnn") in here.err


def shell(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **options)


def classical(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Solve without a network: the output format does not depend on the executor."""
    return shell("solve", "--model", "classical", *arguments, **options)


def test_a_pipe_gets_plain_text_whatever_the_terminal_could_show() -> None:
    """Characters outside the encoding are escaped."""
    data = '{"left": ["\\ud800é"], "right": ["x"], "edges": [["\\ud800é", "x"]]}'
    terminal = {"TERM": "xterm-256color", "PYTHONIOENCODING": "ascii"}
    done = classical("-", input=data, env=os.environ | terminal)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("matching of 1 in a bipartite graph")
    assert "\\ud800\\xe9" in done.stdout
    assert "\x1b" not in done.stdout


LIGHT = """
import sys
from augury.apps.cli import main

heavy = (
    "torch", "scipy", "networkx", "matplotlib", "torch_geometric", "lightning", "numba",
    "rich", "asyncio",
)
for arguments in (
    "--help",
    "evaluate classical --scales 1 --graphs 1 --runs 1",
    # The first process of a reproduction hands out tasks and writes; others compute.
    "reproduce --figure 2 --seeds 1 --stop-after 0 --out run",
):
    sys.argv = ["augury", *arguments.split()]
    try:
        main()
    except SystemExit as end:
        print("ended", end.code, [name for name in heavy if name in sys.modules])
"""


def test_what_computes_no_network_needs_no_heavy_library(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIGHT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert [line for line in done.stdout.splitlines() if "ended" in line] == ["ended 0 []"] * 3


def test_a_package_that_is_missing_anywhere_is_one_sentence(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch.nn")

    monkeypatch.setattr("augury.apps.commands.solve._solved", fail)
    with pytest.raises(ModuleNotFoundError):  # it is installed here: then it is broken
        augury("solve", "jobs.csv")
    monkeypatch.setitem(sys.modules, "torch", None)
    told = "augury: this command needs PyTorch: pip install 'augury[neural]'\n"
    assert augury("solve", "jobs.csv") == Done(2, "", told)


@pytest.mark.parametrize("rows", [3, 30_000])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, rows: int) -> None:
    graph = tmp_path / "graph.csv"
    graph.write_text("left,right\n" + "".join(f"l{i},r{i}\n" for i in range(rows)))
    command = [*COMMAND, "solve", str(graph), "--format", "csv", "--model", "classical"]
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
from augury.apps.cli import script
script()
"""


CRASHES_AT_THE_END = """
import ctypes, sys, types

library = ctypes.CDLL(None)
library.__cxa_atexit(library.abort, None, None)
sys.modules["ray"] = types.ModuleType("ray")
"""


@pytest.mark.parametrize("before", ["", CRASHES_AT_THE_END], ids=["alone", "with Ray"])
def test_an_interrupt_is_said_in_one_sentence(before: str) -> None:
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    code = before + WAITS_FOR_INPUT
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:  # type: ignore
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == cli.INTERRUPTED
        assert process.stderr.read() == "augury: interrupted\n"
