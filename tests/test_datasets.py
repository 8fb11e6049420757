"""Traces as a PyTorch Geometric dataset: correct in batches and on disk, and as documented."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.loader import DataLoader

from augury.config import DataConfig
from augury.datasets import NUM_GRAPHS, STREAMS, Traces
from augury.errors import InputError
from augury.models.checkpoint import read_tensors
from augury.neural.batch import Samples, training_data

FIELD = re.compile(r"^    (\w+) \((.*?)\): ", re.MULTILINE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


@pytest.fixture(scope="module")
def train(root: Path) -> Traces:
    return Traces(root, num_graphs=6)


def rounds(dataset: Traces) -> list[Any]:
    return [dataset.get(place) for place in range(len(dataset))]


def documented() -> dict[str, str]:
    text = inspect.cleandoc(Traces.__doc__ or "").partition("\nArgs:")[0]
    return dict(FIELD.findall(text))


def test_the_documented_fields_are_the_fields(train: Traces) -> None:
    for data in rounds(train):
        assert set(documented()) == set(data.to_dict())


def test_every_field_has_its_documented_shape_and_kind(train: Traces) -> None:
    for data in rounds(train):
        sizes = {"2": 2, "1": 1, "node": 18, "arc": data.num_edges, "step": data.distance.shape[1]}
        for name, shape in documented().items():
            if name == "num_nodes":
                assert data.num_nodes == 18
                continue
            expected = [sizes[axis.strip()] for axis in shape.split(",") if axis.strip()]
            assert list(data[name].shape) == expected, name
            is_flag = name.startswith(("is_", "on_", "has_"))
            assert data[name].dtype == (torch.bool if is_flag else torch.int64), name


def check_against_trace(data: Any, trace: Any) -> None:
    """Compare a round with the trace field by field."""
    network, number = trace.network, int(data.round_number)
    traced = trace.rounds[number]
    assert data.edge_index.tolist() == [network.sender.tolist(), network.receiver.tolist()]
    assert data.residual.tolist() == traced.residual.tolist()
    assert data.weight.tolist() == traced.weights.tolist()
    assert torch.nonzero(data.is_source).flatten().tolist() == [network.source]
    assert torch.nonzero(data.is_sink).flatten().tolist() == [network.sink]
    assert int(data.search_steps) == len(traced.distance) - 1
    assert int(data.reach_steps) == len(traced.reached) - 1
    for step in range(data.distance.shape[1]):
        row = min(step, len(traced.distance) - 1)
        assert data.distance[:, step].tolist() == traced.distance[row].tolist()
        before = traced.predecessor[row]
        own = np.where(before < 0, np.arange(len(before)), before)
        assert data.predecessor_index[:, step].tolist() == own.tolist()
        reached = traced.reached[min(step, len(traced.reached) - 1)]
        # Breadth-first search and Bellman-Ford reach a node in the same step.
        assert data.is_reached[:, step].tolist() == reached.tolist() == (before >= 0).tolist()
    assert torch.nonzero(data.on_path).flatten().tolist() == sorted(traced.path.tolist())
    assert int(data.bottleneck) == traced.bottleneck
    assert bool(data.has_path) == (len(traced.path) > 0) == (number < len(trace.rounds) - 1)


@pytest.mark.parametrize("settings", [{}, {"partly_matched": True}, {"scale": 2, "split": "val"}])
def test_rounds_are_those_of_the_trace(root: Path, settings: dict[str, Any]) -> None:
    dataset = Traces(root, num_graphs=3, **settings)
    traces = dataset.traces()
    found = rounds(dataset)
    assert len(found) == sum(len(trace.rounds) for trace in traces)
    for data in found:
        check_against_trace(data, traces[int(data.graph_number)])


def test_our_own_training_learns_from_the_same_rounds(root: Path) -> None:
    config = DataConfig(train_graphs=4, validation_graphs=3, extra_graphs=2, seed=5)
    ours = training_data(config)
    assert ours.extra is not None
    same: list[tuple[Samples, dict[str, Any]]] = [
        (ours.train, {"num_graphs": 4}),
        (ours.validation, {"num_graphs": 3, "split": "val"}),
        (ours.extra, {"num_graphs": 2, "partly_matched": True}),
    ]
    for samples, settings in same:
        dataset = Traces(root, seed=5, **settings)
        assert len(dataset) == len(samples)
        for data, sample in zip(rounds(dataset), samples.samples, strict=True):
            rows = data.distance[:, : int(data.search_steps) + 1].T
            assert rows.tolist() == sample.distance.tolist()


def test_a_batch_keeps_pairs_and_pointers(root: Path, train: Traces) -> None:
    wider = Traces(root, scale=2, num_graphs=2, max_steps=30)
    narrow = Traces(root, num_graphs=6, max_steps=30)
    mixed = [*rounds(narrow)[:5], *rounds(wider)[-4:], *rounds(narrow)[9:12]]
    (batch,) = DataLoader(mixed, batch_size=len(mixed))
    sender, receiver = batch.edge_index
    arcs = torch.arange(len(sender))
    assert torch.equal(sender[arcs ^ 1], receiver)
    assert torch.equal(receiver[arcs ^ 1], sender)
    offsets = batch.ptr[:-1]
    for place, (data, offset) in enumerate(zip(mixed, offsets.tolist(), strict=True)):
        nodes = slice(offset, offset + data.num_nodes)
        own = batch.predecessor_index[nodes]
        assert torch.equal(own, data.predecessor_index + offset)
        assert torch.equal(batch.distance[nodes], data.distance)
        assert torch.equal(batch.is_reached[nodes], data.is_reached)
        own_arcs = batch.batch[sender] == place
        assert torch.equal(batch.residual[own_arcs], data.residual)
        assert torch.equal(batch.edge_index[:, own_arcs], data.edge_index + offset)
        assert batch.graph_number[place] == data.graph_number[0]
        for name in documented():  # and back again
            assert np.array_equal(batch.get_example(place)[name], data[name]), name


def test_every_reached_node_has_an_arc_from_its_predecessor(train: Traces) -> None:
    (batch,) = DataLoader(train, batch_size=len(train))
    sender, receiver = batch.edge_index
    step = batch.distance.shape[1] - 1
    is_tree = (batch.predecessor_index[receiver, step] == sender) & (batch.residual > 0)
    found = torch.zeros(batch.num_nodes, dtype=torch.long).index_add(0, receiver, is_tree.long())
    assert torch.equal(found == 1, batch.is_reached[:, step] & ~batch.is_source)
    assert is_tree[batch.on_path].all()
    far = batch.distance[:, step]
    assert torch.equal(far[receiver][is_tree], (far[sender] + batch.weight)[is_tree])


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (Traces(tmp_path / name, num_graphs=3, seed=7) for name in "ab")
    paths = Path(first.processed_paths[0]), Path(second.processed_paths[0])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    again = Traces(tmp_path / "a", num_graphs=3, seed=7, force_reload=True)
    assert Path(again.processed_paths[0]).read_bytes() == paths[1].read_bytes()
    other = Traces(tmp_path / "b", num_graphs=3, seed=8)
    assert Path(other.processed_paths[0]).read_bytes() != paths[1].read_bytes()


def test_the_second_time_it_is_read_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Traces(tmp_path, num_graphs=2)
    monkeypatch.setattr(Traces, "traces", lambda self: pytest.fail("traced again"))
    read = Traces(tmp_path, num_graphs=2)
    for first, second in zip(rounds(made), rounds(read), strict=True):
        assert all(np.array_equal(first[name], second[name]) for name in documented())


def test_files_hold_no_code_and_nothing_else_lies_beside_them(tmp_path: Path) -> None:
    dataset = Traces(tmp_path, num_graphs=2)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [Path(dataset.processed_paths[0])]
    tensors, _ = read_tensors(files[0])  # a format that has no place for code
    assert {name.partition(".")[0] for name in tensors} == {"data", "slices", "num_nodes"}


def test_splits_and_settings_never_mix(tmp_path: Path) -> None:
    settings: list[dict[str, Any]] = [
        {}, {"split": "val"}, {"split": "test"}, {"seed": 1}, {"p": 0.5}, {"scale": 2}, {"bits": 9},
        {"num_graphs": 3}, {"partly_matched": True}, {"split": "val", "partly_matched": True},
        {"split": "test", "partly_matched": True}, {"max_steps": 20},
    ]  # fmt: skip
    few: dict[str, Any] = {"num_graphs": 2}
    made = [Traces(tmp_path, **(few | own)) for own in settings]
    assert len({dataset.processed_paths[0] for dataset in made}) == len(settings)
    by_split = [tuple(rounds(dataset)[0].edge_index.flatten().tolist()) for dataset in made[:3]]
    assert len(set(by_split)) == 3
    assert len(set(STREAMS.values())) == len(STREAMS)


def test_sizes_are_those_of_the_paper() -> None:
    assert NUM_GRAPHS == {"train": 300, "val": 50, "test": 50}


def test_a_transform_and_a_single_round_work(root: Path) -> None:
    dataset: Any = Traces(root, num_graphs=2, transform=lambda data: data.residual)
    assert torch.equal(dataset[0], rounds(dataset)[0].residual)
    (only,) = rounds(Traces(root, num_graphs=1, p=0.0))
    assert not only.has_path
    assert int(only.search_steps) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "dev"}, "the split is 'dev', not one of train, val, test"),
        ({"scale": 0}, "the scale is 0, but must be at least 1"),
        ({"num_graphs": 0}, "the number of graphs is 0"),
        ({"num_graphs": 2.5}, "is 2.5, not a whole number"),
        ({"seed": -1}, "the seed is -1"),
        ({"p": 1.5}, "p is 1.5"),
        ({"bits": 40}, "1 to 31 bits"),
        ({"max_steps": 1}, "steps, more than the 1 allowed"),
    ],
)
def test_bad_settings_are_one_sentence(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Traces(tmp_path, **settings)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("keep", [0, 40, 5000])
def test_a_damaged_file_is_refused_and_can_be_made_anew(tmp_path: Path, keep: int) -> None:
    path = Path(Traces(tmp_path, num_graphs=2).processed_paths[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    with pytest.raises(InputError, match="not a complete file of traces"):
        Traces(tmp_path, num_graphs=2)
    Traces(tmp_path, num_graphs=2, force_reload=True)
    assert path.read_bytes() == whole


def test_the_package_does_not_import_it_unasked() -> None:
    program = "import sys, augury, augury.solver; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
