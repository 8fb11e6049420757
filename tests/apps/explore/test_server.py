"""The API answers what the package answers, and refuses everything else with one sentence."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shlex
import socket
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from augury.apps.explore.limits import Limits
from augury.apps.explore.requests import SHIPPED
from augury.apps.explore.server import make_app
from augury.classical.formats import parse_graph
from augury.classical.generate import FAMILIES, generate
from augury.classical.graph import BipartiteGraph
from serving import served, use_stand_in

JOBS = "ann,cook\nbob,cook\nbob,sing\ncat,cook\n"
EDGES = [line.split(",") for line in JOBS.split()]
ARCS = [["s", "a", 3], ["a", "t", 2], ["s", "t", 1]]
LIMITS = Limits()
ROOT = Path(__file__).parents[3]


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


GRAPHS: dict[str, dict[str, Any]] = {
    "text": {"text": JOBS},
    "tsv": {"text": JOBS.replace(",", "\t"), "name": "a.tsv"},
    "bytes": {"data": packed(JOBS.encode()), "name": "jobs.csv"},
    "gzip": {"data": packed(gzip.compress(JOBS.encode())), "name": "jobs.csv.gz"},
    "edges": {"edges": EDGES},
    "sides": {"left": ["ann", "bob", "cat"], "right": ["cook", "sing"], "edges": EDGES},
    "numbers": {"left": 3, "right": 2, "edges": [[0, 0], [1, 0], [1, 1], [2, 0]]},
    "json text": {"text": json.dumps({"edges": EDGES})},
    "flow": {"arcs": ARCS, "source": "s", "sink": "t"},
    "flow text": {"text": "s,a,3\na,t,2\ns,t,1\n", "flow": True, "source": "s", "sink": "t"},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_solved_whatever_form_it_comes_in(client: httpx.Client, name: str) -> None:
    answer = client.post("/api/v1/solve", json={"graph": GRAPHS[name]})
    assert answer.status_code == 200, answer.text
    solution = answer.json()
    is_flow = name.startswith("flow")
    assert solution["size"] == (3 if is_flow else 2)
    assert solution["is_maximum"]
    proof = solution["certificate"]
    if is_flow:
        assert proof["cut"]["capacity"] == 3
    else:
        assert len(proof["cover"]["left"]) + len(proof["cover"]["right"]) == 2


COSTS = [4, 1, 2, 9]
PRICED: dict[str, dict[str, Any]] = {
    "edges": {"edges": EDGES, "costs": COSTS},
    "json text": {"text": json.dumps({"edges": EDGES, "costs": COSTS})},
    "a named column": {
        "text": "person,job,cost\n"
        + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(EDGES, COSTS, strict=True))
    },
    "a column that is called cost": {
        "text": "".join(f"{a},{b},{c}\n" for (a, b), c in zip(EDGES, COSTS, strict=True)),
        "cost": True,
    },
}


@pytest.mark.parametrize("name", PRICED)
def test_a_graph_with_costs_is_solved_and_told(client: httpx.Client, name: str) -> None:
    for maximise, cost in ((None, 6), (False, 6), (True, 11)):
        body = {"graph": PRICED[name], "maximise": maximise}
        solution = client.post("/api/v1/solve", json=body).json()
        assert (solution["size"], solution["cost"]) == (2, cost)
        assert solution["is_optimal"]
        assert set(solution["certificate"]["prices"]) == {"left", "right", "source", "sink"}
    [story] = client.post("/api/v1/story", json=body).json()["stories"]
    assert story["algorithm"] == "assignment"
    assert story["graph"]["sense"] == "greatest"
    assert story["solution"]["cost"] == 11


def test_flows_of_least_cost_are_solved_with_ends_or_supplies(client: httpx.Client) -> None:
    arcs, costs = [["s", "a", 3], ["a", "t", 2], ["s", "t", 1]], [1, 1, 9]
    ends = {"arcs": arcs, "costs": costs, "source": "s", "sink": "t"}
    supply = {"arcs": arcs, "costs": costs, "supply": [["s", 2], ["t", -2]], "lower": [0, 0, 1]}
    for graph, size, cost in ((ends, 3, 13), (supply, 2, 11)):
        solution = client.post("/api/v1/solve", json={"graph": graph}).json()
        assert (solution["size"], solution["cost"]) == (size, cost)
        [story] = client.post("/api/v1/story", json={"graph": graph}).json()["stories"]
        assert story["solution"]["cost"] == cost
    assert story["graph"]["lower"][4] == 1


def test_a_sum_of_nothing_cannot_be_chosen(client: httpx.Client) -> None:
    for body, told in (
        ({"graph": {"edges": EDGES}, "maximise": True}, "there are no costs to maximise"),
        ({"graph": {"edges": EDGES, "costs": [1]}}, '"costs" must be a list of 4 numbers'),
        ({"graph": {"text": "ann,cook,3"}}, "may hold costs or capacities"),
        ({"graph": PRICED["edges"], "model": "paper-mpnn"}, "executes ford-fulkerson"),
    ):
        answer = client.post("/api/v1/story", json=body)
        assert answer.status_code == 422
        assert told in answer.json()["error"]


def test_an_npz_file_is_read_from_memory(client: httpx.Client) -> None:
    graph = generate("uniform", np.random.default_rng(1), n=5, p=0.5)
    assert isinstance(graph, BipartiteGraph)
    from augury.classical.formats.own_arrays import write_npz

    file = io.BytesIO()
    write_npz(graph, file)
    told = {"data": packed(file.getvalue()), "name": "a.npz"}
    answer = client.post("/api/v1/solve", json={"graph": told}).json()
    assert answer["is_maximum"]
    assert answer["size"] == len(answer["matching"])


@pytest.mark.parametrize("model", ["discrete", "paper-mpnn", "classical", "bellman-ford"])
def test_a_story_tells_every_round(client: httpx.Client, model: str) -> None:
    request = {"graph": GRAPHS["sides"], "model": model, "seed": 3}
    answer = client.post("/api/v1/story", json=request)
    assert answer.status_code == 200, answer.text
    (story,) = answer.json()["stories"]
    assert answer.json()["first_difference"] is None
    assert story["format"] == "augury-story"
    assert story["model"]["name"] == model
    assert story["model"]["seed"] == 3
    assert story["solution"]["size"] == 2
    assert [node["label"] for node in story["graph"]["nodes"]][1:4] == ["ann", "bob", "cat"]


def test_settings_of_a_story_reach_the_network(client: httpx.Client) -> None:
    request = {"graph": GRAPHS["sides"], "model": "paper-mpnn", "termination": "3"}
    story = client.post("/api/v1/story", json=request).json()["stories"][0]
    assert story["model"]["termination"] == "3"
    request = {"graph": GRAPHS["sides"], "neural_bottleneck": False, "many_paths": True}
    story = client.post("/api/v1/story", json=request).json()["stories"][0]
    assert (story["model"]["neural_bottleneck"], story["model"]["many_paths"]) == (False, True)
    assert story["model"]["neural_augmentation"] is True


def test_two_networks_are_told_on_the_same_weights(client: httpx.Client) -> None:
    request = {"graph": GRAPHS["sides"], "model": "discrete", "other": "classical"}
    answer = client.post("/api/v1/story", json=request).json()
    one, other = answer["stories"]
    assert (one["model"]["name"], other["model"]["name"]) == ("discrete", "classical")
    assert one["rounds"][0]["weights"] == other["rounds"][0]["weights"]
    assert answer["first_difference"] is None
    edges = [[left, right] for left in "abc" for right in "xyz"]
    request = {"graph": {"edges": edges}, "model": "classical", "other": "bellman-ford", "seed": 1}
    told = client.post("/api/v1/story", json=request).json()["first_difference"]
    assert (told["round"], told["what"]) == (2, "path")


def test_a_graph_too_large_to_draw_is_summed_up(client: httpx.Client) -> None:
    graph = {"left": 65, "right": 65, "edges": [[i, i] for i in range(65)]}
    request = {"graph": graph, "many_paths": True}
    story = client.post("/api/v1/story", json=request).json()["stories"][0]
    assert story["summary"] == {"nodes": 132, "arcs": 2 * 195}
    assert story["graph"]["nodes"] == []
    assert [step["reached"] for step in story["rounds"][0]["steps"]] == [1, 66, 131, 132, 132]
    assert story["rounds"][0]["value"] == 65


def test_a_graph_too_large_to_tell_can_still_be_solved(client: httpx.Client) -> None:
    side = LIMITS.story_nodes
    graph = {"left": side, "right": side, "edges": [[i, i] for i in range(side)]}
    answer = client.post("/api/v1/story", json={"graph": graph})
    assert answer.status_code == 413
    assert answer.json()["error"] == "a graph of 1,024 nodes is too large to tell: at most 512"
    assert client.post("/api/v1/solve", json={"graph": graph}).json()["size"] == side


def test_models_families_and_limits_are_listed(client: httpx.Client) -> None:
    told = client.get("/api/v1/models").json()
    names = [model["name"] for model in told["models"]]
    assert names == [*SHIPPED, "classical", "bellman-ford"]
    assert {"discrete", "paper-mpnn"} <= set(names)
    assert [family["name"] for family in told["families"]] == list(FAMILIES)
    uniform = told["families"][0]["parameters"]
    expected = {"name": "p", "kind": "float", "default": 0.25, "is_required": False}
    assert expected in uniform
    assert told["limits"]["seconds"] == 60


def test_a_generated_graph_is_that_of_the_package(client: httpx.Client) -> None:
    query = {"family": "uniform", "n": "6", "p": "0.5", "seed": "7"}
    told = client.get("/api/v1/generate", params=query)
    graph = parse_graph(io.BytesIO(told.content), "answer")
    assert graph == generate("uniform", np.random.default_rng(7), n=6, p=0.5)
    told = client.get("/api/v1/generate", params=query | {"costs_to": "9"})
    graph = parse_graph(io.BytesIO(told.content), "answer")
    assert graph == generate("uniform", np.random.default_rng(7), (1, 9), n=6, p=0.5)
    assert client.get("/api/v1/generate", params=query | {"costs_to": "0"}).status_code == 422
    flow = client.get("/api/v1/generate", params={"family": "flow", "nodes": "5", "arcs": "9"})
    assert flow.json()["source"] == 0
    answer = client.post("/api/v1/solve", json={"graph": flow.json()})
    assert answer.json()["is_maximum"]


BOMB = gzip.compress(b"1,2\n" * (LIMITS.unpacked_bytes // 4 + 1))


def zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("left.npy", bytes(LIMITS.unpacked_bytes + 1))
    return file.getvalue()


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "broken csv": ({"graph": {"text": "a,b\nc"}}, 422, "graph, line 2: 1 columns where"),
    "empty": ({"graph": {"text": ""}}, 422, "graph: the file is empty"),
    "named": ({"graph": {"text": "a,b\nc", "name": "x.csv"}}, 422, "x.csv, line 2: "),
    "no graph": ({}, 422, "body.graph: field required"),
    "nothing": ({"graph": {}}, 422, "give one of text, data, edges and arcs, not none"),
    "two things": ({"graph": {"text": "a,b", "edges": []}}, 422, "not text and edges"),
    "unknown field": (
        {"graph": {"text": "a,b"}, "colour": "red"},
        422,
        "body: there is no field 'colour'",
    ),
    "a path for a model": (
        {"graph": {"text": "a,b"}, "model": "../../etc/passwd"},
        422,
        "is none of discrete, paper-mpnn",
    ),
    "negative seed": ({"graph": {"text": "a,b"}, "seed": -1}, 422, "body.seed: "),
    "half a seed": ({"graph": {"text": "a,b"}, "seed": 0.5}, 422, "body.seed: "),
    "not base64": ({"graph": {"data": "a!"}}, 422, '"data" is not base64'),
    "not ASCII": ({"graph": {"data": "ä\u007f"}}, 422, '"data" is not base64'),
    "broken gzip": ({"graph": {"data": packed(BOMB[:40])}}, 422, "damaged or cut short"),
    "broken zip": ({"graph": {"data": packed(b"PK\3\4 and more")}}, 422, "not a whole .npz file"),
    "gzip bomb": ({"graph": {"data": packed(BOMB)}}, 413, "has more than 33,554,432 bytes"),
    "zip bomb": ({"graph": {"data": packed(zip_bomb())}}, 413, "has more than 33,554,432 bytes"),
    "many nodes": ({"graph": {"left": 20_000, "right": 1, "edges": []}}, 413, "20,001 nodes"),
    "huge claim": ({"graph": {"left": 10**15, "right": 1, "edges": []}}, 422, "are claimed"),
    "true as label": ({"graph": {"edges": [[True, "a"]]}}, 422, "body.graph.edges.0.0"),
    "float capacity": (
        {"graph": {"arcs": [["s", "t", 1.5]], "source": "s", "sink": "t"}},
        422,
        "body.graph.arcs.0.2",
    ),
    "beyond range": (
        {
            "graph": {"arcs": [["s", "t", 10**12]], "source": "s", "sink": "t"},
            "model": "paper-mpnn",
        },
        422,
        "beyond this network's range",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_refused_in_one_sentence(
    client: httpx.Client, name: str
) -> None:
    body, status, text = REFUSED[name]
    answer = client.post("/api/v1/solve", json=body)
    assert answer.status_code == status, answer.text
    assert text in answer.json()["error"]
    assert list(answer.json()) == ["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 422),
        (b"[" * 100_000, "application/json", 422),
        (b'{"graph": {"edges": [[' + b"9" * 5000 + b", 1]]}}", "application/json", 422),
        (b'{"graph": {"text": "\\ud800,a"}}', "application/json", 422),
        (b'{"graph": {"edges": [[NaN, 1]]}}', "application/json", 422),
        (b'{"graph": {"text": "a,b"}}', "text/plain", 422),
        (b"\xff\xfe", "application/json", 422),
        (b"", "application/json", 422),
    ],
)
def test_bodies_that_are_not_json_are_refused(
    client: httpx.Client, body: bytes, kind: str, status: int
) -> None:
    answer = client.post("/api/v1/solve", content=body, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]
    assert client.get("/api/v1/models").status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ({}, 422, "query.family: field required"),
        ({"family": "unifrom", "n": "8"}, 422, "query.family: "),
        ({"family": "uniform"}, 422, "the family uniform needs n"),
        ({"family": "uniform", "n": "8", "p": "2"}, 422, "p is 2.0, not a number in 0..1"),
        ({"family": "uniform", "n": "8", "p": "nan"}, 422, "query.p: "),
        ({"family": "uniform", "n": "8", "degree": "3"}, 422, "but not degree"),
        ({"family": "uniform", "n": "8", "colour": "red"}, 422, "query.colour: extra"),
        ({"family": "complete", "n": "20000"}, 413, "40,000 nodes is too large"),
        ({"family": "complete", "n": "9000"}, 413, "about 81,000,000 edges are too many"),
        ({"family": "uniform", "n": "9", "m": "12000", "p": "9"}, 413, "about 972,000 edges"),
        ({"family": "complete", "n": "500"}, 413, "250,000 edges is too large: at most 200,000"),
        ({"family": "path", "n": "1000000000"}, 413, "2,000,000,000 nodes"),
        ({"family": "sparse", "n": "9", "c": "1e300"}, 413, "edges are too many"),
        ({"family": "flow", "nodes": "9", "arcs": "4000000"}, 413, "about 4,000,000 edges"),
    ],
)
def test_families_with_bad_parameters_are_refused(
    client: httpx.Client, query: dict[str, str], status: int, text: str
) -> None:
    answer = client.get("/api/v1/generate", params=query)
    assert answer.status_code == status, answer.text
    assert text in answer.json()["error"]


@pytest.mark.parametrize("path", ["/", "/page.css", "/story.js", "/edit.js", "/examples.json"])
def test_the_page_and_its_parts_are_served(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].endswith("charset=utf-8")
    assert "http://" not in answer.text.replace("http://www.w3.org/", "")
    assert "https://" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/server.py", "/page.html", "/../server.py", "/%2e%2e/server.py", "/..%2fserver.py",
        "/static/../../pyproject.toml", "//etc/passwd", "/etc/passwd", "/models/", "/docs",
        "/story.js/", "/story.js%00", "/api/v1/", "/api/v2/solve",
    ],
)  # fmt: skip
def test_no_other_file_can_be_had(client: httpx.Client, path: str) -> None:
    parts = urlsplit(str(client.base_url))
    with socket.create_connection((parts.hostname, parts.port), 30) as plain:
        # httpx would tidy the path up first.
        head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        plain.sendall(head.encode())
        answer = b"".join(iter(lambda: plain.recv(65536), b""))
    status = int(answer.split()[1])
    assert status in (307, 404), answer[:200]
    assert b"import" not in answer


def test_a_wrong_method_is_refused(client: httpx.Client) -> None:
    answer = client.get("/api/v1/solve")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json() == {"error": "this method is not for this address"}


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/solve HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /api/v1/solve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)
def test_the_server_outlives_garbage(client: httpx.Client, data: bytes) -> None:
    parts = urlsplit(str(client.base_url))
    with socket.create_connection((parts.hostname, parts.port), 30) as plain:
        plain.sendall(data)
        plain.shutdown(socket.SHUT_WR)
        plain.settimeout(30)
        while plain.recv(65536):
            pass
    assert client.get("/").status_code == 200


def test_a_fault_of_ours_is_told_without_its_insides(monkeypatch: pytest.MonkeyPatch) -> None:
    from augury.apps.explore.workers import Workers

    async def fail(*_: Any) -> None:
        raise RuntimeError("the secret")

    use_stand_in(monkeypatch)
    monkeypatch.setattr(Workers, "run", fail)
    with served(make_app()) as url, httpx.Client(base_url=url) as client:
        answer = client.post("/api/v1/solve", json={"graph": GRAPHS["edges"]})
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert httpx.get(url).status_code == 200  # on a new connection: uvicorn drops the old one


DOCUMENT = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", re.findall(r"^curl -s (.+)$", DOCUMENT, re.MULTILINE))
def test_the_calls_in_the_document_are_answered(client: httpx.Client, line: str) -> None:
    words = shlex.split(line)
    path = words[0].partition("localhost:8000")[2]
    if len(words) == 1:
        assert client.get(path).status_code == 200
    else:
        assert words[1] == "--json"
        answer = client.post(path, json=json.loads(words[2]))
        assert answer.status_code == 200, answer.text


def test_the_limits_in_the_document_are_the_limits() -> None:
    told = DOCUMENT.partition("## Limits")[2].partition("##")[0]
    numbers = [
        f"{LIMITS.body_bytes >> 20} MiB, {LIMITS.body_seconds:g} seconds",
        f"{LIMITS.unpacked_bytes >> 20} MiB |",
        f"{LIMITS.nodes:,} nodes, {LIMITS.edges:,} edges",
        f"{LIMITS.story_nodes:,} nodes, {LIMITS.story_edges:,} edges",
        f"{LIMITS.seconds:g} seconds; then",
        f"head | {LIMITS.head_seconds:g} seconds",
        f"{LIMITS.arriving_bytes >> 20} MiB; beyond",
        f"connections | {LIMITS.connections};",
        f"answer | {LIMITS.answer_seconds:g} seconds",
        f"log | {LIMITS.log_messages} a minute",
        f"{LIMITS.runs}, and {LIMITS.waiting} requests",
        f"{LIMITS.memory_bytes >> 30} GiB",
    ]
    assert [number for number in numbers if number not in told] == []
