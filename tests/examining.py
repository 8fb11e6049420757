"""What children of an exam do in tests: never end, die, fail; and say what a suite replaces."""

from __future__ import annotations

import os
from collections import Counter

from augury.experiments.exam import Result, Task
from augury.experiments.exam_driver import cpu_limit
from augury.experiments.exam_suites import COUNTS, Plugin, Suite


class Config:
    """As much of pytest's as a plugin touches when it is configured."""

    class option:
        """Its options."""


def examine_deadly(task: Task) -> Result:
    """Answer questions rightly, but for 7 and 9."""
    with cpu_limit(task.seconds):
        while 7 in task.numbers:
            pass
        if 9 in task.numbers:
            os._exit(5)
    return Result(Counter(right=len(task.numbers)), [])


def examine_faultily(task: Task) -> Result:
    """Fail as no solver can: their errors are answers."""
    raise RuntimeError("out of order")


def replaced_by(engine: str) -> dict[str, str]:
    """Prepare a suite for an engine; return where each function is from, and which engine ran."""
    import networkx.algorithms.flow as flow
    import numpy as np
    import scipy.optimize
    import scipy.sparse.csgraph as csgraph

    from augury import solver
    from augury.scipy_like import linear_sum_assignment

    Plugin(Suite((), engine)).pytest_configure(Config())  # type: ignore[arg-type]
    homes = {
        "maximum_bipartite_matching": csgraph,
        "maximum_flow": csgraph,
        "min_weight_full_bipartite_matching": csgraph,
        "linear_sum_assignment": scipy.optimize,
        "dinitz": flow,
        "edmonds_karp": flow,
        "preflow_push": flow,
    }
    found = {name: getattr(home, name).__module__.split(".")[0] for name, home in homes.items()}
    linear_sum_assignment(np.eye(2))
    chosen = solver.runner_of(engine=solver.COMPILED).engine.name or ""
    return found | {"engine": chosen, "counted": str(COUNTS["runs"])}
