import pytest
from samples import AS_FOUND, counts_of, file_with, read_text, refusal

from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph

FLOW = ReadOptions(flow=True)
PATTERN = ReadOptions(ignore_costs=True)
PRICED = ReadOptions(costs=True)

BAD = [
    # name, content, options, what the message must say
    ("costs.csv", ",a,b\nx,3,5\n", AS_FOUND, "line 2: the entries of the matrix differ (3 and 5)"),
    ("ways.csv", ",a,b\nx,1,0\ny,0,2\n", AS_FOUND, "may be costs: --cost, in Python algorithm='as"),
    ("word-cost.csv", ",a,b\nx,1,x\n", PRICED, "line 2: column 3 holds 'x', which is not a number"),
    ("nan-cost.csv", ",a,b\nx,1,nan\n", PRICED, "line 2: column 3 holds 'nan', which is not a num"),
    ("good.csv", ",a,b\nx,1,-inf\n", PRICED, "line 2: the cost is -inf, which is infinitely good"),
    ("both.csv", ",a,b\nx,1,2\n", ReadOptions(flow=True, costs=True), "or costs, not both"),
    ("falling.csv", ",a,b\nx,5,3\n", AS_FOUND, "differ (5 and 3)"),
    ("halves.csv", ",a,b\nx,0.5,1\n", AS_FOUND, "differ (0.5 and 1)"),
    ("fine.csv", f",a,b\nx,{2**53},{2**53 + 1}\n", AS_FOUND, "differ"),
    (
        "word.csv",
        ",a,b\nx,1,yes\n",
        AS_FOUND,
        "line 2: column 3 holds 'yes', which is not a number",
    ),
    ("nan.csv", ",a,b\nx,nan,1\n", AS_FOUND, "column 2 holds 'nan'"),
    ("inf.csv", ",a,b\nx,inf,inf\n", AS_FOUND, "column 2 holds 'inf'"),
    ("ragged.csv", ",a,b\nx,1\n", AS_FOUND, "line 2: 2 columns where the first row has 3"),
    ("nameless.csv", ",a,\nx,1,1\n", AS_FOUND, "line 1: the label of one of the columns is empty"),
    ("nobody.csv", ",a,b\n,1,1\n", AS_FOUND, "line 2: the label of one of the rows is empty"),
    ("twins.csv", ",a,a\nx,1,1\n", AS_FOUND, "line 1: two columns have the label 'a'"),
    ("again.csv", ",a,b\nx,1,1\nx,1,1\n", AS_FOUND, "line 3: two rows have the label 'x'"),
    ("both.csv", "worker,cook,sing\nann,1,0\nbob,1,1\n", AS_FOUND, "leave the first cell empty"),
    ("dear.csv", "worker,cook,sing\nann,3,5\nbob,2,4\n", AS_FOUND, "use --header for edges"),
    ("plots.csv", "plot,a,b\n1,1,0\n2,0,1\n", AS_FOUND, "may be a matrix with labels or edges"),
    ("told.csv", ",a,b\nx,1,0\n", ReadOptions(header=False), "line 1: there are 3 columns"),
    ("edge.csv", ",b\nc,d\n", ReadOptions(header=False), "line 1: a label is empty"),
    ("half.csv", ",s,t\ns,0,0.5\nt,0,0\n", FLOW, "line 2: the capacity is 0.5"),
    ("ends.csv", ",a,b\na,0,2\nb,0,0\n", FLOW, "name them with --source, --sink"),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("spreadsheet.csv", ",a,b,c\nx,1,,1\ny,0,1,0\n", AS_FOUND, (2, 3, 3)),
    ("quoted.csv", '"","a","b"\n"x",1,0\n"y",1,1\n', AS_FOUND, (2, 2, 3)),
    ("semicolon.csv", ";a;b\nx;1;0\ny;1;1\n", AS_FOUND, (2, 2, 3)),
    ("tabs.tsv", "\ta\tb\nx\t1\t0\ny\t1\t1\n", AS_FOUND, (2, 2, 3)),
    ("tabs.csv", "\ta\tb\nx\t1\t0\ny\t1\t1\n", AS_FOUND, (2, 2, 3)),
    ("species.csv", "species,bee,wasp\nrose,1,0\nmint,1,1\n", AS_FOUND, (2, 2, 3)),
    ("letters.csv", "species,x,y\nrose,1,0\nmint,1,1\n", AS_FOUND, (2, 2, 3)),
    ("blanks.csv", "worker,cook,sing\nann,1,\nbob,,1\n", AS_FOUND, (2, 2, 2)),
    ("isolated.csv", ",a,b,c\nx,1,0,0\ny,0,0,0\n", AS_FOUND, (2, 3, 1)),
    ("one.csv", ",a\nx,1\ny,0\n", AS_FOUND, (2, 1, 1)),
    ("empty.csv", ",a,b\n", AS_FOUND, (0, 2, 0)),
    ("same.csv", ",a,b\na,1,0\nb,1,1\n", AS_FOUND, (2, 2, 3)),
    ("floats.csv", ",a,b\nx,1.0,0.0\ny,1,1e0\n", AS_FOUND, (2, 2, 3)),
    ("fives.csv", ",a,b\nx,5,0\ny,5,5\n", AS_FOUND, (2, 2, 3)),
    ("minus.csv", ",a,b\nx,-5,0\ny,-5,-5\n", AS_FOUND, (2, 2, 3)),
    ("costs.csv", ",a,b\nx,3,0\ny,1,2.5\n", PATTERN, (2, 2, 3)),
    ("comment.csv", "# sites\n,a,b\n\nx,1,0\n", AS_FOUND, (1, 2, 1)),
    ("years.csv", ",2001,2002\n1,1,0\n2,0,1\n", AS_FOUND, (2, 2, 2)),
    (
        "header.csv",
        "worker,cook,sing\nann,1,0\nbob,1,1\n",
        ReadOptions(header=True, ignore_costs=True),
        (2, 1, 2),
    ),
    ("twice.csv", "worker,slot,hours\nann,1,8\nann,2,8\n", AS_FOUND, (1, 2, 2)),
    ("edges.csv", "worker,job,day\nann,1,0\nbob,1,1\n", AS_FOUND, (2, 1, 2)),
    ("flow.csv", ",s,a,t\ns,0,3,\na,0,0,2\nt,,,\n", FLOW, (3, 2)),
    ("oblong.csv", ",a,t\ns,3,0\na,0,2\n", FLOW, (3, 2)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


def test_labels_and_entries_come_from_where_they_stand(tmp_path):
    graph = read_text(tmp_path, ",cook,drive,sing\nbob,0,1,0\nann,1,,1\n")
    assert graph.left_labels == ("bob", "ann")
    assert graph.right_labels == ("cook", "drive", "sing")
    assert set(graph.edges()) == {("bob", "drive"), ("ann", "cook"), ("ann", "sing")}


def test_integer_labels_keep_the_order_of_the_table(tmp_path):
    graph = read_text(tmp_path, ",30,4\n9,1,0\n2,0,1\n")
    assert (graph.left_labels, graph.right_labels) == ((9, 2), (30, 4))
    assert set(graph.edges()) == {(9, 30), (2, 4)}


def test_a_matrix_of_capacities_joins_rows_and_columns_by_label(tmp_path):
    network = read_text(tmp_path, ",t,a\ns,1,3\na,2,0\n", FLOW)
    assert set(network.arcs()) == {("s", "t", 1), ("s", "a", 3), ("a", "t", 2)}


def test_entries_are_costs_if_the_options_say_so(tmp_path):
    table = ",a,b\nx,1,0\ny,inf,2.5\nz,,\n"
    labels, costs = (("x", "y", "z"), ("a", "b")), [1, 0, 2.5]
    expected = BipartiteGraph(3, 2, [0, 0, 1], [0, 1, 1], *labels, costs=costs)  # type: ignore[arg-type]
    assert read_text(tmp_path, table, PRICED) == expected
    greatest = ReadOptions(costs=True, maximise=True)
    assert read_text(tmp_path, table.replace("inf", "-inf"), greatest).num_edges == 3
