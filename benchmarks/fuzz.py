"""Throw damaged and hostile input at every reader and at the command; count what happens.

    python benchmarks/fuzz.py --count 100000 --workers 16 --out fuzz.json
    python benchmarks/fuzz.py --only json --replay 4711

An input is made from (seed, target, number) alone, mostly by damaging a valid file, so every fault
can be replayed. Whatever comes in, the result must be an answer, or exactly one `InputError` of one
line that starts with the file; within `SECONDS` and `FREE_BYTES` of memory; with no half-written
file left behind. Each worker is a process of its own: one that dies or hangs is a fault of the
input it was working on, and another takes over behind it.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

Rng = np.random.Generator

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
LONGEST_MESSAGE = 500
KEPT_FAULTS = 20


class Case(NamedTuple):
    """One input: files to write, and what is done with them."""

    files: dict[str, bytes]
    details: Any = None


class Target(NamedTuple):
    """Something that takes input: how inputs are made, and how one is tried.

    `attempt` returns "read" or "refused" and raises what it must not; it gets the folder in which
    the files of the case lie.
    """

    make: Callable[[Rng], Case]
    attempt: Callable[[Case, Path], str]
    imports: Sequence[str] = ("augury.classical.formats", "scipy.io", "networkx")
    """What is imported before the first input."""
    specials: Sequence[str] = ()
    """Names of inputs that are large by themselves …"""
    special: Callable[[str], Case] | None = None
    """… and what makes one of them."""


class Fault(Exception):
    """Something came out that must not."""


class Hang(BaseException):
    """The time is over; not an Exception, so that nothing that is tested can swallow it."""


# ------------------------------------------------------------------ valid files, to be damaged

EDGES = [
    b"left,right\nann,cook\nann,drive\nbob,cook\neve,sing\n",
    b"0 0\n0 1\n1 1\n2 0\n# a comment\n2 2\n",
    b"tail\thead\tcapacity\ns\ta\t3\ns\tb\t2\na\tt\t2\nb\tt\t9223372036854775806\n",
    b'worker;job\n"ann; the first";"say ""hi"""\nbob;cook\n',
    "links,rechts\nJürgen,Köchin\n李,歌\n".encode(),
]
MATRICES = [
    b"%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 4 4\n1 1\n2 1\n3 4\n2 2\n",
    b"%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 5\n2 3 4\n1 3 1\n",
    b"%%MatrixMarket matrix array real general\n2 2\n1.0\n0\n0\n2.0\n",
    b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 3 -1\n",
]
DIMACS = [
    b"c a comment\np max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 4 2\na 3 4 3\na 2 3 1\n",
    b"p max 2 1\nn 1 s\nn 2 t\na 1 2 9223372036854775807\n",
]
OBJECTS = [
    b'{"left": ["ann", "bob"], "right": 2, "edges": [["ann", 0], ["bob", 1]]}',
    b'{"source": "s", "sink": "t", "nodes": ["s", "a", "t"],'
    b' "arcs": [["s", "a", 3], ["a", "t", 2]]}',
    b'[["ann", "cook"], ["bob", "cook"], [1, 2.5]]',
    b'{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": 1, "bipartite": 0},'
    b' {"id": 2, "bipartite": 1}], "links": [{"source": 1, "target": 2}]}',
    b'{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": "s"}, {"id": "t"}],'
    b' "edges": [{"source": "s", "target": "t", "capacity": 4}]}',
]
ANSWERS = [
    b'{"size": 2, "is_maximum": true, "matching": [["ann", "cook"], ["eve", "sing"]]}',
    b"left,right\nann,cook\neve,sing\n",
    b'{"flow": [["s", "a", 2], ["a", "t", 2]]}',
    b"tail,head,flow\ns,a,2\na,t,2\n",
    b"0 0\n1 1\n",
]
ENDINGS = [".csv", ".tsv", ".mtx", ".max", ".dimacs", ".npz", ".json", ".txt", "", ".GZ"]

NUMBERS = [
    b"0", b"-1", b"1", b"2", b"1e3", b"2.0", b"0.5", b"-0", b"+1", b"1e400", b"-1e400", b"nan",
    b"inf", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"-9223372036854775808", b"1" * 40,
    b"9" * 400, b"9" * 5000, b"1e-400", b"0x10", b"1_000", b"1000000", b"100000000", b"1,5",
    "１２".encode(), "٣".encode(), b"true", b"null", b"[]", b"{}", b'""',
]  # fmt: skip
TOKENS = [
    b"\0", b"\r", b"\n", b"\r\n", b"\t", b" ", b",", b";", b'"', b"'", b"\\", b"\x0b", b"\x0c",
    b"\x1c", b"\xa0", b"\x85", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x1f\x8b\x08",
    b"PK\3\4",
    "\u2028".encode(), "\u00a0".encode(), "\u200b".encode(), "\U0001f600".encode(), b"\xed\xa0\x80",
    b"\xc0\x80", b"%", b"#", b"c ", b"p max 3 3", b"n 1 s", b"a 1 2 1", b"left,right", b"capacity",
    b"%%MatrixMarket matrix coordinate integer general\n", b"skew-symmetric", b"hermitian",
    b"complex", b"pattern", b"array", b"{", b"}", b"[", b"]", b":", b'"left"', b'"edges"',
    b'"arcs"',
    b'"nodes"', b'"source"', b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b"-Infinity", b"true",
]  # fmt: skip
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp1252", "utf-7"]


