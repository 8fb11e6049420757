"""Stories become one HTML text that works without a server and loads nothing.

The served page and this one share `page.html`, the style sheet and the viewer. Here they are
inlined, with the stories as data. A policy in the page lets exactly these scripts run, by digest,
and forbids every connection. Labels are the user's: they are written so that they cannot end the
element that they are in, and the viewer puts them into the document as text only.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from augury.page.difference import first_difference

Story = dict[str, Any]

VIEWER = ("story.js", "draw.js", "play.js")
"""Scripts that show stories, in the order of their dependencies."""
SERVED = (*VIEWER, "editor.js", "edit.js")
"""And those that make new ones, with a server's help."""
DEMO = (*VIEWER, "editor.js", "network.js", "demo.js", "edit.js")
"""Or without: then the discrete network itself is one of them."""
SHEETS = ("lesson.html", "answers.html", "lesson.css")
"""What goes with the page on paper."""

DRAWABLE = 64
"""Nodes on a side that a drawing can show; beyond it, a summary is enough."""


def asset(name: str) -> str:
    """Return a file of the page as text."""
    return (files("augury.page") / name).read_text(encoding="utf-8")


def shown(stories: Sequence[Story]) -> dict[str, Any]:
    """Return what the viewer reads: stories, large ones summarised, and where two first differ."""
    difference = first_difference(stories[0], stories[1]) if len(stories) > 1 else None
    return {
        "stories": [summarised(story) if is_large(story) else story for story in stories],
        "first_difference": difference,
    }


def is_large(story: Story) -> bool:
    """Whether a graph is too large to be drawn."""
    roles = [node["role"] for node in story["graph"]["nodes"]]
    if story["graph"]["kind"] == "flow":
        return len(roles) > 2 * DRAWABLE + 2
    return max(roles.count("left"), roles.count("right")) > DRAWABLE


def summarised(story: Story) -> Story:
    """Return a story without its nodes and arcs: of each step and path only what a table shows."""
    graph, solution = story["graph"], story["solution"]
    rounds = [
        told
        | {"weights": [], "residual": [], "after": []}
        | {"steps": [_step_in_short(step) for step in told["steps"]], "reach": None}
        | {"paths": [path | _NO_ARCS for path in told["paths"]]}
        | _prices_in_short(told)
        for told in story["rounds"]
    ]
    nothing = {key: [] for key in ("nodes", "arcs", "costs", "lower") if key in graph}
    kept = ("size", "is_maximum", "cost", "is_optimal", "certificate")
    certificate = {key: told for key, told in solution["certificate"].items() if key != "prices"}
    return story | {
        "graph": graph | nothing,
        "rounds": rounds,
        "solution": {key: solution[key] for key in kept if key in solution}
        | {"certificate": certificate},
        "summary": {"nodes": len(graph["nodes"]), "arcs": len(graph["arcs"])},
    }


_NO_ARCS: dict[str, Any] = {"arcs": [], "belief": None, "before": [], "kept": None}


def _prices_in_short(told: dict[str, Any]) -> dict[str, Any]:
    short: dict[str, Any] = {"price": [], "reduced": []} if "price" in told else {}
    if "step" in told:
        none: dict[str, Any] = {"reached": [], "arcs": [], "price": [], "reduced": []}
        short["step"] = told["step"] | none | {"count": len(told["step"]["reached"])}
    return short


def _step_in_short(step: dict[str, Any]) -> dict[str, Any]:
    # 0 or an infinite distance means not reached; the source's own distance is 0 too.
    state = step["state"]
    is_distance = None in state or any(value > 1 for value in state)
    reached = sum(value is not None if is_distance else value == 1 for value in state)
    told = {"goes_on": step["goes_on"], "reached": reached}
    return {"state": [], "parent": [], "belief": None} | told


def page_of(stories: Story | Sequence[Story]) -> str:
    """Return a whole HTML page that plays one story of `watch`, or two of a graph side by side.

    Raises:
        InputError: the two stories are not about the same graph and weights.

    >>> from augury import BipartiteGraph
    >>> from augury.watch import watch
    >>> text = page_of(watch(BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook")])))
    >>> text[:15]
    '<!DOCTYPE html>'
    """
    told = [stories] if isinstance(stories, dict) else list(stories)
    return _alone(shown(told))


def _alone(data: dict[str, Any]) -> str:
    return _whole(_without_server(asset("page.html")), VIEWER, "stories", data)


def demo_page(data: dict[str, Any]) -> str:
    """Return a whole HTML page that runs drawn graphs without a server; see `Demo` in demo.js."""
    return _whole(asset("page.html"), DEMO, "demo", data)


def _whole(text: str, names: Sequence[str], key: str, data: Any) -> str:
    """Put style, scripts and data into the page; no others may run."""
    style, scripts = asset("page.css"), [asset(name) for name in names]
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"script-src {' '.join(map(_digest, scripts))}; style-src {_digest(style)}"
    )
    parts = {
        "POLICY": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "STYLE": f"<style>{style}</style>",
        "DATA": f'<script type="application/json" id="{key}">{_embedded(data)}</script>',
        "SCRIPTS": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return filled(text, parts)


def frame_of(stories: Story | Sequence[Story], height: int = 900) -> str:
    """Return the same page as an element of another one, opened at the end: what a notebook shows.

    The frame is isolated: its scripts and styles do not mix with the notebook's.

    >>> from augury import BipartiteGraph
    >>> from augury.watch import watch
    >>> frame_of(watch(BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook")])))[:8]
    '<iframe '
    """
    told = [stories] if isinstance(stories, dict) else list(stories)
    inner = html.escape(_alone(shown(told) | {"opens": "end"}), quote=True)
    return (
        f'<iframe srcdoc="{inner}" sandbox="allow-scripts" title="A run of Augury" width="100%" '
        f'height="{height}" style="border:0"></iframe>'
    )


def served_page() -> str:
    """Return the page that the server sends: it loads its parts from there."""
    parts = {
        "POLICY": "",
        "STYLE": '<link rel="stylesheet" href="page.css">',
        "DATA": "",
        "SCRIPTS": "\n".join(f'<script src="{name}"></script>' for name in SERVED),
    }
    return filled(asset("page.html"), parts)


def filled(text: str, parts: dict[str, str]) -> str:
    """Replace each comment by its part; parts may hold anything, even such comments."""
    return re.sub(r"<!--([A-Z]+)-->", lambda found: parts.get(found.group(1), ""), text).replace(
        "<!--/SERVED-->", ""
    )


def _without_server(text: str) -> str:
    return re.sub(r"<!--SERVED-->.*?<!--/SERVED-->\n?", "", text, flags=re.DOTALL)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _embedded(value: Any) -> str:
    """Return JSON in which nothing looks like markup: "<" could end the element it is in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
