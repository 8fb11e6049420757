import gzip
import io
import sys
from types import SimpleNamespace

import pytest
from samples import AS_FOUND, MATRIX, counts_of, file_with, refusal

from augury.classical.formats import read_graph, write_graph
from augury.classical.graph import BipartiteGraph
from augury.errors import InputError
from augury.files import atomic_file

BAD = [
    # name, content, options, what the message must say
    ("empty.csv", "", AS_FOUND, "empty"),
    ("blank.csv", " \n\r\n", AS_FOUND, "empty"),
    ("comments.csv", "# nothing\n% here\n", AS_FOUND, "neither an edge nor a header"),
    ("noise.bin", bytes(range(254, 127, -1)) * 9, AS_FOUND, "line 1: this is not text in UTF-8"),
    ("latin.csv", b"a,b\nc,caf\xe9\n", AS_FOUND, "line 2: this is not text in UTF-8"),
    (
        "utf16.csv",
        "a,b\n".encode("utf-16"),
        AS_FOUND,
        "this is text in UTF-16, which is not read: save it as UTF-8",
    ),
    ("nul.csv", b"a,b\nc,\0d\n", AS_FOUND, "line 2: this is not text: it holds a zero byte"),
    (
        "cut.csv.gz",
        gzip.compress(b"a,b\n" * 99)[:-9],
        AS_FOUND,
        "gzip data is damaged or cut short",
    ),
    ("bad.csv.gz", gzip.compress(b"a,b\n")[:12] + b"xxxx", AS_FOUND, "gzip data is damaged"),
    ("head.gz", b"\x1f\x8b", AS_FOUND, "gzip data is damaged or cut short"),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("crlf.csv", "a,b\r\nc,d\r\n", AS_FOUND, (2, 2, 2)),
    ("bom.csv", b"\xef\xbb\xbfleft,right\na,b\n", AS_FOUND, (1, 1, 1)),
    ("end.csv", "a,b\nc,d", AS_FOUND, (2, 2, 2)),
    ("case.csv.gz", gzip.compress(b"a,b\n"), AS_FOUND, (1, 1, 1)),
    ("packed", gzip.compress(MATRIX.encode() + b"2 3 1\n1 1 1\n"), AS_FOUND, (2, 3, 1)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


def test_a_missing_file_is_refused_with_its_name(tmp_path):
    assert "there is no such file" in refusal(tmp_path / "gone.csv")


def test_a_folder_is_refused_with_its_name(tmp_path):
    assert "this is a folder" in refusal(tmp_path)


def test_a_locked_file_is_refused_with_its_name(tmp_path, monkeypatch):
    def locked(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", locked)  # root may open everything
    assert "permission denied" in refusal(tmp_path / "locked.csv")


def test_standard_input_is_read(monkeypatch):
    for content in (b"a,b\n", gzip.compress(b"a,b\n")):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        graph = read_graph("-")
        assert isinstance(graph, BipartiteGraph) and graph.num_edges == 1
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b,c\n")))
    with pytest.raises(InputError, match="standard input, line 1: there are 3 columns"):
        read_graph("-")


EDGE = BipartiteGraph.from_edges([("ann", "cook")])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "graph.csv"
    write_graph(EDGE, path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        write_graph(BipartiteGraph.from_edges([("a\nb", 2)]), path)
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