# ------------------------------------------------------------------ damage


def _place(rng: Rng, data: bytes) -> int:
    return int(rng.integers(0, len(data) + 1))


def flip_bits(rng: Rng, data: bytes) -> bytes:
    """Flip a few bits anywhere."""
    changed = bytearray(data or b"\0")
    for place in rng.integers(0, len(changed), int(rng.integers(1, 5))):
        changed[place] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed)


def truncate(rng: Rng, data: bytes) -> bytes:
    """Keep the start, or the end."""
    place = _place(rng, data)
    return data[:place] if rng.random() < 0.8 else data[place:]


def splice(rng: Rng, data: bytes) -> bytes:
    """Go on with another file."""
    pool = EDGES + MATRICES + DIMACS + OBJECTS + ANSWERS
    other = pool[int(rng.integers(len(pool)))]
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def insert_token(rng: Rng, data: bytes) -> bytes:
    """Put a word that means something somewhere into the text."""
    place = _place(rng, data)
    return data[:place] + TOKENS[int(rng.integers(len(TOKENS)))] + data[place:]


def insert_noise(rng: Rng, data: bytes) -> bytes:
    """Put random bytes into the text, or in place of it."""
    place, noise = _place(rng, data), rng.bytes(int(rng.integers(1, 40)))
    return data[:place] + noise + data[place + len(noise) * int(rng.integers(0, 2)) :]


def edit_number(rng: Rng, data: bytes) -> bytes:
    """Put an extreme in place of a number."""
    import re

    found = list(re.finditer(rb"\d+", data))
    if not found:
        return insert_token(rng, data)
    match = found[int(rng.integers(len(found)))]
    extreme = NUMBERS[int(rng.integers(len(NUMBERS)))]
    return data[: match.start()] + extreme + data[match.end() :]


def shuffle_lines(rng: Rng, data: bytes) -> bytes:
    """Repeat, drop or exchange lines."""
    lines = data.splitlines(keepends=True) or [b"\n"]
    times = int(rng.choice([0, 1, 2, 3, 200], p=[0.3, 0.2, 0.3, 0.19, 0.01]))
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(lines)))
        lines[place : place + 1] = lines[place : place + 1] * times
        lines = lines or [b"\n"]
        first, second = rng.integers(0, len(lines), 2)
        lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def change_ends(rng: Rng, data: bytes) -> bytes:
    """End lines as other systems do."""
    ends = [b"\r\n", b"\r", b"\n\n", b"\n\r", b"\x0b", "\u2028".encode(), b""]
    return data.replace(b"\n", ends[int(rng.integers(len(ends)))])


def change_encoding(rng: Rng, data: bytes) -> bytes:
    """Write the text as something else than UTF-8."""
    encoding = ENCODINGS[int(rng.integers(len(ENCODINGS)))]
    return data.decode(errors="replace").encode(encoding, errors="replace")


def nest(rng: Rng, data: bytes) -> bytes:
    """Wrap a part in brackets, a few or very many."""
    depth = int(rng.choice([1, 2, 50, 990, 3000, 100_000], p=[0.4, 0.3, 0.1, 0.1, 0.08, 0.02]))
    start, end = sorted((_place(rng, data), _place(rng, data)))
    opening, closing = [(b"[", b"]"), (b'{"a":', b"}"), (b"(", b")")][int(rng.integers(3))]
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def pack(rng: Rng, data: bytes) -> bytes:
    """Pack by gzip, sometimes twice, sometimes damaged or with something behind it."""
    packed = gzip.compress(data, int(rng.integers(0, 3)), mtime=0)
    chance = rng.random()
    if chance < 0.2:
        return flip_bits(rng, packed)
    if chance < 0.4:
        return truncate(rng, packed)
    if chance < 0.5:
        return packed + rng.bytes(5)
    return gzip.compress(packed, mtime=0) if chance < 0.6 else packed


def stretch(rng: Rng, data: bytes) -> bytes:
    """Repeat a short piece many times."""
    place = _place(rng, data)
    piece = data[place : place + int(rng.integers(1, 9))]
    return data[:place] + piece * int(rng.integers(2, 3000)) + data[place:]


DAMAGE: list[Callable[[Rng, bytes], bytes]] = [
    flip_bits, truncate, splice, insert_token, insert_noise, edit_number, edit_number,
    shuffle_lines, change_ends, change_encoding, nest, stretch,
]  # fmt: skip


def damaged(rng: Rng, data: bytes, most: int = 4) -> bytes:
    """Damage data a few times, rarely not at all; pack some of it."""
    for _ in range(min(int(rng.choice([0, 1, 1, 1, 2, 3, 4])), most)):
        data = DAMAGE[int(rng.integers(len(DAMAGE)))](rng, data)
    return pack(rng, data) if rng.random() < 0.1 else data


def _one_of(rng: Rng, pool: Sequence[Any]) -> Any:
    return pool[int(rng.integers(len(pool)))]


# ------------------------------------------------------------------ .npz archives

