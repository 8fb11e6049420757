"""Plain Python decides as the compiled loops do, pair for pair, and needs neither of the two."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from augury.engines import match_dense, match_sparse
from augury.engines.small import match_small


@given(
    seed=st.integers(0, 9**6),
    shape=st.tuples(st.integers(0, 66), st.integers(0, 66)),
    density=st.floats(0, 1),
)
def test_plain_python_decides_as_the_compiled_loops(
    seed: int, shape: tuple[int, int], density: float
) -> None:
    edges = np.random.default_rng(seed).random(shape) < density**3
    left, right = (ends.tolist() for ends in np.nonzero(edges))
    mates, rounds = match_small(*shape, left, right)
    for found in (match_dense(edges), match_sparse(csr_array(edges))):
        assert (mates, [rounds]) == (found.mates.tolist(), found.rounds.tolist())


def test_few_small_graphs_are_matched_without_numba() -> None:
    code = """
import sys
import numpy as np
from augury import solve
from augury.classical.generate import sparse, uniform

for graph in (uniform(np.random.default_rng(0), 8), sparse(np.random.default_rng(1), 90)):
    assert solve(graph, engine="table").is_maximum
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
