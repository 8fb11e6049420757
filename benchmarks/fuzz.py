"""Throw damaged and hostile input at every reader and at the command; count what happens.

    python benchmarks/fuzz.py --count 100000 --workers 2 --out fuzz.json
    python benchmarks/fuzz.py --count 50000 --first 50000 --out second-half.json
    python benchmarks/fuzz.py --only json --replay 4711

An input is made from (seed, target, number) alone, mostly by damaging a valid file, so every fault
can be replayed. For any input, the result must be an answer, or exactly one `InputError` of one
line that starts with the file; within `SECONDS` and `FREE_BYTES` of memory; with no half-written
file left behind. Each worker is a process of its own: if it dies or hangs, that is a fault of the
input it was working on, and another continues with the next.

`fuzz_damage.py` damages files, `fuzz_files.py` and `fuzz_calls.py` hold what is tried.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augury.provenance import provenance
from fuzz_calls import (
    attempt_command,
    attempt_labels,
    attempt_objects,
    make_command,
    make_labels,
    make_objects,
    prepare_command,
    prepare_objects,
)
from fuzz_damage import DIMACS, EDGES, FOREIGN, MATRICES, OBJECTS, TABLES, Rng
from fuzz_files import (
    DEEP_CONFIGS,
    LARGE_GRAPHS,
    SPECIAL_CHECKPOINTS,
    Case,
    Fault,
    attempt_answer,
    attempt_checkpoint,
    attempt_config,
    attempt_graph,
    attempt_records,
    deep_config,
    from_pool,
    large_graph,
    make_answer,
    make_archive,
    make_array,
    make_checkpoint,
    make_config,
    make_records,
    special_checkpoint,
)

SECONDS = 5.0
"""CPU time that an ordinary input may take …"""
SPECIAL_SECONDS = 60.0
"""… and one of the few that are large by themselves."""
FREE_BYTES = 512 * 2**20
"""Memory that any input may take; a million nodes without edges are believed."""
BYTES_PER_BYTE = 100
"""Memory for each byte of the file beyond that."""
ADDRESS_SPACE = 8 * 2**30
"""What a worker may map beyond what it starts with: a claim must not be believed by allocating."""
KEPT_FAULTS = 20


class Target(NamedTuple):
    """Something that takes input: how inputs are made, and how one is tried."""

    make: Callable[[Rng], Case]
    attempt: Callable[[Case, Path], str]
    imports: Sequence[str] = ("augury.classical.formats", "scipy.io", "networkx")
    """What is imported before the first input."""
    specials: Sequence[str] = ()
    """Names of inputs that are large by themselves …"""
    special: Callable[[str], Case] | None = None
    """… and what makes one of them."""
    prepare: Callable[[Path], None] = lambda folder: None
    """Called once, before the clock of the first input runs, with an empty folder."""


class Hang(BaseException):
    """Time is up; not an Exception, so that the tested code cannot swallow it."""


NEURAL = ("augury.models.checkpoint", "torch")
TARGETS: dict[str, Target] = {
    "edge list": Target(
        from_pool(EDGES, [".csv", ".tsv", ""]),
        attempt_graph,
        specials=list(LARGE_GRAPHS),
        special=large_graph,
    ),
    "matrix market": Target(from_pool(MATRICES, [".mtx"]), attempt_graph),
    "dimacs": Target(from_pool(DIMACS, [".max", ".dimacs"]), attempt_graph),
    "json": Target(from_pool(OBJECTS, [".json"]), attempt_graph),
    "npz": Target(make_archive, attempt_graph),
    "answers": Target(make_answer, attempt_answer),
    "labels": Target(make_labels, attempt_labels),
    "records": Target(make_records, attempt_records, ("augury.experiments.records",)),
    "checkpoint": Target(
        make_checkpoint,
        attempt_checkpoint,
        NEURAL,
        specials=SPECIAL_CHECKPOINTS,
        special=special_checkpoint,
    ),
    "api": Target(
        make_objects,
        attempt_objects,
        ("augury.solver", "networkx", "pandas", "torch_geometric.data", *NEURAL),
        prepare=prepare_objects,
    ),
    "command": Target(
        make_command,
        attempt_command,
        ("augury.solver", "augury.apps.cli", "augury.verify", *NEURAL),
        prepare=prepare_command,
    ),
    "labelled matrix": Target(from_pool(TABLES, [".csv", ".tsv", ""]), attempt_graph),
    "npy": Target(make_array, attempt_graph),
    "foreign": Target(from_pool(FOREIGN, ["", ".csv", ".graphml", ".gz"]), attempt_graph),
    "config": Target(
        make_config,
        attempt_config,
        ("augury.config",),
        specials=list(DEEP_CONFIGS),
        special=deep_config,
    ),
}


# ------------------------------------------------------------------ one input, watched


class Seen(NamedTuple):
    """The outcome of one input."""

    outcome: str
    seconds: float
    growth: int
    """Bytes of memory at the peak, beyond those in use before."""


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def watched(target: Target, case: Case, folder: Path, seconds: float) -> Seen:
    """Try one input with a time limit; a fault becomes the outcome."""

    def over(*_: Any) -> None:
        raise Hang

    for name, data in case.files.items():
        (folder / name).write_bytes(data)
        if case.length:
            os.truncate(folder / name, case.length)
    signal.signal(signal.SIGPROF, over)
    can_measure = _forget_peak()
    before, started = _memory("VmRSS"), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        outcome = target.attempt(case, folder)
    except Hang:
        outcome = f"fault: took more than {seconds:.0f} s"
    except Fault as fault:
        outcome = f"fault: {fault}"
    except BaseException as error:
        outcome = f"fault: {type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took = time.process_time() - started
    growth = max(_memory("VmHWM") - before, 0) if can_measure else 0
    allowed = FREE_BYTES + BYTES_PER_BYTE * sum(map(len, case.files.values()))
    if growth > allowed and not outcome.startswith("fault"):
        outcome = (
            f"fault: {growth / 2**20:.0f} MB for a file that may take {allowed / 2**20:.0f} MB"
        )
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return Seen(outcome, took, growth)


def made_case(name: str, seed: int, number: int) -> Case:
    """Return the input with this number, always the same."""
    return TARGETS[name].make(np.random.default_rng([seed, list(TARGETS).index(name), number]))


# ------------------------------------------------------------------ workers


class Share(NamedTuple):
    """The inputs of one worker."""

    name: str
    seed: int
    numbers: range
    special: str = ""


def _work(share: Share, at: Any, results: Any) -> None:
    """Try all inputs of a share, then report the CPU seconds; `at` holds the one in progress."""
    target = TARGETS[share.name]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))
    with tempfile.TemporaryDirectory() as folder:
        if share.special and target.special:
            case = target.special(share.special)
            results.put((0, watched(target, case, Path(folder), SPECIAL_SECONDS)))
        else:
            watched(target, made_case(share.name, share.seed, 0), Path(folder), SPECIAL_SECONDS)
        for number in share.numbers:
            at.value = number
            case = made_case(share.name, share.seed, number)
            results.put((number, watched(target, case, Path(folder), SECONDS)))
    results.put((-1, time.process_time()))
    results.close()
    results.join_thread()


def _shares(names: Sequence[str], numbers: range, seed: int, workers: int) -> list[Share]:
    size = max(min(-(-len(numbers) // workers), 5000), 1)
    return [
        Share(name, seed, numbers[first : first + size])
        for name in reversed(names)
        for first in range(0, len(numbers), size)
    ]


def _large(names: Sequence[str], seed: int) -> list[Share]:
    return [Share(name, seed, range(0), what) for name in names for what in TARGETS[name].specials]


def prepare(names: Sequence[str]) -> None:
    """Import and compile here what the targets need: the workers, being forks, then have it.

    What is done once must not count as the time and memory of an input, and a compilation that a
    clock interrupts leaves numba in a state that is not the input's fault.
    """
    for target in (TARGETS[name] for name in names):
        for module in target.imports:
            importlib.import_module(module)
        with tempfile.TemporaryDirectory() as folder:
            target.prepare(Path(folder))


def campaign(shares: Sequence[Share], workers: int) -> dict[str, Any]:
    """Try all inputs of the shares, and return the figures of each target."""
    prepare(list(dict.fromkeys(share.name for share in shares)))
    context = multiprocessing.get_context("fork")
    waiting, running = list(shares), list[tuple[Share, Any, Any, Any, list[float]]]()
    told = {share.name: Tally() for share in reversed(shares)}
    while waiting or running:
        while waiting and len(running) < workers:
            share, at, queue = waiting.pop(0), context.Value("q", -1), context.Queue()
            process = context.Process(target=_work, args=(share, at, queue))
            process.start()
            running.append((share, process, at, queue, [time.monotonic()]))
        time.sleep(0.02)
        for entry in list(running):
            share, process, at, queue, last = entry
            is_alive = process.is_alive()  # asked before the queue is emptied, which is then final
            is_finished = False
            while not queue.empty():
                number, seen = queue.get()
                last[0] = time.monotonic()
                is_finished = not isinstance(seen, Seen)
                if isinstance(seen, Seen):
                    told[share.name].add(number, share.special, seen)
                else:
                    told[share.name].cpu_seconds += seen
            if is_finished:
                process.join()
            elif is_alive and time.monotonic() - last[0] < 2 * SPECIAL_SECONDS:
                continue
            else:
                process.kill()
                process.join()
                how = (
                    "hangs beyond any signal" if is_alive else f"died, exit code {process.exitcode}"
                )
                told[share.name].add(
                    at.value, share.special, Seen(f"fault: the process {how}", 0.0, 0)
                )
                if not share.special:
                    waiting.insert(
                        0, share._replace(numbers=range(at.value + 1, share.numbers.stop))
                    )
            running.remove(entry)
    return {name: tally.told() for name, tally in told.items()}


class Tally:
    """The outcomes of one target's inputs."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.slowest = self.most_memory = self.cpu_seconds = 0.0
        self.specials: dict[str, dict[str, Any]] = {}
        self.faults: list[dict[str, Any]] = []

    def add(self, number: int, special: str, seen: Seen) -> None:
        """Count one input."""
        kind = seen.outcome.partition(":")[0]
        self.outcomes[kind] += 1
        if special:
            self.specials[special] = {
                "outcome": seen.outcome,
                "seconds": round(seen.seconds, 2),
                "megabytes": round(seen.growth / 2**20),
            }
        else:
            self.slowest = max(self.slowest, seen.seconds)
            self.most_memory = max(self.most_memory, seen.growth)
        if kind == "fault" and len(self.faults) < KEPT_FAULTS:
            self.faults.append({"number": number, "special": special, "what": seen.outcome})

    def told(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "inputs": self.outcomes.total(),
            **{kind: self.outcomes[kind] for kind in ("read", "refused", "fault")},
            "slowest_seconds": round(self.slowest, 3),
            "most_megabytes": round(self.most_memory / 2**20, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "specials": self.specials,
            "faults": self.faults,
        }


def replay(name: str, seed: int, number: int) -> None:
    """Show one input and its outcome."""
    case = made_case(name, seed, number)
    for file, data in case.files.items():
        print(f"{file}: {len(data)} bytes: {data[:600]!r}")
    print(case.details)
    with tempfile.TemporaryDirectory() as folder:
        for file, data in case.files.items():
            (Path(folder) / file).write_bytes(data)
        print(TARGETS[name].attempt(case, Path(folder)))


def main() -> None:
    """Run the campaign, print a line for each target, and exit with 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="inputs of each target")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    parser.add_argument("--only", action="append", choices=TARGETS, help="some targets; repeatable")
    parser.add_argument("--quick", action="store_true", help="leave out the large inputs")
    parser.add_argument("--replay", type=int, help="show one input of the target --only")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    names = options.only or list(TARGETS)
    if options.replay is not None:
        replay(names[0], options.seed, options.replay)
        return
    started = time.perf_counter()
    numbers = range(options.first, options.first + options.count)
    shares = _shares(names, numbers, options.seed, options.workers)
    if not (options.quick or options.first):
        shares = _large(names, options.seed) + shares
    told = campaign(shares, options.workers)
    seconds = round(time.perf_counter() - started)
    heads = "inputs", "read", "refused", "fault"
    print(f"{'target':15}" + "".join(f"{head:>9}" for head in heads) + "  slowest   memory  CPU s")
    for name, figures in told.items():
        counts = "".join(f"{figures[head]:9,}" for head in heads)
        worst = f"{figures['slowest_seconds']:7.2f} s{figures['most_megabytes']:6.0f} MB"
        print(f"{name:15}{counts}{worst}{figures['cpu_seconds']:7.0f}")
        for fault in figures["faults"]:
            print(f"    {fault['number']}{fault['special']}: {fault['what']}")
    print(f"{seconds} s with {options.workers} workers")
    if options.out:
        given = {key: getattr(options, key) for key in ("count", "first", "seed", "workers")}
        result = provenance("cpu") | given | {"seconds": seconds, "targets": told}
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(figures["fault"] for figures in told.values()))


if __name__ == "__main__":
    main()
