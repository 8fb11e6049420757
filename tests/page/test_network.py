"""The network in the page decides as the one in Python: the same stories, step by step."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from augury.apps.explore.limits import Limits
from augury.apps.explore.static import said_in_every_case
from augury.apps.explore.worker import graph_of, written
from augury.classical.generate import generate
from augury.page import asset
from augury.watch import watch

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

PROGRAM = """
const tasks = JSON.parse(require("fs").readFileSync(0, "utf8"));
class Refusal extends Error {}
const told = tasks.runs.map(({ graph, seed, maximise }) => {
  try {
    return storyOf(tasks.said, graph, { seed, maximise });
  } catch (error) {
    return { error: `${error}` };
  }
});
process.stdout.write(JSON.stringify(told));
"""


def told_by_script(runs: list[dict[str, Any]], said: dict[str, Any]) -> list[dict[str, Any]]:
    assert NODE is not None
    program = asset("story.js") + asset("network.js").replace('"use strict";', "") + PROGRAM
    data = json.dumps({"said": said, "runs": runs})
    done = subprocess.run([NODE, "-e", program], input=data, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def drawn(seed: int) -> dict[str, Any]:
    """A small graph of one of four kinds, in any order, with or without labels."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 8, 2).tolist()
    whole = [int(x) for x in rng.integers(-6, 12, 60)]
    costs = [x / 4 for x in whole] if seed % 8 > 3 else whole
    sense = {"sense": "greatest"} if seed % 3 == 0 else {}
    if seed % 2:
        edges = [[f"l{i}", f"r{j}"] for i in range(n) for j in range(m) if rng.random() < 0.45]
        rng.shuffle(edges)
        left, right = [f"l{i}" for i in range(n)], [f"r{j}" for j in range(m)]
        graph = {"left": left, "right": right, "edges": edges}
    else:
        nodes, arcs = n + 2, int(rng.integers(1, 3 * (n + 2)))
        ends = [rng.choice(nodes, 2, replace=False).tolist() for _ in range(arcs)]
        edges = [[*pair, int(rng.integers(1, 30))] for pair in ends]
        graph = {"nodes": nodes, "source": 0, "sink": nodes - 1, "arcs": edges}
    return graph | ({"costs": costs[: len(edges)]} | sense if seed % 4 > 1 else {})


def same(path: str, python: Any, script: Any) -> None:
    """Compare all that the script tells; it computes probabilities to about four digits."""
    if isinstance(script, dict):
        for key, own in script.items():
            same(f"{path}.{key}", python[key], own)
    elif isinstance(script, list):
        assert len(python) == len(script), path
        for place, own in enumerate(script):
            same(f"{path}[{place}]", python[place], own)
    elif isinstance(script, float) and isinstance(python, int | float):
        assert script == pytest.approx(python, rel=1e-12, abs=2.1e-4), path
    else:
        assert python == script, path


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return said_in_every_case()


def test_the_script_tells_the_same_stories_as_python(said: dict[str, Any]) -> None:
    examples = json.loads(asset("examples.json"))
    runs = [{"graph": drawn(seed), "seed": seed, "maximise": None} for seed in range(60)]
    runs += [{"graph": example["graph"], "seed": 0, "maximise": None} for example in examples]
    large = written(generate("sparse", np.random.default_rng(0), n=40, c=3))
    runs.append({"graph": large, "seed": 2**40 + 7, "maximise": None})
    runs.append({"graph": examples[1]["graph"], "seed": 3, "maximise": True})
    steps = 0
    for run, script in zip(runs, told_by_script(runs, said), strict=True):
        assert "error" not in script, (run, script)
        graph = graph_of(run["graph"], Limits(), run["maximise"])
        python = watch(graph, seed=run["seed"])
        assert len(python["rounds"]) == len(script["rounds"]), run
        same("story", python, script)
        assert set(python["graph"]) == set(script["graph"])
        assert set(python["solution"]) - set(script["solution"]) == {"engine"}
        for a, b in zip(python["rounds"], script["rounds"], strict=True):
            assert set(a) == set(b)
            steps += len(b["steps"]) - 1
    assert steps > 500
    kinds = {script["algorithm"] for script in told_by_script(runs[:8], said)}
    assert kinds == {"ford-fulkerson", "assignment", "min-cost-flow"}


@pytest.mark.parametrize(
    ("cell", "place", "what"),
    [
        ("flood", (0, 0b1001, 0), "search"),
        ("nearest", (0b110110,), ""),
        ("least", (2, 0b1100, 0), "bottleneck"),
        ("subtract", (0b110, 0, 0), "augmentation"),
    ],
)
def test_a_damaged_table_is_found_out(
    said: dict[str, Any], cell: str, place: tuple[int, ...], what: str
) -> None:
    wrong = json.loads(json.dumps(said))
    *above, last = place
    row = wrong[cell]
    for at in above:
        row = row[at]
    row[last] = -100 if cell == "nearest" else -row[last] or 1
    arcs = [[0, 1, 3], [0, 2, 1], [1, 3, 2], [2, 3, 2]]
    run = {"graph": {"nodes": 4, "source": 0, "sink": 3, "arcs": arcs}, "seed": 0}
    [right], [told] = told_by_script([run], said), told_by_script([run], wrong)
    assert "error" not in right
    assert told != right  # a tie that falls another way is no fault
    assert what in told.get("error", "")


@pytest.mark.parametrize(
    ("graph", "what"),
    [
        ({"text": "a,b"}, "Only a server"),
        ({"nodes": 2, "arcs": [[0, 1, 1]], "costs": [1], "supply": [[0, 1], [1, -1]]}, "Supplies"),
        ({"left": 1, "right": 1, "edges": [[0, 0]], "costs": [0.1234567890123456789e-9]}, "digits"),
        ({"left": 1, "right": 1, "edges": [[0, 0]], "costs": [2**51]}, "too large"),
        ({"nodes": 2, "source": 0, "sink": 1, "arcs": [[0, 1, 2**60]]}, "too large"),
    ],
)
def test_what_the_script_cannot_run_it_refuses(
    said: dict[str, Any], graph: dict[str, Any], what: str
) -> None:
    [told] = told_by_script([{"graph": graph, "seed": 0}], said)
    assert what in told["error"]
