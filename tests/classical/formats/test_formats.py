import gzip
import io
import os
import re
import subprocess
import sys
import threading
import zlib
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    ENDS,
    MATRIX,
    bipartite_graphs,
    counts_of,
    file_with,
    fuzz,
    networks,
    read_text,
    refusal,
    there_and_back,
)

from augury import files, solve
from augury.classical.formats import ReadOptions, read_graph, read_supplies, write_graph
from augury.classical.formats.text import LONGEST_LINE
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", MATRIX.encode(), b"{", b"["]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_bytes_cause_anything_but_an_input_error(tmp_path, noise, start):
    path = tmp_path / "noise"
    path.write_bytes(start + noise)
    for options in (AS_FOUND, ENDS):
        try:
            read_graph(path, options)
        except InputError as error:
            assert "noise" in str(error)


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_damaged_file_causes_anything_but_an_input_error(tmp_path, data):
    ending = data.draw(st.sampled_from([".mtx", ".max", ".csv", ".npz", ".json", ".csv.gz"]))
    path = tmp_path / ("damaged" + ending)
    write_graph(FlowNetwork.from_arcs(4, [0, 1, 2], [1, 2, 3], [5, 4, 3], source=0, sink=3), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + 1] = data.draw(st.binary(max_size=2))
    path.write_bytes(content)
    for options in (AS_FOUND, ReadOptions(flow=True, source="0", sink="3")):
        try:
            read_graph(path, options)
        except InputError as error:
            assert "damaged" in str(error)


def strings_survive(labels):
    return all("\0" not in x for x in labels if isinstance(x, str))


@given(
    ending=st.sampled_from([".json", ".json.gz", ".npz", ".npz.gz"]),
    graph=st.one_of(bipartite_graphs(), networks()),
)
@fuzz
def test_json_and_npz_hold_a_whole_graph(tmp_path, ending, graph):
    labels = [getattr(graph, x, None) or () for x in ("labels", "left_labels", "right_labels")]
    if ".npz" in ending and not all(map(strings_survive, labels)):
        return
    assert there_and_back(graph, tmp_path / ("graph" + ending)) == graph


EDGE = BipartiteGraph.from_edges([("ann", "cook")])


@pytest.mark.parametrize(
    ("graph", "name", "fragment"),
    [
        (EDGE, "graph.max", "holds no bipartite graph without costs: use .mtx"),
        (EDGE, "graph.xyz", "the ending must be one of .asn, .csv"),
        (EDGE, "graph", "the ending must be one of"),
        (EDGE, "no/graph.csv", "there is no such file or folder"),
        (BipartiteGraph.from_edges([(1, 2), ("1", 2)]), "graph.csv", "same text"),
        (BipartiteGraph.from_edges([("a\nb", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([(" a", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([("", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([("\ud800", 2)]), "graph.csv", "cannot be written in UTF-8"),
        (BipartiteGraph.from_edges([("a", 2), (1, 2)]), "graph.npz", "all text or all 64-bit"),
        (BipartiteGraph.from_edges([("a\0", 2)]), "graph.npz", "all text or all 64-bit"),
        (BipartiteGraph.from_edges([(("a", 1), 2)]), "graph.json", "is no label"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_leaves_no_file(tmp_path, graph, name, fragment):
    with pytest.raises(InputError) as caught:
        write_graph(graph, tmp_path / name)
    assert fragment in str(caught.value) and name in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_examples_of_the_page_on_formats_are_read(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    examples = dict(
        re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    )
    supply = read_supplies(file_with(tmp_path / "supply.csv", examples.pop("supply.csv")))
    arcs = read_text(tmp_path, examples.pop("arcs.csv"), ReadOptions(supply=supply))
    assert (arcs.supply.tolist(), arcs.lower.tolist()) == ([3, 0, -3], [0, 1, 0])
    found = {name: counts_of(read_text(tmp_path, x, name=name)) for name, x in examples.items()}
    assert found == {
        "people.csv": (2, 2, 3),
        "pipes.csv": (3, 2),
        "plants.csv": (2, 3, 4),
        "graph.mtx": (2, 3, 2),
        "network.max": (3, 2),
        "people.json": (3, 2, 2),
        "pipes.json": (3, 2),
        "hours.csv": (2, 2, 4),
        "hours.json": (1, 2, 2),
        "jobs.asn": (2, 2, 3),
        "trucks.json": (2, 1),
    }


def test_the_examples_with_costs_have_one_best_answer():
    examples = Path(__file__).parents[3] / "examples"
    hours: Any = read_graph(examples / "hours.csv")
    costs = dict(zip(hours.pairs(), hours.costs.amount.tolist(), strict=True))
    sums = sorted(
        sum(costs[who, job] for job, who in enumerate(people))
        for people in permutations(range(7), 5)
        if all((who, job) in costs for job, who in enumerate(people))
    )
    assert sums[0] < sums[1]
    assert solve(hours).cost == sums[0] == 15
    trucks: Any = read_graph(examples / "trucks.min")
    assert solve(trucks).cost == 68
    free = replace(trucks, lower=None)
    assert solve(free).cost == 67  # so the contract matters


DEVICE = "this is a device"


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused_unread(name):
    with pytest.raises(InputError, match=f"{name}: {DEVICE}"):
        read_graph(name)


def test_the_empty_device_is_an_empty_file():
    with pytest.raises(InputError, match="/dev/null: the file is empty"):
        read_graph(os.devnull)


def test_a_device_on_standard_input_is_refused(monkeypatch):
    with open("/dev/zero", "rb") as zeros:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=zeros))
        with pytest.raises(InputError, match=f"standard input: {DEVICE}"):
            read_graph("-")


def piped(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    return read_graph("-")


def test_a_pipe_of_zeros_is_refused_at_first_sight(monkeypatch):
    with pytest.raises(InputError, match=r"standard input: .* starts with a zero byte"):
        piped(monkeypatch, bytes(10))


def test_a_pipe_that_runs_on_is_refused(monkeypatch):
    monkeypatch.setattr(files, "MOST_PIPED", 2**20)
    assert counts_of(piped(monkeypatch, b"a,b\n" * 2**18)) == (1, 1, 1)
    with pytest.raises(InputError, match="GiB came through the pipe; write them to a file first"):
        piped(monkeypatch, b"a,b\n" * (2**18 + 1))


def test_a_named_pipe_is_read(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"a,b\n"))
    writer.start()
    assert counts_of(read_graph(path)) == (1, 1, 1)
    writer.join()


def test_a_gzip_file_of_many_members_is_read(tmp_path):
    members = b"".join(gzip.compress(b"a%d,b\n" % n, mtime=0) for n in range(900))
    assert counts_of(read_graph(file_with(tmp_path / "many.gz", members))) == (900, 1, 900)


def test_members_may_be_padded_with_zeros(tmp_path):
    packed = gzip.compress(b"a,b\n") + bytes(99_999) + gzip.compress(b"c,d\n") + bytes(9)
    assert counts_of(read_graph(file_with(tmp_path / "padded.gz", packed))) == (2, 2, 2)


@pytest.mark.parametrize("content", [b"", b"a,b\n"])
def test_a_gzip_file_of_all_but_empty_members_is_refused(tmp_path, content):
    path = file_with(tmp_path / "many.gz", gzip.compress(content, mtime=0) * 100_000)
    assert "members: this is no graph" in refusal(path)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 3_000_000])
def test_what_was_packed_comes_out(tmp_path, size):
    noise = np.random.default_rng(0).bytes(size)
    packed = gzip.compress(noise, 1, mtime=0) + gzip.compress(noise, 9, mtime=0)
    with files.open_input(file_with(tmp_path / "noise.gz", packed)) as file:
        assert file.read() == 2 * noise


@pytest.mark.parametrize("damage", ["cut", "sum", "behind", "middle"])
def test_damaged_gzip_data_is_refused(tmp_path, damage):
    packed = gzip.compress(b"a,b\n" * 999)
    data = {
        "cut": packed[:-1],
        "sum": packed[:-8] + bytes(4) + packed[-4:],
        "behind": packed + b"more",
        "middle": packed[:30] + b"\xff" * 9 + packed[39:],
    }[damage]
    with pytest.raises((EOFError, zlib.error, OSError)):
        gzip.decompress(data)
    assert "the gzip data is damaged" in refusal(file_with(tmp_path / "x.gz", data))


SPARSE = [
    # the start of a file of 20 GB, its name, what the message must say
    (b"", "zeros.csv", "a line is longer than"),
    (b"", "zeros.mtx", "a line is longer than"),
    (b"", "zeros.max", "a line is longer than"),
    (b"", "zeros.json", "zero byte"),
    (b"", "zeros.npz", "not an .npz file"),
    (b"", "zeros.npy", "does not start as a .npy file does"),
    (b"", "zeros", "a line is longer than"),
    (b"a,b\nc,d\n", "graph.csv", "a line is longer than"),
    (b"# ", "comment.csv", "a line is longer than"),
    (MATRIX.encode() + b"2 2 1\n1 1 1\n", "graph.mtx", "a line is longer than"),
    (MATRIX.encode() + b"% ", "comment.mtx", "a line is longer than"),
    (b"p max 2 1\nn 1 s\nn 2 t\na 1 2 3\n", "graph.max", "a line is longer than"),
    (b"c ", "comment.max", "a line is longer than"),
    (b'{"edges": []}', "graph.json", "zero byte"),
    (b"PK\x03\x04", "archive.npz", "not an .npz file"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\0", "packed.csv.gz", "the gzip data is damaged"),
]


@pytest.mark.parametrize(("start", "name", "fragment"), SPARSE, ids=[x[1] for x in SPARSE])
def test_a_sparse_file_of_twenty_gigabytes_is_refused_at_first_sight(
    tmp_path, start, name, fragment
):
    path = file_with(tmp_path / name, start)
    os.truncate(path, 20 * 10**9)
    assert fragment in refusal(path)


def test_a_dense_matrix_of_twenty_gigabytes_is_refused_unread(tmp_path):
    file = io.BytesIO()
    np.save(file, np.zeros((2, 2), bool))
    claimed = b"(100000, 200000), }"
    data = file.getvalue().replace(b"(2, 2), }".ljust(len(claimed)), claimed)
    path = file_with(tmp_path / "dense.npy", data)
    os.truncate(path, 21 * 10**9)
    assert "20,000,000,000 bytes" in refusal(path)


def test_a_long_line_is_read(tmp_path):
    line = b"," + b",".join(b"%d" % n for n in range(200_000))
    path = file_with(tmp_path / "wide.csv", line + b"\nx," + b"1," * 199_999 + b"1\n")
    assert len(line) < LONGEST_LINE
    assert counts_of(read_graph(path, AS_FOUND)) == (1, 200_000, 200_000)


ENDLESS = "import sys\nwhile True: sys.stdout.write('a,b\\n' * 999)"


def test_an_endless_pipe_ends_with_a_sentence():
    code = "from augury import files; files.MOST_PIPED = 2**22\n"
    code += "from augury.classical.formats import read_graph; read_graph('-')"
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=-1, stderr=-3) as source:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=source.stdout, capture_output=True, timeout=60
        )
        source.kill()
    assert b"came through the pipe" in done.stderr
