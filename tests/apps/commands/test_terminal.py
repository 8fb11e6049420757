"""What is written takes the place of nothing else; what is shown on a terminal is not obeyed."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from augury.apps.commands import terminal
from augury.classical.formats import ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.experiments.reproduce import Status
from command import Augury, runner

JOBS = "person,job\nann,cook\nbob,cook\nbob,sing\n"
SOLVE = ("solve", "--model", "classical")
COMMAND = [sys.executable, "-m", "augury.apps.cli"]


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in an empty folder that holds jobs.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("jobs.csv").write_text(JOBS)
    return runner(monkeypatch, capfd)


OVERWRITING = [
    # options, what the message must say
    (("jobs.csv", "--output", "jobs.csv"), "--output names jobs.csv, which is read: jobs.csv"),
    (("jobs.csv", "--output", "./jobs.csv"), "--output names jobs.csv, which is read"),
    (("jobs.csv", "--out", "link.csv"), "--output names link.csv, which is read: jobs.csv"),
    (("link.csv", "--output", "jobs.csv"), "which is read: link.csv would be overwritten"),
    (("jobs.csv", "--output", "hard.csv"), "--output names hard.csv, which is read"),
    (("jobs.csv", "--story", "jobs.csv"), "--story names jobs.csv, which is read"),
    (("jobs.csv", "--html", "link.csv"), "--html names link.csv, which is read"),
    (("jobs.csv", "--output", "x", "--story", "x"), "--story names x, and so does --output"),
    (("jobs.csv", "--output", "x", "--story", "./x"), "and so does --output"),
    (("jobs.csv", "--html", "x", "--story", "x"), "--html names x, and so does --story"),
    (("jobs.csv", "--html", "old", "--story", "older"), "--html names old, and so does --story"),
    (("jobs.csv", "--html", "x", "--output", "x"), "--html names x, and so does --output"),
    (("jobs.csv", "hard.csv", "--output", "answers"), "--output names answers/jobs.csv.json"),
    (("no.csv", "--output", "no.csv"), "--output names no.csv, which is read"),
]


@pytest.mark.parametrize(
    ("options", "message"), OVERWRITING, ids=[" ".join(case[0]) for case in OVERWRITING]
)
def test_nothing_is_overwritten_and_nothing_else_is_done(
    augury: Augury, options: tuple[str, ...], message: str
) -> None:
    Path("link.csv").symlink_to("jobs.csv")
    Path("hard.csv").hardlink_to("jobs.csv")
    Path("old").write_text("old")
    Path("older").symlink_to("old")
    Path("answers").mkdir()
    Path("answers", "jobs.csv.json").symlink_to(Path("jobs.csv").absolute())
    before = {path: path.read_text() for path in Path().rglob("*") if path.is_file()}
    code, out, err = augury(*SOLVE, *options)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
    assert {path: path.read_text() for path in Path().rglob("*") if path.is_file()} == before


def test_a_network_is_not_overwritten_by_its_answer(augury: Augury) -> None:
    Path("net").write_bytes(b"a network")
    done = augury("solve", "jobs.csv", "--model", "./net", "--output", "net")
    assert done.code == 2 and "--output names net, which is read" in done.err
    assert Path("net").read_bytes() == b"a network"


def test_a_benchmark_refuses_one_file_for_two_things(augury: Augury) -> None:
    done = augury("bench", "--quick", "--out", "x.svg", "--plot", "x.svg")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--plot names x.svg, and so does --out" in done.err


def test_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    graph = tmp_path / "jobs.csv"
    graph.write_text(JOBS)
    command = [*COMMAND, *SOLVE, "-", "--output", str(graph)]
    with graph.open() as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True)
    assert done.returncode == 2 and "which is read: - would be overwritten" in done.stderr
    assert graph.read_text() == JOBS


@pytest.mark.parametrize("options", [(), ("--format", "csv"), ("--format", "table")], ids=str)
def test_a_folder_may_take_the_answers_to_its_own_graphs_again_and_again(
    augury: Augury, options: tuple[str, ...]
) -> None:
    Path("folder").mkdir()
    Path("folder", "a.csv").write_text(JOBS)
    Path("folder", "b.csv.gz").write_bytes(b"ann,cook\n")
    first = augury(*SOLVE, "folder", "--output", "folder", *options)
    assert (first.code, first.err) == (0, "")
    written = {path.name: path.read_bytes() for path in Path("folder").iterdir()}
    second = augury(*SOLVE, "folder", "--output", "folder", *options)
    there = "2 answers there already, and unchanged\nwritten to"
    assert second.code == 0 and second.out == first.out.replace("written to", there)
    left_out = (
        "" if "table" in options else "augury: folder: 2 answers beside the graphs left out\n"
    )
    assert second.err == left_out
    assert {path.name: path.read_bytes() for path in Path("folder").iterdir()} == written
    assert len(written) == 5  # with the list of what is done


def test_an_answer_is_no_graph(augury: Augury) -> None:
    assert augury(*SOLVE, "jobs.csv", "--output", "answer.json").code == 0
    assert "this is an answer, not a graph" in augury(*SOLVE, "answer.json").err


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    augury = " ".join([*COMMAND, *SOLVE])
    command = ["bash", "-c", line.replace("augury", augury)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60)


CSV = "left,right\nann,cook\nbob,sing\n"


@pytest.mark.parametrize(
    ("line", "out", "err"),
    [
        ("augury <(cat jobs.csv) --format csv --output >(cat >&2) > quiet; wait $!", "", CSV),
        (
            "echo a > x; augury jobs.csv --format csv --output /dev/fd/3 3>> x; cat x",
            "matching",
            "",
        ),
        ("augury jobs.csv --format csv --output /dev/stdout > x; cat x", f"{CSV}matching", ""),
        ("augury jobs.csv --format csv --output /dev/stdout | head -n 1", "left,right\n", ""),
    ],
)
def test_what_the_shell_opened_is_written_where_it_stands(
    tmp_path: Path, line: str, out: str, err: str
) -> None:
    (tmp_path / "jobs.csv").write_text(JOBS)
    done = shell(line, tmp_path)
    assert done.stdout.startswith(out) and done.stderr == err
    if "3>> x" in line:
        assert done.stdout.endswith(f"a\n{CSV}")


@pytest.mark.parametrize(
    ("options", "out", "err"),
    [
        (("--output", "/dev/stdout", "--format", "csv"), f"{CSV}matching", ""),
        (("--output", "-", "--format", "csv"), f"{CSV}matching", ""),
        (("--output", "/dev/fd/2", "--format", "csv"), "matching", CSV),
        (("--output", "/dev/full"), "", "augury: /dev/full: no space left on device\n"),
        (("--output", "/dev/fd/99"), "", "augury: /dev/fd/99: "),
        (("--output", "/dev/null", "--story", "/dev/null"), "matching", ""),
    ],
)
def test_devices_are_written(augury: Augury, options: tuple[str, ...], out: str, err: str) -> None:
    done = augury(*SOLVE, "jobs.csv", *options)
    assert done.out.startswith(out) and done.err.startswith(err)
    assert bool(done.err) == bool(err)


def test_a_named_pipe_takes_an_answer(augury: Augury) -> None:
    os.mkfifo("pipe.csv")
    told: list[str] = []
    reader = threading.Thread(target=lambda: told.append(Path("pipe.csv").read_text()))
    reader.start()
    assert augury(*SOLVE, "jobs.csv", "--output", "pipe.csv").code == 0
    reader.join(timeout=20)
    assert told == [CSV] and Path("pipe.csv").is_fifo()


EVIL = "\x1b]0;mine\x07\x1b[31mann\u202e"
SHOWN = r"\x1b]0;mine\x07\x1b[31mann\u202e"


def obeyed(text: str) -> set[str]:
    """Return what a terminal would do something about."""
    return {letter for letter in text if letter in "\x1b\x07\x9b\u202e"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["solve", "evil.json", "--model", "classical"], 0),
        (["solve", "evil.json", "--model", "classical", "--format", "table"], 0),
        (["solve", "evil.json", "--model", "classical", "--output", f"{EVIL}.json"], 0),
        (["solve", f"{EVIL}.csv", f"{EVIL}.csv", "--model", "classical"], 0),
        (["certify", "evil.json", "answer.csv"], 0),
        (["certify", "evil.json", "wrong.csv"], 2),
        (["certify", f"{EVIL}.csv", f"{EVIL} nowhere.csv"], 2),
        (["solve", f"{EVIL} nowhere.csv"], 2),
        (["solve", "evil.csv"], 2),
        (["solve", "evil.json", f"--{EVIL}"], 2),
        (["solve", "evil.json", "--seed", EVIL], 2),
        (["solve", "evil.json", "--model", EVIL], 2),
        (["solve", "evil.json", "--source", EVIL], 2),
        ([EVIL], 2),
        ([f"--{EVIL}"], 2),
        (["generate", "path", "--n", "3", "--output", f"new{EVIL}.csv"], 0),
        (["generate", EVIL, "--n", "3", "--output", "x.csv"], 2),
        (["generate", "path", "--n", "3", "--p", EVIL, "--output", "x.csv"], 2),
        (["verify", EVIL], 2),
        (["evaluate", EVIL], 2),
        (["evaluate", "classical", "--scales", EVIL], 2),
        (["evaluate", "--from", EVIL], 2),
        (["train", EVIL], 2),
        (["train", "paper-mpnn", "--set", EVIL], 2),
        (["train", "paper-mpnn", "--set", f"{EVIL}=1"], 2),
        (["train", "paper-mpnn", "--config", EVIL], 2),
        (["train", "paper-mpnn", "--config", "evil.toml"], 2),
        (["reproduce", "--quick", "--out", f"jobs.csv/{EVIL}"], 2),
        (["reproduce", "--beyond", EVIL], 2),
        (["bench", "--sizes", EVIL], 2),
        (["explore", f"{EVIL} nowhere.csv"], 2),
        (["explore", "--host", EVIL, "--no-browser"], 2),
    ],
)
def test_no_command_passes_an_escape_on(augury: Augury, arguments: list[str], code: int) -> None:
    edges = {"left": [EVIL], "right": ["cook"], "edges": [[EVIL, "cook"]]}
    Path("evil.json").write_text(json.dumps(edges))
    Path("answer.csv").write_text(f"left,right\n{EVIL},cook\n")
    Path("wrong.csv").write_text(f"left,right\n{EVIL},cook\n{EVIL},cook\n")
    Path(f"{EVIL}.csv").write_text(JOBS)
    Path("evil.csv").write_text(f"left,right\n{EVIL},b,c\n")
    Path("evil.toml").write_text(f'[network]\n"{json.dumps(EVIL)[1:-1]}" = 1\n')
    done = augury(*arguments)
    assert done.code == code, done
    assert obeyed(done.out + done.err) == set()


def on_terminal(folder: Path, *arguments: str) -> str:
    """Run the command on a terminal of its own, and return all that it shows there."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=slave, stderr=slave, cwd=folder, env=environment
    ) as process:
        os.close(slave)
        seen = b""
        try:
            while piece := os.read(master, 4096):
                seen += piece
        except OSError:  # how a terminal ends on Linux
            pass
        process.wait(60)
    os.close(master)
    return seen.decode()


