"""Where two stories first differ is found, whatever differs."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

from augury import BipartiteGraph, FlowNetwork, InputError
from augury.classical import generate
from augury.page.difference import first_difference
from augury.watch import Story, watch
from graphs import BRIDGE, JOBS, STAR

RNG = np.random.default_rng(5)
GRAPHS: dict[str, BipartiteGraph | FlowNetwork] = {
    "jobs": JOBS,
    "star": STAR,
    "bridge": BRIDGE,
    "sparse": generate.sparse(RNG, 12),
    "dense": generate.uniform(RNG, 7, 9, p=0.5),
    "flow": generate.flow(RNG, 10, 30, 1, 120),
}


@cache
def told(name: str, model: str | None, many_paths: bool = False) -> Story:
    return watch(GRAPHS[name], model=model, many_paths=many_paths)


def test_a_story_does_not_differ_from_itself() -> None:
    for model in ("discrete", "paper-mpnn", "classical", "bellman-ford"):
        assert first_difference(told("sparse", model), copy.deepcopy(told("sparse", model))) is None


@pytest.mark.parametrize("many_paths", [False, True])
def test_the_discrete_network_decides_as_breadth_first_search(many_paths: bool) -> None:
    for name in GRAPHS:
        stories = [told(name, model, many_paths) for model in ("discrete", "classical")]
        assert first_difference(*stories) is None


def test_prices_that_move_differently_are_a_difference() -> None:
    graph = BipartiteGraph.from_costs(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]]))
    story = watch(graph, model="classical")
    assert first_difference(story, watch(graph)) is None
    (number, step), *_ = [
        (number, told["step"])
        for number, told in enumerate(story["rounds"])
        if told.get("step", {}).get("arcs")
    ]
    other = changed(story, number, "step", "proposed", to=[step["least"][0] + 1])
    found = first_difference(story, other)
    assert found is not None
    assert (found["round"], found["what"], found["arcs"]) == (number, "price", step["arcs"])


def changed(story: Story, *keys: Any, to: Any) -> Story:
    other = copy.deepcopy(story)
    place = other["rounds"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    return other


def test_the_first_difference_is_found_where_it_is() -> None:
    story = told("dense", "discrete")
    path = story["rounds"][1]["paths"][0]
    cases: list[tuple[tuple[Any, ...], Any, dict[str, Any]]] = [
        ((1, "steps", 2, "state", 3), 2, {"step": 2, "what": "state", "nodes": [3]}),
        ((1, "steps", 1, "parent", 5), 0, {"step": 1, "what": "parent", "nodes": [5]}),
        ((1, "says_done"), True, {"what": "says_done"}),
        ((1, "paths"), [], {"what": "path", "arcs": sorted(path["arcs"])}),
        ((1, "paths", 0, "proposed"), 7, {"what": "bottleneck", "arcs": path["arcs"]}),
        ((1, "paths", 0, "kept"), None, {"what": "augmentation", "arcs": path["arcs"]}),
        ((1, "verdict"), "gave up", {"what": "verdict"}),
    ]
    for keys, to, expected in cases:
        other = changed(story, *keys, to=to)
        other["rounds"][3]["says_done"] = True  # a later one is not the first
        for pair in ((story, other), (other, story)):
            found = first_difference(*pair)
            assert found is not None
            assert set(found) == {"round", "step", "what", "nodes", "arcs"}
            assert found.items() >= ({"round": 1, "step": None} | expected).items()
    parents = first_difference(story, changed(story, 1, "steps", 1, "parent", 5, to=0))
    assert parents is not None
    own = story["rounds"][1]["steps"][1]["parent"][5]
    assert parents["arcs"] == sorted({own, 0} - {-1})
    shorter = story | {"rounds": story["rounds"][:-1]}
    assert first_difference(story, shorter) == {
        "round": len(shorter["rounds"]),
        "step": None,
        "what": "end",
        "nodes": [],
        "arcs": [],
    }


@pytest.mark.parametrize(
    ("model", "keys", "value"),
    [
        ("bellman-ford", (0, "steps", 1, "state"), 9),
        ("paper-mpnn", (0, "reach", 1, "state"), 1),
    ],
)
def test_distances_and_bits_are_compared_by_who_is_reached(
    model: str, keys: tuple[Any, ...], value: int
) -> None:
    bits, distances = told("sparse", "classical"), told("sparse", model)
    found = first_difference(bits, distances)
    assert found is not None
    assert found["what"] == "path"  # that of least weight is not one of the shortest
    node = next(v for v, bit in enumerate(bits["rounds"][0]["steps"][1]["state"]) if not bit)
    other = changed(distances, *keys, node, to=value)
    expected = {"round": 0, "step": 1, "what": "state", "nodes": [node], "arcs": []}
    assert first_difference(bits, other) == first_difference(other, bits) == expected


def test_stories_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="of different graphs"):
        first_difference(told("jobs", None), told("star", None))
    with pytest.raises(InputError, match="different weights in round 0"):
        first_difference(told("jobs", None), watch(JOBS, seed=1))
