from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    FLOW,
    bipartite_graphs,
    counts_of,
    file_with,
    fuzz,
    networks,
    priced_graphs,
    read_text,
    refusal,
    there_and_back,
)

from augury.classical.cost_network import CostNetwork
from augury.classical.formats import ReadOptions, read_graph, write_graph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

PATTERN = ReadOptions(ignore_costs=True)
REFUSED = ReadOptions(costs=False)
PRICED = ReadOptions(costs=True)
BOTH = ReadOptions(flow=True, costs=True)
HOURS = "person,job,hours\n"
ARCS = "tail,head,capacity,cost\n"

BAD = [
    # name, content, options, what the message must say
    ("one.csv", "ann\nbob\n", AS_FOUND, "line 1: an edge needs two columns"),
    ("three.csv", "a,b,3\n", AS_FOUND, "line 1: there are 3 columns without a header, and"),
    ("words.csv", "ann,cook,monday\nbob,bake,friday\n", AS_FOUND, "line 1: there are 3 columns"),
    ("ragged.csv", "a,b\nc,d\n\ne\n", AS_FOUND, "line 4: 1 columns where the first row has 2"),
    ("wide.csv", "a,b\nc,d,e\n", AS_FOUND, "line 2: 3 columns where the first row has 2"),
    ("hole.csv", "a,b\nc,\n", AS_FOUND, "line 2: a label is empty"),
    ("hole.tsv", "a\tb\n\tc\n", AS_FOUND, "line 2: a label is empty"),
    ("quote.csv", 'a,b\n"c,d\ne,f\n', AS_FOUND, "line 2: a quoted field is not closed"),
    ("last.csv", 'a,b\n"c,d', AS_FOUND, "line 2: a quoted field is not closed"),
    ("shared.csv", "a,b\nb,c\n", AS_FOUND, "'b' is on both sides: a header line left,right"),
    ("triangle.csv", "a,b\nb,c\nc,a\n", AS_FOUND, "odd cycle"),
    ("loop.csv", "a,a\n", AS_FOUND, "odd cycle"),
    (
        "minus.csv",
        "tail,head,capacity\ns,a,1\na,t,-2\n",
        AS_FOUND,
        "line 3: the capacity is -2, which",
    ),
    ("half.csv", "tail,head,cap\ns,t,2.5\n", AS_FOUND, "line 2: the capacity is 2.5, not a whole"),
    (
        "fine.csv",
        "tail,head,cap\ns,t,9007199254740992.5\n",
        AS_FOUND,
        "line 2: the capacity is 900",
    ),
    (
        "huge.csv",
        "tail,head,cap\ns,t,9223372036854775808\n",
        AS_FOUND,
        "line 2: the capacity is 92",
    ),
    ("long.csv", "tail,head,cap\ns,t," + "9" * 9999, AS_FOUND, "line 2: the capacity is"),
    ("nan.csv", "s,t,nan\n", FLOW, "line 1: the capacity is nan, not a whole number"),
    ("word.csv", "s,t,x\n", FLOW, "line 1: the capacity is 'x', not a whole number"),
    ("under.csv", "s,t,1_0\n", FLOW, "line 1: the capacity is '1_0', not a whole number"),
    ("tiny.csv", "s,t,0.1e-400\n", FLOW, "line 1: the capacity is 0.1e-400, not a whole number"),
    (
        "exponent.csv",
        f"s,t,1e-{'9' * 30}\n",
        FLOW,
        "line 1: the capacity is 1e-999999999...9999999999999, not a whole number",
    ),
    ("four.csv", "s,t,1,2\n", FLOW, "there are 4 columns without a header: --cost"),
    ("sum.csv", f"s,t,{2**62}\ns,t,{2**62}\n", FLOW, "parallel arcs add up"),
    ("ends.csv", "a,b,1\n", FLOW, "name them with --source, --sink"),
    ("sink.csv", "s,b,1\n", FLOW, "name them with --source, --sink"),
    ("far.csv", "a,b,1\n", ReadOptions(True, None, "x", "b"), "the source 'x' is not a node"),
    ("same.csv", "a,b,1\n", ReadOptions(True, None, "a", "a"), "source and sink are the same"),
    ("cost.csv", "worker,job,cost\nann,cook,3\n", REFUSED, "line 1: the column 'cost' would be"),
    ("case.csv", "Worker,Job,Unit Price\nann,cook,3\n", REFUSED, "the column 'Unit Price'"),
    ("under.csv", "u,v,total_cost\nann,cook,3\n", REFUSED, "the column 'total_cost'"),
    ("unknown.csv", "wer,was,weight\nann,cook,3\n", REFUSED, "the column 'weight'"),
    ("front.csv", "weight,from,to\n3,a,b\n", REFUSED, "the column 'weight'"),
    ("min.csv", "tail,head,capacity,cost\ns,t,3,1\n", REFUSED, "the column 'cost'"),
    (
        "ways.csv",
        "a,b,3\n",
        AS_FOUND,
        "costs, --capacity (flow=True) as capacities, --ignore-costs",
    ),
    ("quads.csv", "a,b,3,1\n", PRICED, "there are 4 columns without a header; left, right and cos"),
    ("five.csv", "s,t,3,1,2\n", BOTH, "header; tail, head, capacity and cost are four"),
    ("pairs.csv", "a,b\n", PRICED, "line 1: there is no column of costs"),
    ("nan.csv", HOURS + "ann,cook,nan\n", AS_FOUND, "line 2: the cost in the column 'hours' is 'n"),
    ("word.csv", HOURS + "ann,cook,2h\n", AS_FOUND, "line 2: the cost in the column 'hours' is '2"),
    ("large.csv", HOURS + "ann,cook,1e999\n", AS_FOUND, "is '1e999', not a number"),
    ("under.csv", HOURS + "ann,cook,1_0\n", AS_FOUND, "is '1_0', not a number"),
    ("blank.csv", HOURS + "ann,cook,\n", AS_FOUND, "line 2: the cost in the column 'hours' is ''"),
    ("good.csv", HOURS + "ann,cook,-inf\n", AS_FOUND, "line 2: the cost is -inf, which is infinit"),
    ("wide.csv", HOURS + f"ann,cook,{2**60}\n", AS_FOUND, f"a cost of {2**60} is too large"),
    ("twice.csv", HOURS + "a,b,3\na,b,3\na,b,4\n", AS_FOUND, "line 4: this edge has two costs, 3"),
    ("both.csv", "u,v,cost,price\na,b,1,2\n", AS_FOUND, "columns 'cost' and 'price' may both be"),
    ("open.csv", "u,v,profit\na,b,1\n", AS_FOUND, "line 1: the column 'profit' leaves open wh"),
    ("nocap.csv", "u,v,cost\ns,t,1\n", BOTH, "line 1: an arc of a flow of least cost needs a cap"),
    ("inf.csv", ARCS + "s,t,1,inf\n", AS_FOUND, "line 2: the cost is infinite: leave the arc out"),
    ("sum.csv", ARCS + "s,t,1,2\n", ReadOptions(supply={"s": 1}), "the supplies add up to 1, not"),
    ("who.csv", ARCS + "s,t,1,2\n", ReadOptions(supply={"x": 0}), "'x' has a supply, but is not a"),
    (
        "ends.csv",
        ARCS + "s,t,1,2\n",
        ReadOptions(supply={}, sink="t"),
        "nothing is asked of a sink",
    ),
    ("low.csv", "u,v,lower,cap\ns,t,1,2\n", AS_FOUND, "lower bounds need supplies"),
    ("over.csv", "u,v,lower,cap\ns,t,3,2\n", ReadOptions(supply={}), "from 's' to 't' is 3, above"),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("gaps.csv", "\n# one\na,b\n\n% two\nc,d\n", AS_FOUND, (2, 2, 2)),
    ("double.csv", "a,b\na,b\n", AS_FOUND, (1, 1, 1)),
    ("header.csv", "left,right\n", AS_FOUND, (0, 0, 0)),
    ("quotes.csv", '"a, b",c\n"d ""e""",c\n', AS_FOUND, (2, 1, 2)),
    ("spaces.txt", "a   b\n  c d  \n", AS_FOUND, (2, 2, 2)),
    ("semicolon.csv", "a;b\nc;d\n", AS_FOUND, (2, 2, 2)),
    ("tabs.txt", "a\tb\nc\td\n", AS_FOUND, (2, 2, 2)),
    ("commas.tsv", "Smith, Ann\tcook\n", AS_FOUND, (1, 1, 1)),
    ("same.csv", "1,1\n1,2\n2,1\n", AS_FOUND, (2, 2, 3)),
    ("declared.csv", "left,right\na,b\nb,a\n", AS_FOUND, (2, 2, 2)),
    ("extra.csv", "worker,job,day\nann,cook,mon\n", AS_FOUND, (1, 1, 1)),
    ("foreign.csv", "Wer,Was\n1,2\n", AS_FOUND, (1, 1, 1)),
    ("foreign3.csv", "Wer,Was,Wann\n1,2,x\n", AS_FOUND, (1, 1, 1)),
    ("told.csv", "Wer,Was\na,b\n", ReadOptions(header=True), (1, 1, 1)),
    ("not.csv", "worker,job\na,b\n", ReadOptions(header=False), (2, 2, 2)),
    ("letters.csv", "u,x1\nw,x2\n", AS_FOUND, (2, 2, 2)),
    ("letters2.csv", "u,v\na,b\n", AS_FOUND, (1, 1, 1)),
    ("numbers.csv", "a,b\na,7\n", AS_FOUND, (1, 2, 2)),
    ("again.csv", "user,a\nuser,b\n", AS_FOUND, (1, 2, 2)),
    ("c.txt", "c d\np q\n", AS_FOUND, (2, 2, 2)),
    ("loops.csv", "s,s,3\ns,t,1\ns,t,4\n", FLOW, (2, 1)),
    ("unit.csv", "s,a\na,t\n", FLOW, (3, 2)),
    ("plain.csv", "source,a\na,sink\nsource,sink\n", FLOW, (3, 3)),
    ("column.csv", "capacity,from,to\n3,s,t\n", AS_FOUND, (2, 1)),
    ("whole.csv", "s,t,1e3\n", FLOW, (2, 1)),
    ("cost.csv", "worker,job,cost\nann,cook,3\nbob,cook,1\n", PATTERN, (2, 1, 2)),
    ("front.csv", "weight,from,to\n3,a,b\n4,a,c\n", PATTERN, (1, 2, 2)),
    ("triples.csv", "a,b,3\nc,b,1\n", PATTERN, (2, 1, 2)),
    ("words.csv", "ann,cook,monday\nbob,bake,friday\n", PATTERN, (2, 2, 2)),
    ("min.csv", "tail,head,capacity,cost\ns,t,3,1\n", PATTERN, (2, 1)),
    ("quads.csv", "s,t,3,1\n", ReadOptions(flow=True, ignore_costs=True), (2, 1)),
    ("weight.csv", "from,to,weight\ns,t,3\n", FLOW, (2, 1)),
    ("between.csv", "from,weight,to\ns,3,t\n", FLOW, (2, 1)),
    ("price.csv", "price,a\nfee,b\n", AS_FOUND, (2, 2, 2)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


UNKNOWN = [
    ("zeal.csv", "worker,job,zeal\nann,cook,4\nbob,cook,2\n", AS_FOUND, "'zeal'"),
    ("first.csv", "zeal,worker,job,x\nlow,ann,cook,4\n", AS_FOUND, "'x'"),
    ("digits.csv", "foo,bar,baz\n1,2,2.5\n1,4,3\n", AS_FOUND, "'baz'"),
    ("flow.csv", "from,to,capacity,zeal\ns,t,3,1\n", AS_FOUND, "'zeal'"),
]


@pytest.mark.parametrize(("name", "content", "options", "word"), UNKNOWN)
def test_numbers_below_a_name_that_says_nothing_are_refused(tmp_path, name, content, options, word):
    path = file_with(tmp_path / name, content)
    with pytest.raises(InputError, match=rf"line 1: the column {word} .* --cost.* --ignore-costs"):
        read_graph(path, options)
    assert read_graph(path, PATTERN)
    costly = read_graph(file_with(path, content.replace(word.strip("'"), "cost")))
    assert getattr(costly, "costs", None) is not None
    for harmless in ("employee_id", "day"):
        assert read_graph(file_with(path, content.replace(word.strip("'"), harmless)))


def test_integer_labels_become_integers_in_ascending_order(tmp_path):
    graph = read_text(tmp_path, "30,7\n4,7\n9,8\n")
    assert graph.left_labels == (4, 9, 30) and graph.right_labels == (7, 8)
    assert list(graph.edges()) == [(4, 7), (9, 8), (30, 7)]


def test_one_label_that_is_no_canonical_integer_keeps_its_side_text(tmp_path):
    graph = read_text(tmp_path, "01,7\n4,8\n")
    assert graph.left_labels == ("01", "4") and graph.right_labels == (7, 8)


def test_a_dropped_header_leaves_the_edges_where_they_were(tmp_path):
    graph = read_text(tmp_path, "worker,job\nann,cook\nbob,sing\nann,sing\n")
    assert set(graph.edges()) == {("ann", "cook"), ("bob", "sing"), ("ann", "sing")}
    network = read_text(tmp_path, "from,to\na,s\ns,t\n", ReadOptions(flow=True))
    assert set(network.arcs()) == {("a", "s", 1), ("s", "t", 1)}


def test_parallel_arcs_add(tmp_path):
    network = read_text(tmp_path, "tail,head,cap\ns,t,2\ns,t,3\nt,s,1\n")
    assert list(network.arcs()) == [("s", "t", 5), ("t", "s", 1)]


def test_source_and_sink_can_be_named(tmp_path):
    network = read_text(tmp_path, "7,9,5\n9,8,4\n", ReadOptions(flow=True, source="7", sink="8"))
    assert network.labels == (7, 8, 9) and (network.source, network.sink) == (0, 1)
    text = '{"source": 7, "sink": 9, "arcs": [[7, 9, 5], [9, 8, 4]]}'
    network = read_text(tmp_path, text, ReadOptions(sink="8"), "file.json")
    assert network.label(network.source) == 7 and network.label(network.sink) == 8


plain_names = st.lists(
    st.from_regex('[a-zé#%,"; ]{0,4}[a-z]', fullmatch=True), unique=True, max_size=6
)


@given(ending=st.sampled_from([".csv", ".tsv", ".csv.gz"]), graph=bipartite_graphs(plain_names))
@fuzz
def test_edge_lists_hold_the_edges_and_their_labels(tmp_path, ending, graph):
    if any(x != x.strip() for x in (*(graph.left_labels or ()), *(graph.right_labels or ()))):
        return
    back = there_and_back(graph, tmp_path / ("graph" + ending))
    assert sorted(back.edges()) == sorted(graph.edges())
    assert back.num_left == len(set(graph.left.tolist()))


@given(
    ending=st.sampled_from([".csv", ".tsv"]), graph=bipartite_graphs(st.integers(0, 6).map(range))
)
@fuzz
def test_edge_lists_of_numbers_come_back_equal_without_isolated_nodes(tmp_path, ending, graph):
    if len(set(graph.left.tolist())) < graph.num_left:
        return
    if len(set(graph.right.tolist())) < graph.num_right:
        return
    assert there_and_back(graph, tmp_path / ("graph" + ending)) == graph


@given(graph=networks(st.lists(st.integers(0, 99), unique=True).map(sorted)))
@fuzz
def test_edge_lists_hold_the_arcs_of_networks(tmp_path, graph):
    touched = set(graph.sender.tolist())
    if not {graph.source, graph.sink} <= touched:
        return
    ends = [str(graph.label(node)) for node in (graph.source, graph.sink)]
    options = ReadOptions(source=ends[0], sink=ends[1])
    back = there_and_back(graph, tmp_path / "graph.csv", options)
    assert sorted(back.arcs()) == sorted(graph.arcs())
    assert back.num_nodes == len(touched) and back.num_arcs == graph.num_arcs


PRICED_LISTS = [
    # content, options, the edges or arcs with their costs
    (HOURS + "ann,cook,3\nbob,cook,2.5\n", AS_FOUND, [("ann", "cook", 3), ("bob", "cook", 2.5)]),
    ("weight,from,to\n3,a,b\n-4,a,c\n", AS_FOUND, [("a", "b", 3), ("a", "c", -4)]),
    ("a,b,3\na,c,1e3\n", PRICED, [("a", "b", 3), ("a", "c", 1000)]),
    ("x,y,z\na,b,3\n", PRICED, [("a", "b", 3)]),
    ("wer,was,wann,kostet\na,b,3,4\n", ReadOptions(header=True, costs=True), [("a", "b", 3)]),
    (HOURS + "a,b,3\na,b,3\na,c,inf\n", AS_FOUND, [("a", "b", 3)]),
    ("u,v,profit\na,b,3\na,c,-inf\n", ReadOptions(maximise=True), [("a", "b", 3)]),
    ("u,v,profit\na,b,3\n", ReadOptions(maximise=False), [("a", "b", 3)]),
    (ARCS + "s,t,3,1\ns,t,2,0\n", AS_FOUND, [("s", "t", 3, 1), ("s", "t", 2, 0)]),
    ("s,t,3,1.5\n", BOTH, [("s", "t", 3, 1.5)]),
    ("u,v,cost,what\ns,t,3,1\n", BOTH, [("s", "t", 1, 3)]),
    (ARCS + "s,t,3,1\n", ReadOptions(supply={"s": 2, "t": -2}), [("s", "t", 3, 1)]),
    ("u,v,cap\ns,t,3\n", ReadOptions(supply={"s": 2, "t": -2}), [("s", "t", 3, 0)]),
]


@pytest.mark.parametrize(("content", "options", "rows"), PRICED_LISTS)
def test_costs_are_read(tmp_path, content, options, rows):
    graph = read_text(tmp_path, content, options)
    if isinstance(graph, CostNetwork):
        assert list(graph.arcs()) == rows
        assert (graph.supply is None) == (options.supply is None)
    else:
        costs = map(graph.costs.worth, graph.costs.amount.tolist())
        assert [(*edge, cost) for edge, cost in zip(graph.edges(), costs, strict=True)] == rows
        assert graph.costs.maximise == bool(options.maximise)


def test_lower_bounds_and_supplies_are_read(tmp_path):
    content = "tail,head,lower,capacity,cost\na,b,1,3,2\n"
    network = read_text(tmp_path, content, ReadOptions(supply={"a": 2, "b": -2}))
    assert (network.lower.tolist(), network.supply.tolist()) == ([1], [2, -2])


@given(graph=priced_graphs(), maximise=st.booleans())
@fuzz
def test_an_edge_list_holds_costs(tmp_path, graph, maximise):
    costs = replace(graph.costs, maximise=maximise)
    written = replace(graph, left_labels=None, right_labels=None, costs=costs)
    path = tmp_path / "graph.csv"
    write_graph(written, path)
    header = "left,right,profit" if maximise else "left,right,cost"
    assert path.read_text().splitlines()[0] == header
    read: Any = read_graph(path, ReadOptions(maximise=maximise or None))
    assert list(read.edges()) == list(written.edges())
    both = [[own.worth(x) for x in own.amount.tolist()] for own in (read.costs, costs)]
    assert both[0] == both[1]


def test_an_edge_list_holds_no_supplies(tmp_path):
    network = read_text(tmp_path, ARCS + "s,t,3,1\n")
    assert there_and_back(network, tmp_path / "back.tsv") == network
    network = read_text(tmp_path, ARCS + "s,t,3,1\n", ReadOptions(supply={"s": 2, "t": -2}))
    with pytest.raises(InputError, match=r"cannot hold supplies: use .min, .json or .npz"):
        write_graph(network, tmp_path / "graph.csv")


@pytest.mark.parametrize("capacities", [(1, 5), (5, 1), (1, 1)])
def test_an_arc_and_its_reverse_are_both_written(tmp_path, capacities):
    there, back = capacities
    network = FlowNetwork.from_labelled_arcs([("s", "t", there), ("t", "s", back)], "s", "t")
    for name, options in (("arcs.csv", ReadOptions(source="s", sink="t")), ("arcs.max", AS_FOUND)):
        write_graph(network, tmp_path / name)
        found: Any = read_graph(tmp_path / name, options)
        assert found.capacity.tolist() == [there, back]
