"""`augury explore`: a server that says where it is; one sentence and 2 where it cannot start."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from augury.apps.commands.explore import EXPOSED, WARMING, _example
from augury.apps.explore import workers
from augury.apps.explore.workers import Workers
from augury.errors import InputError
from command import Augury, runner
from serving import STAND_IN


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capfd, "explore", "--no-browser")


def test_it_serves_the_graph_it_was_given_and_ends_quietly(tmp_path: Path) -> None:
    graph = tmp_path / "people.csv"
    graph.write_text("ann,cook\nbob,sing\n")
    code = f"""
import sys
from augury.apps.explore import workers
workers.arguments = lambda limits: [sys.executable, "-I", "-c", {STAND_IN!r}]
from augury.apps.cli import main
main()
"""
    command = [sys.executable, "-c", code, "explore", str(graph), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell in the background ignores Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert found is not None
            assert "<title>Augury" in httpx.get(found.group()).text
            first = httpx.get(f"{found.group()}examples.json").json()[0]
            assert first["name"] == "people.csv"
            assert first["graph"]["edges"] == [["ann", "cook"], ["bob", "sing"]]
        finally:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, f"{WARMING}\n")


def test_a_graph_with_costs_is_served_with_them(tmp_path: Path) -> None:
    graph = tmp_path / "hours.csv"
    graph.write_text("ann,cook,3\nann,sing,2\n")
    with pytest.raises(InputError, match="--cost"):
        _example(str(graph), False, False, None)
    told = _example(str(graph), True, False, True)
    assert told["name"] == "hours.csv"
    assert (told["graph"]["costs"], told["graph"]["sense"]) == ([3, 2], "greatest")
    assert "costs" not in _example(str(graph), False, True, None)["graph"]


def test_who_listens_to_everybody_is_warned(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(self: Workers) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Workers, "warm", stop)
    for host, is_warned in (("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)):
        done = augury("--host", host, "--port", "0")
        assert done.code == 0
        assert done.err == (f"{EXPOSED}\n" if is_warned else "") + f"{WARMING}\n"


def test_processes_that_do_not_start_are_told(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "arguments", lambda limits: [sys.executable, "-c", ""])
    done = augury("--port", "0")
    assert done.code == 2
    assert done.err == f"{WARMING}\naugury: the worker processes do not start\n"


def test_a_port_that_is_taken_is_told(augury: Augury) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = augury("--port", str(port))
    assert done.code == 2
    assert done.err == (
        f"augury: cannot listen on 127.0.0.1, port {port}: address already in use; "
        "--port 0 takes any free port\n"
    )


def test_an_address_that_is_none_is_told(augury: Augury) -> None:
    done = augury("--host", "no such host")
    assert done.code == 2
    assert done.err.startswith("augury: no such host is no address to listen on")


def test_a_bad_file_is_told_before_anything_starts(augury: Augury) -> None:
    assert augury("none.csv").err == "augury: none.csv: there is no such file or folder\n"
    Path("bad.csv").write_text("a,b\nc\n")
    done = augury("bad.csv")
    assert done.code == 2
    assert done.err.startswith("augury: bad.csv, line 2: ")


def test_a_graph_too_large_for_the_page_is_told(augury: Augury) -> None:
    Path("large.json").write_text('{"left": 20000, "right": 1, "edges": []}')
    done = augury("large.json")
    assert done.code == 2
    assert done.err == (
        "augury: large.json: a graph of 20,001 nodes is too large for the page: at most 20,000\n"
    )


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("fastapi", "FastAPI: pip install 'augury[web]'"),
        ("uvicorn", "Uvicorn: pip install 'augury[web]'"),
        ("torch", "PyTorch: pip install 'augury[neural]'"),  # in its child processes
    ],
)
def test_without_the_extra_one_sentence_says_what_to_install(
    augury: Augury, monkeypatch: pytest.MonkeyPatch, missing: str, told: str
) -> None:
    for name in list(sys.modules):
        if name.startswith("augury.apps.explore"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    done = augury()
    assert done.code == 2
    assert done.err == f"augury: the page needs {told}\n"


def test_a_folder_is_written_for_use_without_a_server(
    augury: Augury, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augury.apps.explore import static

    seen: list[tuple[Path, dict[str, str]]] = []
    monkeypatch.setattr(static, "write_static", lambda *told: seen.append(told))
    (tmp_path / "people.csv").write_text("ann,cook\n")
    done = augury("people.csv", "--static", "demo")
    assert done.out == f"The page is at {Path('demo/index.html')}\n"
    [(folder, start)] = seen
    assert folder == Path("demo")
    assert start["name"] == "people.csv"


def test_a_folder_that_cannot_be_written_is_one_sentence(augury: Augury, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file")
    done = augury("--static", "demo")
    assert done.code == 2
    assert done.err.startswith("augury: demo")
    assert done.err.count("\n") == 1
