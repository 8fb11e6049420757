"""Requests on standard input become answers on standard output, in a process of its own.

The server starts this as `python -m augury.apps.explore.worker LIMITS`, interrupts it when a run
takes too long or no client waits for it any more, and kills it if that does not help. So such a run
really stops, and any harm that a request does to a parser is done here. A message is its length in
four bytes, then the name of a task, a newline and JSON. It is confirmed as soon as it is taken up:
a process that dies before that has not begun, and the server asks another. An answer is an HTTP
status, its length and JSON. Nothing that arrives is written to disk.
"""

from __future__ import annotations

import base64
import gc
import io
import json
import os
import signal
import struct
import sys
import traceback
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import asdict
from types import FrameType
from typing import IO, Any

from augury.apps.explore.limits import Limits
from augury.apps.explore.requests import (
    MODELS,
    MOST_LETTERS,
    SolveRequest,
    StoryRequest,
    read,
    shortened,
)
from augury.classical.cost_network import CostNetwork
from augury.classical.formats import ReadOptions, parse_graph
from augury.classical.formats.json_graph import write_json
from augury.classical.generate import generate
from augury.classical.graph import BipartiteGraph
from augury.classical.network import Graph
from augury.errors import InputError, is_out_of_memory
from augury.models import DEFAULT_MODEL
from augury.page import shown
from augury.processes import received

READY = {"ready": True}
BEGUN, OK, TOO_LARGE, UNUSABLE, FAILED = 100, 200, 413, 422, 500
HEAD = struct.Struct("<I")
STATUS = struct.Struct("<HI")

INTERRUPT = getattr(signal, "SIGUSR1", None)
"""The signal by which the server stops a run, where the system has it."""


Answer = tuple[int, bytes]
"""An HTTP status and JSON."""


class TooLarge(InputError):
    """Input beyond a limit."""


class Stopped(BaseException):
    """The server no longer wants the answer."""


def solve(body: bytes, limits: Limits) -> dict[str, Any]:
    """Turn a graph into its solution."""
    from augury.solver import solve as solve_graph

    task = read(SolveRequest, body)
    graph = graph_of(task["graph"], limits, task["maximise"])
    refuse_large(graph, limits.nodes, limits.edges, "")
    return solve_graph(graph, model=task["model"], exact=task["exact"], seed=task["seed"]).to_dict()


def story(body: bytes, limits: Limits) -> dict[str, Any]:
    """Turn a graph into one or two stories and where they first differ."""
    from augury.watch import watch

    task = read(StoryRequest, body)
    graph = graph_of(task.pop("graph"), limits, task.pop("maximise"))
    model, other = task.pop("model"), task.pop("other")
    refuse_large(graph, limits.story_nodes, limits.story_edges, " to tell")
    models = [model, other] if other else [model]
    return shown([watch(graph, model=model, **task) for model in models])


def make(body: bytes, limits: Limits) -> dict[str, Any]:
    """Turn a family and its parameters into a graph in JSON."""
    import numpy as np

    task = json.loads(body)
    _refuse_large_family(task["family"], task["parameters"], limits)
    rng = np.random.default_rng(task["seed"])
    costs = (1, task["costs_to"]) if task.get("costs_to") else None
    graph = generate(task["family"], rng, costs, **task["parameters"])
    refuse_large(graph, limits.nodes, limits.edges, "")
    return written(graph)


