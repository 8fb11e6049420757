import io
import pickle
import zipfile

import networkx as nx
import pytest
from samples import AS_FOUND, counts_of, file_with, refusal

from augury.classical.formats import read_graph

GRAPH = nx.Graph([("ann", "cook"), ("bob", "cook")])


def written(write):
    file = io.BytesIO()
    write(GRAPH, file)
    return file.getvalue()


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, "text")
    return file.getvalue()


FOREIGN = [
    # name, content, what the message must say
    ("graph.graphml", written(nx.write_graphml_xml), "GraphML", "networkx.read_graphml"),
    ("graph.xml", b"<graphml>\n<graph>\n</graph></graphml>", "GraphML", "networkx.read_graphml"),
    ("graph.gexf", written(nx.write_gexf), "GEXF", "networkx.read_gexf"),
    ("graph.gml", written(nx.write_gml), "GML", "networkx.read_gml"),
    ("made.gml", b'Creator "me"\nVersion 1\ngraph\n[\n  directed 0\n]\n', "GML", "read_gml"),
    ("graph.net", written(nx.write_pajek), "Pajek", "networkx.read_pajek"),
    ("graph.g6", b">>graph6<<A_\n", "graph6", "networkx.read_graph6"),
    ("graph.dot", b"strict graph {\n  ann -- cook;\n}\n", "Graphviz DOT", "read_dot"),
    ("graph.gv", b"digraph G { a -> b }\n", "Graphviz DOT", "read_dot"),
    *(
        (f"graph{n}.pkl", pickle.dumps(GRAPH, protocol=n), "a pickle", "could run any code")
        for n in range(6)
    ),
    ("list0.pkl", pickle.dumps([("ann", "cook")], protocol=0), "a pickle", "could run any code"),
    ("net.pt", archive("net/data.pkl", "net/version"), "torch.save", "could run any code"),
    ("book.xlsx", archive("[Content_Types].xml", "xl/workbook.xml"), "Excel", "as CSV"),
    ("sheet.ods", archive("mimetype", "content.xml"), "OpenDocument", "as CSV"),
    ("some.zip", archive("a.csv"), "a zip archive without arrays", "unpack it first"),
    ("book.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "Office", "as CSV"),
    ("graph.parquet", b"PAR1\x15\x04\x15" + bytes(99), "Parquet", "as CSV"),
    ("graph.feather", b"ARROW1\0\0" + bytes(99), "Arrow", "as CSV"),
    ("graph.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), "HDF5", "save_npz"),
    ("graph.mat", b"MATLAB 5.0 MAT-file, Platform" + bytes(99), "MATLAB", "save_npz"),
    ("graph.db", b"SQLite format 3\0" + bytes(99), "SQLite", "as CSV"),
    ("graph.csv.bz2", b"BZh91AY&SY\xd3\x01", "bzip2", "unpack it first"),
    ("graph.csv.xz", b"\xfd7zXZ\x00\x00", "xz", "unpack it first"),
    ("graph.csv.zst", b"\x28\xb5\x2f\xfd\x04\x00", "Zstandard", "unpack it first"),
    ("graph.tar", b"a.csv".ljust(257, b"\0") + b"ustar\0", "a tar archive", "unpack it first"),
    ("graph.png", b"\x89PNG\r\n\x1a\n" + bytes(99), "an image", "no graph"),
    ("graph.jpg", b"\xff\xd8\xff\xe0" + bytes(99), "an image", "no graph"),
    ("graph.gif", b"GIF89a\x01\x00", "an image", "no graph"),
    ("paper.pdf", b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n", "a PDF", "no graph"),
    ("page.html", b"<!DOCTYPE html>\n<html><body>a,b</body></html>", "a web page", "no graph"),
    ("data.xml", b'<?xml version="1.0"?>\n<data/>', "XML", "as CSV"),
    ("net.safetensors", b"\x02\0\0\0\0\0\0\0{}", "a safetensors file", "--model"),
    ("unicode.csv", "left,right\nann,cook\n".encode("utf-16"), "UTF-16", "save it as UTF-8"),
]


@pytest.mark.parametrize(
    ("name", "content", "what", "remedy"), FOREIGN, ids=[x[0] for x in FOREIGN]
)
def test_a_foreign_format_is_named_with_a_way_round(tmp_path, name, content, what, remedy):
    message = refusal(file_with(tmp_path / name, content))
    assert what in message and "not read: " in message and remedy in message


def test_what_is_known_by_its_bytes_is_known_without_its_ending(tmp_path):
    assert "GraphML" in refusal(file_with(tmp_path / "edges.csv", written(nx.write_graphml_xml)))


ORDINARY = [
    # Labels that look like the start of something else.
    ("PAR1,a\nPAR2,b\n", (2, 2, 2)),
    ("GIF89a,李\nMZ,李\n", (2, 1, 2)),
    ("graph,a\n[x],b\n", (2, 2, 2)),
    ("<a>,b\n<c>,d\n", (2, 2, 2)),
    ("BM,II*\nCDF,RIFF\n", (2, 2, 2)),
    ("Creator,x\nVersion,y\n", (2, 2, 2)),
]


@pytest.mark.parametrize(("text", "counts"), ORDINARY)
def test_labels_are_not_taken_for_a_foreign_format(tmp_path, text, counts):
    assert counts_of(read_graph(file_with(tmp_path / "file.csv", text), AS_FOUND)) == counts


def test_no_start_of_a_file_is_looked_at_for_long(tmp_path):
    for piece in ("creator ", "creator\n", "<?xml", "<!", "graph ", "(dp1\n", "/**/"):
        path = file_with(tmp_path / "file.txt", piece * (4096 // len(piece)))
        refusal(path)  # slow patterns would not end
