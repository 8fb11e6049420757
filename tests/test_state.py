"""We change no global state, alone or in threads, and the host's settings do not affect us.

The state of the process is compared before and after each public name is used, following one call
that imports and compiles.
"""

from __future__ import annotations

import ast
import decimal
import faulthandler
import gc
import locale
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

import networkx as nx
import numpy as np
import pytest
import torch

import augury
from augury.classical.generate import flow, sparse
from augury.config import NetworkConfig
from augury.datasets import Traces
from augury.engines import match_dense
from augury.experiments.evaluate import Condition, evaluate, load_models
from augury.experiments.records import Extent
from augury.models.checkpoint import find, load, make_network
from augury.page import page_of
from augury.training.trainer import train
from augury.verify import verify
from augury.watch import watch
from graphs import BRIDGE, JOBS
from proven import proven
from tiny import tiny_config

NUM_THREADS = 4
SOURCE = Path(augury.__file__).parent


def state() -> dict[str, Any]:
    """Return the global state that a library must not change."""
    return {
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "threads of a new thread": in_new_thread(torch.get_num_threads),
        "threads between operations": torch.get_num_interop_threads(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "autocast": [torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")],
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "numbers too small": float(torch.tensor(1e-40, dtype=torch.float32) * 2),
        "random of torch": torch.get_rng_state().numpy().tobytes(),
        "random of NumPy": repr(np.random.get_state(legacy=False)),  # noqa: NPY002
        "random": random.getstate(),
        "warnings": list(warnings.filters),
        "showing warnings": (warnings.showwarning, warnings.formatwarning),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "logging": logged(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "temporary": tempfile.gettempdir(),
        "NumPy": (np.geterr(), np.get_printoptions()),
        "locale": locale.setlocale(locale.LC_ALL),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook),
        "faults": faulthandler.is_enabled(),
        "recursion": sys.getrecursionlimit(),
        "memory": (gc.get_threshold(), gc.isenabled()),
        "switching": sys.getswitchinterval(),
        "decimal": repr(decimal.getcontext()),
        "float format": (repr(0.1), str(1e22), sys.float_repr_style),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "path": list(sys.path),
    }


def in_new_thread(ask: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()


def logged() -> dict[str, Any]:
    loggers = [
        logging.getLogger(),
        *map(logging.getLogger, sorted(logging.root.manager.loggerDict)),
    ]
    told = {
        one.name: (one.level, one.disabled, one.propagate, list(one.handlers), list(one.filters))
        for one in loggers
    }
    return told | {"": logging.root.manager.disable}


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


@pytest.fixture
def three_threads() -> Iterator[None]:
    """With one there would be nothing to change."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


GRAPH = sparse(np.random.default_rng(0), 6)
NETWORK = flow(np.random.default_rng(1), 8, 20, 1, 9)
EDGES = [("ann", "cook"), ("bob", "cook"), ("bob", "sing")]


@cache
def solution() -> augury.Solution:
    return augury.solve(GRAPH)


def solve_everything(folder: Path) -> None:
    for model in (None, "paper-mpnn", "classical", "bellman-ford", find("discrete")):
        augury.solve(GRAPH, model=model, seed=3)
    for engine in ("plain", "lookup", "table"):
        augury.solve(NETWORK, engine=engine)
        augury.solve(GRAPH.to_scipy(), engine=engine)
    augury.solve(torch.from_numpy(GRAPH.to_dense()))
    with pytest.raises(augury.InputError):
        augury.solve(GRAPH, model="no such model")


def solve_batches(folder: Path) -> None:
    augury.solve_batch([GRAPH, NETWORK, JOBS])
    assert augury.solve_batch(np.stack([GRAPH.to_dense()] * 3), engine="table").is_maximum  # type: ignore[reportAttributeAccessIssue]


def write_and_read(folder: Path) -> None:
    for ending in ("csv", "json", "mtx", "npz", "csv.gz"):
        path = folder / f"{threading.get_ident()}.{ending}"
        augury.write_graph(GRAPH, path)
        assert augury.read_graph(path).num_edges == GRAPH.num_edges  # type: ignore[reportAttributeAccessIssue]
    path = folder / f"{threading.get_ident()}.max"
    augury.write_graph(NETWORK, path)
    augury.read_graph(path)


def told(folder: Path) -> None:
    assert page_of(solution().story()) and solution()._repr_html_()
    assert solution().to_dict() and repr(solution())


def refused(folder: Path) -> None:
    with pytest.raises(augury.InputError):
        augury.BipartiteGraph(1, 1, np.array([7]), np.array([0]))


def scipy_flow(folder: Path) -> None:
    augury.maximum_flow(NETWORK.to_scipy().tocsr(), NETWORK.source, NETWORK.sink)


def networkx_flow(folder: Path) -> None:
    ends = NETWORK.source, NETWORK.sink
    nx.maximum_flow(NETWORK.to_networkx(), *ends, flow_func=augury.neural_ford_fulkerson)


PUBLIC: dict[str, Callable[[Path], Any]] = {
    "BipartiteGraph": lambda _: augury.BipartiteGraph.from_edges(EDGES).to_networkx(),
    "Certificate": lambda _: augury.certify(GRAPH, []).to_dict(),
    "CostNetwork": lambda _: augury.solve(
        augury.CostNetwork.from_labelled_arcs([("s", "t", 2, 3)], source="s", sink="t")
    ),
    "FlowNetwork": lambda _: augury.FlowNetwork.from_bipartite(GRAPH).to_dense(),
    "InputError": refused,
    "Solution": told,
    "Trace": lambda _: augury.record([BRIDGE], np.random.default_rng(0))[0].rounds,
    "__version__": lambda _: augury.__version__,
    "certify": lambda _: augury.certify(GRAPH, solution().matching or []),
    "certify_flow": lambda _: augury.certify_flow(NETWORK, []),
    "generate": lambda _: augury.generate("uniform", np.random.default_rng(0), n=8),
    "linear_sum_assignment": lambda _: augury.linear_sum_assignment([[0.1, 1e300], [2, 3]]),
    "maximum_bipartite_matching": lambda _: augury.maximum_bipartite_matching(GRAPH.to_scipy()),
    "maximum_flow": scipy_flow,
    "min_weight_full_bipartite_matching": lambda _: augury.min_weight_full_bipartite_matching(
        augury.BipartiteGraph(2, 2, np.array([0, 1]), np.array([1, 0])).to_scipy()
    ),
    "neural_ford_fulkerson": networkx_flow,
    "read_graph": write_and_read,
    "record": lambda _: augury.record([BRIDGE, NETWORK], np.random.default_rng(0)),
    "solve": solve_everything,
    "solve_batch": solve_batches,
    "write_graph": write_and_read,
}
"""A use of each public name."""


def evaluated(folder: Path) -> None:
    [model] = load_models(["paper-mpnn"], "cpu")
    assert evaluate(model, Condition(p="3/n"), Extent(graphs=2, runs=1)).value.size == 2


def trained(folder: Path) -> None:
    for name in ("paper-mpnn", "discrete"):
        config = tiny_config(name, "training.max_epochs=1")
        train(config, [0], Path(tempfile.mkdtemp(dir=folder)) / "run", say=lambda line: None)


MAIN: dict[str, Callable[[Path], Any]] = {
    "load": lambda _: [load(find(name)) for name in ("discrete", "paper-pna")],
    "make_network": lambda _: make_network(NetworkConfig(hidden=8)),
    "match_dense": lambda _: match_dense(GRAPH.to_dense(), threads=2),
    "watch": lambda _: watch(GRAPH, model="paper-mpnn"),
    "verify": lambda _: verify(proven()),
    "evaluate": evaluated,
    "train": trained,
    "Traces": lambda folder: Traces(tempfile.mkdtemp(dir=folder), num_graphs=2)[0],
}
"""The main functions that are not public names."""

CASES = PUBLIC | MAIN


def test_every_public_name_has_a_case() -> None:
    assert PUBLIC.keys() == set(augury.__all__)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("name", CASES)
def test_alone_and_in_threads_it_leaves_everything_as_it_was(name: str, tmp_path: Path) -> None:
    CASES[name](tmp_path)
    before = state()
    CASES[name](tmp_path)
    assert differences(before, state()) == {}
    if name == "train":
        return  # in threads: below
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        list(pool.map(lambda _: CASES[name](tmp_path), range(NUM_THREADS)))
    assert differences(before, state()) == {}


@pytest.mark.slow
@pytest.mark.usefixtures("three_threads")
def test_training_in_threads_leaves_everything_as_it_was(tmp_path: Path) -> None:
    trained(tmp_path)
    before = state()
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        list(pool.map(trained, [tmp_path] * NUM_THREADS))
    assert differences(before, state()) == {}


@pytest.mark.usefixtures("three_threads")
def test_a_change_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test above can fail: it detects each of these changes."""
    before = state()
    changes: dict[str, Callable[[], Any]] = {
        "random of torch": lambda: torch.rand(1),
        "random of NumPy": lambda: np.random.rand(1),  # noqa: NPY002
        "random": random.random,
        "environment": lambda: monkeypatch.setenv("AUGURY", "1"),
        "folder": lambda: monkeypatch.chdir(tmp_path),
        "warnings": lambda: monkeypatch.setattr(warnings, "filters", []),
        "logging": lambda: monkeypatch.setattr(logging.getLogger("augury"), "level", 10),
        "threads of a new thread": lambda: torch.set_num_threads(2),
    }
    for change in changes.values():
        change()
    assert differences(before, state()).keys() >= changes.keys()


@contextmanager
def default(change: Callable[[Any], None], value: Any, before: Any) -> Iterator[None]:
    change(value)
    try:
        yield
    finally:
        change(before)


HOSTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "another default dtype": lambda: default(
        torch.set_default_dtype, torch.float64, torch.get_default_dtype()
    ),
    "another default device": lambda: default(torch.set_default_device, "meta", None),
    "inside autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "inside inference": torch.inference_mode,
    "subnormal numbers flushed to 0": lambda: default(
        cast("Callable[[Any], None]", torch.set_flush_denormal), True, False
    ),
}
"""What a host may have set."""


def answers() -> dict[str, Any]:
    """Return the decisions of all networks in all their forms."""
    found: dict[str, Any] = {}
    for model in ("discrete", "paper-mpnn", "paper-pna"):
        for engine in ("plain", "lookup" if model == "discrete" else "fast"):
            solved = augury.solve(BRIDGE, model=model, engine=engine, exact=False, seed=1)
            found[f"{model} {engine}"] = solved.to_dict()
        story = watch(JOBS, model=model, exact=False)
        found[f"{model} watched"] = [told["steps"] for told in story["rounds"]]
    found["table"] = augury.solve(NETWORK, engine="table").to_dict()
    proof = verify(proven())
    found["proof"] = [(part.right, part.margin, part.bound) for part in proof.parts]
    found["weights"] = load(find("paper-pna")).digest
    return found


@cache
def usual_answers() -> dict[str, Any]:
    return answers()


@pytest.mark.parametrize("host", HOSTS)
def test_whatever_the_host_has_set_the_answers_are_the_same(host: str) -> None:
    expected = usual_answers()
    with HOSTS[host]():
        found = answers()
    assert found == expected


MAKERS = {"arange", "as_tensor", "empty", "eye", "full", "ones", "rand", "randn", "tensor", "zeros"}
"""Functions that make a tensor on the default device, unless they are told another."""
OF_FLOATS = {"empty", "eye", "ones", "rand", "randn", "zeros"}
"""Those whose numbers are of the default dtype."""
WITHIN = {"layers.py", "processors.py"}
"""Made within `kinds.make_network`, which says where."""


def test_every_tensor_is_made_with_its_own_dtype_and_device() -> None:
    loose: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if not isinstance(node.func.value, ast.Name) or node.func.value.id != "torch":
                continue
            told, made = {word.arg for word in node.keywords}, node.func.attr
            misses = made in MAKERS and "device" not in told and path.name not in WITHIN
            if misses or (made in OF_FLOATS and "dtype" not in told):
                loose.append(f"{path.name}:{node.lineno} torch.{made}")
    assert loose == []