KINDS = ["i4", "i8", "u8", "i1", "f8", "f2", "?", "c16", "U3", "S3", ">i4", "M8[s]", "V3", "u4"]
ARRAYS: list[dict[str, Any]] = [
    {"num_left": 2, "num_right": 3, "left": [0, 1, 1], "right": [0, 1, 2]},
    {"num_left": 2, "num_right": 2, "left": [0, 1], "right": [0, 1], "left_labels": ["a", "b"],
     "right_labels": [5, 7]},
    {"num_nodes": 3, "source": 0, "sink": 2, "sender": [0, 1], "receiver": [1, 2],
     "capacity": [3, 4]},
    {"matrix": [[1, 0, 1], [0, 1, 0]]},
    {"format": b"csr", "shape": [2, 3], "indptr": [0, 2, 3], "indices": [0, 1, 2],
     "data": [1, 1, 1]},
    {"format": b"coo", "shape": [3, 3], "row": [0, 1], "col": [1, 2], "data": [4, 5]},
    {"format": b"csc", "shape": [2, 2], "indptr": [0, 1, 2], "indices": [0, 1], "data": [1, 1]},
    {"format": b"dia", "shape": [2, 2], "offsets": [0, 1], "data": [[1, 1], [0, 1]]},
    {"format": b"bsr", "shape": [2, 2], "indptr": [0, 1], "indices": [0],
     "data": [[[1, 0], [1, 1]]]},
]  # fmt: skip


def _odd_array(rng: Rng, values: Any) -> Any:
    """Return the values as another type, of another shape, or with an extreme in them."""
    array = np.array(values)
    choice = int(rng.integers(7))
    if choice == 0:
        with np.errstate(all="ignore"):
            try:
                return array.astype(_one_of(rng, KINDS))
            except (ValueError, TypeError):
                return array
    if choice == 1:
        return array.reshape((1,) * int(rng.integers(1, 4)) + array.shape)
    if choice == 2:
        return array.reshape(-1)[: int(rng.integers(0, 3))]
    if choice == 3 and array.size and array.dtype.kind in "iu":
        array = array.astype(np.int64).reshape(-1)
        extremes = [-1, -(2**63), 2**63 - 1, 2**31, 2**31 - 1, 10**6, 10**9, 5, 1]
        array[int(rng.integers(array.size))] = _one_of(rng, extremes)
        return array.reshape(np.shape(values))
    if choice == 4:
        return np.tile(array, int(rng.integers(0, 4)))
    return array


def _raw_zip(rng: Rng, arrays: dict[str, Any]) -> bytes:
    """Write an archive whose members claim what they do not hold."""
    file = io.BytesIO()
    packing = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, values in arrays.items():
            member = io.BytesIO()
            np.save(member, values, allow_pickle=False)
            data = member.getvalue()
            if rng.random() < 0.5:
                data = edit_number(rng, data) if rng.random() < 0.7 else flip_bits(rng, data)
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def make_archive(rng: Rng) -> Case:
    """Return an .npz file of odd arrays, or a damaged one."""
    arrays = {name: np.array(values) for name, values in _one_of(rng, ARRAYS).items()}
    for name in list(arrays):
        chance = rng.random()
        if chance < 0.15:
            arrays[name] = _odd_array(rng, arrays[name])
        elif chance < 0.17:
            del arrays[name]
    if rng.random() < 0.5:
        data = _raw_zip(rng, arrays)
    else:
        file = io.BytesIO()
        np.savez(file, **cast("Any", arrays))
        data = file.getvalue()
    if rng.random() < 0.4:
        data = damaged(rng, data, 2)
    return Case(
        {f"graph{_one_of(rng, ['.npz', '.npz', '.npz.gz', '.csv', ''])}": data}, options(rng)
    )


# ------------------------------------------------------------------ readers of graphs


def options(rng: Rng) -> dict[str, Any]:
    """Return what a user may tell the reader."""
    labels = [
        None,
        None,
        "s",
        "t",
        "0",
        "1",
        "ann",
        "",
        "-1",
        "9" * 30,
        "٣",
        "\ud800",
        "true",
        "2.0",
    ]
    if rng.random() < 0.7:
        labels = [None]
    return {
        "flow": bool(rng.random() < 0.3),
        "header": _one_of(rng, [None, None, None, True, False]),
        "source": _one_of(rng, labels),
        "sink": _one_of(rng, labels),
    }


def from_pool(pool: list[bytes], endings: Sequence[str]) -> Callable[[Rng], Case]:
    """Return a maker that damages the files of a pool."""

    def make(rng: Rng) -> Case:
        own = _one_of(rng, endings) if rng.random() < 0.7 else _one_of(rng, ENDINGS)
        return Case({f"graph{own}": damaged(rng, _one_of(rng, pool))}, options(rng))

    return make


def _refused(error: Exception, name: str) -> str:
    """Check that a refusal is one short line that names the file."""
    message = str(error)
    if len(message.splitlines()) != 1 or len(message) > LONGEST_MESSAGE:
        raise Fault(f"the message is not one short line: {message[:200]!r}")
    if name not in message:
        raise Fault(f"the message does not name {name!r}: {message[:200]!r}")
    return "refused"


