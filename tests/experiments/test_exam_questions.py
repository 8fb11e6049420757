"""The questions of an exam: everything up to a size is asked, and nothing twice."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from augury.classical.generate import uniform
from augury.errors import InputError
from augury.experiments import exam_questions as questions
from augury.experiments.exam_questions import JUDGES, fingerprint, question
from augury.solver import solve


def test_all_small_bipartite_graphs_are_asked_once() -> None:
    assert JUDGES["bipartite-all"].count == 74_954
    shapes = [(n, m) for n, m in product(range(1, 4), repeat=2)]
    few = sum(2 ** (n * m) for n, m in shapes)  # of 1 to 3 a side, in the order of their shapes
    asked = set()
    for number in range(questions.BIPARTITE):
        graph = questions.bipartite(number) if number < 400 else None
        if graph is not None:
            asked.add((graph.num_left, graph.num_right, *map(tuple, graph.edges())))
    assert len(asked) == 400 and few == sum(2 ** (n * m) for n, m in shapes)
    assert questions.bipartite(0).num_edges == 0
    last = questions.bipartite(questions.BIPARTITE - 1)
    assert (last.num_left, last.num_right, last.num_edges) == (4, 4, 16)
