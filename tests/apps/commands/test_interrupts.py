"""Ctrl-C gets lost: in a destructor, a weak reference's callback, somebody's `except`."""

from __future__ import annotations

import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from augury.apps import cli
from augury.apps.commands import terminal
from augury.apps.commands.terminal import forget, interrupts_heeded, raise_lost
from command import Augury, runner

PATIENCE = 20
"""Seconds for what takes a hundredth of one."""


@pytest.fixture(autouse=True)
def _default_handler() -> Iterator[None]:
    """Heed Ctrl-C, which a job in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # the next works too
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class Doomed:
    """Ctrl-C comes when it is freed."""

    def __del__(self) -> None:
        press()


class Watched:
    """A weak reference to it has a callback."""


def in_a_destructor() -> None:
    Doomed()


def in_a_callback() -> None:
    watched = Watched()
    reference = weakref.ref(watched, lambda _: press())
    del watched
    assert reference() is None


def in_an_except() -> None:
    try:
        press()
    except BaseException:
        return
    raise AssertionError("it was not raised at all")


@pytest.mark.parametrize("lose", [in_a_destructor, in_a_callback])
def test_an_interrupt_that_python_ignores_is_raised_again_and_nothing_is_printed(
    lose: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    went_on: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts_heeded():
        lose()
        went_on.append("lost")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            pass
        went_on.append("for good")
    assert went_on == ["lost"]
    time.sleep(5 * terminal.SOON)  # it came once, and not again
    assert capfd.readouterr() == ("", "")


def test_without_the_block_python_ignores_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Otherwise the tests here would test nothing."""
    told: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        in_a_destructor()
    finally:
        sys.unraisablehook = before
    assert [lost.exc_type for lost in told] == [KeyboardInterrupt]


def test_an_interrupt_that_a_library_swallows_is_raised_when_somebody_asks() -> None:
    with interrupts_heeded():
        in_an_except()
        with pytest.raises(KeyboardInterrupt):
            raise_lost()
        raise_lost()  # it has done its work


def test_one_that_was_asked_for_does_not_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would in the middle of what is done about the first."""
    monkeypatch.setattr(terminal, "SOON", 0.5)
    with interrupts_heeded():
        in_a_destructor()
        with pytest.raises(KeyboardInterrupt):
            raise_lost()
        time.sleep(1)


@pytest.mark.parametrize("end", [lambda: None, lambda: sys.exit(0), sys.exit])
def test_no_block_ends_with_success_after_an_interrupt(end: Callable[[], None]) -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_heeded():
        in_an_except()
        end()


@pytest.mark.parametrize("error", [SystemExit(2), ValueError("another")], ids=repr)
def test_a_block_that_fails_fails_as_it_did(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, interrupts_heeded():
        in_an_except()
        raise error
    assert raised.value is error
    with interrupts_heeded():  # and the next one knows nothing of it
        raise_lost()


def test_one_that_was_meant_is_forgotten() -> None:
    with interrupts_heeded():
        in_an_except()
        forget()


def test_other_things_that_python_ignores_are_reported() -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("reported")

    told: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with interrupts_heeded():
            Broken()
        assert sys.unraisablehook == told.append
    finally:
        sys.unraisablehook = before
    assert [lost.exc_type for lost in told] == [ValueError]


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_whoever_has_a_handler_keeps_it(handler: Any) -> None:
    signal.signal(signal.SIGINT, handler)
    try:
        with interrupts_heeded():
            assert signal.getsignal(signal.SIGINT) is handler
            press()
            raise_lost()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_thread_has_no_handler_to_set() -> None:
    done: list[Any] = []

    def work() -> None:
        with interrupts_heeded():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


# ------------------------------------------------------------------ the commands

SETTINGS = [
    "data.train_graphs=4", "data.validation_graphs=2", "data.side=3", "data.extra_graphs=0",
    "network.hidden=4", "training.execution_graphs=1", "training.execution_scales=(1,)",
]  # fmt: skip
TINY = [part for setting in SETTINGS for part in ("--set", setting)]
CELLS = ["--scales", "1,2", "--graphs", "1", "--runs", "1"]
QUICK = ["--quick", "--judge", "cost-flows", "--solver", "table"]
COMMANDS = {
    "solve": (
        ["solve", "graphs", "--output", "answers"],
        "augury.solver.Runner.solutions",
        "interrupted; the same command goes on with answers",
        {"answers": []},
    ),
    "evaluate": (
        ["evaluate", "classical", *CELLS, "--out", "out.jsonl"],
        "augury.experiments.records.RecordsFile.add",
        "interrupted; the same command goes on with out.jsonl",
        {"out.jsonl": 2},
    ),
    "train": (
        ["train", "discrete", "--device", "cpu", "--out", "run", *TINY],
        "augury.training.keeping.KeepEverything._scored",
        "interrupted; the same command with --resume goes on with run",
        {"run/seed-0": ["best.safetensors", "epoch-000.safetensors", "history.csv"]},
    ),
    "exam": (
        ["exam", *QUICK, "--workers", "1", "--out", "run"],
        "augury.experiments.exam_driver.Driver._keep",
        "interrupted; the same command goes on with run",
        # What was done at the same time is kept as well.
        {"run": ["exam.jsonl"], "run/exam.jsonl": range(2, 4)},
    ),
    "reproduce": (
        ["reproduce", "--quick", "--table", "1", "--graphs", "1", "--runs", "1", "--out", "run"],
        "augury.experiments.tasks._evaluate",
        "interrupted; the same command goes on with run",
        {"run": ["records.jsonl", "times.jsonl"], "run/records.jsonl": 2},
    ),
}
"""Arguments; what is done once when Ctrl-C comes; the sentence; and what is left of a run that
stopped right then: the files of a folder, or the lines of a file."""


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run the command in a folder with two graphs."""
    monkeypatch.chdir(tmp_path)
    for folder in ("graphs", "answers"):
        Path(folder).mkdir()
    for name in ("graphs/one.csv", "graphs/two.csv"):
        Path(name).write_text("ann,cook\nbob,cook\nbob,sing\n")
    return runner(monkeypatch, capfd)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stops_though_its_first_interrupt_is_swallowed(
    augury: Augury, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    arguments, place, sentence, left = COMMANDS[name]
    owner, _, function = place.rpartition(".")
    module, _, last = owner.rpartition(".")
    parent: Any = __import__(owner if last.islower() else module, fromlist=[function])
    if not last.islower():
        parent = getattr(parent, last)
    original, pressed = getattr(parent, function), []

    def work(*given: Any, **named: Any) -> Any:
        result = original(*given, **named)
        if not pressed:
            pressed.append(function)
            in_an_except()
        return result

    monkeypatch.setattr(parent, function, work)
    done = augury(*arguments)
    assert pressed
    assert (done.code, done.err) == (cli.INTERRUPTED, f"augury: {sentence}\n")
    for path, expected in left.items():
        if isinstance(expected, int | range):
            told = len(Path(path).read_text().splitlines())
            assert told == expected if isinstance(expected, int) else told in expected
        else:
            assert sorted(each.name for each in Path(path).iterdir()) == expected


def test_an_interrupt_that_typer_does_not_see_is_one_sentence_too(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "app", press)
    assert augury() == (cli.INTERRUPTED, "", "augury: interrupted\n")