def attempt_graph(case: Case, folder: Path) -> str:
    """Read a graph; what was read must be whole."""
    from augury.classical.formats import ReadOptions, read_graph
    from augury.classical.graph import InputError

    [name] = case.files
    try:
        graph = read_graph(folder / name, ReadOptions(**case.details))
    except InputError as error:
        if type(error) is not InputError:
            raise Fault(f"{type(error).__name__} came out: {error}") from None
        return _refused(error, name)
    repr(graph)
    return "read"


def _packed_often(piece: bytes, times: int) -> bytes:
    """Return ten million bytes packed by gzip, so many times behind each other."""
    return gzip.compress(piece * (10**7 // len(piece)), mtime=0) * times


def _dense_bomb() -> bytes:
    """Return an archive of two megabytes in which a matrix of 1.6 GB is empty."""
    file, header = io.BytesIO(), io.BytesIO()
    claimed = {"descr": "|b1", "fortran_order": False, "shape": (40_000, 40_000)}
    np.lib.format.write_array_header_1_0(header, claimed)
    packing = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file, "w", packing) as archive, archive.open("m.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(160):
            member.write(bytes(10**7))
    return file.getvalue()


CLAIM = b"%%MatrixMarket matrix coordinate pattern general\n"
LARGE_GRAPHS: dict[str, Callable[[], bytes]] = {
    "2 GB of zeros.csv.gz": lambda: _packed_often(b"\0", 200),
    "2 GB of blank lines.csv.gz": lambda: _packed_often(b"\n", 200),
    "60 MB of blank lines.csv.gz": lambda: _packed_often(b"\n", 6),
    "60 MB of comments.max.gz": lambda: _packed_often(b"c\n", 6),
    "60 MB of brackets.json.gz": lambda: _packed_often(b"[],", 6),
    "a million labels.csv": lambda: b"".join(b"left %d,right %d\n" % (n, n) for n in range(10**6)),
    "a million arcs.max": lambda: (
        b"p max 1000001 1000000\nn 1 s\nn 1000001 t\n"
        + b"".join(b"a %d %d 1\n" % (n, n + 1) for n in range(1, 10**6 + 1))
    ),
    "a line of 30 MB.csv": lambda: b"a" * 30_000_000,
    "a cell of 1 MB.csv": lambda: b"a," + b"b" * 1_000_000 + b"\n",
    "a quote never closed.csv": lambda: b'"a,b\n' + b"c,d\n" * 1_000_000,
    "3 million blank lines.csv": lambda: b"\n" * 3_000_000 + b"a,b\n",
    "a million levels.json": lambda: b"[" * 1_000_000,
    "a million objects.json": lambda: b'{"a":' * 1_000_000,
    "closed levels.json": lambda: b"[" * 100_000 + b"]" * 100_000,
    "a million numbers.json": lambda: b'{"left": ' + str(list(range(10**6))).encode() + b"}",
    "10^18 nodes.json": lambda: b'{"left": 1000000000000000000, "right": 2, "edges": []}',
    "10^18 rows.mtx": lambda: CLAIM + b"1000000000000000000 3 1\n1 1\n",
    "10^9 entries.mtx": lambda: CLAIM + b"3 3 1000000000\n1 1\n",
    "10^9 nodes.max": lambda: b"p max 1000000000 0\nn 1 s\nn 2 t\n",
    "2^31 - 1 nodes.max": lambda: b"p max 2147483647 1\nn 1 s\nn 2 t\na 1 2 3\n",
    "dense bomb.npz": _dense_bomb,
}
"""Inputs that are large by themselves, or claim to be."""


def large_graph(name: str) -> Case:
    """Return one of these inputs."""
    calm = {"flow": False, "header": None, "source": None, "sink": None}
    return Case({name: LARGE_GRAPHS[name]()}, calm)


# ------------------------------------------------------------------ answers and labels


def make_answer(rng: Rng) -> Case:
    """Return a good graph and a damaged answer to it."""
    return Case({"answer": damaged(rng, _one_of(rng, ANSWERS))}, int(rng.integers(3)))


def attempt_answer(case: Case, folder: Path) -> str:
    """Read and certify an answer to a graph with text labels, without labels, or to a network."""
    from augury.classical.certificate import certify_flow, certify_pairs
    from augury.classical.formats import read_answer
    from augury.classical.graph import BipartiteGraph, InputError
    from augury.classical.network import FlowNetwork

    graph = [
        BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("eve", "sing")]),
        BipartiteGraph(3, 2, np.array([0, 1, 2]), np.array([0, 1, 1])),
        FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t"),
    ][case.details]
    try:
        answer = read_answer(folder / "answer", graph)
    except InputError as error:
        return _refused(error, "answer")
    if isinstance(graph, FlowNetwork):
        certificate = certify_flow(graph, answer)
    else:
        certificate = certify_pairs(graph, answer)
    certificate.to_dict()
    return "read"


def _odd_label(rng: Rng) -> Any:
    pool: list[Any] = [
        0, 1, 2, -1, True, False, None, 1.0, 0.5, float("nan"), float("inf"), "a", "b", "", "1",
        "\ud800", "a\nb", "x" * 1000, 10**400, b"a", (1, 2), (), ((1,), "a"), frozenset({1}),
        [1], {"a": 1}, {1}, np.int64(1), np.float32(1.5), np.str_("a"), np.array([1, 2]), object,
        1j, ..., "１", "s", "t",
    ]  # fmt: skip
    return _one_of(rng, pool)


