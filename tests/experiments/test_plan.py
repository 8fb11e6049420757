"""The plan: every figure of the paper is in it once, and what two tables share is done once."""

from __future__ import annotations

import pytest

from augury.errors import ConfigError
from augury.experiments import paper
from augury.experiments.plan import FULL, NETWORKS, QUICK, Plan, Row, Size, quick, sections, want_of

KNOWN = sections(FULL)
EVERYTHING = Plan(tuple(KNOWN.values()))


def conditions(name: str) -> dict[tuple[str, str], str]:
    """Return the paper's figure of each entry of a table."""
    section = KNOWN[name]
    return {
        (row.label(NETWORKS[row.network].label), f"{column.label} {column.p}"): paper.papers_figure(
            NETWORKS[row.network].config().name, want_of(row, column).condition
        )
        for row in section.rows
        for column in section.columns
    }


def test_the_tables_have_the_rows_of_the_paper() -> None:
    assert [row.label(NETWORKS[row.network].label) for row in KNOWN["table-1"].rows] == [
        "MPNN (t = 1)",
        "MPNN (t = 3)",
        "MPNN (t = 5)",
        "MPNN (BFS)",
        "PNA−STD (BFS)",
        "discrete (BFS)",
    ]
    assert [row.label(NETWORKS[row.network].label) for row in KNOWN["table-2"].rows][:10] == [
        "MPNN (BFS)",
        "MPNN (BFS), −bottle",
        "MPNN (BFS), −augment",
        "MPNN (BFS), −bottle, −augment",
        "PNA (BFS)",
        "PNA (BFS), −bottle",
        "PNA (BFS), −augment",
        "PNA (BFS), −bottle, −augment",
        "PNA−STD (BFS), −BFS variety",
        "PNA−STD (BFS)",
    ]


@pytest.mark.parametrize(("name", "count"), [("table-1", 20), ("table-2", 40), ("table-3", 12)])
def test_every_figure_of_the_paper_has_its_place(name: str, count: int) -> None:
    """Five, ten and two rows of the paper; beside the discrete network there is none."""
    figures = conditions(name)
    assert sum(figure != "–" for figure in figures.values()) == count
    missing = {row for (row, _), figure in figures.items() if figure == "–"}
    assert all(row.startswith(("PNA−STD (BFS), −", "discrete")) for row in missing)


def test_single_figures_stand_where_the_paper_has_them() -> None:
    assert conditions("table-1")["MPNN (t = 1)", "2x 1/4"] == "90 ± 3.46"
    assert conditions("table-2")["PNA (BFS), −bottle, −augment", "2x 1/4"] == "53.8 ± 4.69"
    assert conditions("table-2")["PNA−STD (BFS), −BFS variety", "4x 1/4"] == "0 ± 0"
    assert conditions("table-3")["MPNN (BFS)", "2x 1/5"] == "96.8 ± 2.03"


def test_what_two_tables_share_is_wanted_once() -> None:
    wants = EVERYTHING.wants()
    assert len(wants) == len(set(wants))
    shared = want_of(Row("paper-mpnn"), KNOWN["table-1"].columns[0])
    assert shared in KNOWN["table-2"].wants()
    assert len(wants) < sum(len(section.wants()) for section in KNOWN.values())


def test_every_network_is_trained_as_its_preset_says_but_for_its_settings() -> None:
    assert EVERYTHING.networks == list(NETWORKS)
    assert EVERYTHING.config("paper-pna-nostd").data.extra_graphs == 200
    assert EVERYTHING.config("paper-pna-nostd-no-extra").data.extra_graphs == 0
    small = Plan(EVERYTHING.sections, settings=("network.hidden=8",))
    assert {small.config(name).network.hidden for name in NETWORKS} == {8}
    with pytest.raises(ConfigError, match="no setting"):
        Plan(EVERYTHING.sections, settings=("network.width=8",)).config("discrete")


def test_larger_sizes_than_the_papers_are_run_by_one_network_on_fewer_graphs() -> None:
    columns = {column.scale: column for column in KNOWN["large"].columns}
    assert list(columns) == [16, 32, 64, 128]
    assert {column.who for column in columns.values()} == {"first"}
    assert (columns[128].extent.graphs, columns[128].extent.runs) == (1, 1)
    assert [column.scale for column in sections(Size(max_scale=16))["sparse"].columns] == [
        1,
        2,
        4,
        8,
        16,
    ]
    assert not sections(Size(max_scale=8))["large"].columns
    few = sections(Size(graphs=3))
    assert {column.extent.graphs for column in few["sparse"].columns} == {3}
    assert [column.extent.graphs for column in few["large"].columns] == [3, 3, 2, 1]


def test_figures_want_every_epoch() -> None:
    assert {want.rule for want in KNOWN["figure-2"].wants()} == {"every"}
    assert [want.network for want in KNOWN["figure-2"].wants()] == ["paper-pna-nostd", "paper-mpnn"]
    assert [(want.network, want.condition.scale) for want in KNOWN["figure-3"].wants()] == [
        ("paper-pna", 2)
    ]


def test_the_quick_plan_needs_no_training() -> None:
    plan = quick(Plan(tuple(sections(QUICK).values())), ["paper-mpnn", "discrete"])
    assert plan.is_quick
    assert plan.networks == ["paper-mpnn", "discrete"]
    assert {want.rule for want in plan.wants()} == {"execution"}
    assert {section.name for section in plan.sections} >= {"table-1", "table-2", "table-3"}


def test_the_command_of_a_section_is_part_of_the_command_for_all() -> None:
    plan = Plan(EVERYTHING.sections, asked="--all", options="--seeds 3")
    assert plan.command() == "augury reproduce --all --seeds 3"
    assert plan.command(KNOWN["rule"]) == "augury reproduce --beyond rule --seeds 3"
    assert EVERYTHING.command(KNOWN["figure-3"]) == "augury reproduce --figure 3"
