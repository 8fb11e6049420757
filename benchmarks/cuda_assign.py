"""How fast are certified assignments on a GPU, beside torch-linear-assignment (without proof)?

Tensors are on the card before and after. Every answer is proven there, and compared: the sums of
costs with the peer's for all problems, the indices with SciPy's for some. Times are medians by
CUDA events, both in one run.

    python benchmarks/cuda_assign.py [--out FILE] [--host]

The peer is compared if it is installed: `pip install torch-linear-assignment==0.1.0`.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from augury.engines.cuda_assign import assign
from augury.provenance import provenance
from augury.torch import Status

SHAPES = [
    (208, 300, 100),
    (208, 300, 300),
    (208, 300, 600),
    (32, 300, 20),
    (8, 1024, 1024),
    (65536, 8, 8),
    (65536, 16, 16),
    (4096, 32, 32),
    (4096, 64, 64),
    (1024, 128, 128),
    (256, 256, 256),
]


def uniform(shape: tuple[int, ...], seed: Any) -> Tensor:
    """Numbers from 0 to 1."""
    return torch.rand(shape, generator=seed, device="cuda")


def rank_one(shape: tuple[int, ...], seed: Any) -> Tensor:
    """Products of a number for each row and one for each column, and a little noise."""
    count, left, right = shape
    product = uniform((count, left, 1), seed) * uniform((count, 1, right), seed)
    return product + 0.01 * uniform(shape, seed)


def detection(shape: tuple[int, ...], seed: Any) -> Tensor:
    """Distances of boxes, as a detector's training step has them."""
    count, left, right = shape
    ends = uniform((count, left, 4), seed), uniform((count, right, 4), seed)
    return torch.cdist(*ends, p=1) * 5 - 2 * uniform(shape, seed)


def ties(shape: tuple[int, ...], seed: Any) -> Tensor:
    """Integers from 0 to 9."""
    return torch.randint(0, 10, shape, generator=seed, device="cuda", dtype=torch.int32)


FAMILIES = {"uniform": uniform, "detection": detection, "rank-one": rank_one, "ties": ties}
SEED = 0
FAR = 1000
"""The cost of a pair that must not be assigned, for those who know no masks."""


def milliseconds(call: Any, least: float = 0.2) -> float:
    """Return the median time of a call on the card, over a fifth of a second or five calls."""
    call()
    torch.cuda.synchronize()
    times: list[float] = []
    while len(times) < 5 or (sum(times) < 1000 * least and len(times) < 100):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return median(times)


def microseconds(call: Any) -> float:
    """Return the host's time for a call; it does not wait for the card."""
    torch.cuda.synchronize()
    start = perf_counter()
    for _ in range(20):
        call()
    taken = perf_counter() - start
    torch.cuda.synchronize()
    return taken / 20 * 1e6


def total(cost: Tensor, indices: Tensor) -> Tensor:
    """Return the sum of costs of each problem, as float64."""
    taken = cost.double().gather(2, indices.clamp(min=0)[:, :, None])[:, :, 0]
    return torch.where(indices >= 0, taken, 0).sum(dim=1)


def compared(cost: Tensor, mask: Tensor | None, few: int = 16) -> str:
    """Return what differs from SciPy in the first problems; "" if nothing does."""
    found = assign(cost, mask, None, False)
    worst = Status.OPTIMAL if mask is None else Status.PARTIAL
    unproven = int((found.status > worst).sum())
    told = [f"{unproven} not proven"] if unproven else []
    full = cost if mask is None else torch.where(mask, cost, FAR)
    for one, own in zip(full[:few].cpu().numpy(), found.indices[:few].cpu().numpy(), strict=True):
        rows, columns = linear_sum_assignment(one)
        best = one[rows, columns].astype(np.float64)
        ours = one[np.flatnonzero(own >= 0), own[own >= 0]].astype(np.float64)
        best = best[best < FAR]
        if len(ours) != len(best) or abs(ours.sum() - best.sum()) > 1e-9 * max(1, abs(best.sum())):
            told.append(f"cost {ours.sum()} where SciPy has {best.sum()}")
    return "; ".join(told[:3])


def main() -> None:
    """Measure, print, and write."""
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path)
    options.add_argument("--host", action="store_true", help="the time of the host for a call, too")
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--allowed", type=float, help="the share of pairs that may be assigned")
    chosen = options.parse_args()
    try:
        from torch_linear_assignment import batch_linear_assignment  # type: ignore
    except ModuleNotFoundError:
        batch_linear_assignment = None
    rows: list[dict[str, Any]] = []
    for family in chosen.families.split(","):
        for shape in SHAPES:
            seed = torch.Generator("cuda").manual_seed(SEED)
            cost = FAMILIES[family](shape, seed)
            mask = uniform(shape, seed) < chosen.allowed if chosen.allowed else None
            wrong = compared(cost, mask)
            row: dict[str, Any] = {"family": family, "shape": shape, "wrong": wrong}
            call = partial(assign, cost, mask, None, False)
            row["augury"] = milliseconds(call)
            if batch_linear_assignment is not None:
                full = cost if mask is None else torch.where(mask, cost, FAR)
                row["peer"] = milliseconds(partial(batch_linear_assignment, full))
                if mask is None:
                    more = total(cost, call().indices) - total(cost, batch_linear_assignment(cost))
                    row["worst"] = float(more.max())  # below 0: the peer is not optimal
                    row["best"] = float(more.min())
            rows.append(row)
            ratio = row.get("peer", 0) / row["augury"]
            tail = f"{row.get('peer', 0):9.3f} {ratio:6.2f}x  {row.get('worst', 0):+.1e} {wrong}"
            print(f"{family:10} {shape!s:18} {row['augury']:9.3f} ms {tail}", flush=True)
            if chosen.host:
                print(f"    host       {microseconds(call) / 1000:8.3f} ms")
    if chosen.out:
        record = {"rows": rows, "allowed": chosen.allowed, "seed": SEED, **provenance("cuda")}
        chosen.out.write_text(json.dumps(record, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
