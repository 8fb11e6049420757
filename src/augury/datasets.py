"""Traces become a PyTorch Geometric dataset: one graph per round, to train any model on.

`Traces` draws graphs, runs classical Ford-Fulkerson on them and stores what `classical.trace`
records. With the same settings, the train split holds exactly the rounds that `augury train` learns
from, and the val split those that it validates on. The file is a safetensors file: numbers, and
nothing that could run. `docs/own_model.md` goes from here to an evaluation.

Names matter: when PyTorch Geometric batches graphs, it shifts every attribute with `index` in its
name by the number of nodes, and treats `batch` specially too. So only node pointers are named so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from augury.classical.arrays import whole_number
from augury.classical.generate import partly_matched as draw_partly_matched
from augury.classical.generate import uniform
from augury.classical.network import FlowNetwork
from augury.classical.trace import Trace, record
from augury.errors import InputError
from augury.extras import needs

with needs("this dataset"):
    import torch
    from torch import Tensor
    from torch_geometric.data import Data, InMemoryDataset

    from augury.models.checkpoint import read_tensors, write_tensors

SIDE = 8
"""Nodes on a side at scale 1."""

NUM_GRAPHS = {"train": 300, "val": 50, "test": 50}
"""The number of graphs in each split in the paper."""

STREAMS = {
    ("train", False): 0, ("val", False): 2, ("test", False): 4,
    ("train", True): 1, ("val", True): 5, ("test", True): 6,
}  # fmt: skip
"""The child of the seed that draws each (split, partly_matched). 0, 1 and 2 are those of
`neural.batch.training_data`; 3 is skipped, since it draws the graphs that select an epoch there."""

FORMAT = 2
"""Part of the file's name; increased whenever the fields or their contents change."""


class RoundData(Data):
    """One round as a graph; `Traces` documents its fields."""

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        # By default PyTorch Geometric would join node pointers along their last axis, the steps.
        if key == "predecessor_index":
            return 0
        return super().__cat_dim__(key, value, *args, **kwargs)


