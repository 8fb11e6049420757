"""Count what the loops for large flows do, by size: why `table` grows as it does.

    python benchmarks/flow_operations.py [--families NAMES] [--arcs NUMBERS] [--out FILE]

The loops of `augury.engines.flows` run with counters in them: lines are added to a copy of the file
(`COUNTED`), and nothing else differs, so they take the same steps. Counted are searches, arcs that
searches look at, arcs that nodes with an excess look at, to push or to move away, and pushes.
Beside them is what the loops touch in memory. None of this depends on the machine; how long the
loops take is measured by `augury bench flows`, on the same graphs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from augury.classical.arrays import read_only
from augury.classical.hard import HARD_FLOWS
from augury.engines import flows
from augury.experiments.bench import machine

SEED = 0
COUNTED = {
    "searches": ("    own.level[goal] = 0\n", "    "),
    "searched": (
        "            other = np.int64(own.head[place])\n            if own.level[other] == ",
        12 * " ",
    ),
    "scanned": (
        "            limit = own.residual[place]\n            if limit > 0:\n                other",
        12 * " ",
    ),
    "pushes": ("                    amount = min(limit, excess)\n", 20 * " "),
    "rescanned": (
        "            if own.residual[k] > 0 and own.level[own.head[k]] < nearest",
        12 * " ",
    ),
    "moves": ("        nearest = np.int64(num_nodes)\n", 8 * " "),
}
"""Counters, and the lines of flows.py that they are added before, with their indent."""
NODE_BYTES, ARC_BYTES = 33, 16
"""Bytes of a `flows.Network` that belong to a node, and to an arc."""


def counting(folder: Path) -> ModuleType:
    """Return a copy of `flows` that counts in the last entries of `excess`."""
    text = Path(flows.__file__).read_text(encoding="utf-8")
    for place, (line, indent) in enumerate(COUNTED.values(), 1):
        if text.count(line) != 1:
            sys.exit(f"flows.py has {text.count(line)} lines {line.strip()!r}, not one")
        text = text.replace(line, f"{indent}own.excess[-{place}] += 1\n{line}")
    path = folder / "counting_flows.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("counting_flows", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["counting_flows"] = module
    spec.loader.exec_module(module)
    return module


def counted(loops: ModuleType, family: str, asked: int) -> dict[str, Any]:
    """Return what the loops did on one network, and how large it is."""
    network = HARD_FLOWS[family](np.random.default_rng(SEED), asked)
    nodes, arcs = network.num_nodes, network.num_arcs
    columns = (network.sender, network.receiver, network.capacity, [0, nodes], [0, arcs])
    kinds = (np.int32, np.int32, *(np.int64,) * 5)
    union = loops.Union(*map(read_only, (*columns, [network.source], [network.sink]), kinds))
    room = nodes + len(COUNTED)
    own, ordered = loops.Network.of(room, arcs), loops.Network.of(room, arcs)
    for one in (own, ordered):
        one.excess[:] = 0
    residual, rounds = np.empty(arcs, np.int64), np.empty(1, np.int32)
    loops.push_flows(union, own, ordered, residual, rounds)
    plain, same = np.empty(arcs, np.int64), np.empty(1, np.int32)
    free = flows.Network.of(nodes, arcs), flows.Network.of(nodes, arcs)
    flows.push_flows(flows.Union(*union), *free, plain, same)
    assert (plain == residual).all() and rounds[0] == same[0]
    told = {"family": family, "asked": asked, "arcs": int(np.count_nonzero(network.capacity))}
    told |= {"nodes": nodes, "bytes": NODE_BYTES * nodes + ARC_BYTES * arcs}
    both = own.excess + ordered.excess
    return told | {name: int(both[-place]) for place, name in enumerate(COUNTED, 1)}


def main() -> None:
    """Print a line for each size of each family."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", default="rmf-long,budget,segmentation")
    parser.add_argument("--arcs", default="16384,65536,262144,1048576")
    parser.add_argument("--out", type=Path, help="write the record here, as JSON")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        loops = counting(Path(folder))
        for family in given.families.split(","):
            for asked in map(int, given.arcs.split(",")):
                rows.append(counted(loops, family, asked))
                print(*(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if given.out is not None:
        told = {"machine": machine(), "config": {"seed": SEED}, "rows": rows}
        given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
