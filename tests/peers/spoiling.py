"""Every answer of ours made wrong, by one unit or one pair: tests that judge us have to notice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from augury.experiments.exam_suites import Suite, report


def report_spoilt(suite: Suite) -> dict[str, dict[str, Any]]:
    """Run tests on functions whose answers are wrong; the process is then of no other use."""
    import augury.networkx_backend as backend
    from augury import networkx_like, scipy_like

    for home, name, spoil in (
        (scipy_like, "maximum_bipartite_matching", _unmatch_one),
        (scipy_like, "maximum_flow", _one_unit_less),
        (scipy_like, "min_weight_full_bipartite_matching", _one_row_less),
        (scipy_like, "linear_sum_assignment", _one_row_less),
        (backend, "hopcroft_karp_matching", _divorce_one),
        (backend, "minimum_weight_full_matching", _divorce_one),
        (backend, "max_weight_matching", lambda pairs: set(sorted(pairs, key=str)[1:])),
        (backend, "network_simplex", lambda found: (found[0] + 1, found[1])),
    ):
        setattr(home, name, _then(spoil, getattr(home, name)))
    module: Any = networkx_like
    module.neural_ford_fulkerson = _less_than_maximum(networkx_like.neural_ford_fulkerson)
    return report(suite)


def _then(spoil: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def spoilt(*args: Any, **options: Any) -> Any:
        return spoil(function(*args, **options))

    return spoilt


def _unmatch_one(matching: Any) -> Any:
    matching[:1] = -1
    return matching


def _one_row_less(assigned: Any) -> Any:
    return tuple(ends[1:] for ends in assigned)


def _divorce_one(matching: dict[Any, Any]) -> dict[Any, Any]:
    return dict(list(matching.items())[1:])


def _one_unit_less(result: Any) -> Any:
    result.flow_value -= 1
    return result


def _less_than_maximum(flow_func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function to the residual network of a legal flow that is one unit short."""

    def short(*args: Any, **options: Any) -> Any:
        R = flow_func(*args, **options)
        options = {**options, "residual": R, "cutoff": R.graph["flow_value"] - 1}
        return flow_func(*args, **options)

    return short
