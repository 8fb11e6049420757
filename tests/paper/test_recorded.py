"""Updates on padded batches produce the same weights as plain updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from augury.paper.recorded import Recorder
from augury.training.ensemble import Ensemble, Epoch, PaddedEpoch, training_data_of
from augury.training.samples import learn
from tiny import tiny_config

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def trained(
    preset: str, seeds: list[int], is_recorded: bool, device: str = "cpu"
) -> tuple[list[torch.Tensor], dict[str, list[float]]]:
    """Return weights and mean losses after two epochs."""
    config = tiny_config(preset, "data.extra_graphs=3", "training.batch_size=6")
    data = training_data_of(config)
    module = Ensemble(config, seeds, data, is_recorded).to(device)
    optimizer = module.configure_optimizers()
    recorder = Recorder(module.network, optimizer, learn) if is_recorded else None
    for number in range(2):
        epoch = (PaddedEpoch if is_recorded else Epoch)(data, config, number)
        for place in range(len(epoch)):
            if recorder is not None:
                recorder.update(epoch[place])
                continue
            batch = module.transfer_batch_to_device(epoch[place], torch.device(device), 0)
            optimizer.zero_grad()
            module.training_step(batch, place).backward()
            optimizer.step()
    tally = recorder.taken() if recorder is not None else module.taken_tally()
    losses = {name: value.reshape(-1).tolist() for name, value in tally.means().items()}
    return [p.detach().cpu() for p in module.network.parameters()], losses


def check_close(one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
    # Adam divides by the gradient's size: where that is nothing but rounding, so is the update.
    apart = torch.cat([(a - b).abs().flatten() for a, b in zip(one, other, strict=True)])
    assert float(apart.median()) < 1e-6 and float(apart.quantile(0.95)) < 1e-4


@pytest.mark.parametrize(("preset", "seeds"), [("paper-mpnn", [0]), ("paper-pna-nostd", [0, 4])])
def test_two_epochs_of_recorded_updates_are_two_epochs(preset: str, seeds: list[int]) -> None:
    (weights, losses), (others, other_losses) = (
        trained(preset, seeds, is_recorded) for is_recorded in (False, True)
    )
    assert losses.keys() == other_losses.keys()
    for name, value in losses.items():
        np.testing.assert_allclose(other_losses[name], value, rtol=1e-3, err_msg=name)
    check_close(weights, others)


def test_what_is_taken_starts_again_at_zero() -> None:
    config = tiny_config()
    data = training_data_of(config)
    module = Ensemble(config, [0], data, True)
    recorder = Recorder(module.network, module.configure_optimizers(), learn)
    recorder.update(PaddedEpoch(data, config, 0)[0])
    first = recorder.taken()
    assert float(first.count["termination"]) > 0
    assert all(float(value) == 0 for value in recorder.taken().count.values())


@pytest.mark.gpu
@needs_gpu
def test_recorded_kernels_do_what_plain_ones_do_and_repeat() -> None:
    plain, losses = trained("paper-mpnn", [0, 4], False, "cuda")
    once, recorded_losses = trained("paper-mpnn", [0, 4], True, "cuda")
    again, _ = trained("paper-mpnn", [0, 4], True, "cuda")
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))
    for name, value in losses.items():
        np.testing.assert_allclose(recorded_losses[name], value, rtol=1e-2, err_msg=name)
    check_close(plain, once)
