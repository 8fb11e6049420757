"""Reading stops at the first error, which is reported in one short line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from augury.apps.explore.requests import MOST_LETTERS, SolveRequest, StoryRequest, read
from augury.errors import InputError

MANY = 20_000
LONG = "x" * 100_000

POISON: dict[str, Any] = {
    "arcs": {"graph": {"arcs": [[]] * MANY}},
    "edges": {"graph": {"edges": [[None, None]] * MANY}},
    "left": {"graph": {"edges": [], "left": [[]] * MANY}},
    "right": {"graph": {"edges": [], "right": [None] * MANY}},
    "nodes": {"graph": {"arcs": [], "nodes": [{}] * MANY}},
    "costs": {"graph": {"edges": [["a", "b"]], "costs": ["dear"] * MANY}},
    "lower": {"graph": {"arcs": [], "lower": [0.5] * MANY}},
    "supply": {"graph": {"arcs": [], "supply": [["a", None]] * MANY}},
    "a long pair": {"graph": {"edges": [[[]] * MANY]}},
    "unknown fields": {"graph": {"text": "a,b"}} | {f"k{i}": 0 for i in range(MANY)},
    "of the graph": {"graph": {f"k{i}": 0 for i in range(MANY)}},
    "of nothing": [[]] * MANY,
}


@pytest.mark.parametrize("name", POISON)
def test_reading_stops_at_the_first_fault(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        StoryRequest.model_validate(POISON[name])
    assert caught.value.error_count() < 10


@pytest.mark.parametrize(
    "body",
    [
        *POISON.values(),
        {"graph": {"text": "a,b"}, LONG: 0},
        {"graph": {"text": "a,b"}, "line\nend": 0},
        {"graph": {"text": "a,b"}, "model": LONG},
        {"graph": {"text": "a,b"}, "termination": LONG},
        {"graph": {"text": "a,b", "name": LONG}},
    ],
    ids=[*POISON, "key", "line", "model", "termination", "name"],
)
def test_what_is_wrong_is_told_in_a_line(body: Any) -> None:
    with pytest.raises(InputError) as caught:
        read(StoryRequest, json.dumps(body).encode())
    told = str(caught.value)
    assert told.startswith("body")
    assert len(told) <= MOST_LETTERS
    assert "\n" not in told


def test_a_request_becomes_a_task() -> None:
    body = {"graph": {"text": "1,2,3", "flow": True, "source": 1, "sink": 2}, "seed": 7}
    task = read(SolveRequest, json.dumps(body).encode())
    graph = {"text": "1,2,3", "flow": True, "source": "1", "sink": "2"}
    graph |= {"cost": False, "ignore_costs": False}
    assert task == {"graph": graph, "model": "discrete", "exact": True, "seed": 7, "maximise": None}
