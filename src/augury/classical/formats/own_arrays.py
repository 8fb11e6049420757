"""The arrays of an `.npz` archive become a graph with all its data, and back.

They bear the names of the graph's own fields; labels are all text or all integers.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import Label
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats import text
from augury.classical.formats.costs import (
    NO_COSTS_TO_IGNORE,
    cost_network,
    edge_costs,
    ignored_costs,
)
from augury.classical.formats.edge_writer import arcs_of
from augury.classical.formats.npy import Archive
from augury.classical.formats.text import ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError


def integers(arrays: Archive, key: str) -> npt.NDArray[np.int64]:
    """Return an array of whole numbers; SciPy would only warn of others, and round them."""
    values = arrays[key]
    if values.size and values.dtype.kind not in "iu":
        raise InputError(f"the array {key!r} must hold whole numbers, not {values.dtype}")
    return values.astype(np.int64)


def graph_of_arrays(arrays: Archive, options: ReadOptions) -> BipartiteGraph:
    """Read a bipartite graph."""
    left, right = _array(arrays, "left"), _array(arrays, "right")
    counts = _count(arrays, "num_left"), _count(arrays, "num_right")
    text.refuse_claim(max(counts), len(left), "nodes")
    labels = (_label_array(arrays, "left_labels"), _label_array(arrays, "right_labels"))
    costs = _costs_of_arrays(arrays, sum(counts) + 2, options)
    return BipartiteGraph(*counts, left, right, *labels, costs=costs)


def _costs_of_arrays(arrays: Archive, num_nodes: int, options: ReadOptions) -> Costs | None:
    if "costs" not in arrays.files or options.ignore_costs:
        return None
    if options.costs is False:
        raise ignored_costs("the array 'costs'")
    is_own = "maximise" in arrays.files and bool(_count(arrays, "maximise"))
    maximise = is_own if options.maximise is None else options.maximise
    return Costs.of(_array(arrays, "costs"), num_nodes, maximise)


def cost_network_of_arrays(arrays: Archive, options: ReadOptions) -> CostNetwork:
    """Read a network with costs."""
    columns = [_array(arrays, key) for key in ("tail", "head", "capacity")]
    num_nodes, labels = _count(arrays, "num_nodes"), _label_array(arrays, "labels")
    text.refuse_claim(num_nodes, len(columns[0]), "nodes")
    if options.ignore_costs:
        raise InputError(NO_COSTS_TO_IGNORE)
    names, supply, ends = labels or range(num_nodes), None, None
    if "supply" in arrays.files:
        supply = dict[int, int](enumerate(map(int, integers(arrays, "supply"))))
    elif options.supply is None:
        own = {end: _count(arrays, end) for end in ("source", "sink")}
        ends = text.ends_of(names, own, options, {})
    costs = _costs_of_arrays(arrays, num_nodes + 2, options)
    lower = integers(arrays, "lower") if "lower" in arrays.files else None
    arcs = columns[0], columns[1], columns[2]
    return cost_network(names, arcs, costs, options, lower=lower, supply=supply, ends=ends)


def network_of_arrays(arrays: Archive, options: ReadOptions) -> FlowNetwork:
    """Read a flow network."""
    columns = [_array(arrays, key) for key in ("sender", "receiver", "capacity")]
    num_nodes, labels = _count(arrays, "num_nodes"), _label_array(arrays, "labels")
    text.refuse_claim(num_nodes, len(columns[0]), "nodes")
    own = {end: _count(arrays, end) for end in ("source", "sink")}
    ends = text.ends_of(labels or range(num_nodes), own, options, {})
    return FlowNetwork.from_arcs(num_nodes, *columns, **ends, labels=labels)


def _array(arrays: Archive, key: str) -> npt.NDArray[Any]:
    values = arrays[key]
    if values.ndim > 1:
        raise InputError(f"the array {key!r} must be one row, not {values.ndim}-dimensional")
    return np.atleast_1d(values)


def _count(arrays: Archive, key: str) -> int:
    values = _array(arrays, key)
    if values.size != 1 or values.dtype.kind not in "iu" or values[0] < 0:
        raise InputError(f"{key!r} must be one whole number of at least 0")
    return int(values[0])


def _label_array(arrays: Archive, key: str) -> list[Label] | None:
    if key not in arrays.files:
        return None
    values = _array(arrays, key)
    if values.size and values.dtype.kind not in "iuU":
        raise InputError(f"the labels in {key!r} must be text or whole numbers, not {values.dtype}")
    return values.tolist()


def write_npz(graph: Graph, file: IO[bytes]) -> None:
    """Write the arrays of a graph, with labels if they are all text or all integers."""
    arrays: dict[str, Any]
    if isinstance(graph, FlowNetwork):
        arrays = {"num_nodes": graph.num_nodes, "source": graph.source, "sink": graph.sink}
        arrays |= zip(("sender", "receiver", "capacity"), arcs_of(graph), strict=True)
        labels = {"labels": graph.labels}
    elif isinstance(graph, CostNetwork):
        keys = ("num_nodes", "tail", "head", "capacity", "source", "sink", "supply", "lower")
        arrays = {key: getattr(graph, key) for key in keys if getattr(graph, key) is not None}
        labels = {"labels": graph.labels}
    else:
        arrays = {"num_left": graph.num_left, "num_right": graph.num_right}
        arrays |= {"left": graph.left, "right": graph.right}
        labels = {"left_labels": graph.left_labels, "right_labels": graph.right_labels}
    costs = getattr(graph, "costs", None)
    if costs is not None:
        arrays |= {
            "costs": np.array(edge_costs(costs), costs.dtype),
            "maximise": int(costs.maximise),
        }
    arrays |= {key: _array_of_labels(names) for key, names in labels.items() if names is not None}
    # Writing the archive needs seeking, which a gzip stream cannot do.
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    file.write(buffer.getbuffer())


def _array_of_labels(labels: Sequence[Label]) -> npt.NDArray[Any]:
    kinds = {type(label) for label in labels}
    is_wide = kinds == {int} and all(-(2**63) <= cast("int", x) < 2**63 for x in labels)
    if kinds == {str} or is_wide:
        values = np.array(labels)
        if values.tolist() == list(labels):  # NumPy drops trailing zero characters
            return values
    raise InputError("an .npz file holds labels that are all text or all 64-bit integers")