def _refuse_large_family(family: str, given: dict[str, Any], limits: Limits) -> None:
    """Raise TooLarge before a graph is drawn that would only be refused afterwards."""
    n, m = given.get("n", 0), given.get("m", given.get("n", 0))
    nodes = max(n + m, given.get("nodes", 0))
    if nodes > limits.nodes:
        raise TooLarge(f"a graph of {nodes:,} nodes is too large: at most {limits.nodes:,}")
    chance = max(given.get("p_within", 0), given.get("p_between", 0))
    expected = {
        "uniform": n * m * given.get("p", 0.25),
        "partly-matched": n * n * given.get("p", 0.25),
        "complete": n * m,
        "communities": n * n * chance / 2,
        "regular": n * given.get("degree", 0),
        "sparse": n * given.get("c", 3),
        "power-law": n * given.get("mean_degree", 3),
        "flow": given.get("arcs", 0),
    }.get(family, 0)
    if expected > 2 * limits.edges:
        raise TooLarge(f"about {expected:,.0f} edges are too many: at most {limits.edges:,}")


TASKS: dict[str, Callable[[bytes, Limits], dict[str, Any]]] = {
    "solve": solve,
    "story": story,
    "generate": make,
}


def written(graph: Graph) -> dict[str, Any]:
    """Return a graph as the object that the JSON format has for it."""
    file = io.BytesIO()
    write_json(graph, file)
    return json.loads(file.getvalue())


OBJECT = (
    "left", "right", "edges", "nodes", "arcs", "source", "sink", "costs", "sense", "lower",
    "supply",
)  # fmt: skip
"""The fields of a graph in the JSON format."""


def graph_of(given: dict[str, Any], limits: Limits, maximise: bool | None = None) -> Graph:
    """Read a graph from the text, the bytes or the object of a request.

    `maximise` says whether the greatest or the least sum of its costs is wanted.
    """
    own = ("flow", "header", "source", "sink", "ignore_costs")
    options = ReadOptions(
        **{key: given[key] for key in own if key in given},
        costs=given.get("cost") or None,
        maximise=maximise,
    )
    if given.get("text") is not None:
        data = given["text"].encode(errors="surrogatepass")
    elif given.get("data") is not None:
        data = _unpacked(_decoded(given["data"]), limits)
    else:
        told = {key: given[key] for key in OBJECT if given.get(key) is not None}
        ignores = given.get("ignore_costs", False)
        options = ReadOptions(ignore_costs=ignores, maximise=maximise)
        data = json.dumps(told).encode()
    name = given.get("name") or "graph"
    graph = parse_graph(io.BytesIO(data), name, options)
    if maximise is not None and getattr(graph, "costs", None) is None:
        raise InputError(f"there are no costs to {'maximise' if maximise else 'minimise'}")
    return graph


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # binascii.Error is one; letters beyond ASCII are another
        raise InputError('"data" is not base64') from None


def _unpacked(data: bytes, limits: Limits) -> bytes:
    """Unpack gzip up to the limit; a small file can hold gigabytes of nothing."""
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        _refuse_large_archive(data, limits)
        return data
    if data[:2] != b"\x1f\x8b":
        return data
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(data, limits.unpacked_bytes + 1)
    except zlib.error:
        raise InputError("the gzip data is damaged or cut short") from None
    _refuse_bytes(len(unpacked), limits)
    if not unpacker.eof:
        raise InputError("the gzip data is damaged or cut short")
    return unpacked


