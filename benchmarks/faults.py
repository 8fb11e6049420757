"""Kill, starve and disturb processes that write; compare what is left with an undisturbed run.

    python benchmarks/faults.py --count 50 --workers 2 --out faults.json

Subjects are training into a run folder, solving a folder of graphs, evaluating into a file of
records, and reproducing with two processes or on Ray. Each is killed (SIGKILL) at random moments,
sometimes twice, and started again; or a worker of it is killed, and the rest must go on; or it is
interrupted (SIGINT), alone or with all its processes as a terminal does it, and must say so in one
sentence; or a training is killed or interrupted three times in a row, so mostly after it resumed.
The results, logs among them, must be byte for byte those of a run that was left alone, no file that
has its final name may ever be incomplete, no process may outlive the one that started it, and
nothing may be left in the system's temporary directory. Trials go on until each kind has `--count`
kills; some end before theirs. Then single faults: a full disk, a read-only folder, a clock that
jumps, two processes in one folder. A small tmpfs serves where it can be mounted; elsewhere a limit
on the size of files stands in for the full disk, and read-only folders are left to the tests.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import augury
from augury.provenance import provenance
from augury.training.logs import EVENTS, METRICS

TINY = [
    "data.train_graphs=8", "data.validation_graphs=3", "data.side=4", "network.hidden=8",
    "training.max_epochs=8", "training.patience=8", "training.execution_graphs=2",
    "training.execution_scales=(1,)",
]  # fmt: skip
"""Settings with which an epoch takes a tenth of a second."""
TINIER = [
    "data.train_graphs=4", "data.validation_graphs=2", "data.side=3", "data.extra_graphs=0",
    "network.hidden=4", "training.execution_graphs=1", "training.execution_scales=(1,)",
]  # fmt: skip
"""Settings with which four networks are trained and evaluated in three seconds."""
GRAPHS = 400
"""Graphs in the folder that is solved."""
PATIENCE = 300
"""Seconds after which a process counts as hanging."""

SOURCE = str(Path(augury.__file__).parents[1])
"""Processes run in other folders, where a relative path would lead nowhere."""

LEFTOVERS = (".augury-*.tmp", "scratch", "lock")
"""What a killed process may leave in a run folder, and the next one removes."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

Bytes = dict[str, bytes]
Moments = list[float | None]
"""Seconds from a process's first trace on disk to its end; none where it ended before its time."""


class Failure(Exception):
    """A promise is broken."""


class Subject(NamedTuple):
    """A command that writes: its arguments, and which of the files that it leaves are results."""

    arguments: Callable[[Path], list[str]]
    results: Callable[[Path], Bytes]


class Undisturbed(NamedTuple):
    """What a subject leaves when nothing happens to it."""

    results: Bytes
    span: float
    """Seconds from its first trace on disk to its end, over which the kills are spread."""


def train_arguments(place: Path) -> list[str]:
    """Train, or resume a run."""
    settings = [part for setting in TINY for part in ("--set", setting)]
    resume = ["--resume"] if (place / "run" / "config.json").exists() else []
    seeds = ["--seeds", "0,1", "--device", "cpu"]
    return ["train", "discrete", *seeds, "--out", str(place / "run"), *settings, *resume]


def trained(place: Path) -> Bytes:
    """Return every checkpoint of the run, and histories and logs without their seconds."""
    found = {
        str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*.safetensors")
    }
    found.pop("run/resume.safetensors", None)  # holds the seconds of each epoch too
    for path in place.rglob("history.csv"):
        rows = [line.rpartition(",")[0] for line in path.read_text().splitlines()]
        found[str(path.relative_to(place))] = "\n".join(rows).encode()
    with (place / "run" / METRICS).open(newline="") as file:
        logged = [[row[name] for name in row if _is_exact(name)] for row in csv.DictReader(file)]
    found[str(METRICS)] = json.dumps(logged).encode()
    # If there were two files of events, some events would occur twice.
    events = [_events(path) for path in sorted((place / "run" / EVENTS).iterdir())]
    found[str(EVENTS)] = json.dumps(events).encode()
    return found


