"""End to end: train on eight graphs, load the checkpoint, execute and certify."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from augury.classical.batch import Batch
from augury.classical.certificate import certify_flow
from augury.classical.ford_fulkerson import Verdict, ford_fulkerson
from augury.classical.simulate import simulate
from augury.config import preset, with_settings
from augury.models.checkpoint import load
from augury.paper.executor import NeuralExecutor
from augury.training.trainer import train
from tiny import bipartite

SETTINGS = (
    "data.train_graphs=8",
    "data.validation_graphs=4",
    "data.side=4",
    "network.hidden=16",
    "training.learning_rate=0.005",
    "training.batch_size=8",
    "training.max_epochs=20",
    "training.patience=20",
    "training.execution_graphs=4",
    "training.execution_scales=(1,)",
)


def test_a_network_learns_is_loaded_executes_and_is_certified(tmp_path: Path) -> None:
    config = with_settings(preset("paper-mpnn"), SETTINGS)
    [progress] = train(config, [0], tmp_path / "run", say=lambda line: None)
    first, last = progress.history[0], progress.history[-1]
    assert last["train_loss"] < 0.6 * first["train_loss"]

    network = load(tmp_path / "run" / "seed-0" / "best.safetensors").network
    # Search and reachability are learnt first; a bottleneck of 1 is the only one there is.
    executor = NeuralExecutor(network, neural_bottleneck=False, neural_augmentation=False)
    graphs = [bipartite(4, seed) for seed in range(12)]
    runs = simulate(graphs, executor.subroutines(), np.random.default_rng(0).spawn(12))
    assert all(run.ending in (Verdict.DONE, Verdict.GAVE_UP) for run in runs)
    assert sum(run.value for run in runs) > 0.5 * sum(run.maximum for run in runs)

    for graph, run, rng in zip(graphs, runs, np.random.default_rng(0).spawn(12), strict=True):
        *_, end = ford_fulkerson(Batch.of([graph]), executor.subroutines(), [rng])
        certificate = certify_flow(graph, graph.capacity - end.after)
        assert certificate.is_legal
        assert (certificate.size, certificate.maximum) == (run.value, run.maximum)
        assert certificate.is_maximum == run.is_right
