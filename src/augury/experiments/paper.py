"""The figures that the paper prints, to stand beside ours: Tables 1 to 3 of Georgiev & Liò (2020).

Accuracy of the maximum flow in percent, mean and standard deviation over ten simulations of one
network.
"""

from __future__ import annotations

SCALES = (1, 2, 4, 8)

MPNN_BFS = ("99.8 ± 0.6", "95.6 ± 2.65", "98.0 ± 2.0", "100 ± 0")
PNA_NOSTD_BFS = ("100 ± 0", "99.8 ± 0.6", "100 ± 0", "100 ± 0")

DENSE: dict[tuple[str, str], tuple[str, ...]] = {
    ("paper-mpnn", "1"): ("97 ± 1.61", "90 ± 3.46", "97.8 ± 2.44", "100 ± 0"),
    ("paper-mpnn", "3"): ("100 ± 0", "99.4 ± 1.28", "100 ± 0", "100 ± 0"),
    ("paper-mpnn", "5"): ("100 ± 0", "99.8 ± 0.6", "100 ± 0", "100 ± 0"),
    ("paper-mpnn", "bfs"): MPNN_BFS,
    ("paper-pna-nostd", "bfs"): PNA_NOSTD_BFS,
    ("paper-pna", "bfs"): ("99.4 ± 0.92", "50.0 ± 5.51", "18.6 ± 4.73", "0.2 ± 0.6"),
    ("discrete", "bfs"): PNA_NOSTD_BFS,
}
"""Tables 1 and 2 at p = 1/4 by preset and termination; beside `discrete` the paper's best."""

OTHER_P: dict[tuple[str, int], dict[str, str]] = {
    ("paper-mpnn", 1): {"1/5": "98 ± 1.55", "1/2": "100 ± 0", "3/4": "100 ± 0"},
    ("paper-mpnn", 2): {"1/5": "96.8 ± 2.03", "1/2": "99.4 ± 0.92", "3/4": "100 ± 0"},
    ("paper-pna-nostd", 1): {"1/5": "100 ± 0", "1/2": "100 ± 0", "3/4": "100 ± 0"},
    ("paper-pna-nostd", 2): {"1/5": "99.4 ± 1.28", "1/2": "100 ± 0", "3/4": "100 ± 0"},
}
"""Table 3, by preset and scale; termination by BFS."""


def papers_figure(model: str, scale: int, p: str, termination: str, is_neural: bool) -> str:
    """Return the paper's figure for a cell, "–" where it has none.

    >>> papers_figure("paper-mpnn", 2, "1/4", "bfs", True)
    '95.6 ± 2.65'
    """
    if termination == "bfs" and not is_neural:
        return "–"  # the ablations are for the reproduction
    if p == "1/4" and scale in SCALES and (model, termination) in DENSE:
        return DENSE[model, termination][SCALES.index(scale)]
    if termination == "bfs":
        return OTHER_P.get((model, scale), {}).get(p, "–")
    return "–"
