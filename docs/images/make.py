"""Draw the pictures of the page anew: `python docs/images/make.py`, after networks or page change.

A server and a Chromium do what a reader would do, and each picture is what they see then. The
picture of the speed comes from `augury bench --plot` instead.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

HERE = Path(__file__).parent
SERVER = [sys.executable, "-m", "augury.apps.cli", "explore", "--port", "0", "--no-browser"]
WIDTH = 1280
PATIENCE_MS = 60_000
COLOURS = 256
"""Enough for a drawing, at a third of the bytes."""


class Picture(NamedTuple):
    """What is done on the page before it is drawn."""

    height: int
    colours: Any
    prepare: Callable[[Page], None]


def step(page: Page) -> None:
    """The paper's network in the middle of a search."""
    page.select_option("#model", "paper-mpnn")
    expect(page.locator("figcaption strong")).to_have_text("paper-mpnn")
    _on_until(page, "Round 4, step 3: ")


def compare(page: Page) -> None:
    """Two networks, in the round in which their results part."""
    page.select_option("#example", label="Where the paper's network fails, 4 + 4")
    expect(page.locator("#stage figure")).to_have_count(2)
    page.click("#to-parting")


def proof(page: Page) -> None:
    """The end of a run, with its certificate."""
    page.click("#last")


def prices(page: Page) -> None:
    """Where a search stops, and the prices move."""
    page.select_option("#example", label="Seven people, five jobs, with hours")
    expect(page.locator("#sense-field")).to_be_visible()
    _on_until(page, "Stuck search 1: the search stops")


PICTURES = {
    "explore-step.png": Picture(830, "light", step),
    "explore-compare.png": Picture(890, "light", compare),
    "explore-proof.png": Picture(830, "dark", proof),
    "explore-prices.png": Picture(890, "light", prices),
}


def _on_until(page: Page, start: str) -> None:
    frames = int(page.locator("#slider").get_attribute("max") or 0)
    for _ in range(frames):
        if page.locator(".sentence").first.inner_text().startswith(start):
            return
        page.keyboard.press("ArrowRight")
    raise SystemExit(f"no frame of this run starts with {start!r}")


@contextmanager
def _address() -> Generator[str]:
    with subprocess.Popen(SERVER, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[3]  # Augury is at ADDRESS
        finally:
            server.terminate()


def main() -> None:
    """Draw all of them into this folder."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, _address() as address:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            size: Any = {"width": WIDTH, "height": picture.height}
            page = browser.new_page(viewport=size, color_scheme=picture.colours)
            page.set_default_timeout(PATIENCE_MS)
            expect.set_options(timeout=PATIENCE_MS)
            page.goto(address)
            expect(page.locator("#stage svg.drawing")).to_be_visible()
            picture.prepare(page)
            expect(page.locator("#message")).to_be_hidden()
            drawn = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
            drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(HERE / name, optimize=True)
            print(HERE / name)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
