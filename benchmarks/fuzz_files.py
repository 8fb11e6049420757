"""Damaged graphs, answers, records and checkpoints: how each is made, and how it is read.

A maker returns a `Case`; an attempt returns "read" or "refused" and raises what must not come out.
It gets the folder in which the files of the case lie.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from fuzz_damage import (
    ANSWERS,
    CONFIGS,
    EDGES,
    ENDINGS,
    OBJECTS,
    Rng,
    damaged,
    edit_number,
    flip_bits,
    insert_noise,
    one_of,
    splice,
    truncate,
)

LONGEST_MESSAGE = 380


class Case(NamedTuple):
    """One input: files to write, and what is done with them."""

    files: dict[str, bytes]
    details: Any = None
    length: int = 0
    """If not 0, files are extended to this length by zeros that take no room on the disk."""


class Fault(Exception):
    """Something happened that must not."""


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
    """Return the values as another type, in another shape, or with an extreme value."""
    array = np.array(values)
    choice = int(rng.integers(7))
    if choice == 0:
        with np.errstate(all="ignore"):
            try:
                return array.astype(one_of(rng, KINDS))
            except (ValueError, TypeError):
                return array
    if choice == 1:
        return array.reshape((1,) * int(rng.integers(1, 4)) + array.shape)
    if choice == 2:
        return array.reshape(-1)[: int(rng.integers(0, 3))]
    if choice == 3 and array.size and array.dtype.kind in "iu":
        array = array.astype(np.int64).reshape(-1)
        extremes = [-1, -(2**63), 2**63 - 1, 2**31, 2**31 - 1, 10**6, 10**9, 5, 1]
        array[int(rng.integers(array.size))] = one_of(rng, extremes)
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
    arrays = {name: np.array(values) for name, values in one_of(rng, ARRAYS).items()}
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
        {f"graph{one_of(rng, ['.npz', '.npz', '.npz.gz', '.csv', ''])}": data}, options(rng)
    )


def make_array(rng: Rng) -> Case:
    """Return a .npy file of an odd array, or a damaged one."""
    file = io.BytesIO()
    array = np.array(one_of(rng, [[[1, 0, 1], [0, 1, 0]], [[0, 5], [2, 0]], [[1.5, 2.0]]]))
    array = _odd_array(rng, array) if rng.random() < 0.5 else array
    np.save(file, np.asfortranarray(array) if rng.random() < 0.3 else array)
    data = file.getvalue()
    if rng.random() < 0.6:
        data = edit_number(rng, data) if rng.random() < 0.4 else damaged(rng, data, 2)
    return Case({f"graph{one_of(rng, ['.npy', '.npy', '.npy.gz', '.csv'])}": data}, options(rng))


# ------------------------------------------------------------------ readers of graphs


def options(rng: Rng) -> dict[str, Any]:
    """Return options that a user may give the reader."""
    labels = [
        None, None, "s", "t", "0", "1", "ann", "", "-1", "9" * 30, "٣", "\ud800", "true", "2.0"
    ]  # fmt: skip
    if rng.random() < 0.7:
        labels = [None]
    return {
        "flow": bool(rng.random() < 0.3),
        "header": one_of(rng, [None, None, None, True, False]),
        "source": one_of(rng, labels),
        "sink": one_of(rng, labels),
        "ignore_costs": bool(rng.random() < 0.3),
    }


def from_pool(pool: list[bytes], endings: Sequence[str]) -> Callable[[Rng], Case]:
    """Return a maker that damages the files of a pool."""

    def make(rng: Rng) -> Case:
        own = one_of(rng, endings) if rng.random() < 0.7 else one_of(rng, ENDINGS)
        return Case({f"graph{own}": damaged(rng, one_of(rng, pool))}, options(rng))

    return make


def refused(error: Exception, name: str) -> str:
    """Check that a refusal is one short line that names the file, and safe on a terminal."""
    from augury.errors import visible

    message = str(error)
    if message != visible(message):
        raise Fault(f"a terminal would obey the message: {message[:200]!r}")
    if len(message.splitlines()) != 1 or len(message) > LONGEST_MESSAGE:
        raise Fault(f"the message is not one short line: {message[:200]!r}")
    if name not in message:
        raise Fault(f"the message does not name {name!r}: {message[:200]!r}")
    return "refused"


def attempt_graph(case: Case, folder: Path) -> str:
    """Read a graph; what was read must be whole."""
    from augury.classical.formats import ReadOptions, read_graph
    from augury.errors import InputError

    [name] = case.files
    filters = list(warnings.filters)
    try:
        graph = read_graph(folder / name, ReadOptions(**case.details))
    except InputError as error:
        if type(error) is not InputError:
            raise Fault(f"{type(error).__name__} came out: {error}") from None
        return refused(error, name)
    finally:
        if list(warnings.filters) != filters:
            raise Fault("the warnings filters of the process were changed")
    repr(graph)
    return "read"


def _packed_often(piece: bytes, times: int) -> bytes:
    """Return ten million bytes compressed with gzip, repeated."""
    return gzip.compress(piece * (10**7 // len(piece)), mtime=0) * times


def _dense_bomb() -> bytes:
    """Return an archive of two megabytes that holds an empty matrix of 1.6 GB."""
    file, header = io.BytesIO(), io.BytesIO()
    claimed = {"descr": "|b1", "fortran_order": False, "shape": (40_000, 40_000)}
    np.lib.format.write_array_header_1_0(header, claimed)
    packing = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file, "w", packing) as archive, archive.open("m.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(160):
            member.write(bytes(10**7))
    return file.getvalue()


def _npy_header(shape: str) -> bytes:
    """Return a .npy file without contents."""
    text = f"{{'descr': '|b1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


STARTS = {
    ".csv": b"ann,cook\n",
    ".mtx": b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n",
    ".max": b"p max 2 1\nn 1 s\nn 2 t\na 1 2 3\n",
    ".json": b'{"edges": []}',
    ".npz": b"PK\x03\x04",
    ".npy": _npy_header("(100000, 199999)"),
}


def _start_of(ending: str) -> Callable[[], bytes]:
    return lambda: STARTS[ending]


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
    "100,000 members.csv.gz": lambda: gzip.compress(b"a,b\n", mtime=0) * 100_000,
    "100,000 empty members.csv.gz": lambda: gzip.compress(b"", mtime=0) * 100_000,
    "a million columns.csv": lambda: b"," + b",".join(b"%d" % n for n in range(10**6)) + b"\n",
    "a million rows.csv": lambda: b",a,b\n" + b"".join(b"%d,1,\n" % n for n in range(10**6)),
    "a claim of 10^15 bytes.npy": lambda: _npy_header("(31622777, 31622777)"),
    "a claim of 10^12 columns.npy": lambda: _npy_header("(0, 1000000000000)"),
    **{f"20 GB of zeros{ending}": lambda: b"" for ending in (".csv", ".mtx", ".max", ".json")},
    **{f"20 GB behind a start{ending}": _start_of(ending) for ending in STARTS},
}
"""Inputs that are large by themselves, or claim to be."""


def large_graph(name: str) -> Case:
    """Return one of these inputs."""
    calm = {"flow": False, "header": None, "source": None, "sink": None}
    length = 20 * 10**9 if name.startswith("20 GB") else 0
    return Case({name: LARGE_GRAPHS[name]()}, calm, length)


# ------------------------------------------------------------------ answers and labels


def make_answer(rng: Rng) -> Case:
    """Return a good graph and a damaged answer to it."""
    return Case({"answer": damaged(rng, one_of(rng, ANSWERS))}, int(rng.integers(3)))


def attempt_answer(case: Case, folder: Path) -> str:
    """Read and certify an answer to a graph with text labels, without labels, or to a network."""
    from augury.classical.certificate import certify_amounts, certify_pairs
    from augury.classical.formats import read_answer
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork
    from augury.errors import InputError

    graph = [
        BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("eve", "sing")]),
        BipartiteGraph(3, 2, np.array([0, 1, 2]), np.array([0, 1, 1])),
        FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t"),
    ][case.details]
    try:
        answer = read_answer(folder / "answer", graph)
    except InputError as error:
        return refused(error, "answer")
    if isinstance(graph, FlowNetwork):
        certificate = certify_amounts(graph, answer)
    else:
        certificate = certify_pairs(graph, answer)
    certificate.to_dict()
    return "read"


# ------------------------------------------------------------------ checkpoints


def _shipped(name: str) -> bytes:
    import augury

    return (Path(augury.__file__).parent / "models" / f"{name}.safetensors").read_bytes()


def _opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a safetensors file, and the rest."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _closed(header: dict[str, Any], rest: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + rest


def _rewritten(rng: Rng, data: bytes) -> bytes:
    """Change the header of a safetensors file so that it still is one, without a digest."""
    header, rest = _opened(data)
    told = header["__metadata__"]
    config = json.loads(told["config"])
    for _ in range(int(rng.integers(1, 3))):
        part = one_of(rng, ["data", "network", "network", "network", "training"])
        name = one_of(rng, list(config[part]))
        odd = [0, -1, 1, 4, 8, 63, 64, 2**20, 2**40, 10**30, 0.5, "", "pna", "gatv2", None, [], {},
               "discrete", "paper", True, [1] * 9]  # fmt: skip
        config[part][name] = one_of(rng, odd)
    told["config"] = json.dumps(config)
    if rng.random() < 0.3:
        told["config"] = damaged(rng, told["config"].encode()).decode(errors="replace")
    if rng.random() < 0.2:
        told[one_of(rng, ["format", "format_version", "provenance", "version", "new"])] = one_of(
            rng, ["", "1", "2", "[]", "{}", "null", "[1, 2]", "augury-checkpoint", "x" * 9999]
        )
    if rng.random() < 0.3:
        entry = header[one_of(rng, [name for name in header if name != "__metadata__"])]
        entry[one_of(rng, ["dtype", "shape", "data_offsets"])] = one_of(
            rng, ["F16", "BF16", "I64", "BOOL", "F8_E4M3", "F4", "C64", [], [0], [2**40], [0, 4],
                  [1, 2, 3]]
        )  # fmt: skip
    told.pop("digest", None)  # a file without one is from an older version, and is read
    return _closed(header, rest)


def make_checkpoint(rng: Rng) -> Case:
    """Return a damaged checkpoint."""
    data = _shipped(one_of(rng, ["discrete", "discrete", "paper-mpnn"]))
    chance = rng.random()
    if chance < 0.45:
        data = _rewritten(rng, data)
        data = flip_bits(rng, data) if rng.random() < 0.1 else data
    elif chance < 0.65:
        (length,) = struct.unpack("<Q", data[:8])
        header = damaged(rng, data[8 : 8 + length])
        claimed = len(header) if rng.random() < 0.7 else int(one_of(rng, [0, 1, 2**31, 2**63]))
        data = struct.pack("<Q", claimed) + header + data[8 + length :]
    elif chance < 0.7:
        data = damaged(rng, one_of(rng, EDGES + OBJECTS))
    else:
        data = one_of(rng, [flip_bits, flip_bits, truncate, insert_noise, splice])(rng, data)
    return Case({"net.safetensors": data})


def attempt_checkpoint(case: Case, folder: Path) -> str:
    """Load a checkpoint."""
    from augury.errors import InputError
    from augury.models.checkpoint import load

    try:
        load(folder / "net.safetensors")
    except InputError as error:
        return refused(error, "net.safetensors")
    return "read"


def wide_checkpoint(name: str) -> Case:
    """Return a checkpoint that claims to be enormous."""
    header, rest = _opened(_shipped("discrete"))
    config = json.loads(header["__metadata__"]["config"])
    config["network"]["hidden"] = WIDE[name]
    header["__metadata__"]["config"] = json.dumps(config)
    del header["__metadata__"]["digest"]
    return Case({"net.safetensors": _closed(header, rest)})


def many_tensors(name: str) -> Case:
    """Return a safetensors file of very many tensors."""
    entry = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    text = "{" + ",".join(f'"t{n}":{entry}' for n in range(500_000)) + "}"
    return Case({"net.safetensors": struct.pack("<Q", len(text)) + text.encode()})


def special_checkpoint(name: str) -> Case:
    """Return a checkpoint that claims to be enormous, or is."""
    return wide_checkpoint(name) if name in WIDE else many_tensors(name)


SPECIAL_CHECKPOINTS = ("2^14 wide", "2^17 wide", "2^40 wide", "500,000 tensors")
WIDE = {"2^14 wide": 2**14, "2^17 wide": 2**17, "2^40 wide": 2**40}


# ------------------------------------------------------------------ configurations


def make_config(rng: Rng) -> Case:
    """Return a damaged file of settings."""
    return Case({"some.toml": damaged(rng, one_of(rng, CONFIGS))})


def attempt_config(case: Case, folder: Path) -> str:
    """Apply a file of settings."""
    from augury.config import preset, with_file
    from augury.errors import ConfigError

    try:
        with_file(preset("paper-mpnn"), folder / "some.toml")
    except ConfigError as error:
        if "some.toml" not in str(error) or len(str(error)) > 2000:
            raise Fault(f"not one sentence about the file: {str(error)[:200]!r}") from None
        return "refused"
    return "read"


def deep_config(name: str) -> Case:
    """Return a file of settings that is nested very deeply."""
    return Case({"some.toml": b"x = " + DEEP_CONFIGS[name] * 100_000})


DEEP_CONFIGS = {"100,000 lists": b"[", "100,000 tables": b"{a=", "100,000 names": b"1\na."}


# ------------------------------------------------------------------ records of evaluations

DECISIONS = ("search", "reach", "bottleneck", "empty_path", "augmentation")
PART: dict[str, Any] = {
    "network": "m", "seed": 0, "epoch": 3, "name": "m", "weights": "w",
    "cell": {"scale": 1, "p": "1/4", "termination": "bfs",
             "neural_bottleneck": True, "neural_augmentation": True},
    "extent": {"graphs": 2, "runs": 2, "seed": 0},
    "value": [[7, 8], [8, 8]], "maximum": [8, 8], "rounds": [[9, 9], [9, 9]],
    "ending": ["done"] * 4,
    "asked": dict.fromkeys(DECISIONS, 3), "wrong": dict.fromkeys(DECISIONS, 1),
}  # fmt: skip


def make_records(rng: Rng) -> Case:
    """Return a damaged file of records."""
    head = {"kind": "augury-parts", "format": 1, "version": "0", "commit": ""}
    rows = [json.dumps(row) for row in (head, PART, PART | {"seed": 1})]
    return Case({"some.jsonl": damaged(rng, ("\n".join(rows) + "\n").encode())})


def attempt_records(case: Case, folder: Path) -> str:
    """Read and summarise records."""
    from augury.errors import InputError
    from augury.experiments.records import read_records
    from augury.experiments.summary import summarise, table_rows

    try:
        table_rows(summarise(read_records(folder / "some.jsonl").parts))
    except InputError as error:
        return refused(error, "some.jsonl")
    return "read"
