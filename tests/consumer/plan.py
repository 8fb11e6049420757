"""A project that uses Augury: what it imports has types, so it passes a strict checker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
import numpy.typing as npt

import augury


def cheapest(hours: Sequence[tuple[str, str, int]]) -> list[tuple[str, str]]:
    """Give each job to somebody, in the fewest hours."""
    solution = augury.solve(hours, algorithm="assignment")
    assert_type(solution, augury.Solution)
    assert_type(solution.certificate, augury.Certificate)
    if not solution.is_optimal or solution.matching is None:
        raise ValueError(str(solution.certificate))
    return [(str(person), str(job)) for person, job in solution.matching]


def columns(costs: npt.NDArray[np.int64]) -> list[int]:
    """Give each row a column, at least cost."""
    _, found = augury.linear_sum_assignment(costs)
    return [int(column) for column in found]


def largest(path: Path) -> int:
    """Return the size of the maximum matching or flow of a file."""
    return augury.solve(augury.read_graph(path)).size


def sizes(graphs: Sequence[augury.BipartiteGraph]) -> list[int]:
    """Return the sizes of the maximum matchings, each checked anew."""
    found = augury.solve_batch(graphs)
    for graph, solution in zip(graphs, found, strict=True):
        assert augury.certify(graph, solution.matching or []).is_maximum
    return [solution.size for solution in found]


if __name__ == "__main__":
    print(cheapest([("Ann", "cook", 4), ("Ann", "paint", 2), ("Ben", "cook", 8)]))
    print(columns(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])))
    print(sizes([augury.BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook")])]))
