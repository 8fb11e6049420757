"""How does the time of assignments on a GPU grow with n and with the batch? Beside it, the floor.

    python benchmarks/cuda_growth.py --out growth.json
    python benchmarks/cuda_growth.py --draw growth.json --picture docs/images/cuda-growth.png

The floor is the time to read the costs once at the memory's rate, and the time to look at each cost
once for each row (n³ additions) at the card's rate: no method that reads every cost goes below the
first, and one that searches from every row does about the second. Times are medians by CUDA events.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from augury.experiments.plots import STYLE
from augury.files import atomic_file
from augury.provenance import provenance

SIDES, BATCHES = (8, 16, 32, 64, 128, 256, 512, 1024), (1, 16, 256, 4096, 65536)
BYTES_A_SECOND, OPERATIONS_A_SECOND = 4.8e12, 132 * 64 * 1.98e9
"""An H200: its memory, and 64 integer additions a cycle on each of 132 processors."""
MOST_CELLS = 2**28
SEED = 0
COLOURS = ("#0072B2", "#CC79A7", "#D55E00", "#E69F00", "#009E73")


def measured() -> list[dict[str, Any]]:
    """Time uniform costs of each n and batch that fits."""
    import torch

    from augury.torch import linear_assignment
    from cuda_assign import milliseconds, uniform

    rows: list[dict[str, Any]] = []
    for n in SIDES:
        for batch in BATCHES:
            if batch * n * n > MOST_CELLS:
                continue
            cost = uniform((batch, n, n), torch.Generator("cuda").manual_seed(SEED))
            taken = milliseconds(lambda cost=cost: linear_assignment(cost))
            rows.append({"n": n, "batch": batch, "milliseconds": taken})
            print(f"{n:5} {batch:6} {taken:10.3f} ms", flush=True)
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw time over n, a line for each batch, and the two floors dashed and dotted."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = STYLE
    with matplotlib.rc_context(style):
        plot, panel = pyplot.subplots(figsize=(7.2, 4.6))
        for colour, batch in zip(COLOURS, BATCHES, strict=True):
            own = [row for row in rows if row["batch"] == batch]
            sides = [row["n"] for row in own]
            times = [row["milliseconds"] for row in own]
            panel.loglog(
                sides, times, "o-", color=colour, label=f"{batch:,} problem" + "s" * (batch > 1)
            )
            read = [4e3 * batch * n**2 / BYTES_A_SECOND for n in sides]
            work = [1e3 * batch * n**3 / OPERATIONS_A_SECOND for n in sides]
            panel.loglog(sides, read, "--", color=colour, linewidth=1)
            panel.loglog(sides, work, ":", color=colour, linewidth=1)
        panel.plot([], [], "--", color="#444444", label="floor: bytes")
        panel.plot([], [], ":", color="#444444", label="floor: operations")
        panel.set(xlabel="nodes a side", ylabel="milliseconds", ylim=(1e-3, None))
        panel.set_xticks(SIDES, [str(n) for n in SIDES], minor=False)
        panel.set_xticks([], minor=True)
        panel.legend(fontsize=9, ncols=2)
        with atomic_file(path) as file:
            plot.savefig(file, format="png", dpi=160, metadata={"Software": None})
        pyplot.close(plot)


def main() -> None:
    """Measure, or draw what was measured."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--out", type=Path, help="measure, and write the times there")
    options.add_argument("--draw", type=Path, help="draw the times of this file")
    options.add_argument("--picture", type=Path, default=Path("cuda-growth.png"))
    given = options.parse_args()
    if given.out:
        record = {"rows": measured(), "seed": SEED, **provenance("cuda")}
        given.out.write_text(json.dumps(record, indent=1) + "\n")
    if given.draw:
        draw(json.loads(given.draw.read_text())["rows"], given.picture)


if __name__ == "__main__":
    main()