def _events(path: Path) -> list[tuple[str, int, float]]:
    """Return the figures in a TensorBoard file, without the settings that it also holds."""
    return [
        (value.tag, event.step, value.tensor.float_val[0])
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
        if _is_exact(value.tag) and value.tensor.float_val
    ]


def _is_exact(name: str) -> bool:
    return not name.endswith("/seconds")


def solve_arguments(place: Path) -> list[str]:
    """Solve all graphs into the folder `answers`."""
    (place / "answers").mkdir(exist_ok=True)
    return ["solve", "graphs", "--model", "classical", "--output", str(place / "answers")]


def solved(place: Path) -> Bytes:
    """Return every answer; temporary files have another ending."""
    return {path.name: path.read_bytes() for path in (place / "answers").glob("*.json")}


def evaluate_arguments(place: Path) -> list[str]:
    """Evaluate, or resume from the existing records."""
    extent = ["--scales", "1,2,3,4", "--p", "1/4,1/2", "--graphs", "6", "--runs", "2"]
    return ["evaluate", "classical", *extent, "--out", str(place / "records.jsonl")]


def evaluated(place: Path) -> Bytes:
    """Return the file of records."""
    return {"records.jsonl": (place / "records.jsonl").read_bytes()}


def reproduce_arguments(place: Path, *how: str) -> list[str]:
    """Reproduce a figure, or resume."""
    settings = [part for setting in TINIER for part in ("--set", setting)]
    extent = ["--seeds", "2", "--graphs", "2", "--runs", "2", "--max-scale", "1"]
    asked = ["reproduce", "--figure", "2", "--max-epochs", "3", "--workers", "2", *extent, *how]
    return [*asked, *settings, "--out", str(place / "run")]


def reproduced(place: Path) -> Bytes:
    """Return records, report, plots and every network; the file of times says when."""
    run = place / "run"
    found = [run / "report.md", run / "records.jsonl", *run.rglob("*.svg"), *run.rglob("best.*")]
    return {str(path.relative_to(run)): path.read_bytes() for path in found}


SUBJECTS: dict[str, Subject] = {
    "train": Subject(train_arguments, trained),
    "solve": Subject(solve_arguments, solved),
    "evaluate": Subject(evaluate_arguments, evaluated),
    "reproduce": Subject(reproduce_arguments, reproduced),
}
PARALLEL = ("reproduce", "ray")
if importlib.util.find_spec("ray"):
    SUBJECTS["ray"] = Subject(
        lambda place: reproduce_arguments(place, "--ray", "local"), reproduced
    )

RUN = "from augury.apps.cli import script; script()"
JUMPING = """
import time
jumps = iter(range(10**9))
begin = time.time()
time.time = lambda: begin + (-1) ** (n := next(jumps)) * (n % 30) * 1e5
time.time_ns = lambda: int(time.time() * 1e9)
"""
"""The wall clock leaps back and forth by up to a month."""


def start(
    arguments: list[str], folder: Path, code: str = RUN, limit: int = 0
) -> subprocess.Popen[str]:
    """Start the command in a process of its own, with files of at most `limit` bytes if given."""

    def confine() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE, "TMPDIR": str(folder / TEMPORARY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=confine if limit else heed_interrupts,
        start_new_session=True,  # a signal to one process group reaches no other
    )


TEMPORARY = "tmp"
"""What the processes take for the system's temporary directory."""


def heed_interrupts() -> None:
    """Restore the handling of Ctrl-C, which background jobs ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return the exit code and standard error."""
    _, told = process.communicate(timeout=PATIENCE)
    return process.returncode, told