def make_labels(rng: Rng) -> Case:
    """Return edges, arcs and a matching of odd labels; some are no edges at all."""

    def entry(width: int) -> Any:
        if rng.random() < 0.05:
            return _odd_label(rng)
        if rng.random() < 0.05:
            width += int(rng.integers(-1, 2))
        return tuple(_odd_label(rng) for _ in range(width))

    edges = [entry(2) for _ in range(int(rng.integers(0, 5)))]
    arcs = [
        (*entry_, _one_of(rng, [0, 1, 5, 2**63 - 1, 2**63, -1, 1.5, 2.0, "3", None]))
        if isinstance(entry_ := entry(2), tuple) else entry_
        for _ in range(int(rng.integers(0, 5)))
    ]  # fmt: skip
    fixed = [_odd_label(rng) for _ in range(int(rng.integers(0, 4)))]
    ends = _odd_label(rng), _odd_label(rng)
    return Case({}, (edges, arcs, fixed if rng.random() < 0.3 else None, ends))


def attempt_labels(case: Case, folder: Path) -> str:
    """Make graphs of odd labels, certify odd matchings, and find odd labels again."""
    from augury.classical.certificate import certify, certify_flow
    from augury.classical.formats.labels import LabelFinder
    from augury.classical.graph import BipartiteGraph, InputError
    from augury.classical.network import FlowNetwork

    edges, arcs, fixed, ends = case.details
    outcomes: list[str] = []

    def tried(make: Callable[[], Any]) -> Any:
        try:
            made = make()
        except InputError as error:
            outcomes.append(_refused(error, ""))
            return None
        outcomes.append("read")
        return made

    plain = BipartiteGraph.from_edges([("ann", "cook"), (1, 2), (1.5, "a")])
    for graph in (plain, tried(lambda: BipartiteGraph.from_edges(edges, fixed))):
        if graph is not None:
            certify(graph, edges).to_dict()
            finder = LabelFinder(graph.left_labels or range(graph.num_left))
            finder.number(ends[0])
    network = tried(lambda: FlowNetwork.from_labelled_arcs(arcs, ends[0], ends[1], fixed))
    if network is not None:
        certify_flow(network, arcs).to_dict()
    return outcomes[0]


# ------------------------------------------------------------------ checkpoints


def _shipped(name: str) -> bytes:
    import augury

    return (Path(augury.__file__).parent / "models" / f"{name}.safetensors").read_bytes()


