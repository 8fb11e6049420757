"""The arithmetic of tables made from records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from augury.classical.simulate import DECISIONS
from augury.experiments.conditions import Condition, Extent
from augury.experiments.records import Part, Runs
from augury.experiments.summary import latex_table, lines_of, summarise, table_rows, wilson

DENSE = Condition()


def a_part(
    missing: list[list[int]], condition: Condition = DENSE, seed: int = 0, **more: Any
) -> tuple[Part, Runs]:
    """Return runs on graphs with a maximum of 4, by what each run is short of it."""
    short = np.array(missing)
    maximum = np.full(short.shape, 4)
    decisions = dict.fromkeys(DECISIONS, 0)
    asked, wrong = decisions | {"search": 5 * short.size}, decisions | {"search": short.size}
    runs = Runs("m", "", maximum - short, maximum, maximum, ("done",) * short.size, asked, wrong)
    extent = Extent(short.shape[1], short.shape[0])
    return Part("m", seed, 0, condition, extent), replace(runs, **more)


def test_accuracy_and_deviation_over_runs() -> None:
    # Right of two graphs: both, one, none. Runs: 1, 0.5, 0; deviation sqrt((0.25 + 0.25) / 3).
    (told,) = summarise(dict([a_part([[0, 0], [1, 0], [1, 3]])]))
    assert told["accuracy"] == pytest.approx(0.5)
    assert told["std"] == pytest.approx(math.sqrt(0.5 / 3))
    assert told["flow_error"] == pytest.approx((1 + 1 + 3) / 6)
    assert (told["graphs"], told["runs"], told["seeds"]) == (2, 3, 1)
    assert (told["search_asked"], told["search_wrong"]) == (30, 6)
    assert told["endings"] == {"done": 6}
    assert not {"seed_interval", "epoch", "test_seed"} & set(told)
    (row,) = table_rows([told])
    assert row[:6] == ["m", "1x", "1/4", "bfs", "50.00 ± 40.82", "–"]
    assert row[8:] == ["6/30", "0/0", "0/0", "–", "0/0"]


def test_the_interval_over_seeds_is_students() -> None:
    # Accuracies 1, 0.5, 0.75: mean 0.75, deviation 0.25, t(2, 97.5 %) = 4.3027.
    missing = {2: [0, 0, 0, 1], 0: [0, 0, 0, 0], 1: [0, 0, 1, 1]}
    (told,) = summarise(dict(a_part([row], seed=seed) for seed, row in missing.items()))
    assert list(told["by_seed"].items()) == [(0, 1.0), (1, 0.5), (2, 0.75)]
    assert (told["seed_mean"], told["seed_std"]) == (pytest.approx(0.75), pytest.approx(0.25))
    low, high = told["seed_interval"]
    assert low == pytest.approx(0.75 - 4.30265 * 0.25 / math.sqrt(3), abs=1e-5)
    assert high == 1.0  # an accuracy is never above 1
    assert table_rows([told])[0][6] == "75.00 [12.90, 100.00] of 3"


def test_conditions_are_sorted_whatever_the_order_of_the_parts() -> None:
    conditions = [
        Condition(scale, termination=end) for end in ("bfs", "10", "3") for scale in (8, 1)
    ]
    parts = dict(a_part([[0]], condition) for condition in conditions)
    part, runs = a_part([[0]], name="a")
    parts[replace(part, network="a")] = runs
    order = [(told["model"], told["termination"], told["scale"]) for told in summarise(parts)]
    ends = [("m", end, scale) for end in ("bfs", "3", "10") for scale in (1, 8)]
    assert order == [*ends, ("a", "bfs", 1)]


def test_a_subroutine_that_is_not_the_networks_is_a_dash() -> None:
    empty = {"asked": dict.fromkeys(DECISIONS, 8), "wrong": dict.fromkeys(DECISIONS, 2)}
    ends = [Condition(), Condition(neural_bottleneck=False), Condition(termination="5")]
    parts = dict(a_part([[0]], condition, 0, **empty) for condition in ends)
    shown = [row[3:4] + row[8:] for row in table_rows(summarise(parts))]
    assert shown == [
        ["bfs", "2/8", "2/8", "2/8", "75.0% of 8", "2/8"],
        ["bfs -bottleneck", "2/8", "2/8", "–", "–", "2/8"],
        ["t = 5", "2/8", "–", "–", "–", "–"],
    ]


def test_epochs_of_one_seed_are_not_added_up_and_have_no_figure_of_the_paper() -> None:
    (part, runs), (other, right) = a_part([[1]], name="paper-mpnn"), a_part([[0]], seed=1)
    parts = {part: runs, replace(part, epoch=2): replace(right, name="paper-mpnn")}
    parts |= {replace(other, epoch=2): replace(right, name="paper-mpnn")}
    found = summarise(parts)
    assert [(told["epoch"], told["seeds"], told["accuracy"]) for told in found] == [
        (0, 1, 0.0), (2, 2, 1.0)
    ]  # fmt: skip
    rows = table_rows(found)
    assert [row[0] for row in rows] == ["paper-mpnn, epoch 0", "paper-mpnn, epoch 2"]
    assert [row[5] for row in rows] == ["–", "–"]
    del parts[part]
    (row,) = table_rows(summarise(parts))
    assert row[0] == "paper-mpnn" and row[5] == "99.8 ± 0.6"


def test_test_graphs_of_another_seed_are_not_added_up() -> None:
    part, runs = a_part([[1]])
    other = replace(part, extent=replace(part.extent, seed=1))
    found = summarise({other: a_part([[0]])[1], part: runs})
    assert [(told["test_seed"], told["accuracy"]) for told in found] == [(0, 0.0), (1, 1.0)]
    assert [row[0] for row in table_rows(found)] == ["m, test seed 0", "m, test seed 1"]


def test_a_table_for_latex_has_a_row_for_each_network_and_a_column_for_each_size() -> None:
    parts = [
        a_part([[0, 0], [1, 0]], name="a_b (x=50%)"),
        a_part([[0, 0], [0, 0]], Condition(2), name="a_b (x=50%)"),
        a_part([[0, 0]], Condition(1, termination="1")),
    ]
    assert latex_table(summarise(dict(parts))).splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"network & $1\times$ & $2\times$ \\",
        r"\midrule",
        r"a\_b (x=50\%) & $75.0 \pm 25.0$ & $100.0 \pm 0.0$ \\",
        r"m, t = 1 & $100.0 \pm 0.0$ & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_lines_have_the_interval_over_seeds_or_over_graphs() -> None:
    lines = lines_of(summarise(dict([a_part([[0, 0, 0, 1]])])))
    assert lines == {"1/4": {"m": ("m", {1: (0.75, *wilson(0.75, 4))})}}
    both = dict([a_part([[0, 1]], seed=0), a_part([[0, 0]], seed=1)])
    assert lines_of(summarise(both))["1/4"]["m"][1][1] == (0.75, 0.0, 1.0)


def test_wilsons_interval() -> None:
    # By hand for 8 of 10: centre 0.8 + 0.19208, half 1.96 · sqrt(0.016 + 0.009604), over 1.38416.
    assert wilson(0.8, 10) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert wilson(0.0, 5)[0] == 0.0 and wilson(1.0, 5)[1] == 1.0
