"""The paper's figures stand beside the right cells."""

from __future__ import annotations

from augury.experiments.paper import papers_figure


def test_a_figure_of_the_paper_is_found_by_its_cell() -> None:
    assert papers_figure("paper-mpnn", 1, "1/4", "1", False) == "97 ± 1.61"
    assert papers_figure("paper-mpnn", 8, "1/4", "bfs", True) == "100 ± 0"
    assert papers_figure("paper-pna-nostd", 2, "1/5", "bfs", True) == "99.4 ± 1.28"


def test_a_cell_that_the_paper_does_not_have_is_a_dash() -> None:
    assert papers_figure("paper-mpnn", 16, "1/4", "bfs", True) == "–"
    assert papers_figure("paper-mpnn", 1, "3/n", "bfs", True) == "–"
    assert papers_figure("paper-mpnn", 1, "1/4", "bfs", False) == "–"
    assert papers_figure("gatv2", 1, "1/4", "bfs", True) == "–"