def complete(subject: Subject, place: Path, folder: Path) -> Undisturbed:
    """Run a subject to its end and return its results."""
    process = begun(subject, place, folder)
    since = time.monotonic()
    code, told = finish(process)
    if code:
        raise Failure(f"exit code {code}: {told[-500:]}")
    left = [path.name for pattern in LEFTOVERS for path in (place / "run").rglob(pattern)]
    if left:
        raise Failure(f"left behind in the run folder: {sorted(left)[:5]}")
    return Undisturbed(subject.results(place), time.monotonic() - since)


def begun(subject: Subject, place: Path, folder: Path) -> subprocess.Popen[str]:
    """Start a subject and wait for its first trace on disk: earlier, nothing can be damaged."""
    arguments = subject.arguments(place)
    before = _traces(place)
    process = start(arguments, folder)
    while process.poll() is None and _traces(place) == before:
        time.sleep(0.005)
    return process


def _traces(place: Path) -> dict[str, int]:
    """Return when each folder last got or lost a file: every writer begins with a new one."""
    folders = [place, *(path for path in place.iterdir() if path.is_dir())]
    return {str(path): path.stat().st_mtime_ns for path in folders}


def refusal(code: int, told: str, words: str = "") -> str:
    """Check that a command ended with one sentence."""
    lines = [line for line in told.splitlines() if line.strip()]
    if code != 2 or len(lines) != 1 or not lines[0].startswith("augury: ") or words not in lines[0]:
        raise Failure(f"exit code {code}, expected one sentence with {words!r}: {told[-500:]}")
    return lines[0]


# ------------------------------------------------------------------ kill -9


