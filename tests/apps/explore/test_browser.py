"""The page in a real browser: what a person does on it, and what it must never do.

Every test ends with two checks: the browser logged no error, and requested nothing from another
machine.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from augury import Solution, solve
from augury.apps.explore import static
from augury.classical.formats import read_graph
from augury.classical.graph import BipartiteGraph
from augury.page import asset, frame_of, page_of
from augury.watch import watch

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ROOT = Path(__file__).parents[3]
PATIENCE_MS = 60_000
HOURS = [line.split(",") for line in (ROOT / "examples" / "hours.csv").read_text().splitlines()[1:]]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium here (the Debian package is called chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # In a container there is no user to separate the browser's own sandbox from.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


SIZE: Any = {"width": 1280, "height": 900}


class Watched:
    """A page, its console errors and its requests."""

    def __init__(self, context: BrowserContext) -> None:
        context.set_default_timeout(PATIENCE_MS)
        self.page = context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.forget()

    def forget(self) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.expected = re.compile("^$")

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, address: str) -> None:
        """Load the page; it shows the first example."""
        self.page.goto(address)
        expect(self.page.locator("#stage svg.drawing")).to_be_visible(timeout=PATIENCE_MS)

    def check(self, own: str) -> None:
        assert [text for text in self.complaints if not self.expected.search(text)] == []
        abroad = [url for url in self.requests if not url.startswith((own, "data:", "blob:"))]
        assert abroad == []


# Tests share two tabs of one window: most of the time would go into opening new ones.


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport=SIZE) as context:
        yield context


@pytest.fixture(scope="module")
def shown(window: BrowserContext, address: str) -> Watched:
    watched = Watched(window)
    watched.open(address)
    return watched


@pytest.fixture
def run(shown: Watched, address: str) -> Iterator[Page]:
    """The first frame of the first example, for tests that only look at its run."""
    shown.page.bring_to_front()
    shown.page.keyboard.press("Home")
    yield shown.page
    shown.check(address)


@pytest.fixture(scope="module")
def tab(window: BrowserContext, address: str) -> Watched:
    watched = Watched(window)
    watched.open(address)
    return watched


@pytest.fixture
def bench(tab: Watched, address: str) -> Iterator[Watched]:
    """The page as the last test left it, for tests that begin by loading a graph of their own."""
    tab.forget()
    tab.page.bring_to_front()
    if not tab.page.url.startswith(address):
        tab.open(address)
    tab.page.evaluate("() => { document.getElementById('other').value = ''; }")  # nothing beside it
    yield tab
    tab.check(address)


@pytest.fixture
def watched(tab: Watched, address: str) -> Iterator[Watched]:
    """An empty tab."""
    tab.page.goto("about:blank")
    tab.page.bring_to_front()
    tab.forget()
    yield tab
    tab.check(address)
    tab.page.set_viewport_size(SIZE)
    tab.page.emulate_media(color_scheme="light")


@pytest.fixture
def page(watched: Watched, address: str) -> Page:
    """The page with its first example loaded."""
    watched.open(address)
    return watched.page


def all_frames(page: Page) -> list[list[str]]:
    """Drag the slider through the whole run; return the sentence of each drawing in each frame."""
    return page.evaluate(
        """() => {
          const slider = document.getElementById("slider"), told = [];
          for (let place = 0; place <= Number(slider.max); place += 1) {
            slider.value = place;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
            told.push([...document.querySelectorAll(".sentence")].map((one) => one.textContent));
          }
          return told;
        }"""
    )


def sentence(page: Page, number: int = 0) -> str:
    return page.locator(".sentence").nth(number).inner_text()


def place(page: Page) -> int:
    return int(page.locator("#slider").input_value())


def settled(page: Page) -> None:
    """Wait until the request is answered."""
    expect(page.locator("#message")).to_be_hidden(timeout=PATIENCE_MS)


def test_an_example_loads_and_says_what_it_is(run: Page) -> None:
    page = run
    assert sentence(page).startswith("Round 1: weights are drawn")
    assert page.locator("#stage .node").count() == 14
    assert page.locator("#stage .label", has_text="Cleo").count() == 1
    label = page.locator("#stage svg").get_attribute("aria-label") or ""
    assert label.startswith("A bipartite graph of 7 + 5 nodes and 12 edges. Round 1:")
    assert page.locator("#stage .node.reached").count() == 1


def test_steps_go_forward_and_back_by_button_and_by_key(run: Page) -> None:
    page = run
    page.click("#step")
    first = sentence(page)
    assert re.match(r"Round 1, step 1: Ada is reached from source, Ben from source", first)
    assert page.locator("#stage .node.reached").count() == 8
    assert page.locator("#stage path.tree").count() == 7
    assert page.locator("#stage path.belief").count() >= 7
    page.keyboard.press("ArrowRight")
    assert "step 2" in sentence(page)
    page.click("#back")
    assert sentence(page) == first
    page.keyboard.press("ArrowLeft")
    assert place(page) == 0
    page.keyboard.press("ArrowDown")
    assert sentence(page).startswith("Round 2: weights")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert sentence(page).startswith("Round 2: weights")
    page.keyboard.press("ArrowUp")
    assert place(page) == 0
    page.keyboard.press("End")
    assert sentence(page).startswith("The end")
    page.keyboard.press("Home")
    assert place(page) == 0
    expect(page.locator("#back")).to_be_disabled()


def test_every_frame_of_the_run_can_be_seen_and_the_matching_grows(run: Page) -> None:
    page = run
    frames = int(page.locator("#slider").get_attribute("max") or 0)
    assert frames > 20
    matched, told = [], []
    for _ in range(frames):
        page.keyboard.press("ArrowRight")
        matched.append(page.locator("#stage .line.carries:not(.outer)").count())
        told.append(sentence(page))
        size = re.search(r"The matching has (\d) pair", told[-1])
        assert size is None or int(size.group(1)) == matched[-1]
    assert matched == sorted(matched)
    assert matched[-1] == 5
    assert len(set(told)) == len(told)
    assert sum("the path is source → " in text for text in told) == 5
    assert any("The matching has 5 pairs." in text for text in told)
    assert "no augmenting path is left. The judge agrees." in told[-2]


def test_the_path_shows_its_bottleneck_and_the_judge(page: Page) -> None:
    page.select_option("#model", "paper-mpnn")
    expect(page.locator("figcaption strong")).to_have_text("paper-mpnn", timeout=PATIENCE_MS)
    settled(page)
    while "the path is" not in sentence(page):
        page.keyboard.press("ArrowRight")
    chances = page.locator("#stage .arc-texts .chance").all_text_contents()
    assert len(chances) == page.locator("#stage path.path").count() == 3
    assert 98 <= sum(int(text.split()[0]) for text in chances) <= 102
    expect(page.locator("#facts")).to_contain_text("agrees")
    # Nodes show distances, and arcs show weights.
    assert page.locator("#stage .node.source .value").text_content() == "0"
    assert page.locator("#stage .arc-texts .quiet").count() == 12 - 1
    assert page.locator("#chance .dot").count() > 10


def test_it_plays_to_the_end_and_pauses(run: Page) -> None:
    page = run
    page.select_option("#speed", label="8×")
    page.focus("#stage")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
    page.wait_for_function("() => Number(document.getElementById('slider').value) > 1")
    page.click("#play")
    stopped = place(page)
    page.wait_for_timeout(300)
    assert place(page) == stopped
    last = int(page.locator("#slider").get_attribute("max") or 0)
    page.locator("#slider").fill(str(last - 2))
    page.click("#play")
    expect(page.locator(".sentence")).to_contain_text("The end", timeout=PATIENCE_MS)
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play")


def test_the_certificate_appears_at_the_end_and_only_there(run: Page) -> None:
    page = run
    assert page.locator(".node.in-cover:visible").count() == 1  # that of the legend
    page.click("#last")
    assert page.locator("#stage .node.in-cover").count() == 5
    assert "It is maximum: the 5 marked nodes touch every edge" in sentence(page)
    # It is a cover: each line between the sides has an end in it.
    covered = page.evaluate(
        """() => {
          const story = player.stories[0], {cover} = player.drawings[0].proof;
          return story.graph.arcs.filter(([a, b]) => story.graph.nodes[a].role === "left"
            && story.graph.nodes[b].role === "right")
            .every(([a, b]) => cover.has(a) || cover.has(b));
        }"""
    )
    assert covered is True
    page.keyboard.press("ArrowLeft")
    assert page.locator("#stage .node.in-cover").count() == 0


def test_the_slider_moves_through_the_run(run: Page) -> None:
    page = run
    page.locator("#slider").fill("7")
    assert page.locator("#place").inner_text().startswith("8 / ")
    told = sentence(page)
    assert page.locator("#slider").get_attribute("aria-valuetext") == told


def test_pointing_at_a_node_and_an_arc_tells_the_details(run: Page) -> None:
    page = run
    page.keyboard.press("ArrowRight")
    page.locator("#stage .node.left .body").first.hover()
    expect(page.locator("#detail")).to_contain_text("Ada")
    expect(page.locator("#detail")).to_contain_text("predecessor source: 100 %")
    page.locator("#stage .hit").nth(8).dispatch_event("click")
    expect(page.locator("#detail")).to_contain_text("residual 1, weight")


def test_a_flow_ends_with_its_cut(bench: Watched) -> None:
    page = bench.page
    page.click("#tab-examples")
    page.select_option("#example", label="Water for a town")
    expect(page.locator("#stage .label", has_text="town")).to_be_visible(timeout=PATIENCE_MS)
    settled(page)
    directed = "#stage .line[marker-end]"
    assert page.locator(directed).count() == page.locator("#stage .line").count() == 9
    assert page.locator("#stage .line[marker-start]").count() == 0
    page.keyboard.press("End")
    assert page.locator(directed).count() == 9
    assert page.locator("#stage .line.cut[marker-end='url(#head-cut)']").count() == 3
    assert "a flow of 23" in sentence(page)
    assert headless_arcs(page) == 0
    page.keyboard.press("End")
    assert page.locator("#stage .line.cut").count() == 3
    assert page.locator("#stage .arc-texts", has_text="12/12").count() == 1
    # Source at the far left, sink at the far right.
    order = sorted(page.locator("#stage .node").all(), key=lambda node: _box(node)["x"])
    roles = [node.get_attribute("class") or "" for node in (order[0], order[-1])]
    assert "source" in roles[0]
    assert "sink" in roles[1]


def _box(locator: Any) -> Any:
    return locator.bounding_box()


def open_example(page: Page, name: str) -> None:
    page.click("#tab-examples")
    page.select_option("#example", label=name)
    expect(page.locator("#message")).to_be_hidden(timeout=PATIENCE_MS)
    page.focus("#stage svg.drawing")


def prices(page: Page) -> dict[str, str]:
    """What stands in the nodes, by their labels."""
    return {
        node.locator(".label").text_content() or "": node.locator(".value").text_content() or ""
        for node in page.locator("#stage .node").all()
    }


def test_where_the_search_stops_a_frame_tells_how_the_prices_move(bench: Watched) -> None:
    page = bench.page
    open_example(page, "Seven people, five jobs, with hours")
    expect(page.locator("#sense-field")).to_be_visible()
    page.keyboard.press("Home")
    assert prices(page)["cook"] == "4"  # its cheapest edge
    usable = page.locator("#stage .line.tight:not(.outer)")
    assert (usable.count(), page.locator("#stage .line.slack:not(.outer)").count()) == (7, 7)
    assert page.locator("#stage .arc-texts .cost").count() == 14
    told = [text for [text] in all_frames(page)]
    assert len(set(told)) == len(told)
    stops = [number for number, text in enumerate(told) if "the search stops at" in text]
    assert len(stops) == 3
    assert told[stops[0]] == (
        "Stuck search 1: the search stops at these 10 nodes. The cheapest way out costs 1 more "
        "than the prices allow, so every node outside rises by 1: Dana – paint, drive – sink and "
        "sing – sink become usable."
    )
    page.locator("#slider").fill(str(stops[0] - 1))
    before = prices(page)
    page.locator("#slider").fill(str(stops[0]))
    after = prices(page)
    risen = {label for label in before if before[label] != after[label]}
    assert risen == {"Ann", "cook", "paint", "sink"}
    assert all(int(after[label]) == int(before[label]) + 1 for label in risen)
    assert page.locator("#stage .node.moved").count() == len(risen)
    assert page.locator("#stage .node.reached").count() == 10
    over = page.locator("#stage .arc-texts .over").all_text_contents()
    assert sorted(over) == ["+1", "+1", "+1", "+4", "+4"]
    assert page.locator("#stage .leaving.opened").count() == 3
    assert "agrees" in page.locator("#facts tr", has_text="Judge").inner_text()
    assert page.locator("#facts tr", has_text="Step of the prices").inner_text().endswith("1")


def test_prices_prove_the_cost_at_the_end(bench: Watched) -> None:
    page = bench.page
    open_example(page, "Seven people, five jobs, with hours")
    page.keyboard.press("End")
    assert "a matching of 5 pairs that costs 15" in sentence(page)
    assert "right price − left price ≤ cost on every edge" in sentence(page)
    assert page.locator("#facts tr", has_text="Cost").inner_text().endswith("15")
    own = prices(page)
    table = page.locator("#reduced-table tr").all()
    jobs = table[0].locator("th").all_text_contents()
    costs = {tuple(row[:2]): int(row[2]) for row in HOURS}
    for line in table[2:]:
        person = line.locator("th").inner_text()
        price, *cells = line.locator("td").all_text_contents()
        assert price == own[person]
        for job, cell in zip(jobs, cells, strict=True):
            allowed = int(own[job]) - int(own[person])
            assert cell == (str(costs[person, job] - allowed) if (person, job) in costs else "")
    matched = page.locator("#reduced-table td.matched").all_text_contents()
    assert matched == ["0"] * 5
    assert page.locator("#stage .line.carries:not(.outer)").count() == 5
    # The other way round.
    page.select_option("#sense", "greatest")
    expect(page.locator("#message")).to_be_hidden(timeout=PATIENCE_MS)
    page.focus("#stage svg.drawing")
    page.keyboard.press("End")
    expect(page.locator(".sentence")).to_contain_text("that brings 28", timeout=PATIENCE_MS)


def test_pointing_and_keys_tell_what_an_arc_costs(bench: Watched) -> None:
    page = bench.page
    open_example(page, "Seven people, five jobs, with hours")
    page.select_option("#labels", "none")
    assert page.locator("#stage .arc-texts .cost").count() == 0
    page.locator("#stage .hit[data-pair='9']").dispatch_event("pointerenter")
    assert page.locator("#stage .arc-texts .cost").all_text_contents() == ["8"]
    expect(page.locator("#detail")).to_contain_text("Ben – cook: cost 8")
    expect(page.locator("#detail")).to_contain_text("4 more than the difference of the prices")
    page.locator("#stage .hit[data-pair='9']").dispatch_event("pointerleave")
    assert page.locator("#stage .arc-texts .cost").count() == 0
    page.focus("#stage svg.drawing")
    for _ in range(8):
        page.keyboard.press(".")
    expect(page.locator("#detail")).to_contain_text("Ann – cook: cost 4")
    expect(page.locator("#detail")).to_contain_text("usable")
    page.keyboard.press(",")
    expect(page.locator("#detail")).to_contain_text("source – Gita")
    page.locator("#stage .node.right").first.dispatch_event("pointerenter")
    expect(page.locator("#detail")).to_contain_text("price 4")
    page.select_option("#labels", "auto")


def drag(page: Page, left: str, right: str) -> None:
    start = _box(page.locator(f"#editor [aria-label='{left}'] .body"))
    end = _box(page.locator(f"#editor [aria-label='{right}'] .body"))
    page.mouse.move(start["x"] + 12, start["y"] + 12)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=4)
    page.mouse.move(end["x"] + 12, end["y"] + 12)
    page.mouse.up()


def test_the_cost_of_an_edge_is_edited(bench: Watched) -> None:
    page = bench.page
    open_example(page, "Seven people, five jobs, with hours")
    page.click("#tab-draw")
    assert page.locator("#draw-kind").input_value() == "assignment"
    assert page.locator("#editor .arc-texts text").count() == 14
    page.fill("#new-cost", "1")
    for person, job in (("Ben", "cook"), ("Cem", "sing")):  # one is dear, the other is new
        drag(page, f"left node {person}", f"right node {job}")
    assert page.locator("#editor .arc-texts text").count() == 15
    page.click("#draw-run")
    expect(page.locator("#stage svg.drawing")).to_have_attribute(
        "aria-label", re.compile("15 edges"), timeout=PATIENCE_MS
    )
    settled(page)
    page.focus("#stage svg.drawing")
    page.keyboard.press("End")
    assert "a matching of 5 pairs that costs" in sentence(page)
    graph = page.evaluate("() => desk.editor.graph")
    assert graph["costs"][graph["edges"].index(["Ben", "cook"])] == 1
    page.locator("#editor .hit").first.dispatch_event("pointerup")
    page.click("#editor [aria-label='right node sing'] .body")
    page.click("#delete-node")
    graph = page.evaluate("() => desk.editor.graph")
    costs = {(person, job): int(cost) for person, job, cost in HOURS} | {("Ben", "cook"): 1}
    assert graph["costs"] == [costs[tuple(edge)] for edge in graph["edges"]]
    assert len(graph["edges"]) == 10


def test_a_flow_with_costs_shows_what_it_carries_and_its_cut(bench: Watched) -> None:
    page = bench.page
    open_example(page, "Water for a town, at a price")
    page.keyboard.press("End")
    assert "a flow of 23 that costs 214" in sentence(page)
    assert page.locator("#stage .node").count() == 6  # nothing was left over, and nothing holds it
    assert page.locator("#stage .line.cut").count() == 3
    assert page.locator("#stage .arc-texts", has_text="12/12 at 3").count() == 1
    page.click("#tab-draw")
    assert page.locator("#draw-kind").input_value() == "min-cost-flow"
    assert page.locator("#editor .arc-texts", has_text="16 at 2").count() == 1


def test_an_edge_is_drawn_and_the_graph_run_again(page: Page) -> None:
    page.click("#tab-draw")
    page.click("#draw-clear")
    lines = page.locator("#editor .line")
    assert lines.count() == 0
    for left, right in (("l0", "r1"), ("l1", "r1"), ("l1", "r2")):
        start = _box(page.locator(f"#editor [aria-label='left node {left}'] .body"))
        end = _box(page.locator(f"#editor [aria-label='right node {right}'] .body"))
        page.mouse.move(start["x"] + 12, start["y"] + 12)
        page.mouse.down()
        page.mouse.move(end["x"] + 5, end["y"] + 5, steps=4)
        page.mouse.move(end["x"] + 12, end["y"] + 12)
        page.mouse.up()
    assert lines.count() == 3
    page.click("#draw-run")
    expect(page.locator("#stage svg.drawing")).to_have_attribute(
        "aria-label", re.compile(r"3 \+ 3 nodes and 3 edges"), timeout=PATIENCE_MS
    )
    settled(page)
    page.keyboard.press("End")
    assert "a matching of 2 pairs" in sentence(page)
    # Delete an edge with a click and a node with a button; add a node beside the column.
    page.locator("#editor .hit").first.dispatch_event("pointerup")
    assert lines.count() == 2
    page.click("#editor [aria-label='left node l1'] .body")
    page.click("#delete-node")
    assert lines.count() == 0
    page.click("#add-right")
    assert page.locator("#editor .node.right").count() == 4
    page.locator("#editor svg").click(position={"x": 8, "y": 8})
    assert page.locator("#editor .node.left").count() == 3


def test_the_keyboard_alone_can_draw(page: Page) -> None:
    page.click("#tab-draw")
    page.click("#draw-clear")
    page.focus("#editor [aria-label='left node l0']")
    page.keyboard.press("Enter")
    page.focus("#editor [aria-label='right node r2']")
    page.keyboard.press("Enter")
    assert page.locator("#editor .line").count() == 1
    assert (
        page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "right node r2"
    )
    page.keyboard.press("Delete")
    assert page.locator("#editor .node.right").count() == 2
    page.select_option("#draw-kind", "flow")
    for first, second in (("source node s", "node a"), ("node a", "sink node t")):
        page.fill("#capacity", "7")
        for name in (first, second):
            page.focus(f"#editor [aria-label='{name}']")
            page.keyboard.press("Enter")
    page.click("#draw-run")
    expect(page.locator("#stage .node")).to_have_count(4, timeout=PATIENCE_MS)
    settled(page)
    page.keyboard.press("End")
    expect(page.locator(".sentence")).to_contain_text("a flow of 7")


def round_names(page: Page) -> list[str]:
    """Go through the whole run; return the name of each search once."""
    names = [told for [told] in all_frames(page)]
    return list(dict.fromkeys(re.split("[:,]", name)[0] for name in names))


def rounds_of(solution: Solution) -> list[str]:
    return [f"Round {number + 1}" for number in range(solution.rounds)]


def test_a_page_in_a_file_counts_the_rounds_that_solve_says(
    watched: Watched, tmp_path: Path
) -> None:
    solution = solve(ROOT / "examples" / "jobs.csv")
    path = tmp_path / "run.html"
    path.write_text(page_of(solution.story()), encoding="utf-8")
    watched.page.goto(path.as_uri())
    assert round_names(watched.page) == [*rounds_of(solution), "Last search", "The end"]
    assert f"{solution.rounds} rounds: " in watched.page.locator("#manner").inner_text()
    watched.page.keyboard.press("Home")
    assert f"1 of {solution.rounds}" in watched.page.locator("#facts").inner_text()
    watched.requests = []


def test_the_page_says_that_it_takes_one_path_a_round_and_offers_solves_way(page: Page) -> None:
    graph, seed = read_graph(ROOT / "examples" / "jobs.csv"), int(page.input_value("#seed"))
    solution = watch(graph, many_paths=True, seed=seed)["solution"]
    told = page.locator("#manner")
    expect(told).to_contain_text(f"{solution['size']} rounds: each takes one path, as in the paper")
    expect(told).to_contain_text("augury solve")
    page.locator("details").first.evaluate("box => { box.open = true; }")
    page.check("#many-paths")
    expect(told).to_contain_text("as augury solve does", timeout=PATIENCE_MS)
    rounds = [f"Round {number}" for number in range(1, solution["rounds"] + 1)]
    assert round_names(page) == [*rounds, "Last search", "The end"]


def test_two_networks_are_compared_in_step(page: Page) -> None:
    page.select_option("#other", "paper-mpnn")
    expect(page.locator("#stage figure")).to_have_count(2, timeout=PATIENCE_MS)
    settled(page)
    expect(page.locator("#difference-text")).to_contain_text("They first differ in search 1")
    page.click("#to-difference")
    assert page.locator(".sentence.different").count() == 2
    assert page.locator("#stage .node.different, #stage path.difference").count() > 0
    for both in all_frames(page):
        names = r"Round (\d+)|Last search|Failed search|The end"
        rounds = [re.match(names, told) for told in both]
        assert len(rounds) == 2 and all(rounds)
        numbers = {found.group(1) for found in rounds if found and found.group(1)}
        assert len(numbers) < 2, "they are not in the same round"
    assert sentence(page, 0).startswith("The end")
    assert sentence(page, 1).startswith("The end")
    page.select_option("#other", "")
    expect(page.locator("#stage figure")).to_have_count(1, timeout=PATIENCE_MS)
    expect(page.locator("#difference")).to_be_hidden()


def test_the_example_of_failure_shows_where_results_part(bench: Watched) -> None:
    page = bench.page
    page.click("#tab-examples")
    page.select_option("#example", label="Where the paper's network fails, 14 + 14")
    expect(page.locator("#stage figure")).to_have_count(2, timeout=PATIENCE_MS)
    settled(page)
    assert headless_arcs(page) == 0
    expect(page.locator("#parting-text")).to_contain_text("discrete augments, paper-mpnn finds")
    page.click("#to-difference")
    assert ["the path is" in sentence(page, number) for number in (0, 1)] == [True, True]
    assert page.locator("#stage path.difference").count() > 0
    page.click("#to-parting")
    assert "the flow grows to 1" in sentence(page, 0)
    assert "the path is not used" in sentence(page, 1)
    assert "0" in page.locator("#facts tr", has_text="Flow").inner_text()
    page.keyboard.press("End")
    assert "It is maximum" in sentence(page, 0)
    assert "This is not the maximum; it is 1 short." in sentence(page, 1)


def test_a_broken_file_is_explained_and_a_good_one_shown(bench: Watched, tmp_path: Path) -> None:
    bench.expected, page = re.compile("status of 422"), bench.page
    page.click("#tab-examples")
    page.select_option("#example", label="Seven people, five jobs")
    expect(page.locator("#stage .node")).to_have_count(14, timeout=PATIENCE_MS)
    settled(page)
    page.click("#tab-open")
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("ann,cook\nbob\n")
    good.write_text("ann,cook\nbob,<img src=x onerror=alert(1)>\n")
    page.set_input_files("#file", bad)
    expect(page.locator("#message")).to_have_text(
        "bad.csv, line 2: 1 columns where the first row has 2", timeout=PATIENCE_MS
    )
    expect(page.locator("#message")).to_be_visible()
    assert page.locator("#message").get_attribute("role") == "alert"
    assert page.locator("#stage .node").count() == 14  # what was there stays
    page.set_input_files("#file", good)
    expect(page.locator("#stage .node")).to_have_count(6, timeout=PATIENCE_MS)
    settled(page)
    assert page.locator("img").count() == 0  # the label is text
    page.fill("#paste", "s,a,3\na,t,2\n")
    page.click("#open-paste")
    expect(page.locator("#message")).to_contain_text(
        "the checkbox “numbers are costs” reads them as costs, “a flow network” as capacities, "
        "“ignore costs” leaves them out",
        timeout=PATIENCE_MS,
    )
    page.fill("#paste", "worker,job,profit\nann,cook,3\nann,sing,2\n")
    page.click("#open-paste")
    expect(page.locator("#message")).to_contain_text(
        "what is better: look for the least sum or the greatest", timeout=PATIENCE_MS
    )
    page.select_option("#open-sense", "greatest")
    page.click("#open-paste")
    expect(page.locator("#stage .node")).to_have_count(5, timeout=PATIENCE_MS)
    settled(page)
    assert page.locator("#sense").input_value() == "greatest"
    page.keyboard.press("End")
    assert "a matching of 1 pair that brings 3" in sentence(page)
    page.select_option("#open-sense", "")
    page.check("#ignore-costs")
    page.click("#open-paste")
    expect(page.locator("#sense-field")).to_be_hidden(timeout=PATIENCE_MS)
    settled(page)
    page.uncheck("#ignore-costs")
    page.fill("#paste", "s,a,3\na,t,2\n")
    page.check("#as-flow")
    page.click("#open-paste")
    expect(page.locator("#stage .node")).to_have_count(3, timeout=PATIENCE_MS)
    settled(page)
    page.keyboard.press("End")


def test_families_are_generated_and_large_graphs_summed_up(bench: Watched) -> None:
    page = bench.page
    page.click("#tab-generate")
    page.select_option("#family", "sparse")
    page.fill("#family-fields [name=n]", "6")
    page.fill("#family-costs", "9")
    page.click("#generate")
    expect(page.locator("#sense-field")).to_be_visible(timeout=PATIENCE_MS)
    settled(page)
    page.fill("#family-costs", "")
    page.fill("#family-fields [name=n]", "12")
    page.click("#generate")
    expect(page.locator("#stage .node")).to_have_count(26, timeout=PATIENCE_MS)
    expect(page.locator("#sense-field")).to_be_hidden()
    settled(page)
    page.locator("details").first.evaluate("box => { box.open = true; }")
    page.check("#many-paths")
    settled(page)
    page.fill("#family-fields [name=n]", "80")
    page.click("#generate")
    expect(page.locator(".summary h3")).to_contain_text("Matching of", timeout=PATIENCE_MS)
    assert "162 nodes" in page.locator(".summary").inner_text()
    assert page.locator("#size .curve").count() == 1
    settled(page)
    page.focus("#stage")
    page.click("#step")
    assert page.locator(".rounds tr.now td").first.inner_text() == "2"


def test_a_graph_beyond_tracing_is_solved_and_says_so(bench: Watched) -> None:
    bench.expected, page = re.compile("status of 413"), bench.page
    page.click("#tab-generate")
    page.select_option("#family", "uniform")
    page.fill("#family-fields [name=n]", "300")
    page.fill("#family-fields [name=p]", "0.01")
    page.click("#generate")
    expect(page.locator("#message")).to_contain_text(
        re.compile(r"A matching of \d+, proven maximum.*too large to be watched"),
        timeout=PATIENCE_MS,
    )
    expect(page.locator("#stage svg")).to_have_count(0)  # that was another graph
    expect(page.locator("main")).to_be_hidden()
    page.keyboard.press("ArrowRight")  # nothing is there that could be played
    page.fill("#family-fields [name=n]", "4")
    page.click("#generate")
    expect(page.locator("#stage .node")).to_have_count(10, timeout=PATIENCE_MS)


def test_a_request_that_nobody_waits_for_is_given_up(page: Page) -> None:
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(request.post_data or ""))
    page.route("**/story", lambda route: None, times=1)  # the first is never answered
    page.select_option("#model", "paper-mpnn")
    page.select_option("#model", "classical")
    expect(page.locator("figcaption strong")).to_have_text("classical", timeout=PATIENCE_MS)
    settled(page)
    assert len(given_up) == 1
    assert '"model":"paper-mpnn"' in given_up[0]


def test_a_link_holds_the_graph_and_the_settings(
    watched: Watched, page: Page, address: str
) -> None:
    page.click("#tab-open")
    page.fill("#paste", "ann,cook\nbob,cook\n")
    page.click("#open-paste")
    expect(page.locator("#stage .node")).to_have_count(5, timeout=PATIENCE_MS)
    settled(page)
    page.select_option("#model", "bellman-ford")
    page.fill("#seed", "5")
    page.locator("#seed").blur()
    expect(page.locator("figcaption strong")).to_have_text("bellman-ford", timeout=PATIENCE_MS)
    settled(page)
    page.click("#share")
    expect(page.locator("#message")).to_contain_text("The link is")
    link = page.url
    assert "#" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#stage .node")).to_have_count(5, timeout=PATIENCE_MS)
    expect(page.locator("figcaption strong")).to_have_text("bellman-ford")
    assert page.locator("#seed").input_value() == "5"
    watched.requests = [url for url in watched.requests if url != "about:blank"]


def fragment(data: bytes) -> str:
    """The fragment of a link."""
    packer = zlib.compressobj(wbits=-15)
    return base64.urlsafe_b64encode(packer.compress(data) + packer.flush()).decode().rstrip("=")


def test_a_broken_link_says_so(watched: Watched, address: str) -> None:
    page, words = watched.page, "This link is damaged: there is no graph in it."
    page.goto(f"{address}/#{fragment(b'null')}")
    # The first example is shown instead.
    expect(page.locator("#stage .node")).to_have_count(14, timeout=PATIENCE_MS)
    expect(page.locator("#message")).to_have_text(f"{words} This is the first example.")
    for told in ("damaged", *map(fragment, (b"5", b"{}", b"0" * 8_000_000))):
        page.evaluate("() => say('')")
        page.evaluate("told => { location.hash = told; }", told)
        expect(page.locator("#message")).to_have_text(words)
    watched.expected = re.compile("422")
    page.evaluate("told => { location.hash = told; }", fragment(b'{"graph": {"edges": [["a"]]}}'))
    expect(page.locator("#message")).to_contain_text("This link cannot be opened: body.graph.edges")


def test_a_link_is_unpacked_no_further_than_a_request_may_be_large(run: Page) -> None:
    page = run
    reason = "told => unpacked(told).then(() => 'all of it', (error) => error.message)"
    assert page.evaluate(reason, fragment(b" " * 4_000_000 + b"1")) == "all of it"
    told = page.evaluate(reason, fragment(b" " * 8_000_000))
    assert told == "there is more behind this link than a page can show"
    told = page.evaluate(reason, fragment(b" " * 80_000_000))
    assert told == "no link of ours is so long"


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_nothing_is_cut_off_on_a_phone_or_in_the_dark(
    watched: Watched, address: str, width: int, scheme: Any
) -> None:
    page = watched.page
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    watched.open(address)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    is_dark = sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
    assert is_dark == (scheme == "dark")
    page.click("#theme")
    other = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert other != ground
    for tab in ("examples", "generate", "draw", "open"):
        page.click(f"#tab-{tab}")
        wide = page.evaluate(
            """most => [...document.querySelectorAll(".input *")]
              .filter((element) => element.checkVisibility())
              .filter((element) => element.getBoundingClientRect().right > most)
              .map((element) => element.outerHTML)""",
            width - 12,
        )
        assert wide == [], tab


def test_on_a_small_laptop_the_sentence_and_the_play_button_are_in_sight(
    watched: Watched, address: str
) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1366, "height": 768})
    watched.open(address)
    # One drawing, and two side by side.
    for example in ("Water for a town", "Where the paper's network fails, 14 + 14"):
        page.select_option("#example", label=example)
        expect(page.locator("#stage svg.drawing").first).to_be_visible(timeout=PATIENCE_MS)
        settled(page)
        for key in ("Home", "End"):
            page.keyboard.press(key)
            for seen in (".sentence", "#play"):
                box = _box(page.locator(seen).first)
                assert box["y"] >= 0
                assert box["y"] + box["height"] <= 768, (example, seen)
        drawing, told = (
            _box(page.locator("svg.drawing").first),
            _box(page.locator(".sentence").first),
        )
        assert drawing["y"] + drawing["height"] <= told["y"], example


def test_sentence_and_buttons_stay_in_sight_while_the_legend_is_read(
    watched: Watched, address: str
) -> None:
    page = watched.page
    for width, height in ((1366, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        watched.open(address)
        page.keyboard.press("End")
        for part in ("#panel-draw", "#legend"):
            page.click("#tab-draw" if part == "#panel-draw" else "#tab-examples")
            page.locator(part).scroll_into_view_if_needed()
            for seen in (".sentence", "#play", "#slider"):
                box = _box(page.locator(seen))
                assert 0 <= box["y"] <= height - box["height"], (width, part, seen)


def test_the_legend_explains_what_is_there(bench: Watched) -> None:
    page = bench.page
    page.click("#tab-examples")

    def explained(example: str, figures: int) -> str:
        page.select_option("#example", label=example)
        expect(page.locator("#stage figure")).to_have_count(figures, timeout=PATIENCE_MS)
        settled(page)
        return page.locator("#legend").inner_text()

    fails = explained("Where the paper's network fails, 4 + 4", 2)
    for words in ("its distance", "wrong distance", "its weight", "cannot be used", "differ"):
        assert words in fails
    assert "price" not in fails
    hours = explained("Seven people, five jobs, with hours", 1)
    for words in ("its price, or potential", "its price moves", "dotted", "too dear", "the cover"):
        assert words in hours
    assert "distance" not in hours
    water = explained("Water for a town", 1)
    assert "two of three units" in water
    assert "the cut" in water
    for told in (fails, hours, water):
        for words in ("ringed", "wedge", "the judge: exact code"):
            assert words in told


def test_wrong_distances_are_marked_and_told(bench: Watched) -> None:
    page = bench.page
    page.click("#tab-examples")
    page.select_option("#example", label="Where the paper's network fails, 4 + 4")
    expect(page.locator("#stage figure")).to_have_count(2, timeout=PATIENCE_MS)
    settled(page)
    page.click("#to-parting")
    right, wrong = page.locator("#stage figure").all()
    assert right.locator(".node.wrong").count() == 0
    assert wrong.locator(".node.wrong").count() == 7
    wrong.locator(".node.sink").hover()
    expect(page.locator("#detail")).to_contain_text("distance 63, which is wrong: it is 61")
    while "step 8" not in sentence(page, 1):
        page.keyboard.press("ArrowLeft")
    assert "7 distances are wrong." in sentence(page, 1)
    page.keyboard.press("End")
    assert "(ended by 1 failed path, as set). This is not the maximum" in sentence(page, 1)


def test_nodes_are_named_and_their_details_reached_by_keys(page: Page) -> None:
    page.click("#tab-draw")
    page.select_option("#draw-kind", "matching")
    page.click("#draw-clear")
    page.locator("#editor .node.left").first.focus()
    page.keyboard.press("F2")
    page.keyboard.type("Zoe")
    page.keyboard.press("Enter")
    nodes = page.locator("#editor .node.right")
    nodes.first.click()
    page.fill("#node-name", "<b>paint</b>")
    page.locator("#node-name").blur()
    page.locator("#editor [aria-label='left node Zoe']").focus()
    page.keyboard.press("Enter")
    nodes.first.focus()
    page.keyboard.press("Enter")
    nodes.nth(1).click()
    page.fill("#node-name", "<b>paint</b>")
    page.locator("#node-name").blur()
    expect(page.locator("#message")).to_contain_text("There is a node <b>paint</b> already")
    page.click("#draw-run")
    expect(page.locator("#stage svg.drawing")).to_contain_text("Zoe")
    settled(page)
    page.keyboard.press("End")
    assert "a matching of 1 pair" in sentence(page)
    for key, told in (("n", "source"), ("n", "Zoe"), ("b", "source"), (".", "source → Zoe")):
        page.keyboard.press(key)
        expect(page.locator("#detail")).to_contain_text(told)
    assert page.locator("#stage .node.pointed").count() == 0
    page.keyboard.press("n")
    assert page.locator("#stage .node.pointed").count() == 1


def test_the_whole_screen_is_for_the_drawing(page: Page) -> None:
    before = _box(page.locator("svg.drawing"))
    page.keyboard.press("f")
    expect(page.locator("body.full")).to_have_count(1)
    expect(page.locator(".input")).to_be_hidden()
    expect(page.locator("aside")).to_be_hidden()
    after = _box(page.locator("svg.drawing"))
    assert after["width"] > before["width"]
    assert after["height"] > before["height"]
    assert page.locator(".sentence").is_visible()
    page.click("#full")
    expect(page.locator("body.full")).to_have_count(0)
    expect(page.locator(".input")).to_be_visible()


def headless_arcs(page: Page) -> int:
    """Count the arcs of a flow without an arrow head, in all frames together."""
    return page.evaluate(
        """() => {
          const slider = document.getElementById("slider");
          let count = 0;
          for (let place = 0; place <= Number(slider.max); place++) {
            slider.value = String(place);
            slider.dispatchEvent(new Event("input"));
            count += document.querySelectorAll(
              "#stage .lines path:not([marker-end]):not([marker-start])").length;
          }
          return count;
        }"""
    )


def test_everything_that_can_be_pressed_has_a_name(run: Page) -> None:
    page = run
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, textarea, svg[role=img]")]
          .filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim()
            || [...(element.labels || [])].some((label) => label.textContent.trim())))
          .map((element) => element.outerHTML)"""
    )
    assert nameless == []
    assert page.locator(".sentence").get_attribute("aria-live") == "polite"