@pytest.mark.parametrize("format", [(), ("--format", "csv"), ("--format", "csv", "--output", "-")])
def test_a_terminal_shows_the_escapes_of_a_label(tmp_path: Path, format: tuple[str, ...]) -> None:
    (tmp_path / "evil.csv").write_text(f"left,right\n{EVIL},cook\n")
    seen = on_terminal(tmp_path, *SOLVE, "evil.csv", *format)
    assert SHOWN in seen
    assert "\x1b]0;" not in seen and "\x07" not in seen and "\x1b[31mann" not in seen


def test_into_a_pipe_an_answer_is_written_as_it_is(augury: Augury) -> None:
    Path("evil.csv").write_text("left,right\n\x1b[31mann,cook\n")
    assert augury(*SOLVE, "evil.csv", "--format", "csv").out == "left,right\n\x1b[31mann,cook\n"
    augury(*SOLVE, "evil.csv", "--output", "answer.csv")
    assert Path("answer.csv").read_text() == "left,right\n\x1b[31mann,cook\n"


def test_costs_are_ignored_on_request_by_every_command_that_reads_a_graph(augury: Augury) -> None:
    Path("costs.csv").write_text("worker,job,cost\nann,cook,3\nbob,cook,1\n")
    Path("answer.csv").write_text("left,right\nann,cook\n")
    for arguments in (("solve", "costs.csv"), ("certify", "costs.csv", "answer.csv")):
        assert "cost" in augury(*arguments).out
        done = augury(*arguments, "--ignore-costs")
        assert (done.code, "cost" in done.out) == (0, False)
    taken = augury("explore", "costs.csv", "--ignore-costs", "--host", "no.such.host.invalid")
    assert "is no address to listen on" in taken.err


def test_compiling_is_told_once_and_only_by_a_command(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("augury.compiled")
    logger.info("compiling one")
    for _ in range(2):
        with terminal.compiling_told():
            logger.info("compiling one")
            logger.info("compiling another")
        assert capfd.readouterr() == ("", f"{terminal.COMPILING}\n")
    assert not logger.handlers and logger.level == logging.NOTSET


class Screen(io.StringIO):
    """What a terminal shows."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("least", [0, 10**9])
def test_a_terminal_is_told_that_a_large_file_is_read(
    least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, screen = tmp_path / "graph.csv", Screen()
    file.write_text("ann,cook\n")
    monkeypatch.setattr(terminal, "LARGE_FILE", least)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    graph = terminal.read(str(file), ReadOptions())
    assert isinstance(graph, BipartiteGraph)
    assert graph.num_edges == 1
    assert ("reading" in screen.getvalue()) == (least == 0)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (600, "10 min"), (5399, "90 min"), (9000, "2 h")],
)
def test_the_time_that_is_left_is_told_in_a_unit_that_fits(seconds: float, told: str) -> None:
    assert terminal._left(Status("", 1, 4, seconds)) == f"4 left, about {told}"