def offspring(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            # The name of the program, in brackets, may hold anything.
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def is_worker(pid: int) -> bool:
    """Tell whether a process does tasks: one of ours, or one of Ray's that is at work.

    The end of any other process of Ray brings all of it down, as the end of a machine does.
    """
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"spawn_main" in words or words.startswith(b"ray::_perform")
    return False


def strike(
    process: subprocess.Popen[str], rng: np.random.Generator, span: float, stop: signal.Signals
) -> float | None:
    """Stop a process, or it and its descendants; return when, None if it had ended before."""
    since = time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        process.wait(float(rng.uniform(0, span)))
    moment = time.monotonic() - since
    others = offspring(process.pid)
    for one in [process.pid, *others] if rng.random() < 0.5 else [process.pid]:
        with suppress(ProcessLookupError):
            os.kill(one, stop)
    _, told = process.communicate(timeout=PATIENCE)
    # Descendants of a dead process must end too, before the next one starts.
    deadline = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{other}").exists() for other in others):
        if time.monotonic() > deadline:
            raise Failure("a process outlives the one that started it")
        time.sleep(0.05)
    is_said = told.startswith("augury: interrupted") and len(told.splitlines()) == 1
    ended = INTERRUPTED if stop == signal.SIGINT and is_said else -signal.SIGKILL
    if process.returncode == ended:
        return round(moment, 3)
    # An interrupt may hit Python as it shuts down, when no handler is left.
    if process.returncode == 0 or (process.returncode == -signal.SIGINT and not told):
        return None
    raise Failure(f"exit code {process.returncode} before or after {stop.name}: {told[-500:]}")


def kill(
    name: str,
    number: int,
    seed: int,
    folder: Path,
    expected: Undisturbed,
    stop: signal.Signals = signal.SIGKILL,
) -> Moments:
    """Stop a subject at one or two random moments, run it to its end, and compare."""
    rng = np.random.default_rng([seed, list(SUBJECTS).index(name), number, stop])
    stops = [stop] * (1 if name in PARALLEL else int(rng.integers(1, 3)))
    place = folder / f"{name}-{stop.name}-{number}"
    return _stopped(name, stops, rng, place, expected)


def stop_resumed(name: str, number: int, seed: int, folder: Path, expected: Undisturbed) -> Moments:
    """Kill or interrupt a subject three times, all but the first after it resumed; then compare."""
    rng = np.random.default_rng([seed, len(SUBJECTS) + 1, number])
    stops = [signal.SIGKILL if rng.random() < 0.5 else signal.SIGINT for _ in range(3)]
    soon = expected._replace(span=expected.span / len(stops))  # later, it would have ended
    return _stopped(name, stops, rng, folder / f"{name}-resumed-{number}", soon)


def _stopped(
    name: str,
    stops: list[signal.Signals],
    rng: np.random.Generator,
    place: Path,
    expected: Undisturbed,
) -> Moments:
    subject, folder = SUBJECTS[name], place.parent
    place.mkdir()
    moments: Moments = []
    for stop in stops:
        moments.append(strike(begun(subject, place, folder), rng, expected.span, stop))
        if moments[-1] is None:  # then all of it must be there
            _compare(subject.results(place), expected.results)
        elif name == "solve":
            damaged = [key for key, data in solved(place).items() if data != expected.results[key]]
            if damaged:
                raise Failure(f"half-written: {damaged[:3]}")
    _compare(complete(subject, place, folder).results, expected.results)
    shutil.rmtree(place)
    return moments


def interrupt(name: str, number: int, seed: int, folder: Path, expected: Undisturbed) -> Moments:
    """Do as `kill` does, but with Ctrl-C."""
    return kill(name, number, seed, folder, expected, signal.SIGINT)


def kill_worker(name: str, number: int, seed: int, folder: Path, expected: Undisturbed) -> Moments:
    """Kill one worker at a random moment: the others go on, and the result is the same."""
    subject = SUBJECTS[name]
    rng = np.random.default_rng([seed, len(SUBJECTS), number])
    place = folder / f"{name}-worker-{number}"
    place.mkdir()
    process = begun(subject, place, folder)
    since = time.monotonic()
    wait, moment = float(rng.uniform(0, expected.span)), None
    while process.poll() is None and moment is None:
        workers = [other for other in offspring(process.pid) if is_worker(other)]
        if workers and wait:
            time.sleep(wait)
            wait = 0.0
        elif workers:
            with suppress(ProcessLookupError):
                os.kill(workers[int(rng.integers(len(workers)))], signal.SIGKILL)
                moment = round(time.monotonic() - since, 3)
        time.sleep(0.01)
    code, told = finish(process)
    if code:
        raise Failure(f"exit code {code} though only a worker was killed: {told[-500:]}")
    _compare(subject.results(place), expected.results)
    shutil.rmtree(place)
    return [moment]


def _compare(found: Bytes, expected: Bytes) -> None:
    if found != expected:
        differ = [
            key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)
        ]
        raise Failure(f"other bytes than an undisturbed run: {sorted(differ)[:5]}")


KILLS: dict[str, tuple[str, Callable[..., Moments]]] = {
    **{name: (name, kill) for name in SUBJECTS},
    **{f"{name}, a worker": (name, kill_worker) for name in SUBJECTS if name in PARALLEL},
    **{f"{name}, Ctrl-C": (name, interrupt) for name in SUBJECTS},
    "train, resumed": ("train", stop_resumed),
}
"""What is stopped: the whole, or a part of it."""


# ------------------------------------------------------------------ single faults


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """Mount a small file system; None where that is not allowed."""
    place = folder / f"disk-{size}"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def full_disk(name: str, folder: Path, expected: Bytes) -> str:
    """Run into a full disk; then make room and go on."""
    subject = SUBJECTS[name]
    with small_disk(folder, "64k" if name == "solve" else "40k") as disk:
        place = disk or folder / f"full-{name}"
        place.mkdir(exist_ok=True)
        limit = 0 if disk else 3000 if name == "train" else 200
        told = refusal(*finish(start(subject.arguments(place), folder, limit=limit)))
        if name == "solve" and any(expected[key] != data for key, data in solved(place).items()):
            raise Failure("half-written answers on a full disk")
        if list(place.rglob(".augury-*")):
            raise Failure("a temporary file is left on a full disk")
        if disk:
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        if complete(subject, place, folder).results != expected:
            raise Failure("other bytes once there is room")
    return f"{'tmpfs' if disk else 'limited files'}: {told}"


