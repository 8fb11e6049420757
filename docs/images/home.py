"""Draw the picture of the site's home anew: `python docs/images/home.py`.

A problem, the search that decides it, and the answer with its proof, all of one run of the network
on examples/hours.csv. The colours are those of the page of `augury explore`.
"""

from __future__ import annotations

from math import dist
from pathlib import Path
from typing import Any

import augury
from augury.watch import watch

HERE = Path(__file__).parent
LIGHT = {
    "ink": "#1d2327", "soft": "#5b656c", "line": "#b9bec2", "ground": "#ffffff", "node": "#ffffff",
    "matched": "#0072b2", "search": "#d98a00", "reached": "#ffdd94", "path": "#d55e00",
    "proof": "#00805c", "proven": "#bfe8da",
}  # fmt: skip
DARK = {
    "ink": "#e8e6e1", "soft": "#a3adb4", "line": "#556068", "ground": "#14181b", "node": "#1c2226",
    "matched": "#56b4e9", "search": "#f0ae2e", "reached": "#6b4a08", "path": "#ff8a3d",
    "proof": "#3cc79d", "proven": "#0c4a38",
}  # fmt: skip
WIDTH, HEIGHT, PANEL = 1080, 350, 360
TOP, STEP, LEFT, RIGHT, RADIUS = 92, 38, 92, 268, 12
Point = tuple[float, float]


class Drawing:
    """Elements of an SVG, in the colours of a theme."""

    def __init__(self, colours: dict[str, str]) -> None:
        self.colours = colours
        self.parts: list[str] = []
        self.labels: list[Point] = []
        self.shares: dict[int, float] = {}

    def line(self, ends: tuple[Point, Point], colour: str, width: float, more: str = "") -> None:
        """Draw a line between two points."""
        (x1, y1), (x2, y2) = ends
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{self.colours[colour]}" stroke-width="{width}" {more}/>'
        )

    def text(self, at: Point, words: str, colour: str = "ink", more: str = "") -> None:
        """Write a few words, by default centred."""
        self.parts.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{self.colours[colour]}" {more}>'
            f"{words}</text>"
        )

    def label(self, arc: int, ends: tuple[Point, Point], words: str, colour: str) -> None:
        """Write on a line, as far from what is written already as can be; again at that place."""
        (x1, y1), (x2, y2) = ends
        if arc not in self.shares:
            on_line = {
                share: (x1 + share * (x2 - x1), y1 + share * (y2 - y1))
                for share in (0.2 + 0.05 * k for k in range(13))
            }
            self.shares[arc] = max(
                on_line, key=lambda own: min([60, *(dist(on_line[own], x) for x in self.labels)])
            )
        share = self.shares[arc]
        at = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
        self.labels.append(at)
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="8" fill="{self.colours["ground"]}"/>'
        )
        self.text((at[0], at[1] + 4), words, colour, 'font-size="12"')

    def node(self, at: Point, stroke: str, fill: str, words: str = "") -> None:
        """Draw a node, with a word inside."""
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{RADIUS}" '
            f'fill="{self.colours[fill]}" stroke="{self.colours[stroke]}" stroke-width="2"/>'
        )
        self.text((at[0], at[1] + 4), words, "ink", 'font-size="12" font-weight="600"')


def places(story: dict[str, Any], panel: int) -> dict[int, Point]:
    """Return where each node of the bipartite graph is in a panel."""
    found: dict[int, Point] = {}
    for role, x in (("left", LEFT), ("right", RIGHT)):
        own = [k for k, node in enumerate(story["graph"]["nodes"]) if node["role"] == role]
        tallest = 6 * STEP
        gap = tallest / (len(own) - 1) if role == "left" else tallest / len(own)
        start = TOP if role == "left" else TOP + gap / 2
        found |= {k: (panel * PANEL + x, start + gap * number) for number, k in enumerate(own)}
    return found


def edges(story: dict[str, Any], panel: int, drawing: Drawing) -> None:
    """Draw what a panel shows of each edge: its cost, the path of the last round, the answer."""
    at, graph = places(story, panel), story["graph"]
    told = [own for own in story["rounds"] if own["paths"]][-1]
    on_path = {arc for path in told["paths"] for arc in path["arcs"]}
    is_full = {0: [], 1: told["residual"], 2: told["after"]}[panel]
    for arc, (tail, head, _) in list(enumerate(graph["arcs"]))[::2]:
        if tail not in at or head not in at:
            continue
        ends, cost = (at[tail], at[head]), str(graph["costs"][arc])
        if panel == 1 and {arc, arc ^ 1} & on_path:
            ends = ends if arc in on_path else ends[::-1]
            drawing.line(shortened(ends), "path", 3, 'marker-end="url(#head)"')
            continue
        is_matched = bool(is_full) and is_full[arc] == 0
        drawing.line(ends, *(("matched", 4) if is_matched else ("line", 1.2)))
        if panel == 0 or (is_matched and panel == 2):
            drawing.label(arc, ends, cost, "matched" if is_matched else "soft")


def nodes(story: dict[str, Any], panel: int, drawing: Drawing) -> None:
    """Draw the nodes: empty, reached by the search, or with their prices."""
    prices = story["solution"]["certificate"]["prices"]
    price = [prices["source"], *prices["left"], *prices["right"], prices["sink"]]
    stroke, fill = (("soft", "node"), ("search", "reached"), ("proof", "proven"))[panel]
    for node, (x, y) in places(story, panel).items():
        drawing.node((x, y), stroke, fill, str(price[node]) if panel == 2 else "")
        own = story["graph"]["nodes"][node]
        anchor, away = ("end", -20) if own["role"] == "left" else ("start", 20)
        side = f'text-anchor="{anchor}" font-size="14"'
        drawing.text((x + away, y + 5), own["label"], "ink", side)


def drawn(story: dict[str, Any], colours: dict[str, str]) -> str:
    """Return the whole picture."""
    drawing = Drawing(colours)
    prices = story["solution"]["certificate"]["prices"]
    jobs, people = sum(prices["right"]), sum(prices["left"])
    words = (
        ("A problem", "who can do what, in how many hours"),
        ("The network decides", "a search over what the prices allow finds a path"),
        ("An answer, proven", f"prices: {jobs} − {people} = {jobs - people} hours, and no less"),
    )
    for panel, (head, note) in enumerate(words):
        edges(story, panel, drawing)
        nodes(story, panel, drawing)
        x = panel * PANEL + PANEL / 2
        drawing.text((x, 34), head, "ink", 'font-size="19" font-weight="650"')
        drawing.text((x, 58), note, "soft", 'font-size="13.5"')
    body = "\n".join(drawing.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, sans-serif" '
        'text-anchor="middle">\n'
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" '
        'markerHeight="5" orient="auto"><path d="M0 0 10 5 0 10z" '
        f'fill="{colours["path"]}"/></marker></defs>\n{body}\n</svg>\n'
    )


def shortened(ends: tuple[Point, Point]) -> tuple[Point, Point]:
    """Leave room for the nodes at both ends."""
    (x1, y1), (x2, y2) = ends
    part = (RADIUS + 2) / ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = part * (x2 - x1), part * (y2 - y1)
    return (x1 + dx, y1 + dy), (x2 - dx, y2 - dy)


def main() -> None:
    """Write both files."""
    story = watch(augury.read_graph(HERE.parents[1] / "examples" / "hours.csv"))
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        path = HERE / f"home-{name}.svg"
        path.write_text(drawn(story, colours), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