@pytest.fixture
def offline(browser: Browser) -> Iterator[Watched]:
    """A tab without network access."""
    with browser.new_context(offline=True) as context:
        watched = Watched(context)
        yield watched
        watched.check("file://")


def test_a_file_works_from_disk_without_a_server(offline: Watched, tmp_path: Path) -> None:
    graph = read_graph(ROOT / "examples" / "jobs.csv")
    path = tmp_path / "trace.html"
    path.write_text(page_of(watch(graph)), encoding="utf-8")
    offline.page.goto(path.as_uri())
    page = offline.page
    expect(page.locator("#stage .node")).to_have_count(14)
    assert page.locator(".input").count() == 0
    assert sentence(page).startswith("Round 1")
    page.keyboard.press("ArrowRight")
    assert "step 1" in sentence(page)
    page.click("#last")
    assert page.locator("#stage .node.in-cover").count() == 5
    assert len(offline.requests) == 1


def test_labels_in_a_file_are_text_whatever_they_say(offline: Watched, tmp_path: Path) -> None:
    hostile = "</script><script>document.title = 'gone'</script><b>"
    story = watch(BipartiteGraph.from_edges([(hostile, "x"), ("<!--", "x")]), model="classical")
    path = tmp_path / "trace.html"
    path.write_text(page_of([story, story]), encoding="utf-8")
    offline.page.goto(path.as_uri())
    page = offline.page
    expect(page.locator("#stage figure")).to_have_count(2)
    page.click("#last")
    assert page.title() == "Augury: watch the network"
    assert page.locator("b").count() == 0
    assert page.locator("#difference-text").inner_text().startswith("Both networks decide")


