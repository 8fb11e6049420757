import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.classical.formats import ReadOptions, blocks, cells, edge_list, parse_graph, text
from augury.errors import InputError

LABELS = ["a", "ann b", "7", "-3", "10", "007", "-0", "é", "日本語", "u" * 9, "v" * 33, "w" * 34]
ODD = ["", " a", "a ", "\u00a0a", "#1", '"q"', '"a,b"', 'a"b', "a\x0bb", "9" * 19, "\ufeffa"]
AMOUNTS = ["0", "12", "007", "2.5", "-1", ".5", "5.", "1e3", "-0.0", "123456789012345.5", "9" * 19]
ODD_AMOUNTS = ["", "x", "1_0", "+3", "inf", "nan", "1e999", "٣", "1.2.3", "--1", ".", "-", " 4"]
HEADERS = ["", "left,right", "name,skill", "tail,head,capacity", "left,right,cost", "foo,bar,note"]
BETWEEN = ["", "# comment", "  ", "%", " # late"]


@st.composite
def tables(draw: Any) -> bytes:
    """An edge list, most of it plain."""
    header = draw(st.sampled_from(HEADERS))
    width = len(header.split(",")) if header else draw(st.integers(2, 3))
    label = st.sampled_from(LABELS + ODD * draw(st.booleans()))
    amount = st.sampled_from(AMOUNTS[:4] + (AMOUNTS[4:] + ODD_AMOUNTS) * draw(st.booleans()))
    rows = st.tuples(label, label, *[amount] * (width - 2)).map(",".join)
    lines = draw(st.lists(st.one_of(rows, rows, rows, st.sampled_from(["a,b", *BETWEEN]))))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    joined = end.join([header] * bool(header) + lines) + end * draw(st.booleans())
    return joined.replace(",", draw(st.sampled_from([",", ",", "\t", ";", " "]))).encode()


OPTIONS = st.builds(
    ReadOptions,
    flow=st.booleans(),
    header=st.sampled_from([None, None, True, False]),
    costs=st.sampled_from([None, True]),
    source=st.just("a"),
    sink=st.just("7"),
)


def read(content: bytes, options: ReadOptions, block: int, is_plain: bool) -> Any:
    """Return the graph, or what is wrong with the file, read in blocks; all at once if 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        if block:
            patch.setattr(edge_list, "SHORT", -1)
        if not is_plain:
            patch.setattr(blocks, "plain", lambda *_: None)
        try:
            return parse_graph(io.BytesIO(content), "file.csv", options)
        except InputError as error:
            return str(error)


@settings(max_examples=300, deadline=None)
@given(tables(), OPTIONS, st.sampled_from([1, 9, 30, 2**20]))
def test_a_file_reads_the_same_in_plain_blocks_and_row_by_row(content, options, block):
    graph = read(content, options, 0, True)
    assert graph == read(content, options, block, True) == read(content, options, 2**20, False)


@pytest.mark.parametrize(
    ("content", "num_nodes"),
    [
        *((b"from,to\ns,a\na,t\n", 3), (b"name,name\ns,t\n", 2), (b"foo,bar\n1,2\n2,3\n", 3)),
        *((b"foo,bar\ns,2\n2,t\n", 5), (b"s,to\nto,t\n", 3), (b"s,t\n", 2)),
    ],
)
def test_a_long_list_of_arcs_has_the_header_that_a_short_one_has(content, num_nodes):
    ends = (b"1", b"3") if content.endswith(b"3\n") else (b"s", b"t")
    options = ReadOptions(flow=True, source=ends[0].decode(), sink=ends[1].decode())
    short, long = (read(content, options, block, True) for block in (0, 9))
    assert short == long and short.num_nodes == num_nodes


@pytest.mark.parametrize(
    "block",
    [b"a,b\nc,d", b"a,b\r\nc,d\r\n", "ä,日本\na b,c\n".encode(), b"a,%\n"],
)
def test_these_blocks_are_plain(block):
    found = cells.plain(block, ",", 2, [0, 1])
    assert found is not None and len(found.start) == block.count(b",")


@pytest.mark.parametrize(
    "block",
    [
        *(b'"a",b\n', b"a,b\n\nc,d\n", b"#a,b\n", b" %a,b\n", b"a ,b\n", b"a, b\n", b"a,b \n"),
        *(b"a,b,c\n", b"a\nb,c,d\n", b"a,\n", b",b\n", b"a,\0\n", b"a,\xff\n", b"a\rb,c\n"),
        *("\u3000a,b\n".encode(), b"a," + b"b" * 2**17 + b"b\n"),
    ],
)
def test_these_blocks_are_not_plain(block):
    assert cells.plain(block, ",", 2, [0, 1]) is None


def test_a_column_that_does_not_count_may_be_empty():
    assert cells.plain(b"a,,b\n", ",", 3, [0, 2]) is not None
    assert cells.plain(b"a,,b\n", ",", 3, [0, 1]) is None
    assert cells.plain(b"a  b\n", " ", 3, [0, 2]) is None


@given(st.lists(st.from_regex(r"-?[0-9]{0,8}(\.[0-9]{0,8})?", fullmatch=True), min_size=1))
def test_numbers_are_those_that_python_reads(column):
    found = cells.Cells.of([(x,) for x in column], 1).values(0)
    if any(not x.strip("-.") for x in column) or max(map(len, column)) > cells.MOST_DIGITS:
        assert found is None
    elif any("." in x for x in column):
        exact = all(len(x.strip("-").replace(".", "")) <= cells.EXACT_DIGITS for x in column)
        assert (found is not None and found.tolist() == list(map(float, column))) or not exact
    else:
        assert found is not None and found.dtype == np.int64
        assert found.tolist() == list(map(int, column))


@pytest.mark.parametrize("bits", [cells._BITS, 0])  # 0: all have one key
@given(st.lists(st.text("ab\u00e9", min_size=1, max_size=40), max_size=40))
def test_labels_are_numbered_as_they_first_appear(bits, labels):
    long: dict[bytes, int] = {}
    rows = [(label, "") for label in labels]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_BITS", np.uint64(bits))
        words, numbers = cells.numbered(cells.Cells.of(rows, 2).words((0, 1), long)[:, 0])
    assert cells.texts(words, long) == list(dict.fromkeys(labels))
    assert [cells.texts(words, long)[k] for k in numbers] == labels


@given(st.lists(st.from_regex(text.INTEGER, fullmatch=True) | st.sampled_from(LABELS), min_size=1))
def test_integers_are_told_from_other_labels(labels):
    found = cells.integers(cells.Cells.of([(x, "") for x in labels], 2).words((0, 1), {})[:, 0])
    is_integer = all(map(text.INTEGER.fullmatch, labels))
    if found is None:
        assert not is_integer or max(map(len, labels)) > cells.MOST_DIGITS
    else:
        assert is_integer and found.tolist() == list(map(int, labels))


def test_plain_rows_are_not_read_one_by_one(monkeypatch):
    content = b"left,right,cost\n" + b"".join(b"u%d,v%d,%d\n" % (i, i % 7, i) for i in range(999))
    monkeypatch.setattr(edge_list, "SHORT", 1000)
    monkeypatch.setattr(edge_list, "_amount", None)
    monkeypatch.setattr(text, "BLOCK", 1000)
    graph: Any = parse_graph(io.BytesIO(content), "file.csv")
    assert graph.num_edges == 999
