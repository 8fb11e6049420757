"""A story becomes a self-contained page, safe for any labels."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury import page
from augury.classical.cost_network import CostNetwork
from augury.classical.formats import read_graph
from augury.classical.generate import generate
from augury.classical.graph import BipartiteGraph
from augury.errors import InputError
from augury.page import VIEWER, frame_of, page_of, served_page, summarised
from augury.watch import watch

FOLDER = Path(page.__file__).parent
ROOT = Path(__file__).parents[2]
HOSTILE = "</script x></script><script>alert(1)</script><!--<script>&lt;\u2028\ud800'\"`"


def told(edges: list[tuple[Any, Any]], model: str = "classical", seed: int = 0) -> dict[str, Any]:
    return watch(BipartiteGraph.from_edges(edges), model=model, seed=seed)


class Parts(HTMLParser):
    """What a browser sees in a page: elements, attributes that load something, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.data = ""
        self.is_inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.is_inside = tag in self.texts

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = False

    def handle_data(self, data: str) -> None:
        if not self.is_inside:
            return
        tag, attributes = self.tags[-1]
        if "type" in attributes:
            self.data += data
        else:
            self.texts[tag].append(data)


def test_a_page_holds_everything_and_loads_nothing() -> None:
    parts = Parts(page_of(told([("a", "x"), ("b", "x")])))
    for tag, attributes in parts.tags:
        assert "src" not in attributes, tag
        assert str(attributes.get("href", "data:")).startswith("data:")
        assert not any(name.startswith("on") for name in attributes), tag
    assert parts.texts["script"] == [(FOLDER / name).read_text() for name in VIEWER]
    ids = [attributes["id"] for _, attributes in parts.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "run" not in ids  # nothing that would need a server
    assert "share" not in ids


def test_the_policy_of_a_page_lets_its_own_parts_run_and_nothing_else() -> None:
    parts = Parts(page_of(told([("a", "x")])))
    (policy,) = [
        str(attributes["content"])
        for _, attributes in parts.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("script", "style"):
        digests = [
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            for text in parts.texts[kind]
        ]
        assert rules[f"{kind}-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert "connect-src" not in rules


def test_labels_cannot_become_markup() -> None:
    story = told([(HOSTILE, "x"), ("b", HOSTILE)])
    text = page_of(story)
    plain, hostile = Parts(page_of(told([("a", "x"), ("b", "y")]))), Parts(text)
    assert hostile.tags == plain.tags
    assert not set("<>&") & set(hostile.data)  # browsers see the end of a script in more places
    assert json.loads(hostile.data)["stories"][0] == json.loads(json.dumps(story))


def test_a_label_that_looks_like_a_place_of_the_page_stays_a_label() -> None:
    text = page_of(told([("<!--SCRIPTS-->", "<!--SERVED-->")]))
    assert text.count("<script>") == len(VIEWER)
    nodes = json.loads(Parts(text).data)["stories"][0]["graph"]["nodes"]
    assert nodes[1]["label"] == "<!--SCRIPTS-->"


def test_two_stories_come_with_their_first_difference() -> None:
    edges = [(left, right) for left in "abc" for right in "xyz"]
    one, other = told(edges, seed=1), told(edges, seed=1, model="bellman-ford")
    data = json.loads(Parts(page_of([one, other])).data)
    assert [story["model"]["name"] for story in data["stories"]] == ["classical", "bellman-ford"]
    assert data["first_difference"] is not None
    assert json.loads(Parts(page_of([one, one])).data)["first_difference"] is None
    with pytest.raises(InputError, match="different graphs"):
        page_of([one, told([("a", "x")])])


def test_a_large_story_is_summed_up_and_a_small_one_is_not() -> None:
    rng = np.random.default_rng(0)
    for n, is_large in ((64, False), (65, True)):
        story = watch(generate("path", rng, n=n), model="classical", many_paths=True)
        data = json.loads(Parts(page_of(story)).data)["stories"][0]
        assert ("summary" in data) == is_large
    short = summarised(story)
    assert len(json.dumps(short)) < len(json.dumps(story)) / 10
    assert [told["value"] for told in short["rounds"]] == [
        told["value"] for told in story["rounds"]
    ]
    assert story["graph"]["nodes"]  # the story itself stays as it was


def test_a_flow_network_is_summed_up_beyond_the_nodes_of_two_full_sides() -> None:
    for inner, is_large in ((128, False), (129, True)):
        roles = ["source", *["inner"] * inner, "sink"]
        graph = {"kind": "flow", "nodes": [{"role": role} for role in roles]}
        assert page.is_large({"graph": graph}) == is_large


def test_reached_nodes_are_counted_by_bits_and_by_distances() -> None:
    edges = [("a", "x"), ("b", "x"), ("b", "y")]
    for model in ("classical", "bellman-ford"):
        short = summarised(told(edges, model=model))
        reached = [step["reached"] for step in short["rounds"][0]["steps"]]
        assert (reached[0], reached[-1]) == (1, 6), model


def test_a_notebook_gets_a_frame_that_is_a_world_of_its_own() -> None:
    story = told([("a", "x")])
    text = frame_of(story)
    (frame,) = Parts(text).tags
    assert frame[0] == "iframe"
    inner, whole = Parts(str(frame[1]["srcdoc"])), Parts(page_of(story))
    assert inner.tags == whole.tags
    assert json.loads(inner.data) == json.loads(whole.data) | {"opens": "end"}
    assert frame[1]["sandbox"] == "allow-scripts"
    assert text.count("<") == 2
    assert unescape(text).count("<script>") == len(VIEWER)


def test_the_served_page_has_no_inline_code() -> None:
    parts = Parts(served_page())
    assert parts.texts == {"script": [], "style": []}
    assert all("style" not in attributes for _, attributes in parts.tags)
    assert not re.search(r"<!--[A-Z/]", served_page())


def test_every_file_of_the_page_is_part_of_the_package() -> None:
    import tomllib

    root = Path(__file__).parents[2]
    with (root / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]["augury"]
    kept = {path for pattern in patterns for path in (root / "src" / "augury").glob(pattern)}
    assert {path for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"} <= kept


def test_the_examples_are_graphs_that_can_be_run() -> None:
    from augury.apps.explore.limits import Limits
    from augury.apps.explore.requests import SolveRequest, StoryRequest
    from augury.apps.explore.worker import graph_of

    examples = json.loads((FOLDER / "examples.json").read_text())
    assert len({example["name"] for example in examples}) == len(examples) >= 3
    for example in examples:
        settings = example["settings"]
        assert set(settings) == set(StoryRequest.model_fields) - {"graph"}
        request = StoryRequest.model_validate(
            settings | {"graph": example["graph"], "other": settings["other"] or None}
        )
        assert isinstance(request, SolveRequest)
        graph_of(request.graph.to_task(), Limits())


def hours() -> BipartiteGraph:
    """The example with costs."""
    graph = read_graph(ROOT / "examples" / "hours.csv")
    assert isinstance(graph, BipartiteGraph)
    return graph


def test_the_example_with_hours_is_that_of_the_file_and_no_greed_solves_it() -> None:
    from augury.apps.explore.limits import Limits
    from augury.apps.explore.worker import graph_of

    examples = json.loads((FOLDER / "examples.json").read_text())
    (example,) = [one for one in examples if "hours" in one["name"]]
    graph = graph_of(example["graph"], Limits())
    assert isinstance(graph, BipartiteGraph)
    assert graph == hours()
    assert graph.costs is not None
    solution = watch(graph)["solution"]
    assert (solution["cost"], solution["is_optimal"]) == (15, True)
    assert "15 hours" in example["about"]
    # Whoever takes the shortest first, however ties are broken, needs longer.
    rows = list(zip(graph.costs.amount.tolist(), graph.edges(), strict=True))
    for order in (rows, rows[::-1]):
        taken: set[Any] = set()
        total = 0
        for cost, pair in sorted(order, key=lambda row: row[0]):
            if taken.isdisjoint(pair):
                taken |= set(pair)
                total += cost
        assert total > 15
        assert len(taken) == 10


def test_a_story_with_costs_tells_the_residual_of_every_arc_and_proves_its_prices() -> None:
    network = CostNetwork.from_labelled_arcs(
        [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5), ("a", "s", 2, -1)],
        source="s",
        sink="t",
    )
    for graph in (hours(), network):
        story = watch(graph)
        arcs, costs = story["graph"]["arcs"], story["graph"]["costs"]
        room = [arcs[arc][2] + arcs[arc ^ 1][2] for arc in range(len(arcs))]
        for told in story["rounds"]:
            is_first = told["ends"][0] == story["rounds"][0]["ends"][0]
            for residual in (told["residual"], told["after"]):
                pairs = [residual[arc] + residual[arc ^ 1] for arc in range(len(arcs))]
                # In the second stage the arcs that held the excess are closed.
                closed = room if is_first else [*room[:8], *[0] * (len(room) - 8)]
                assert pairs == closed
            for price, reduced in _prices(told):
                assert reduced == [
                    cost + price[arc[0]] - price[arc[1]]
                    for arc, cost in zip(arcs, costs, strict=True)
                ]
                assert all(
                    over >= 0 for over, left in zip(reduced, told["after"], strict=True) if left
                )


def _prices(told: dict[str, Any]) -> list[tuple[list[int], list[int]]]:
    steps = [told, *([told["step"]] if "step" in told else [])]
    return [(step["price"], step["reduced"]) for step in steps]


def test_a_large_story_with_costs_is_summed_up_without_prices() -> None:
    rng = np.random.default_rng(0)
    costs = np.where(rng.random((65, 65)) < 0.1, rng.integers(1, 9, (65, 65)), np.inf)
    story = watch(BipartiteGraph.from_costs(costs), model="classical", many_paths=True)
    data = json.loads(Parts(page_of(story)).data)["stories"][0]
    assert data["solution"]["cost"] == story["solution"]["cost"]
    assert "prices" not in data["solution"]["certificate"]
    assert data["graph"]["costs"] == data["rounds"][0]["price"] == []
    steps = [told["step"] for told in data["rounds"] if "step" in told]
    assert [step["count"] for step in steps] == [
        len(told["step"]["reached"]) for told in story["rounds"] if "step" in told
    ]
    assert len(json.dumps(data)) < len(json.dumps(story)) / 10


def test_one_example_shows_where_the_papers_network_fails() -> None:
    from augury.apps.explore.limits import Limits
    from augury.apps.explore.worker import graph_of

    examples = json.loads((FOLDER / "examples.json").read_text())
    small, large = [example for example in examples if example["settings"]["other"]]
    assert [len(small["graph"][side]) for side in ("left", "right")] == [4, 4]
    for example in (small, large):
        graph, settings = graph_of(example["graph"], Limits()), dict(example["settings"])
        models = settings.pop("model"), settings.pop("other")
        assert settings.pop("maximise") is None  # there are no costs
        right, wrong = (watch(graph, model=model, **settings) for model in models)
        assert right["solution"]["is_maximum"]
        assert not wrong["solution"]["is_maximum"]
        if example is small:
            assert circle(wrong) == ["sink", "cook", "Dua", "drive", "sink"]
            assert ", ".join(circle(wrong)) in example["about"]
    truth = watch(graph, model="bellman-ford", **settings)
    furthest = [
        max(value or 0 for told in story["rounds"] for value in told["steps"][-1]["state"])
        for story in (wrong, truth)
    ]
    assert [str(value) in large["about"] for value in furthest] == [True, True]


def circle(story: dict[str, Any]) -> list[str]:
    """The nodes along the last search's predecessors, from the sink back to it."""
    nodes, arcs = story["graph"]["nodes"], story["graph"]["arcs"]
    parent = story["rounds"][-1]["steps"][-1]["parent"]
    walk = [len(nodes) - 1]
    while walk.count(walk[-1]) == 1:
        walk.append(arcs[parent[walk[-1]]][0])
    return [nodes[node]["label"] for node in walk]
