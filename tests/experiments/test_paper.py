"""The paper's figures stand beside the right conditions."""

from __future__ import annotations

from typing import Any

from augury.config import preset, with_settings
from augury.experiments.conditions import Condition
from augury.experiments.paper import papers_figure


def figure(model: str, *fields: Any) -> str:
    return papers_figure(model, Condition(*fields))


def test_a_figure_of_the_paper_is_found_by_its_cell() -> None:
    assert figure("paper-mpnn", 1, "1/4", "1", False, False) == "97 ± 1.61"
    assert figure("paper-mpnn", 8, "1/4", "bfs") == "100 ± 0"
    assert figure("paper-pna-nostd", 2, "1/5", "bfs") == "99.4 ± 1.28"
    assert figure("paper-mpnn", 2, "1/4", "bfs", False, True) == "96.8 ± 2.56"
    assert figure("paper-mpnn", 2, "1/4", "bfs", True, False) == "97.8 ± 1.40"
    assert figure("paper-pna", 8, "1/4", "bfs", False, False) == "0.8 ± 0.98"
    assert figure("paper-pna-nostd (extra_graphs=0)", 4, "1/4", "bfs") == "0 ± 0"


def test_a_cell_that_the_paper_does_not_have_is_a_dash() -> None:
    assert figure("paper-mpnn", 16, "1/4", "bfs") == "–"
    assert figure("paper-mpnn", 1, "3/n", "bfs") == "–"
    assert figure("discrete", 1, "1/4", "bfs", False, True) == "–"
    assert figure("paper-mpnn", 1, "1/5", "bfs", False, True) == "–"
    assert figure("gatv2", 1, "1/4", "bfs") == "–"


def test_no_variant_stands_beside_the_papers_figures() -> None:
    config = with_settings(preset("paper-mpnn"), ["network.processor=pna", "network.hidden=16"])
    assert figure(config.name, 1, "1/4", "bfs") == "–"
    assert figure(config.name, 1, "1/5", "bfs") == "–"
    assert figure(config.name, 1, "1/4", "bfs", False, True) == "–"
    # But one whose epoch was chosen by the paper's own rule is the paper's.
    config = with_settings(preset("paper-mpnn"), ["training.select=paper"])
    assert figure(config.name, 1, "1/4", "bfs") == "99.8 ± 0.6"
    wider = with_settings(config, ["network.hidden=64"])
    assert figure(wider.name, 1, "1/4", "bfs") == "–"