def _rewritten(rng: Rng, data: bytes) -> bytes:
    """Change the header of a safetensors file so that it still is one, with a digest that fits."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    told = header["__metadata__"]
    config = json.loads(told["config"])
    for _ in range(int(rng.integers(1, 3))):
        part = _one_of(rng, ["data", "network", "network", "network", "training"])
        name = _one_of(rng, list(config[part]))
        odd = [0, -1, 1, 4, 8, 63, 64, 2**20, 2**40, 10**30, 0.5, "", "pna", "gatv2", None, [], {},
               "discrete", "paper", True, [1] * 9]  # fmt: skip
        config[part][name] = _one_of(rng, odd)
    told["config"] = json.dumps(config)
    if rng.random() < 0.3:
        told["config"] = damaged(rng, told["config"].encode()).decode(errors="replace")
    if rng.random() < 0.2:
        told[_one_of(rng, ["format", "format_version", "provenance", "version", "new"])] = _one_of(
            rng, ["", "1", "2", "[]", "{}", "null", "[1, 2]", "augury-checkpoint", "x" * 9999]
        )
    if rng.random() < 0.3:
        entry = header[_one_of(rng, [name for name in header if name != "__metadata__"])]
        entry[_one_of(rng, ["dtype", "shape", "data_offsets"])] = _one_of(
            rng,
            [
                "F16",
                "BF16",
                "I64",
                "BOOL",
                "F8_E4M3",
                "F4",
                "C64",
                [],
                [0],
                [2**40],
                [0, 4],
                [1, 2, 3],
            ],
        )
    told.pop("digest", None)  # a file without one is from an older version, and is read
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def make_checkpoint(rng: Rng) -> Case:
    """Return a damaged checkpoint."""
    data = _shipped(_one_of(rng, ["discrete", "discrete", "paper-mpnn"]))
    chance = rng.random()
    if chance < 0.45:
        data = _rewritten(rng, data)
        data = flip_bits(rng, data) if rng.random() < 0.1 else data
    elif chance < 0.65:
        (length,) = struct.unpack("<Q", data[:8])
        header = damaged(rng, data[8 : 8 + length])
        claimed = len(header) if rng.random() < 0.7 else int(_one_of(rng, [0, 1, 2**31, 2**63]))
        data = struct.pack("<Q", claimed) + header + data[8 + length :]
    elif chance < 0.7:
        data = damaged(rng, _one_of(rng, EDGES + OBJECTS))
    else:
        data = _one_of(rng, [flip_bits, flip_bits, truncate, insert_noise, splice])(rng, data)
    return Case({"net.safetensors": data})


def attempt_checkpoint(case: Case, folder: Path) -> str:
    """Load a checkpoint."""
    from augury.classical.graph import InputError
    from augury.neural.checkpoint import load

    try:
        load(folder / "net.safetensors")
    except InputError as error:
        return _refused(error, "net.safetensors")
    return "read"


def wide_checkpoint(name: str) -> Case:
    """Return a checkpoint that claims to be enormous."""
    data = _shipped("discrete")
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    config = json.loads(header["__metadata__"]["config"])
    config["network"]["hidden"] = WIDE[name]
    header["__metadata__"]["config"] = json.dumps(config)
    del header["__metadata__"]["digest"]
    text = json.dumps(header).encode()
    return Case({"net.safetensors": struct.pack("<Q", len(text)) + text + data[8 + length :]})


WIDE = {"2^14 wide": 2**14, "2^17 wide": 2**17, "2^40 wide": 2**40}


# ------------------------------------------------------------------ records of evaluations

DECISIONS = ("search", "reach", "bottleneck", "empty_path", "augmentation")
RECORD = {
    "model": "m", "model_seed": 0, "weights": "w", "scale": 1, "p": "1/4", "termination": "bfs",
    "neural_bottleneck": True, "neural_augmentation": True, "run": 0, "graph": 0, "value": 7,
    "maximum": 8, "ending": "done", "asked": dict.fromkeys(DECISIONS, 3),
    "wrong": dict.fromkeys(DECISIONS, 1),
}  # fmt: skip


def make_records(rng: Rng) -> Case:
    """Return a damaged file of records."""
    head = {
        "kind": "augury-records",
        "version": "0",
        "commit": "",
        "graphs": 1,
        "runs": 2,
        "seed": 0,
    }
    rows = [json.dumps(row) for row in (head, RECORD, RECORD | {"run": 1})]
    return Case({"some.jsonl": damaged(rng, ("\n".join(rows) + "\n").encode())})


def attempt_records(case: Case, folder: Path) -> str:
    """Read and summarise records."""
    from augury.classical.graph import InputError
    from augury.experiments.records import read_records, summarise, table_rows

    try:
        table_rows(summarise(read_records(folder / "some.jsonl").records))
    except InputError as error:
        return _refused(error, "some.jsonl")
    return "read"


# ------------------------------------------------------------------ the API


def make_objects(rng: Rng) -> Case:
    """Return a seed, from which the odd object is made where it is tried: it may be anything."""
    return Case({}, int(rng.integers(2**40)))


def _odd_object(rng: Rng) -> Any:  # noqa: C901  # a list of oddities
    import networkx as nx
    import scipy.sparse
    import torch

    shape = tuple(int(n) for n in rng.integers(0, 5, int(rng.choice([0, 1, 2, 2, 2, 2, 3]))))
    array = rng.integers(-1 if rng.random() < 0.2 else 0, 3, shape)
    with np.errstate(all="ignore"):
        odd = array.astype(_one_of(rng, ["i8", "i4", "u1", "?", "f8", "f4", "c16", "O", "U2"]))
    if odd.dtype == np.float64 and odd.size and rng.random() < 0.4:
        odd.reshape(-1)[0] = _one_of(rng, [np.nan, np.inf, -np.inf, 0.5, 2.0**63, 1e300, -0.0])
    choice = int(rng.integers(7))
    if choice < 2:
        return odd
    if choice == 2 and odd.ndim == 2 and odd.dtype.kind in "iufb":
        matrix = scipy.sparse.csr_array(odd)
        if matrix.nnz and rng.random() < 0.4:
            matrix.indices[0] = _one_of(rng, [-1, 7, 2**30])
        return _one_of(rng, [matrix, matrix.tocoo() if matrix.nnz == 0 else matrix])
    if choice == 3 and odd.dtype.kind in "iufbc":
        return torch.from_numpy(np.ascontiguousarray(odd))
    if choice == 4:
        graph = _one_of(rng, [nx.Graph, nx.DiGraph, nx.MultiGraph])()
        for _ in range(int(rng.integers(0, 5))):
            graph.add_edge(
                *map(int, rng.integers(0, 5, 2)),
                capacity=_one_of(rng, [1, 0, -1, 1.5, None, "x", 2**70, float("inf")]),
            )
        if rng.random() < 0.5:
            for node in graph:
                graph.nodes[node]["bipartite"] = int(rng.integers(0, 3))
        return graph
    if choice == 5:
        return _one_of(
            rng, [None, 3, "no such file", b"x", [], [[1]], {}, object(), "", "a" * 5000]
        )
    return array


def attempt_objects(case: Case, folder: Path) -> str:
    """Solve whatever it is; `TypeError` is documented for what is no graph at all."""
    from augury import solve, solve_batch
    from augury.classical.graph import InputError

    rng = np.random.default_rng(case.details)
    given = _odd_object(rng)
    ends = (
        {} if rng.random() < 0.6 else {"source": _one_of(rng, [0, 1, None, 9, -1, "a"]), "sink": 1}
    )
    try:
        solution = solve(given, **ends, model=_one_of(rng, ["classical", None]))
        if not solution.is_maximum:
            raise Fault("an exact solution is not maximum")
        solve_batch([given] if not ends else [])
    except (InputError, TypeError) as error:
        return _refused(error, "")
    return "read"


# ------------------------------------------------------------------ the command

VALUES = ["", "-", "0", "1", "-1", "2", "8", "3.5", "1/4", "1/0", "nan", "inf", "1e9", "10**9",
          "abc", "9" * 30, "classical", "neural", "bellman-ford", "discrete", "paper-mpnn",
          "cpu", "cuda", "auto", "json", "csv", "table", "ünïcode", "a b", "\udcff", "x" * 300,
          "../", "/", ".", "{}"]  # fmt: skip
FLAGS: dict[str, list[str]] = {
    "solve": ["--executor", "--model", "--exact", "--no-exact", "--device", "--seed",
              "--format", "--json", "--flow", "--header", "--no-header", "--source", "--sink",
              "--help", "--nonsense"],
    "certify": ["--json", "--flow", "--header", "--source", "--sink"],
    "generate": ["--seed", "--n", "--m", "--p", "--c", "--degree", "--mean-degree", "--exponent",
                 "--p-within", "--p-between", "--share", "--nodes", "--arcs", "--low", "--high"],
    "verify": ["--json"],
}  # fmt: skip
SWITCHES = {"--exact", "--no-exact", "--json", "--flow", "--header", "--no-header", "--help"}
FAMILIES = ["uniform", "sparse", "regular", "power-law", "complete", "communities", "path",
            "ladder", "path-state", "ladder-state", "partly-matched",
            "flow", "nonsense"]  # fmt: skip
NUMBERS_GIVEN = [
    "0",
    "1",
    "2",
    "5",
    "8",
    "-1",
    "1/4",
    "0.5",
    "3",
    "1e3",
    "x",
    "9999999999999",
    "nan",
]


def make_command(rng: Rng) -> Case:
    """Return a command line with files."""
    command = _one_of(rng, ["solve", "solve", "solve", "certify", "certify", "generate", "verify"])
    arguments, files = [command], dict[str, bytes]()
    if command == "verify":
        files = make_checkpoint(rng).files if rng.random() < 0.7 else {}
        arguments += list(files) or [_one_of(rng, VALUES)]
    elif command == "generate":
        arguments += [_one_of(rng, FAMILIES), "--output", f"out{_one_of(rng, ENDINGS)}"]
    else:
        count = 1 if command == "certify" or rng.random() < 0.8 else 2
        for number in range(count):
            made = (make_archive if rng.random() < 0.15 else _any_graph)(rng)
            for name, data in made.files.items():
                files[f"{number}{name}"] = data
        arguments += list(files)
        if command == "certify":
            files["answer"] = damaged(rng, _one_of(rng, ANSWERS), 2)
            arguments.append("answer")
        elif rng.random() < 0.5:
            arguments += [
                "--output",
                _one_of(rng, ["out.json", "out.csv", "out", "no/out.json", "."]),
            ]
    for _ in range(int(rng.integers(0, 4))):
        flag = _one_of(rng, FLAGS[command])
        pool = NUMBERS_GIVEN if command == "generate" else VALUES
        arguments += [flag] if flag in SWITCHES else [flag, _one_of(rng, pool)]
    if rng.random() < 0.1:
        arguments.insert(int(rng.integers(len(arguments) + 1)), _one_of(rng, VALUES))
    return Case(files, arguments)


def _any_graph(rng: Rng) -> Case:
    pool, endings = _one_of(rng, [(EDGES, [".csv", ".tsv"]), (MATRICES, [".mtx"]),
                                  (DIMACS, [".max"]), (OBJECTS, [".json"])])  # fmt: skip
    return Case({f"graph{_one_of(rng, endings)}": damaged(rng, _one_of(rng, pool), 2)})


def attempt_command(case: Case, folder: Path) -> str:
    """Run the command in the folder; it says one thing, and leaves whole files or none."""
    from augury.apps import cli

    before, streams = Path.cwd(), (sys.stdin, sys.stdout, sys.stderr, sys.argv)
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"a,b\nc,b\n"))
    sys.stdout = io.TextIOWrapper(io.BytesIO(), write_through=True)
    sys.stderr = io.TextIOWrapper(io.BytesIO(), errors="backslashreplace", write_through=True)
    sys.argv = ["augury", *case.details]
    os.chdir(folder)
    code: Any = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        os.chdir(before)
        told = bytes(sys.stderr.buffer.getvalue()).decode()  # type: ignore[union-attr]
        sys.stdin, sys.stdout, sys.stderr, sys.argv = streams
    if code not in (0, 1, 2) or "Traceback" in told:
        raise Fault(f"exit code {code}: {told[:300]}")
    if code == 2 and not told.strip():
        raise Fault("exit code 2 without a word")
    if told.startswith("augury: ") and code == 2 and len(told.splitlines()) != 1:
        raise Fault(f"the refusal is not one line: {told[:300]!r}")
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    new = left - set(case.files)
    if any(".augury-" in name for name in new) or (code and new and case.details[0] != "generate"):
        raise Fault(f"exit code {code}, but there is {sorted(new)}")
    return "refused" if code == 2 else "read"


NEURAL = ("augury.neural.checkpoint", "torch")
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
        make_checkpoint, attempt_checkpoint, NEURAL, specials=list(WIDE), special=wide_checkpoint
    ),
    "api": Target(make_objects, attempt_objects, ("augury.solver", "networkx", *NEURAL)),
    "command": Target(
        make_command,
        attempt_command,
        ("augury.solver", "augury.apps.cli", "augury.verify", *NEURAL),
    ),
}


# ------------------------------------------------------------------ one input, watched


class Seen(NamedTuple):
    """What came of one input."""

    outcome: str
    seconds: float
    growth: int
    """Bytes of memory at the peak beyond those before."""


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
    """Try one input under the clock; a fault of it becomes the outcome."""

    def over(*_: Any) -> None:
        raise Hang

    for name, data in case.files.items():
        (folder / name).write_bytes(data)
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
    """Return the input of that number; the same for ever."""
    return TARGETS[name].make(np.random.default_rng([seed, list(TARGETS).index(name), number]))


# ------------------------------------------------------------------ workers


class Share(NamedTuple):
    """The inputs of one worker."""

    name: str
    seed: int
    numbers: range
    special: str = ""


def _work(share: Share, at: Any, results: Any) -> None:
    """Try all inputs of a share; `at` always holds the one in progress."""
    # What is imported or compiled once must not count as an input's time and memory.
    target = TARGETS[share.name]
    for module in target.imports:
        importlib.import_module(module)
    if "augury.solver" in target.imports:
        importlib.import_module("augury.solver").solve(np.ones((2, 2)))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))
    with tempfile.TemporaryDirectory() as folder:
        if share.special and target.special:
            case = target.special(share.special)
            results.put((share, 0, watched(target, case, Path(folder), SPECIAL_SECONDS)))
        else:
            watched(target, made_case(share.name, share.seed, 0), Path(folder), SPECIAL_SECONDS)
        for number in share.numbers:
            at.value = number
            case = made_case(share.name, share.seed, number)
            results.put((share, number, watched(target, case, Path(folder), SECONDS)))
    results.put((share, -1, None))
    results.close()
    results.join_thread()


def _shares(names: Sequence[str], count: int, seed: int, workers: int, quick: bool) -> list[Share]:
    size = max(min(-(-count // workers), 5000), 1)
    specials = (
        []
        if quick
        else [
            Share(name, seed, range(0), what) for name in names for what in TARGETS[name].specials
        ]
    )
    return specials + [
        Share(name, seed, range(first, min(first + size, count)))
        for name in reversed(names)
        for first in range(0, count, size)
    ]


def campaign(
    names: Sequence[str], count: int, seed: int, workers: int, quick: bool
) -> dict[str, Any]:
    """Try `count` inputs of each target, and unless `quick` the large ones too."""
    context = multiprocessing.get_context("fork")
    waiting, running = (
        _shares(names, count, seed, workers, quick),
        list[tuple[Share, Any, Any, Any, list[float]]](),
    )
    told = {name: Tally() for name in names}
    while waiting or running:
        while waiting and len(running) < workers:
            share, at, queue = waiting.pop(0), context.Value("q", -1), context.Queue()
            process = context.Process(target=_work, args=(share, at, queue))
            process.start()
            running.append((share, process, at, queue, [time.monotonic()]))
        time.sleep(0.02)
        for entry in list(running):
            share, process, at, queue, last = entry
            is_alive = process.is_alive()  # asked before the queue is emptied, which then is final
            is_finished = False
            while not queue.empty():
                _, number, seen = queue.get()
                last[0] = time.monotonic()
                is_finished = seen is None
                if seen is not None:
                    told[share.name].add(number, share.special, seen)
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
    """What came of the inputs of one target."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.slowest = self.most_memory = 0.0
        self.specials: dict[str, dict[str, Any]] = {}
        self.faults: list[dict[str, Any]] = []

    def add(self, number: int, special: str, seen: Seen) -> None:
        """Take in one input."""
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
            "specials": self.specials,
            "faults": self.faults,
        }


def replay(name: str, seed: int, number: int) -> None:
    """Show one input and what comes of it."""
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
    told = campaign(names, options.count, options.seed, options.workers, options.quick)
    seconds = time.perf_counter() - started
    print(
        f"{'target':15}{'inputs':>9}{'read':>9}{'refused':>9}{'faults':>8}{'slowest':>9}{'memory':>9}"
    )
    for name, figures in told.items():
        counts = "".join(f"{figures[key]:9,}" for key in ("inputs", "read", "refused"))
        worst = f"{figures['slowest_seconds']:7.2f} s{figures['most_megabytes']:6.0f} MB"
        print(f"{name:15}{counts}{figures['fault']:8,}{worst}")
        for fault in figures["faults"]:
            print(f"    {fault['number']}{fault['special']}: {fault['what']}")
    print(f"{seconds:.0f} s with {options.workers} workers")
    if options.out:
        told |= {"seed": options.seed, "workers": options.workers, "seconds": round(seconds)}
        options.out.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(any(figures["fault"] for figures in told.values() if isinstance(figures, dict)))


if __name__ == "__main__":
    main()