def _refuse_large_archive(data: bytes, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_bytes(sum(part.file_size for part in archive.infolist()), limits)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this is not a whole .npz file") from None


def _refuse_bytes(size: int, limits: Limits) -> None:
    if size > limits.unpacked_bytes:
        raise TooLarge(f"unpacked, the file has more than {limits.unpacked_bytes:,} bytes")


def refuse_large(graph: Graph, max_nodes: int, max_edges: int, purpose: str) -> None:
    """Raise TooLarge if a graph is beyond these limits; `purpose` reads like " to tell"."""
    if isinstance(graph, BipartiteGraph):
        nodes, edges, noun = graph.num_left + graph.num_right, graph.num_edges, "edges"
    else:
        arcs = len(graph.tail) if isinstance(graph, CostNetwork) else graph.num_arcs // 2
        nodes, edges, noun = graph.num_nodes, arcs, "arcs"
    for size, most, what in ((nodes, max_nodes, "nodes"), (edges, max_edges, noun)):
        if size > most:
            raise TooLarge(f"a graph of {size:,} {what} is too large{purpose}: at most {most:,}")


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def answered(message: bytes, limits: Limits) -> Answer:
    """Return the status and the JSON of the answer to a request, unless it is `Stopped`."""
    name, _, body = message.partition(b"\n")
    try:
        return OK, _json(TASKS[name.decode()](body, limits))
    except TooLarge as error:
        return failure(TOO_LARGE, str(error))
    except InputError as error:
        return failure(UNUSABLE, str(error))
    except Exception as error:  # whatever it was, the next request must find a worker
        if is_out_of_memory(error):
            return STARVED
        _log_once(error)
        return failure(FAILED, "this run failed; the server's log says why")


def failure(status: int, text: str) -> Answer:
    """Return an answer of one line that says what is wrong, shortened where it quotes a request."""
    told = " ".join(shortened(text, MOST_LETTERS).splitlines())
    return status, _json({"error": told})


STARVED = failure(TOO_LARGE, "this needs more memory than a run may have")
_logged: set[str] = set()


def _log_once(error: Exception) -> None:
    """Print an error's traceback once, however often the request is sent."""
    places = traceback.extract_tb(error.__traceback__)
    place = f"{places[-1].filename}:{places[-1].lineno}"
    if place not in _logged:
        _logged.add(place)
        traceback.print_exception(error)


def _limit_memory(limits: Limits) -> None:
    """Make allocations beyond the limit fail here rather than elsewhere on the machine."""
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return  # not Linux; the other limits remain
    most = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory_bytes
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _next(file: IO[bytes]) -> bytes:
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    return file.read(HEAD.unpack(head)[0])


def warm(limits: Limits) -> None:
    """Run everything once, so that no request pays for imports, loading and compiling."""
    graphs = {"text": "ann,cook\nbob,cook\nbob,sing"}, {"text": "person,job,cost\nann,cook,1"}
    # The discrete network comes last: once a paper network has loaded numba, it is compiled too.
    for model in sorted(MODELS, key=DEFAULT_MODEL.__eq__):
        for graph in graphs[: 1 + (model == DEFAULT_MODEL)]:
            body = json.dumps({"graph": graph, "model": model}).encode()
            solve(body, limits)
            story(body, limits)


class Interruptible:
    """Runs that the server's interrupt stops; between runs it has no effect."""

    def __init__(self) -> None:
        self.is_inside = False
        if INTERRUPT is not None:
            signal.signal(INTERRUPT, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.is_inside:
            self.is_inside = False
            raise Stopped

    def answered(self, message: bytes, limits: Limits) -> Answer:
        """Return what `answered` does, or that it was stopped."""
        try:
            self.is_inside = True
            answer = answered(message, limits)
            self.is_inside = False
        except Stopped:
            return failure(UNUSABLE, "this was stopped")
        return answer


def main() -> None:
    """Answer until the server is gone or memory has run out."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may get among the answers
    limits = Limits(**json.loads(sys.argv[1]))
    messages = received(lambda: _next(requests))
    run = Interruptible()
    warm(limits)
    gc.freeze()  # scanning what is here for garbage would take longer than most requests
    _limit_memory(limits)

    def send(status: int, body: bytes = b"") -> None:
        answers.write(STATUS.pack(status, len(body)) + body)
        answers.flush()

    send(OK, _json(READY))
    for message in messages:
        send(BEGUN)
        answer = run.answered(message, limits)
        send(*answer)
        if answer == STARVED:
            return  # its memory may be fragmented; the server starts another process


def arguments(limits: Limits) -> list[str]:
    """Return the command that starts a worker."""
    # -P: a file in the current folder must not pass for a library.
    return [sys.executable, "-P", "-m", "augury.apps.explore.worker", json.dumps(asdict(limits))]


if __name__ == "__main__":
    main()
