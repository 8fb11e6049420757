"""The matching step of a DETR-style detector: predictions and targets of a batch become pairs.

    python benchmarks/detr_matching.py [--device cuda] [--images 32] [--queries 300] [--targets 20]

Twice: as it is usually written (costs to the host, SciPy in a loop, indices back), and by
`augury.torch.linear_assignment`, which stays on the device and proves every assignment. Both must
agree. On CUDA it also counts how often each waits for the card.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from augury.torch import linear_assignment


class Step(NamedTuple):
    """What a training step has at hand; boxes are (x0, y0, x1, y1) from 0 to 1."""

    logits: Tensor  # (image, query, class)
    boxes: Tensor  # (image, query, 4)
    labels: Tensor  # (image, target), padded
    targets: Tensor  # (image, target, 4), padded
    counts: list[int]  # how many targets each image has


def drawn(images: int, queries: int, most: int, device: str) -> Step:
    """Draw predictions and targets."""
    torch.manual_seed(0)

    def boxes(*shape: int) -> Tensor:
        corner, size = torch.rand(*shape, 2), torch.rand(*shape, 2)
        return torch.cat([corner, corner + 0.05 + 0.3 * size], dim=-1)

    logits, labels = torch.randn(images, queries, 91), torch.randint(91, (images, most))
    made = logits, boxes(images, queries), labels, boxes(images, most)
    counts = torch.randint(1, most + 1, (images,)).tolist()
    logits, predicted, labels, targets = (one.to(device) for one in made)
    return Step(logits, predicted, labels, targets, counts)


# The step: forty lines from predictions to pairs.
def giou(one: Tensor, other: Tensor) -> Tensor:
    """(…, query, 4) and (…, target, 4) boxes → their generalised IoU."""
    one, other = one.unsqueeze(-2), other.unsqueeze(-3)
    inner = torch.minimum(one, other)[..., 2:] - torch.maximum(one, other)[..., :2]
    outer = torch.maximum(one, other)[..., 2:] - torch.minimum(one, other)[..., :2]
    area, common = outer.prod(-1), inner.clamp(min=0).prod(-1)
    union = sum((box[..., 2:] - box[..., :2]).prod(-1) for box in (one, other)) - common
    return common / union - (area - union) / area


@torch.no_grad()
def costs(step: Step) -> Tensor:
    """Class, L1 and GIoU, weighted as DETR does: (image, query, target)."""
    labels = step.labels.unsqueeze(1).expand(-1, step.logits.shape[1], -1)
    likely = step.logits.softmax(-1).gather(2, labels)
    distance = torch.cdist(step.boxes, step.targets, p=1)
    return 5 * distance - likely - 2 * giou(step.boxes, step.targets)


def before(step: Step) -> Tensor:
    """Match on the host, image by image."""
    found = torch.full(step.logits.shape[:2], -1)
    for image, cost in enumerate(costs(step).cpu()):
        query, target = linear_sum_assignment(cost[:, : step.counts[image]])
        found[image, query] = torch.as_tensor(target)
    return found.to(step.logits.device)


def after(step: Step) -> Tensor:
    """Match all images where they are: (image, query) → its target, −1 for none."""
    sizes = torch.tensor([[step.logits.shape[1], count] for count in step.counts])
    if step.logits.is_cuda:
        sizes = sizes.pin_memory()  # only pinned memory is copied without waiting
    return linear_assignment(costs(step), sizes=sizes.to(step.logits.device, non_blocking=True))


def milliseconds(work: Callable[[], Any], device: str, repeats: int = 20) -> float:
    """Return the least time of a step, until its indices are there."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def synchronisations(work: Callable[[], Any]) -> int:
    """Count how often the host waits for the card during a step."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            work()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing" in str(one.message) for one in told)


def main() -> None:
    """Run both forms, compare them, and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--device", default="cpu")
    options.add_argument("--images", type=int, default=32)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--targets", type=int, default=20, help="at most, of an image")
    given = options.parse_args()
    step = drawn(given.images, given.queries, given.targets, given.device)
    assert torch.equal(before(step), after(step)), "the assignments differ"
    forms = {"costs alone": costs, "before: SciPy in a loop": before, "after: augury.torch": after}
    for name, form in forms.items():
        line = f"{name:24} {milliseconds(lambda form=form: form(step), given.device):8.2f} ms"
        if given.device.startswith("cuda"):
            line += f"   {synchronisations(lambda form=form: form(step))} synchronisations"
        print(line)


if __name__ == "__main__":
    main()
