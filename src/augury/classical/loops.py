"""Checks of large answers, compiled by numba; importing this module needs it.

Each tells what a few lines of NumPy tell in `certificate`, in half the time or less.
"""

from __future__ import annotations

from typing import Any

from augury.compiled import compiled


@compiled(nogil=True, error_model="numpy")
def are_matching(left: Any, right: Any, mates: Any, is_taken: Any) -> bool:
    """Tell whether mates, none out of range, are along edges and share no right node.

    No edge is there twice; `is_taken`, (right,), is False everywhere.
    """
    size, found = 0, 0
    for u in range(len(mates)):
        v = mates[u]
        if v >= 0:
            if is_taken[v]:
                return False
            is_taken[v] = True
            size += 1
    for edge in range(len(left)):
        found += mates[left[edge]] == right[edge]
    return found == size