def test_two_frames_of_a_notebook_do_not_meet(offline: Watched, tmp_path: Path) -> None:
    one = watch(BipartiteGraph.from_edges([("a", "x")]), model="classical")
    other = watch(BipartiteGraph.from_edges([("a", "x"), ("b", "y")]), model="classical")
    path = tmp_path / "notebook.html"
    text = f"<!DOCTYPE html><title>notebook</title>{frame_of(one)}{frame_of(other)}"
    path.write_text(text, encoding="utf-8")
    offline.page.goto(path.as_uri())
    for number, nodes in ((0, 4), (1, 6)):
        frame = offline.page.frame_locator("iframe").nth(number)
        expect(frame.locator("#stage .node")).to_have_count(nodes)
        expect(frame.locator(".sentence")).to_contain_text("It is maximum")  # it opens at the end
        frame.locator("#first").click()
        expect(frame.locator(".sentence")).to_contain_text("the search starts")
        expect(frame.locator("#full")).to_be_hidden()  # which a frame may not be
    offline.requests = [url for url in offline.requests if url != "about:srcdoc"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with three of the examples: a run of the paper's network on each takes its time."""
    folder = tmp_path_factory.mktemp("static") / "demo"
    examples = json.loads(asset("examples.json"))
    few = [one for one in examples if "five jobs" in one["name"] or "4 + 4" in one["name"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            static, "asset", lambda name: json.dumps(few) if "examples" in name else asset(name)
        )
        static.write_static(folder)
    return folder


def test_the_demo_runs_from_disk_what_is_drawn_and_refuses_what_needs_a_server(
    offline: Watched, demo: Path
) -> None:
    page = offline.page
    offline.open((demo / "index.html").as_uri())
    assert "runs in your browser" in page.locator(".demo-only").inner_text()
    for missing in ("#tab-generate", "#tab-open", "details.server"):
        expect(page.locator(missing)).to_be_hidden()
    page.keyboard.press("End")
    assert "a matching of 5 pairs" in sentence(page)
    page.select_option("#example", label="Seven people, five jobs, with hours")
    expect(page.locator("#reduced")).to_be_visible()
    page.keyboard.press("End")
    assert "a matching of 5 pairs that costs 15" in sentence(page)
    page.select_option("#sense", "greatest")
    page.keyboard.press("End")
    expect(page.locator(".sentence")).to_contain_text("that brings 28")
    page.select_option("#example", label="Where the paper's network fails, 4 + 4")
    expect(page.locator("#stage figure")).to_have_count(2)
    page.keyboard.press("End")
    assert "it is 1 short" in sentence(page, 1)
    page.select_option("#other", "")
    page.click("#tab-draw")
    page.select_option("#draw-kind", "flow")
    page.fill("#capacity", "7")
    for one, other in (("source node s", "node a"), ("node a", "sink node t")):
        for name in (one, other):
            page.locator(f"#editor [aria-label='{name}']").focus()
            page.keyboard.press("Enter")
    page.click("#draw-run")
    page.locator(".sentence").click()
    page.keyboard.press("End")
    expect(page.locator(".sentence")).to_contain_text("a flow of 7")
    page.select_option("#model", "paper-mpnn")
    expect(page.locator("#message")).to_contain_text("paper-mpnn runs on the examples only")
    assert len(offline.requests) == 1


@pytest.mark.parametrize("name", ["lesson.html", "answers.html"])
def test_a_sheet_is_one_printed_page(offline: Watched, demo: Path, name: str) -> None:
    page = offline.page
    page.goto((demo / name).as_uri())
    for paper in ("A4", "Letter"):
        pages = re.findall(
            rb"/Type\s*/Page\b(?!s)", page.pdf(format=paper, prefer_css_page_size=True)
        )
        assert len(pages) == 1, paper