class Traces(InMemoryDataset):
    """Rounds of classical Ford-Fulkerson on random bipartite graphs, one `RoundData` per round.

    Graphs have 8 × `scale` nodes on each side, and each pair is an edge with probability `p`. Node
    0 is the source; then come the left nodes, the right nodes and the sink. Each graph gives one
    round for each of its augmenting paths, and a last one in which no path is left.

    Integers are int64, flags bool. `step` is an axis of fixed length: column 0 is the state before
    the first step of a search, column t the state after step t; when nothing changes any more, the
    last state repeats. Shapes are those of a single round. A batch joins them along `node`, `arc`
    or 1, and shifts the node numbers in edge_index and predecessor_index.

    Inputs:
        num_nodes (): Nodes of the flow network, source and sink included.
        edge_index (2, arc): Sender and receiver of each residual arc; the reverse is arc ^ 1.
        residual (arc,): Capacity left before this round, in units of flow.
        weight (arc,): The random weight, 1 to 15, that makes the shortest path unique.
        is_source (node,): Whether the node is the source.
        is_sink (node,): Whether the node is the sink.

    Hints, the states of the searches step by step:
        distance (node, step): Total weight of the best path that Bellman-Ford has found so far,
            over arcs with residual. 2^bits − 1 is infinity; longer distances are cut to one less.
        predecessor_index (node, step): The node before this one on that path. The source points to
            itself, and so does every node that is not reached.
        is_reached (node, step): Whether the node has been reached: the state of breadth-first
            search, and where distance and predecessor_index mean something.
        search_steps (1,): Steps in which Bellman-Ford changed something; column search_steps of
            distance is its result. Our own networks also take a last step that changes nothing.
        reach_steps (1,): Steps in which breadth-first search changed something.

    Targets:
        on_path (arc,): Whether the arc lies on the augmenting path.
        bottleneck (1,): What the path carries, in units of flow; 0 if there is none.
        has_path (1,): Whether there is an augmenting path; false only in a graph's last round.

    Origin:
        graph_number (1,): Which graph of the split the round belongs to.
        round_number (1,): Which round of that graph it is.

    After the round an arc has `residual - on_path * bottleneck`, plus what its reverse has lost.

    Args:
        root: Folder that keeps the files, one for each choice of settings, in `processed`.
        split: "train", "val" or "test"; they come from different streams of the seed.
        scale: Size of the graphs as a multiple of 8 + 8 nodes.
        p: Probability of an edge.
        num_graphs: 300, 50 and 50 by default, as in the paper.
        seed: For graphs and weights; the same seed gives the same bytes.
        bits: Width of a distance.
        partly_matched: Start from states in which up to 40 % of the pairs are matched greedily,
            the paper's extra data for breadth-first search.
        max_steps: Length of the step axis less one; by default that of the longest search in the
            dataset. Set it to batch rounds of several datasets together.
        transform: Applied to each round on access.
        force_reload: Rebuild the file.

    Raises:
        InputError: A setting is out of range, or a file is damaged.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     traces = Traces(folder, num_graphs=2)
    >>> len(traces), traces[0].edge_index.shape
    (16, torch.Size([2, 76]))
    """

    def __init__(  # noqa: PLR0913  # one parameter per setting
        self,
        root: str | os.PathLike[str],
        split: Literal["train", "val", "test"] = "train",
        scale: int = 1,
        p: float = 0.25,
        num_graphs: int | None = None,
        *,
        seed: int = 0,
        bits: int = 8,
        partly_matched: bool = False,
        max_steps: int | None = None,
        transform: Callable[[Any], Any] | None = None,
        force_reload: bool = False,
    ) -> None:
        if split not in NUM_GRAPHS:
            raise InputError(f"the split is {split!r}, not one of {', '.join(NUM_GRAPHS)}")
        self.split, self.partly_matched = split, bool(partly_matched)
        self.scale = _at_least(1, scale, "the scale")
        self.num_graphs = NUM_GRAPHS[split] if num_graphs is None else num_graphs
        self.num_graphs = _at_least(1, self.num_graphs, "the number of graphs")
        self.p, self.seed, self.bits = float(p), _at_least(0, seed, "the seed"), bits
        self.max_steps = max_steps and _at_least(1, max_steps, "the number of steps")
        super().__init__(str(root), transform)
        path = Path(self.processed_paths[0])
        if force_reload or not path.exists():
            self._write(path)
        self._read(path)

    @property
    def processed_file_names(self) -> str:
        """The file for these settings."""
        state = "-partly-matched" if self.partly_matched else ""
        steps = f"-{self.max_steps}-steps" if self.max_steps else ""
        return (
            f"traces-{FORMAT}-{self.split}-{self.scale}x-p-{self.p!r}-{self.num_graphs}-graphs"
            f"-seed-{self.seed}-{self.bits}-bits{state}{steps}.safetensors"
        )

    def traces(self) -> list[Trace]:
        """Draw the graphs of these settings and trace them, as was done for the file."""
        number = STREAMS[self.split, self.partly_matched]
        rng = np.random.default_rng(self.seed).spawn(number + 1)[number]
        side = SIDE * self.scale

        def draw() -> FlowNetwork:
            if self.partly_matched:
                return draw_partly_matched(rng, side, self.p)
            return FlowNetwork.from_bipartite(uniform(rng, side, p=self.p))

        return record([draw() for _ in range(self.num_graphs)], rng, self.bits)

    def _write(self, path: Path) -> None:
        traces = self.traces()
        longest = max(len(round_.distance) - 1 for trace in traces for round_ in trace.rounds)
        max_steps = self.max_steps or longest
        if longest > max_steps:
            raise InputError(f"a search takes {longest} steps, more than the {max_steps} allowed")
        rounds = [data for trace in enumerate(traces) for data in _rounds(*trace, max_steps)]
        data, slices = self.collate(rounds)
        tables = data.to_dict()
        # A single round is not sliced; only the node counts and their sum are not tensors.
        tensors = {f"slices.{name}": bounds for name, bounds in (slices or {}).items()}
        tensors |= {f"data.{name}": x for name, x in tables.items() if isinstance(x, Tensor)}
        tensors["num_nodes"] = torch.tensor(
            tables.get("_num_nodes", [tables["num_nodes"]]), device="cpu"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(path, tensors, {})

    def _read(self, path: Path) -> None:
        try:
            tensors, _ = read_tensors(path)
            sizes = tensors.pop("num_nodes").tolist()
            parts: dict[str, dict[str, Any]] = {"data": {}, "slices": {}}
            for key, tensor in tensors.items():
                part, _, name = key.partition(".")
                parts[part][name] = tensor
            tables = parts["data"] | {"num_nodes": sum(sizes)}
            if parts["slices"]:
                self.slices, tables["_num_nodes"] = parts["slices"], sizes
            self.data = RoundData.from_dict(tables)
        except (RuntimeError, LookupError, ValueError, TypeError):
            raise InputError(
                f"{path}: this is not a complete file of traces; force_reload=True rebuilds it"
            ) from None


def _rounds(graph_number: int, trace: Trace, max_steps: int) -> Iterator[RoundData]:
    """Yield the rounds of one graph, their step axes padded with the last state."""
    network = trace.network
    nodes = torch.arange(network.num_nodes, device="cpu")
    for round_number, traced in enumerate(trace.rounds):
        on_path = torch.zeros(network.num_arcs, dtype=torch.bool, device="cpu")
        on_path[torch.from_numpy(traced.path.astype(np.int64))] = True
        predecessor = _by_node(traced.predecessor, max_steps)
        yield RoundData(
            num_nodes=network.num_nodes,
            edge_index=torch.from_numpy(np.stack([network.sender, network.receiver])).long(),
            residual=torch.tensor(traced.residual, device="cpu"),
            weight=torch.from_numpy(traced.weights.astype(np.int64)),
            is_source=nodes == network.source,
            is_sink=nodes == network.sink,
            distance=_by_node(traced.distance, max_steps),
            predecessor_index=torch.where(predecessor >= 0, predecessor, nodes[:, None]),
            is_reached=predecessor >= 0,
            search_steps=torch.tensor([len(traced.distance) - 1], device="cpu"),
            reach_steps=torch.tensor([len(traced.reached) - 1], device="cpu"),
            on_path=on_path,
            bottleneck=torch.tensor([traced.bottleneck], device="cpu"),
            has_path=torch.tensor([len(traced.path) > 0], device="cpu"),
            graph_number=torch.tensor([graph_number], device="cpu"),
            round_number=torch.tensor([round_number], device="cpu"),
        )


def _by_node(rows: np.ndarray[Any, Any], max_steps: int) -> Tensor:
    """(row, node) → (node, max_steps + 1), the last row repeated."""
    steps = np.minimum(np.arange(max_steps + 1), len(rows) - 1)
    return torch.from_numpy(np.ascontiguousarray(rows[steps].T.astype(np.int64)))


def _at_least(low: int, value: object, what: str) -> int:
    number = whole_number(value, what)
    if number < low:
        raise InputError(f"{what} is {number}, but must be at least {low}")
    return number