def read_only(name: str, folder: Path, expected: Bytes) -> str:
    """Try to write into a read-only folder."""
    with small_disk(folder, "1m") as disk:
        if disk is None:
            return "not tried: nothing can be mounted here"
        arguments = SUBJECTS[name].arguments(disk)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        told = refusal(*finish(start(arguments, folder)), "read-only")
        return f"tmpfs: {told}"


def jumping_clock(name: str, folder: Path, expected: Bytes) -> str:
    """Run while the wall clock jumps."""
    subject, place = SUBJECTS[name], folder / f"clock-{name}"
    place.mkdir()
    code, told = finish(start(subject.arguments(place), folder, JUMPING + RUN))
    if code or subject.results(place) != expected:
        raise Failure(f"a jumping clock changes the result, exit code {code}: {told[-500:]}")
    return "the same bytes"


def two_at_once(name: str, folder: Path, expected: Bytes) -> str:
    """Start a second process where the first is at work: it refuses, and harms nothing."""
    subject, place = SUBJECTS[name], folder / f"two-{name}"
    place.mkdir()
    lock = place / "run" / "lock" if name == "train" else place / ".records.jsonl.lock"
    first = start(subject.arguments(place), folder)
    while first.poll() is None and not lock.exists():
        time.sleep(0.002)
    time.sleep(0.02)  # the file is there a moment before the lock is
    os.kill(first.pid, signal.SIGSTOP)  # so that it is surely still at work when the second starts
    second = finish(start(subject.arguments(place), folder))
    os.kill(first.pid, signal.SIGCONT)
    told = refusal(*second, "another process")
    code, error = finish(first)
    if code or subject.results(place) != expected:
        raise Failure(f"the first process was disturbed, exit code {code}: {error[-500:]}")
    return told


FAULTS: list[tuple[str, str, Callable[[str, Path, Bytes], str]]] = [
    ("full disk", "train", full_disk),
    ("full disk", "solve", full_disk),
    ("read-only folder", "train", read_only),
    ("read-only folder", "solve", read_only),
    ("read-only folder", "evaluate", read_only),
    ("jumping clock", "train", jumping_clock),
    ("jumping clock", "solve", jumping_clock),
    ("jumping clock", "evaluate", jumping_clock),
    ("two at once", "train", two_at_once),
    ("two at once", "evaluate", two_at_once),
]


