"""`augury generate`: every family is written, and the seed decides."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from augury.apps import cli
from augury.apps.commands import generate as command
from augury.classical.generate import FAMILIES, HARD
from command import Augury

# Enough for each family to make something; the rest are its defaults.
EXAMPLES: dict[str, list[str]] = {name: ["--n", "6"] for name in FAMILIES} | {
    "mesh": ["--arcs", "40"],
    "grid": ["--edges", "40"],
    "regular": ["--n", "6", "--degree", "2"],
    "communities": ["--n", "6", "--p-within", "3/4", "--p-between", "0.1"],
    "flow": ["--nodes", "6", "--arcs", "12", "--high", "255"],
}


@pytest.mark.parametrize("family", EXAMPLES)
def test_every_family_is_written_and_read_back(augury: Augury, family: str) -> None:
    arguments = EXAMPLES[family]
    code, out, err = augury("generate", family, *arguments, "--output", "new/graph.json.gz")
    assert (code, err) == (0, "")
    assert out.startswith("new/graph.json.gz: a ")
    answer = json.loads(augury("solve", "new/graph.json.gz", "--json").out)
    assert answer["is_maximum"]


def test_several_graphs_are_numbered_and_the_seed_decides(augury: Augury) -> None:
    for folder in ("one", "two"):
        output = f"{folder}/{{}}.csv"
        done = augury("generate", "uniform", "--n", "8", "--count", "3", "--output", output)
        assert done.code == 0
        assert len(done.out.splitlines()) == 3
    texts = [[Path(f"{f}/{k}.csv").read_text() for k in range(3)] for f in ("one", "two")]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 3
    augury("generate", "uniform", "--n", "8", "--seed", "7", "--output", "other.csv")
    assert Path("other.csv").read_text() != texts[0][0]


def test_a_family_that_does_not_exist_leaves_no_folder(augury: Augury) -> None:
    assert augury("generate", "unifrom", "--n", "3", "--output", "new/x.csv").code == 2
    assert not Path("new").exists()


def test_every_keyword_of_a_family_is_an_option_and_the_other_way_round() -> None:
    hints = get_type_hints(command.generate, include_extras=True)
    options = set(inspect.signature(command.generate).parameters)
    families = (FAMILIES | HARD).values()
    keywords = {p.name for family in families for p in family.parameters}
    assert options - {"family", "output", "seed", "count", "costs"} == keywords
    for family in families:
        for parameter in family.parameters:
            told = get_args(get_args(hints[parameter.name])[0])
            assert parameter.kind in told or str in told  # text where fractions like 1/4 are taken


def test_the_help_of_generate_names_every_family() -> None:
    out = CliRunner().invoke(cli.app, ["generate", "--help"], env={"COLUMNS": "400"}).output
    assert all(family in out for family in FAMILIES | HARD)


def test_costs_are_drawn_for_matchings_and_flows(augury: Augury) -> None:
    augury("generate", "uniform", "--n", "8", "--output", "plain.csv")
    augury("generate", "uniform", "--n", "8", "--costs", "3:9", "--output", "priced.csv")
    rows = [line.split(",") for line in Path("priced.csv").read_text().splitlines()]
    assert rows[0] == ["left", "right", "cost"]
    assert {int(row[2]) for row in rows[1:]} <= set(range(3, 10))
    plain = Path("plain.csv").read_text().splitlines()
    assert [",".join(row[:2]) for row in rows] == plain  # the same edges
    flow = "generate", "flow", "--nodes", "5", "--arcs", "9", "--costs=-5:5", "--output", "net.min"
    assert "arcs with costs" in augury(*flow).out
    assert Path("net.min").read_text().startswith("p min 5 9\nn 1 s\nn 5 t\na ")
    assert "least cost" in augury("solve", "net.min").out


@pytest.mark.parametrize("costs", ["9", "a:b", "9:3", ":"])
def test_costs_that_are_no_range_are_refused(augury: Augury, costs: str) -> None:
    done = augury("generate", "path", "--n", "3", "--costs", costs, "--output", "graph.csv")
    assert done.code == 2
    assert not Path("graph.csv").exists()
