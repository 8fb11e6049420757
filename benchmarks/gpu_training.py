"""Train ensembles on a GPU with recorded updates and with plain ones; print and write the figures.

    python benchmarks/gpu_training.py [--preset paper-mpnn] [--seeds 10] [--limit 180] [--out FILE]
                                      [--only-training]

1. Two epochs both ways from the same weights: their losses must agree to rounding, and recorded
   updates must repeat bit for bit.
2. Seconds an epoch takes both ways, without validation.
3. All seeds to early stopping, as `augury train` does it; no epoch is kept after --limit seconds.
   Then where the seconds went: the updates, the figures of an epoch with the copying of its
   weights, the waiting for executions on the CPU, and the keeping of epochs.

Without a GPU, or with `--device cpu`, nothing is recorded; that only shows that the file works.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from augury.config import Config, preset
from augury.paper.recorded import Recorder
from augury.provenance import provenance
from augury.training.ensemble import Ensemble, Epoch, PaddedEpoch, training_data_of
from augury.training.samples import learn
from augury.training.trainer import train

Result = dict[str, Any]


def epochs(
    config: Config, seeds: list[int], device: str, is_recorded: bool, count: int
) -> tuple[list[dict[str, float]], list[float], list[torch.Tensor]]:
    """Train; return the mean losses and seconds of each epoch, and the weights."""
    data = training_data_of(config)
    module = Ensemble(config, seeds, data, is_recorded).to(device)
    optimizer = module.configure_optimizers()
    recorder = Recorder(module.network, optimizer, learn) if is_recorded else None
    losses: list[dict[str, float]] = []
    seconds: list[float] = []
    for number in range(count):
        epoch = (PaddedEpoch if is_recorded else Epoch)(data, config, number)
        started = time.perf_counter()
        for place in range(len(epoch)):
            if recorder is not None:
                recorder.update(epoch[place])
                continue
            batch = module.transfer_batch_to_device(epoch[place], torch.device(device), 0)
            optimizer.zero_grad()
            module.training_step(batch, place).backward()
            optimizer.step()
        tally = recorder.taken() if recorder is not None else module.taken_tally()
        losses.append({name: float(value.mean()) for name, value in tally.means().items()})
        seconds.append(time.perf_counter() - started)  # the losses above synced with the device
    return losses, seconds, [parameter.detach() for parameter in module.network.parameters()]


def compare(config: Config, seeds: list[int], device: str) -> Result:
    """Train two epochs in both ways and see that they agree; time the second."""
    plain, plain_seconds, _ = epochs(config, seeds, device, False, 2)
    recorded, seconds, weights = epochs(config, seeds, device, True, 3)
    _, _, again = epochs(config, seeds, device, True, 3)
    apart = max(
        abs(recorded[number][name] - value) / max(abs(value), 1e-3)
        for number in range(2)
        for name, value in plain[number].items()
        if value  # counts of right decisions have no loss
    )
    repeats = all(torch.equal(one, other) for one, other in zip(weights, again, strict=True))
    print(f"losses of two epochs differ by at most {apart:.2e}; repeats bit for bit: {repeats}")
    print(f"plain {plain_seconds[-1]:.2f} s an epoch, recorded {seconds[-1]:.2f} s (first epoch, "
          f"with recording, {seconds[0]:.2f} s)")  # fmt: skip
    return {
        "largest_difference": apart,
        "repeats": repeats,
        "plain_epoch_seconds": plain_seconds,
        "recorded_epoch_seconds": seconds,
    }


def parts(config: Config, seeds: list[int], device: str) -> Result:
    """Time what an update and the end of an epoch consist of, in milliseconds."""
    data = training_data_of(config)
    module = Ensemble(config, seeds, data, True).to(device)
    recorder = Recorder(module.network, module.configure_optimizers(), learn)
    epoch = PaddedEpoch(data, config, 0)
    batches = [epoch[place] for place in range(len(epoch))]
    for batch in batches:  # everything is recorded and warm
        recorder.update(batch)

    def updates() -> None:
        for batch in batches:
            recorder.update(batch)

    keys = [(batch.num_steps, batch.extra is None, len(batch.packed())) for batch in batches]

    def replays() -> None:
        for key in keys:
            recorder.recordings[key][1]()

    count = len(batches)
    todo: dict[str, tuple[Callable[[], object], int]] = {
        "make a batch": (lambda: [epoch[place] for place in range(count)], count),
        "pack a batch": (lambda: [batch.packed() for batch in batches], count),
        "update by batches that are made": (updates, count),
        "update by what is on the device": (replays, count),
        "validate": (module.validated, 1),
    }
    found: dict[str, float] = {}
    for name, (do, times) in todo.items():
        do()
        _wait(device)
        started = time.perf_counter()
        do()
        _wait(device)
        found[name] = 1000 * (time.perf_counter() - started) / times
        print(f"{name:32s} {found[name]:8.2f} ms", flush=True)
    return {"milliseconds": found}


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


class OutOfTime(Exception):
    """The limit has passed."""


def train_all(config: Config, seeds: list[int], device: str, limit: float) -> Result:
    """Train to early stopping, or to the limit; return how it went."""
    started = time.perf_counter()
    timeline: list[dict[str, float]] = []

    def say(line: str) -> None:
        seconds = time.perf_counter() - started
        print(f"{seconds:6.1f} s  {line}", flush=True)
        if seconds > limit:
            raise OutOfTime

    is_complete = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        try:
            train(config, seeds, folder, device, say=say, timeline=timeline)
        except OutOfTime:
            is_complete = False
        seconds = time.perf_counter() - started
        histories = {
            seed: path.read_text().splitlines()
            for seed in seeds
            if (path := folder / f"seed-{seed}" / "history.csv").exists()
        }
    epochs_run = {seed: len(rows) - 1 for seed, rows in histories.items()}
    print(f"{'all seeds stopped' if is_complete else 'out of time'} after {seconds:.1f} s; "
          f"epochs {sorted(epochs_run.values())}")  # fmt: skip
    spent = {name: sum(row[name] for row in timeline) for name in timeline[0]} if timeline else {}
    spent["start, end, and epochs thrown away"] = seconds - sum(spent.values())
    for name, value in spent.items():
        print(f"{name:36s} {value:6.1f} s {value / seconds:5.0%}")
    return {
        "complete": is_complete,
        "seconds": seconds,
        "spent": spent,
        "timeline": timeline,
        "epochs": epochs_run,
        "history": histories,
    }


def main() -> None:
    """Compare, time and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="paper-mpnn")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for the training")
    parser.add_argument("--graphs", type=int, help="training graphs, fewer than the preset's")
    parser.add_argument("--only-training", action="store_true", help="leave out the comparison")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    config = preset(options.preset)
    if options.graphs:
        config = replace(config, data=replace(config.data, train_graphs=options.graphs))
    seeds = list(range(options.seeds))
    found: Result = {"preset": options.preset, "seeds": seeds, **provenance(options.device)}
    if not options.only_training:
        found |= compare(config, seeds, options.device)
    found |= parts(config, seeds, options.device)
    found["training"] = train_all(config, seeds, options.device, options.limit)
    if options.out:
        options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