def tried(work: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Return the outcome: the promise was kept, or how it was broken."""
    try:
        return {"kept": True, "told": work(*given)}
    except (Failure, subprocess.TimeoutExpired) as failure:
        return {"kept": False, "told": str(failure)}


MOST_TRIALS = 3
"""The most trials for each kill that is wanted."""


def killed(
    what: str, count: int, seed: int, workers: int, folder: Path, expected: Undisturbed
) -> dict[str, Any]:
    """Try until `count` kills came in time; return when, and how promises were broken."""
    name, work = KILLS[what]
    trials: list[dict[str, Any]] = []
    numbers = iter(range(MOST_TRIALS * count))

    def try_on() -> None:
        while _num_kills(trials) < count and (number := next(numbers, None)) is not None:
            trials.append(tried(work, name, number, seed, folder, expected))

    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(try_on) for _ in range(workers)]:
            future.result()
    for path in (folder / TEMPORARY).glob("augury-*"):  # PyTorch keeps a cache of its own there
        trials.append({"kept": False, "told": f"left in the temporary directory: {path.name}"})
    kept = [trial["told"] for trial in trials if trial["kept"]]
    return {
        "trials": len(trials),
        "kept": len(kept),
        "kills": _num_kills(trials),
        "broken": [trial["told"] for trial in trials if not trial["kept"]],
        "seconds": kept,
    }


def _num_kills(trials: list[dict[str, Any]]) -> int:
    kept = [trial["told"] for trial in trials if trial["kept"]]
    return sum(moment is not None for moments in kept for moment in moments)


def campaign(count: int, seed: int, workers: int, kinds: list[str]) -> dict[str, Any]:
    """Do each kind of kill `count` times, then try the single faults of the same subjects."""
    names = list(dict.fromkeys(KILLS[what][0] for what in kinds))
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(workers) as pool:
        folder = Path(made)
        (folder / TEMPORARY).mkdir()
        make = ["generate", "uniform", "--n", "5", "--count", str(GRAPHS)]
        make += ["--output", "graphs/{}.csv"]
        if finish(start(make, folder))[0]:
            raise Failure("the graphs could not be made")
        expected: dict[str, Undisturbed] = {}
        for name in names:
            (folder / name).mkdir()
            expected[name] = complete(SUBJECTS[name], folder / name, folder)
        told: dict[str, Any] = {"kills": {}}
        for what in kinds:
            told["kills"][what] = killed(
                what, count, seed, workers, folder, expected[KILLS[what][0]]
            )
            _print_kills(what, told["kills"][what])
        singles = [
            (
                what,
                name,
                pool.submit(tried, work, name, folder / f"{what}-{name}", expected[name].results),
            )
            for what, name, work in FAULTS
            if name in kinds and _made(folder, f"{what}-{name}")
        ]
        told["single"] = [
            {"fault": what, "of": name} | future.result() for what, name, future in singles
        ]
        # Leave out where the temporary folder was.
        return json.loads(json.dumps(told).replace(f"{folder}{os.sep}", ""))


def _made(folder: Path, name: str) -> bool:
    (folder / name).mkdir()
    (folder / name / "graphs").symlink_to(folder / "graphs")
    return True


def main() -> None:
    """Run the campaign, print the outcome, and exit with 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=50, help="kills of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, help="write what came of it here, as JSON; other kinds there are kept"
    )
    parser.add_argument(
        "--only", action="append", choices=KILLS, help="some kinds of kills; repeatable"
    )
    options = parser.parse_args()
    begun = time.perf_counter()
    told = campaign(options.count, options.seed, options.workers, options.only or list(KILLS))
    broken = sum(len(kind["broken"]) for kind in told["kills"].values())
    for entry in told["single"]:
        print(
            f"{entry['fault']}, {entry['of']}: {'' if entry['kept'] else 'BROKEN: '}{entry['told']}"
        )
        broken += not entry["kept"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{time.perf_counter() - begun:.0f} s with {options.workers} workers, "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU"
    )
    if options.out:
        _write(options.out, provenance("cpu") | {"seed": options.seed}, told)
    sys.exit(broken > 0)


def _print_kills(what: str, kind: dict[str, Any]) -> None:
    print(f"{what:24}{kind['kills']:5} kills, {kind['kept']} of {kind['trials']} trials kept")
    print("".join(f"    {text}\n" for text in kind["broken"][:5]), end="", flush=True)


def _write(path: Path, given: dict[str, Any], told: dict[str, Any]) -> None:
    """Add to the file, a line for each kind; the same kind of an earlier campaign is replaced."""
    old = json.loads(path.read_text()) if path.exists() else {"kills": {}, "single": []}
    kinds = old["kills"] | {what: given | kind for what, kind in told["kills"].items()}
    done = {(entry["fault"], entry["of"]) for entry in told["single"]}
    single = [entry for entry in old["single"] if (entry["fault"], entry["of"]) not in done]
    single += [given | entry for entry in told["single"]]
    lines = ",\n".join(f"  {json.dumps(what)}: {json.dumps(kinds[what])}" for what in kinds)
    singles = ",\n".join(f"  {json.dumps(entry)}" for entry in single)
    path.write_text(f'{{"kills": {{\n{lines}\n}}, "single": [\n{singles}\n]}}\n')


if __name__ == "__main__":
    main()
