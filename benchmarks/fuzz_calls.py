"""Odd labels, odd objects and odd command lines: how each is made, and how it is tried.

As in `fuzz_files.py`, an attempt returns "read" or "refused" and raises what must not come out.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz_damage import ANSWERS, DIMACS, EDGES, ENDINGS, MATRICES, OBJECTS, Rng, damaged, one_of
from fuzz_files import Case, Fault, make_archive, make_checkpoint, refused

# ------------------------------------------------------------------ labels


def _odd_label(rng: Rng) -> Any:
    pool: list[Any] = [
        0, 1, 2, -1, True, False, None, 1.0, 0.5, float("nan"), float("inf"), "a", "b", "", "1",
        "\ud800", "a\nb", "x" * 1000, 10**400, b"a", (1, 2), (), ((1,), "a"), frozenset({1}),
        [1], {"a": 1}, {1}, np.int64(1), np.float32(1.5), np.str_("a"), np.array([1, 2]), object,
        1j, ..., "１", "s", "t",
    ]  # fmt: skip
    return one_of(rng, pool)


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
        (*entry_, one_of(rng, [0, 1, 5, 2**63 - 1, 2**63, -1, 1.5, 2.0, "3", None]))
        if isinstance(entry_ := entry(2), tuple) else entry_
        for _ in range(int(rng.integers(0, 5)))
    ]  # fmt: skip
    fixed = [_odd_label(rng) for _ in range(int(rng.integers(0, 4)))]
    ends = _odd_label(rng), _odd_label(rng)
    return Case({}, (edges, arcs, fixed if rng.random() < 0.3 else None, ends))


def attempt_labels(case: Case, folder: Path) -> str:
    """Make graphs of odd labels, certify odd matchings, and find odd labels again."""
    from augury.classical.certificate import certify, certify_flow
    from augury.classical.formats.text import LabelFinder
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork
    from augury.errors import InputError

    edges, arcs, fixed, ends = case.details
    outcomes: list[str] = []

    def tried(make: Callable[[], Any]) -> Any:
        try:
            made = make()
        except InputError as error:
            outcomes.append(refused(error, ""))
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


# ------------------------------------------------------------------ the API


def make_objects(rng: Rng) -> Case:
    """Return a seed, from which the odd object is made where it is tried: it may be anything."""
    return Case({}, int(rng.integers(2**40)))


def _odd_array(rng: Rng) -> Any:
    """Return an array of any shape and type, of numbers or not, with odd entries or masked ones."""
    shape = tuple(int(n) for n in rng.integers(0, 5, int(rng.choice([0, 1, 2, 2, 2, 2, 3]))))
    array = rng.integers(-1 if rng.random() < 0.2 else 0, int(rng.choice([2, 3, 9])), shape)
    kinds = ["i8", "i4", "u1", "?", "f8", "f4", "c16", "O", "U2", "u8", "i1", "f2", "S2", "M8[s]"]
    odd = array.astype(one_of(rng, kinds))
    if odd.dtype.kind in "fO" and odd.size and rng.random() < 0.4:
        entries = [np.nan, np.inf, -np.inf, 0.5, -0.0]
        odd.reshape(-1)[0] = one_of(rng, entries if odd.dtype.kind == "f" else [*entries, *ODD])
    if rng.random() < 0.1:
        return np.ma.masked_array(odd, mask=rng.random(shape) < 0.3)
    return odd


ODD: list[Any] = [None, "a", "", b"a", 10**30, -(10**30), (1,), np.float32(1)]


def _odd_tensor(rng: Rng) -> Any:
    import torch

    array = _odd_array(rng)
    if array.dtype.kind not in "iufbc" or isinstance(array, np.ma.MaskedArray):
        array = rng.integers(0, 3, (2, 3))
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if rng.random() < 0.3 and not tensor.is_complex():
        tensor = tensor.to(one_of(rng, [torch.bfloat16, torch.float16, torch.uint64, torch.int8]))
    if rng.random() < 0.2 and tensor.ndim in (2, 3) and tensor.dtype != torch.uint64:
        places = torch.from_numpy(rng.integers(0, 2, (tensor.ndim, 4)))
        values = tensor.new_ones(4) * int(rng.integers(1, 3))
        return torch.sparse_coo_tensor(places, values, (2,) * tensor.ndim, check_invariants=True)
    return tensor


def _odd_sparse(rng: Rng) -> Any:
    """Return a sparse matrix, some with duplicates that no narrow type holds, some damaged."""
    import scipy.sparse

    kind = one_of(rng, ["i1", "u1", "i4", "i8", "u8", "f4", "f8", "?", "c16"])
    most = int(np.iinfo(kind).max) if np.dtype(kind).kind in "iu" else 2**20
    entries = np.array([one_of(rng, [1, 1, 0, 3, most]) for _ in range(4)], kind)
    places = tuple(rng.integers(0, 2, (2, 4)))
    matrix = scipy.sparse.coo_array((entries, places), shape=tuple(rng.integers(2, 4, 2)))
    if rng.random() < 0.3:
        return matrix
    rows = scipy.sparse.csr_array(matrix)
    if rows.nnz and rng.random() < 0.4:
        rows.indices[0] = one_of(rng, [-1, 7, 2**30])
    return rows


def _odd_networkx(rng: Rng) -> Any:
    import networkx as nx

    graph = one_of(rng, [nx.Graph, nx.DiGraph, nx.MultiGraph])()
    for _ in range(int(rng.integers(0, 5))):
        given = {"capacity": one_of(rng, [1, 0, -1, 1.5, None, "x", 2**70, float("inf")])}
        if rng.random() < 0.3:
            name = one_of(rng, ["weight", "cost"])
            given[name] = one_of(rng, [1, 1.0, 2, None, "x", np.nan, np.ones(2)])
        graph.add_edge(*map(int, rng.integers(0, 5, 2)), **given)
    if rng.random() < 0.5:
        for node in graph:
            graph.nodes[node]["bipartite"] = int(rng.integers(0, 3))
    return graph


def _odd_rows(rng: Rng) -> Any:
    """Return a list of pairs or triples, a dict of lists, or a list of something else."""

    def label() -> Any:
        return _odd_label(rng) if rng.random() < 0.1 else one_of(rng, ["a", "b", "c", 0, 1])

    def row() -> Any:
        if rng.random() < 0.05:
            return _odd_label(rng)
        width = one_of(rng, [1, 2, 2, 2, 2, 3, 3, 4])
        return one_of(rng, [tuple, tuple, list])(label() for _ in range(width))

    rows = [row() for _ in range(int(rng.integers(0, 5)))]
    if rng.random() < 0.6:
        return rows if rng.random() < 0.8 else tuple(rows)
    keys = [one_of(rng, ["ann", "bob", "worker", "job", 3, None]) for _ in rows]
    return dict(zip(keys, rows, strict=True))


def _odd_frame(rng: Rng) -> Any:
    import pandas as pd

    height = int(rng.integers(0, 4))
    pool: list[list[Any]] = [["a", "b"], [0, 1], [3, 4, 5], [0.5, 2.0], ["a", None], [True, False],
                             [1, None], [[1], "a"], [pd.NA, 1], [2**70, 1]]  # fmt: skip
    names = ["left", "right", "Cost", "worker", "job", "capacity", "tail", "head", "x", 0, None]
    columns = {
        one_of(rng, names): [one_of(rng, values) for _ in range(height)]
        for values in (one_of(rng, pool) for _ in range(int(rng.integers(0, 5))))
    }
    frame = pd.DataFrame(columns)
    if rng.random() < 0.2:
        frame.index = one_of(rng, [frame.index.astype(str), frame.index.rename("worker")])
    if rng.random() < 0.1 and frame.shape[1]:
        frame = pd.concat([frame, frame], axis=1)  # every name twice
    return frame


def _odd_data(rng: Rng) -> Any:
    import torch
    from torch_geometric.data import Data, HeteroData

    given: dict[str, Any] = {}
    index = torch.from_numpy(rng.integers(-1 if rng.random() < 0.1 else 0, 4, (2, 3)))
    values = [torch.ones(3), torch.arange(3), torch.tensor(1), 1, None, [1, 2, 3], "x"]
    if rng.random() < 0.9:
        given["edge_index"] = one_of(rng, [index, index, index.to(torch.uint64), index.T, [[0]]])
    for name in ("capacity", "bipartite", "edge_weight", "cost", "x_s", "x_t", "source", "sink"):
        if rng.random() < 0.3:
            given[name] = one_of(rng, values)
    given["num_nodes"] = one_of(rng, [4, 4, 4, 5, 2, 2**31, 2**40, "x"])
    if rng.random() < 0.7:
        return Data(**given)
    data = HeteroData()
    data["a"].num_nodes = data["b"].num_nodes = given.pop("num_nodes")
    for name, value in given.items():
        data["a", "to", "b"][name] = value
    return data


def _odd_thing(rng: Rng) -> Any:
    return one_of(rng, [None, 3, "no such file", b"x", object(), "", "a" * 5000, {1}, range(3)])


ODD_OBJECTS = [_odd_array, _odd_array, _odd_tensor, _odd_sparse, _odd_networkx, _odd_rows,
               _odd_rows, _odd_frame, _odd_data, _odd_thing]  # fmt: skip


def attempt_objects(case: Case, folder: Path) -> str:
    """Solve whatever it is and certify the answer; a `TypeError` is documented for non-graphs.

    The result must be the same for the object alone, in a list and, where it is one, as a stack.
    """
    from augury import certify, certify_flow, solve, solve_batch
    from augury.errors import InputError

    rng = np.random.default_rng(case.details)
    given = one_of(rng, ODD_OBJECTS)(rng)
    ends: dict[str, Any] = {}
    if rng.random() < 0.25:
        ends = {"source": one_of(rng, [0, 1, None, 9, -1, "a"]), "sink": one_of(rng, [1, "b"])}
    how = {"model": one_of(rng, ["classical", None])}
    how["seed"] = one_of(rng, [0, 0, 0, 7, 1.5, None, -1]) if rng.random() < 0.2 else 0
    try:
        if getattr(given, "ndim", 0) == 3 and not ends:
            return _attempt_stack(given, how)
        solution = solve(given, **ends, **how)
        if not solution.is_maximum:
            raise Fault("an exact solution is not maximum")
        if solution.flow is None:
            told = certify(given, solution.matching or [])
        else:
            told = certify_flow(given, solution.flow, **ends)
        proven = solution.certificate
        other_prices = solution.cost is not None and told.verdict == proven.verdict
        if told != proven and not other_prices:
            raise Fault(f"certified otherwise: {told}, not {proven}")
        if not ends and solve_batch([given], **how)[0] != solution:
            raise Fault("another solution in a batch")
    except (InputError, TypeError) as error:
        return refused(_checked_type(error), "")
    return "read"


def _checked_type(error: Exception) -> Exception:
    """Accept only a TypeError of our own."""
    ours = "is no graph: expected", "expected several graphs"
    if isinstance(error, TypeError) and not any(text in str(error) for text in ours):
        raise Fault(f"TypeError came out: {error}") from error
    return error


def _attempt_stack(stack: Any, how: dict[str, Any]) -> str:
    """Solve a stack as one, and graph by graph: both refuse it, or both have the same sizes."""
    from augury import solve_batch
    from augury.errors import InputError

    told: list[Any] = []
    for engine in ("table", "auto"):
        model = how["model"] if engine == "auto" else None
        try:
            found = solve_batch(stack, model=model, seed=how["seed"], engine=engine)
            told.append([solution.size for solution in found])
        except InputError as error:
            refused(error, "")
            told.append(str(error))
    if told[0] != told[1]:
        raise Fault(f"as a stack {told[0]}, one by one {told[1]}")
    return "refused" if isinstance(told[0], str) else "read"


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
PROPER: dict[str, list[str]] = {
    "--executor": ["classical", "neural"],
    "--model": ["discrete", "paper-mpnn"],
    "--device": ["cpu", "auto"],
    "--format": ["json", "csv", "table"],
    "--source": ["s", "ann", "1"],
    "--sink": ["t", "cook", "2"],
}
"""What a user would say; half of the time the fuzzer does too. Other options take numbers."""
SWITCHES = {"--exact", "--no-exact", "--json", "--flow", "--header", "--no-header", "--help"}
FAMILIES = ["uniform", "sparse", "regular", "power-law", "complete", "communities", "path",
            "ladder", "path-state", "ladder-state", "partly-matched",
            "flow", "nonsense"]  # fmt: skip
NUMBERS_GIVEN = ["0", "1", "2", "5", "8", "-1", "1/4", "0.5", "3", "1e3", "x", "9" * 13, "nan"]


def make_command(rng: Rng) -> Case:
    """Return a command line with files."""
    command = one_of(rng, ["solve", "solve", "solve", "certify", "certify", "generate", "verify"])
    arguments, files = [command], dict[str, bytes]()
    if command == "verify":
        files = make_checkpoint(rng).files if rng.random() < 0.7 else {}
        arguments += list(files) or [one_of(rng, VALUES)]
    elif command == "generate":
        arguments += [one_of(rng, FAMILIES), "--output", f"out{one_of(rng, ENDINGS)}"]
    else:
        count = 1 if command == "certify" or rng.random() < 0.8 else 2
        for number in range(count):
            made = (make_archive if rng.random() < 0.15 else _any_graph)(rng)
            for name, data in made.files.items():
                files[f"{number}{name}"] = data
        arguments += list(files)
        if command == "certify":
            files["answer"] = damaged(rng, one_of(rng, ANSWERS), 2)
            arguments.append("answer")
        elif rng.random() < 0.5:
            arguments += [
                "--output",
                one_of(rng, ["out.json", "out.csv", "out", "no/out.json", "."]),
            ]
    for _ in range(int(rng.integers(0, 4))):
        flag = one_of(rng, FLAGS[command])
        pool = NUMBERS_GIVEN if command == "generate" else VALUES
        pool = PROPER.get(flag, ["1", "2", "5"]) if rng.random() < 0.5 else pool
        arguments += [flag] if flag in SWITCHES else [flag, one_of(rng, pool)]
    if rng.random() < 0.1:
        arguments.insert(int(rng.integers(len(arguments) + 1)), one_of(rng, VALUES))
    return Case(files, arguments)


def _any_graph(rng: Rng) -> Case:
    pool, endings = one_of(rng, [(EDGES, [".csv", ".tsv"]), (MATRICES, [".mtx"]),
                                  (DIMACS, [".max"]), (OBJECTS, [".json"])])  # fmt: skip
    most = int(rng.integers(0, 3))
    return Case({f"graph{one_of(rng, endings)}": damaged(rng, one_of(rng, pool), most)})


def prepare_command(folder: Path) -> None:
    """Compile every loop that a command line here can need: that would exceed the time limit."""
    from augury.models.checkpoint import MODELS

    graphs = {"graph.csv": EDGES[0], "graph.max": DIMACS[0]}
    for name, data in graphs.items():
        (folder / name).write_bytes(data)
        for model in PROPER["--model"]:
            attempt_command(Case(graphs, ["solve", name, "--model", model]), folder)
    for path in sorted(MODELS.glob("*.safetensors")):
        attempt_command(Case(graphs, ["verify", path.stem]), folder)


def prepare_objects(folder: Path) -> None:
    """Compile every loop that an object here can need."""
    from augury import solve, solve_batch

    for model in ("classical", None):
        solve(np.ones((2, 2)), model=model)
    solve_batch(np.ones((1, 2, 2)), engine="table")


def attempt_command(case: Case, folder: Path) -> str:
    """Run the command in the folder; it says one thing, and leaves whole files or none."""
    import typer

    from augury.apps import cli

    if isinstance(cli.app, typer.Typer):  # which makes its commands again in every call: 20 ms
        cli.app = typer.main.get_command(cli.app)
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
        told = bytes(sys.stderr.buffer.getvalue()).decode()
        sys.stdin, sys.stdout, sys.stderr, sys.argv = streams
    if code not in (0, 1, 2, 3) or "Traceback" in told:
        raise Fault(f"exit code {code}: {told[:300]}")
    if code == 2 and not told.strip():
        raise Fault("exit code 2 without a word")
    if told.startswith("augury: ") and code == 2 and len(told.splitlines()) != 1:
        raise Fault(f"the refusal is not one line: {told[:300]!r}")
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    new = left - set(case.files)
    if any(".augury-" in name for name in new) or (
        code not in (0, 3) and new and case.details[0] != "generate"
    ):
        raise Fault(f"exit code {code}, but there is {sorted(new)}")
    return "refused" if code == 2 else "read"
