"""Where does the time of an assignment on a GPU go? Cycles of each stage of the kernel.

Counters are put into the kernel's text: the first lane of a problem reads the clock at the end of
each stage. What a problem takes is the sum over all problems divided by their number.

    python benchmarks/cuda_stages.py --out docs/results/cuda-stages.json
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from augury.engines import cuda_assign
from augury.engines.cuda import cupy
from augury.provenance import provenance

SEED = 0
STAGES = (
    "measured",
    "filled",
    "priced",
    "bids",
    "paths",
    "repaired",
    "compared",
    "settled",
    "proven",
)
COUNTS = ("bids", "paths", "steps", "solved again", "searches", "sweeps", "softened")
COPIES, MOST = 1024, 16
"""Problems that run at the same time count in different places, lest they wait for each other."""
HEAD = f"""
#define COPIES {COPIES}
extern "C" {{ __device__ unsigned long long counters[COPIES][{MOST}]; }}"""
HEAD += """
#define OWN counters[(blockIdx.x * GROUPS + threadIdx.x / LANES) % COPIES]
#define ADD(k, amount) atomicAdd(OWN + (k), (unsigned long long)(amount))
#define COUNT(k, amount) if (threadIdx.x % LANES == 0) ADD(k, amount);
#define ENDS(k) COUNT(k, clock64())
#define BEGINS(k) COUNT(k, -clock64())
#define PASSES(k) { ENDS(k) BEGINS(k + 1) }
"""
BEFORE = {
    "    Problem own = measured(given);": "BEGINS(0)",
    "    // Each free row takes its best column, at a price": "PASSES(2)",
    "        num_bids -= num_bidders;": "COUNT(9, num_bidders)",
    "    for (int number_of = 0; number_of < num_free + num_kept; ++number_of) {": "PASSES(3)",
    "        const int free_row = queue[number_of < num_free": "COUNT(10, 1)",
    "            unit nearest = FAR(unit);": "COUNT(11, 1)",
    "        is_known = !own.is_rounded || repaired(": "PASSES(4)",
    "        const int found = is_known ? weighed(": "PASSES(5)",
    "        if (threadIdx.x % LANES == 0) batch.status[number_of] = own": "ENDS(6) COUNT(12, 1)",
    "    settled(own, faults & HAS_BARRED,": "PASSES(6)",
    "        int from_nowhere = 0;": "COUNT(13, 1)",
    "        bool lowers = false;": "COUNT(14, 1)",
    "    int* rounded = (int*)prices;": "COUNT(15, 1)",
    "    proven(batch, number_of, own,": "PASSES(7)",
}
"""What is counted in front of a line."""
AFTER = {
    "    Problem own = measured(given);": "PASSES(0)",
    "    fill(table, given, own);": "PASSES(1)",
    "    proven(batch, number_of, own, shared, planes, column_of, faults);": "ENDS(8)",
}


def instrumented(code: str) -> str:
    """Return the text of a kernel with its counters."""
    for line, what in BEFORE.items():
        assert code.count(line) == 1, line
        code = code.replace(line, f"{what}\n{line}")
    for line, what in AFTER.items():
        assert code.count(line) == 1, line
        code = code.replace(line, f"{line}\n{what}")
    return HEAD + code


HELD: list[Any] = []
"""The counters of all kernels."""


@cache
def kernel(form: cuda_assign.Form, device: int) -> Any:
    """Do as `cuda_assign.kernel` does, with counters in the first kernel of a call."""
    module = cupy()
    is_again = dict(form.given)["IS_AGAIN"]
    with module.cuda.Device(device):
        code = form.code if is_again else instrumented(form.code)
        compiled = module.RawModule(code=code, options=("--std=c++17",))
        found = compiled.get_function(form.name)
        cuda_assign.allow(found, form.memory)
        if not is_again:
            place = compiled.get_global("counters")
            HELD.append(module.ndarray((COPIES, MOST), module.uint64, place))
        return found.kernel


def main() -> None:
    """Measure, print, and write."""
    import torch

    from cuda_assign import FAMILIES, SHAPES, uniform

    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path)
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--allowed", type=float, help="the share of pairs that may be assigned")
    chosen = options.parse_args()
    cuda_assign.kernel = kernel
    rows: list[dict[str, Any]] = []
    for shape in SHAPES:
        for family in chosen.families.split(","):
            seed = torch.Generator("cuda").manual_seed(SEED)
            cost = FAMILIES[family](shape, seed)
            mask = chosen.allowed and uniform(shape, seed) < chosen.allowed
            for _ in range(2):  # the first call compiles
                for counters in HELD:
                    counters.fill(0)
                cuda_assign.assign(cost, mask, None, False)
                torch.cuda.synchronize()
            counted = np.sum([counters.get() for counters in HELD], axis=(0, 1))
            mean = (counted / shape[0]).round(1).tolist()
            row: dict[str, Any] = {"family": family, "shape": shape}
            row["cycles"] = dict(zip(STAGES, mean, strict=False))
            row |= zip(COUNTS, mean[len(STAGES) :], strict=False)
            rows.append(row)
            print(family, shape, row["cycles"], flush=True)
    if chosen.out:
        record = {
            "rows": rows,
            "what": __doc__,
            "allowed": chosen.allowed,
            "seed": SEED,
            **provenance("cuda"),
        }
        chosen.out.write_text(json.dumps(record, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
