"""Valid files and a random generator become damaged files: what `fuzz.py` throws at the readers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Rng = np.random.Generator

EDGES = [
    b"left,right\nann,cook\nann,drive\nbob,cook\neve,sing\n",
    b"0 0\n0 1\n1 1\n2 0\n# a comment\n2 2\n",
    b"tail\thead\tcapacity\ns\ta\t3\ns\tb\t2\na\tt\t2\nb\tt\t9223372036854775806\n",
    b'worker;job\n"ann; the first";"say ""hi"""\nbob;cook\n',
    "links,rechts\nJürgen,Köchin\n李,歌\n".encode(),
    b"worker,job,cost\nann,cook,3\nbob,cook,1\n",
    b"ann,cook,3\nbob,cook,1.5\n",
]
TABLES = [
    b",cook,drive,sing\nann,1,,1\nbob,0,1,0\n",
    b'"","a","b"\n"x",1,0\n"y",1,1\n',
    b"species\tbee\twasp\nrose\t1\t0\nmint\t1\t1\n",
    b"worker;cook;sing\nann;1;0\nbob;1;1\n",
    b",a,b\nx,3,0\ny,1,2.5\n",
    b",s,a,t\ns,0,3,2\na,0,0,4\nt,,,\n",
    b",2001,2002\n7,1,0\n9,0,1\n",
]
FOREIGN = [
    b'<?xml version="1.0"?>\n<graphml>\n<graph edgedefault="undirected">\n<node id="a"/></graph>',
    b'<gexf version="1.2"><graph><nodes/></graph></gexf>',
    b'Creator "me"\ngraph [\n  node [ id 0 ]\n  edge [ source 0 target 0 ]\n]\n',
    b"strict digraph G {\n  a -> b;\n}\n",
    b'*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2\n',
    b">>graph6<<A_\n",
    b"\x80\x04\x95\x0b\0\0\0\0\0\0\0]\x94(K\x01K\x02e.",
    b"ccopy_reg\n_reconstructor\np0\n(cnetworkx.classes.graph\nGraph\np1\n",
    b"PAR1\x15\x04\x15\x10\x15\x14L\x15\x02\0\0PAR1",
    b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    b"BZh91AY&SY\xd3\x01",
    b"SQLite format 3\0\x10\0\x01\x01",
    b"\x02\0\0\0\0\0\0\0{}",
    b"PK\x03\x04\x14\0\0\0\x08\0xl/workbook.xml",
]
CONFIGS = [
    b"[network]\nhidden = 64\n[training]\nlearning_rate = 1e-3\nexecution_scales = [1, 2]\n",
    b'[data]\np = 0.5\nseed = 3\n[network]\nprocessor = "pna"\n',
    b"network.hidden = 8\nnetwork.heads = 2\n",
]
MATRICES = [
    b"%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 4 4\n1 1\n2 1\n3 4\n2 2\n",
    b"%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 5\n2 3 4\n1 3 1\n",
    b"%%MatrixMarket matrix array real general\n2 2\n1.0\n0\n0\n2.0\n",
    b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 3 -1\n",
    b"%%MatrixMarket matrix array integer symmetric\n3 3\n0\n1\n1\n0\n0\n1\n",
    b"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n4\n0\n4\n",
]
DIMACS = [
    b"c a comment\np max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 4 2\na 3 4 3\na 2 3 1\n",
    b"p max 2 1\nn 1 s\nn 2 t\na 1 2 9223372036854775807\n",
    b"p asn 4 3\nn 1\nn 2\na 1 3 12\na 1 4 5\na 2 3 -7\n",
    b"p min 2 1\nn 1 4\nn 2 -4\na 1 2 0 4 9\n",
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
    b'{"left": ["ann", "bob"], "edges": [["ann", "cook", 3], ["bob", "cook", 1.5]]}',
    b'{"nodes": [{"id": 1, "bipartite": 0}, {"id": 2, "bipartite": 1}, {"id": 3, "bipartite": 1}],'
    b' "links": [{"source": 1, "target": 2, "weight": 3}, {"source": 1, "target": 3, "cost": 1}]}',
]
ANSWERS = [
    b'{"size": 2, "is_maximum": true, "matching": [["ann", "cook"], ["eve", "sing"]]}',
    b"left,right\nann,cook\neve,sing\n",
    b'{"flow": [["s", "a", 2], ["a", "t", 2]]}',
    b"tail,head,flow\ns,a,2\na,t,2\n",
    b"0 0\n1 1\n",
]
ENDINGS = [".csv", ".tsv", ".mtx", ".max", ".dimacs", ".npz", ".npy", ".json", ".txt", "", ".GZ"]

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
    b'"nodes"', b'"source"', b"\x1b[31m", b"\x1b]0;x\x07", "\u202e".encode(), b"\x93NUMPY", b"cost",
    b"p asn 3 3", b"p min 3 3", b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b"-Infinity", b"true",
]  # fmt: skip
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp1252", "utf-7"]


# ------------------------------------------------------------------ damage


def one_of(rng: Rng, pool: Sequence[Any]) -> Any:
    """Choose one."""
    return pool[int(rng.integers(len(pool)))]


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
    """Continue with another file."""
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
    """Replace a number by an extreme one."""
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
    """Encode the text as something other than UTF-8."""
    encoding = ENCODINGS[int(rng.integers(len(ENCODINGS)))]
    return data.decode(errors="replace").encode(encoding, errors="replace")


def nest(rng: Rng, data: bytes) -> bytes:
    """Wrap a part in brackets, a few or very many."""
    depth = int(rng.choice([1, 2, 50, 990, 3000, 100_000], p=[0.4, 0.3, 0.1, 0.1, 0.08, 0.02]))
    start, end = sorted((_place(rng, data), _place(rng, data)))
    opening, closing = [(b"[", b"]"), (b'{"a":', b"}"), (b"(", b")")][int(rng.integers(3))]
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def pack(rng: Rng, data: bytes) -> bytes:
    """Compress with gzip, sometimes twice, sometimes damaged or with trailing bytes."""
    packed = gzip.compress(data, int(rng.integers(0, 3)), mtime=0)
    chance = rng.random()
    if chance < 0.2:
        return flip_bits(rng, packed)
    if chance < 0.4:
        return truncate(rng, packed)
    if chance < 0.5:
        return packed + rng.bytes(5)
    if chance < 0.55:
        return packed + gzip.compress(b"", mtime=0) * int(rng.integers(1, 3000))
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
    """Damage data a few times, rarely not at all; compress some of it."""
    for _ in range(min(int(rng.choice([0, 1, 1, 1, 2, 3, 4])), most)):
        data = DAMAGE[int(rng.integers(len(DAMAGE)))](rng, data)
    return pack(rng, data) if rng.random() < 0.1 else data
