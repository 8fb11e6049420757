"""The report and its plots, made of results that nobody measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments import plots
from augury.experiments.plan import Plan, Size, Want, sections
from augury.experiments.records import Part, RecordsFile, Runs
from augury.experiments.report import Report, _share, times_text, write_report
from augury.experiments.run_folder import PAPERS_SCORE, Results, Seed, published

SEEDS = 4
EPOCHS = 31
DRAWN = {
    "test_the_whole_report_is_the_same_twice_with_all_plots",
    "test_a_report_of_variants_says_so_and_has_none_of_the_papers_figures",
}


@pytest.fixture(autouse=True)
def _draws_nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw only where plots are looked at: drawing takes most of a report's time."""
    if request.node.name not in DRAWN:
        for name in ("plot_curves", "plot_seeds", "plot_scales"):
            monkeypatch.setattr(plots, name, lambda *_: None)


def made_up(plan: Plan, folder: Path) -> Results:
    """Return results that a formula gives: seeds get better with their number, epochs with time."""
    seeds = {
        network: [
            Seed(network, seed, plan.config(network), folder, history(seed)) for seed in plan.seeds
        ]
        for network in plan.networks
    }
    results = Results(seeds, {})
    for want in plan.wants():
        for part in results.parts_of(want):
            results.parts[part] = made_up_runs(part, want)
    return results


def history(seed: int) -> list[dict[str, float]]:
    """Return scores that are best in epoch 20, and best by the paper's rule in epoch 19 + seed."""
    return [
        {"score": -abs(epoch - 20.0) + 0.1 * (seed == 2), PAPERS_SCORE: -abs(epoch - 19.0 - seed)}
        for epoch in range(EPOCHS + seed)
    ]


def made_up_runs(part: Part, want: Want) -> Runs:
    runs, graphs = part.extent.runs, part.extent.graphs
    rng = np.random.default_rng([part.seed, part.epoch, part.condition.scale, len(part.network)])
    miss = 0.02 * (3 - part.seed) + 0.3 * np.exp(-part.epoch / 6) * (want.rule == "every")
    miss += (
        0.1
        * (part.condition.p == "3/n")
        * np.log2(part.condition.scale)
        * (part.network != "discrete")
    )
    if part.network == "discrete":
        miss = 0.0
    maximum = np.full((runs, graphs), 7)
    lost = rng.random((runs, graphs)) < miss
    asked: dict[str, int] = {str(name): 100 for name in DECISIONS}
    wrong = {name: int(name == "empty_path" and part.seed == 0) for name in DECISIONS}
    return Runs(part.network, "w", maximum - 2 * lost, maximum, maximum, (), asked, wrong)


def plan_of(*names: str, size: Size | None = None) -> Plan:
    known = sections(size or Size(graphs=50, runs=4))
    chosen = tuple(known[name] for name in names) if names else tuple(known.values())
    asked = " ".join(section.option for section in chosen) if names else "--all"
    return Plan(chosen, tuple(range(SEEDS)), asked=asked, options=f"--seeds {SEEDS} --runs 4")


def test_the_report_of_a_table_says_what_the_records_say(tmp_path: Path) -> None:
    plan = plan_of("table-3", size=Size(50, 4, max_scale=1))
    results = made_up(plan, tmp_path)
    want = plan.sections[0].wants()[0]
    rates = [0.95, 0.90, 0.96, 1.0]
    for seed, part in enumerate(results.parts_of(want)):
        right = 200 * rates[seed] > np.arange(200).reshape(50, 4).T
        made = results.parts[part]
        results.parts[part] = replace(made, value=made.maximum - ~right)
    text = Report(tmp_path, plan, results).text()
    lines = text.splitlines()
    assert lines[0] == "# Reproduction"
    assert "augury reproduce --table 3 --seeds 4 --runs 4" in lines
    row = next(line for line in lines if line.startswith("| MPNN (BFS) | 98 ± 1.55 |"))
    # Of the 200 runs of seed 0, 10 fell short, the last ten of each graph's four.
    assert row.split(" | ")[2] == "95.00 ± 1.00"
    over = next(line for line in lines if line.startswith("| MPNN (BFS) | 95.25 "))
    # The mean of the four rates; t = 3.182, deviation 4.113, divided by the root of 4.
    assert over.split(" | ")[1] == "95.25 [88.71, 100.00]; 90.0"
    command = (
        "augury evaluate runs/reproduction/train/paper-mpnn --scales 1 --p 1/5,1/2,3/4 --runs 4"
    )
    assert command in lines


def test_differences_beyond_noise_are_named(tmp_path: Path) -> None:
    plan = plan_of("table-1", "table-2", size=Size(50, 2))
    results = made_up(plan, tmp_path)
    for part, made in results.parts.items():
        is_low = part.network == "paper-mpnn" and part.condition.scale == 4
        is_low &= part.condition.termination == "bfs" and part.condition.neural_bottleneck
        is_low &= part.condition.neural_augmentation
        lost = np.arange(50) < (20 if is_low else 0)
        results.parts[part] = replace(made, value=made.maximum - lost)
    text = Report(tmp_path, plan, results).text()
    found = text.partition("## Differences from the paper")[2].partition("## Table 1")[0]
    below = found.partition("Lower than the paper:")[2].partition("Higher")[0].strip().splitlines()
    # The row is in two tables, and is named once.
    assert below == [
        "- Table 1, MPNN (BFS) at 4x, p = 1/4: paper 98.0 ± 2.0, ours 60.00 ± 0.00",
    ]
    above = found.partition("Higher than the paper:")[2].partition("Lower over seeds")[0]
    above = above.strip().splitlines()
    assert {line.split(" at ")[0] for line in above} >= {
        "- Table 2, PNA (BFS)",
        "- Table 2, PNA−STD (BFS), −BFS variety",
    }
    assert not any("discrete" in line or " 1x" in line for line in above)
    # MPNN (t = 1) at 2x; PNA at 2x, 4x and 8x in four rows; PNA−STD without extra data at 4x, 8x.
    assert len(above) == 15
    # 20 + 40 figures, the eight of MPNN (BFS) and PNA−STD (BFS) being in both tables.
    assert "Of 52 figures that the paper prints, 36 agree with those of the network" in found
    assert "1 of ours are lower and 15 higher" in " ".join(found.split())


def test_the_epochs_are_those_of_the_rule_and_the_first_seed_ships(tmp_path: Path) -> None:
    plan = plan_of("rule", "large", size=Size(50, 4, max_scale=32))
    results = made_up(plan, tmp_path)
    seeds = results.seeds["paper-mpnn"]
    assert [seed.epoch("execution") for seed in seeds] == [20] * SEEDS
    assert [seed.epoch("paper") for seed in seeds] == [19, 20, 21, 22]
    assert [seed.epoch("last") for seed in seeds] == [30, 31, 32, 33]
    assert results.first("paper-mpnn").seed == 0
    large = next(want for want in plan.wants() if want.who == "first")
    assert [part.seed for part in results.parts_of(large)] == [0]
    text = Report(tmp_path, plan, results).text()
    assert "\naugury evaluate paper-mpnn --scales 16 --runs 1\n" in text


def test_a_mean_over_seeds_below_the_papers_figure_is_named(tmp_path: Path) -> None:
    """However well the network that ships does."""
    plan = plan_of("table-1", size=Size(50, 2, max_scale=1))
    results = made_up(plan, tmp_path)
    for part, made in results.parts.items():
        is_low = part.condition.termination == "5" and part.seed
        lost = np.arange(50) < (part.seed + 5 if is_low else 0)
        results.parts[part] = replace(made, value=made.maximum - lost)
    found = Report(tmp_path, plan, results).text().partition("## Table 1")[0]
    assert "0 of ours are lower" in " ".join(found.split())
    # The interval of the mean reaches 100.
    assert "Lower over seeds" not in found
    for part, made in results.parts.items():
        is_low = part.condition.termination == "5"
        lost = np.arange(50) < (part.seed + 5 if is_low else 0)
        results.parts[part] = replace(made, value=made.maximum - lost)
    found = Report(tmp_path, plan, results).text().partition("## Table 1")[0]
    assert found.rstrip().endswith(
        "- Table 1, MPNN (t = 5) at 1x, p = 1/4: paper 100 ± 0, ours 87.00 [82.89, 91.11]; 84.0"
    )


def test_variants_are_named_after_their_settings_under_the_papers_row(tmp_path: Path) -> None:
    plan = plan_of("std", size=Size(50, 4, max_scale=2))
    lines = Report(tmp_path, plan, made_up(plan, tmp_path)).text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and " | BFS | " in line]
    assert rows[0].startswith("| the paper's | – | BFS | 1 | 99.4 ± 0.92 | 50.0 ± 5.51 |")
    name = "paper-pna (stop_early=1, processor=pna-two-ends, select=paper)"
    assert rows[1].startswith(f"| {name} | last | BFS | 4 | ")
    assert rows[2].startswith(f"| {name} | chosen | BFS | 4 | ")
    assert len(rows) == 9 and not any("PNA " in row for row in rows)


def test_a_report_is_made_again_from_records_and_chosen_epochs(tmp_path: Path) -> None:
    plan = plan_of("table-3", size=Size(4, 2, max_scale=1))
    results = made_up(plan, tmp_path)
    write_report(tmp_path / "a", plan, results, [])
    kept = tmp_path / "a" / "reproduction"
    records = RecordsFile(kept / "records.jsonl")
    for part, runs in results.parts.items():
        records.add(part, replace(runs, ending=("done",) * runs.value.size))
    more = replace(plan, sections=(*plan.sections, *plan_of("table-1").sections))
    again, read = published(kept, more)
    assert again.sections == plan.sections  # the records do not suffice for the other
    write_report(tmp_path / "b", again, read, [])
    for name in ("report.md", "reproduction/trainings.json"):
        assert (tmp_path / "b" / name).read_text() == (tmp_path / "a" / name).read_text()
    (kept / "trainings.json").write_text("[1]")
    with pytest.raises(InputError, match="which epochs were chosen"):
        published(kept, more)


def test_subroutines_are_counted_over_all_sizes(tmp_path: Path) -> None:
    plan = plan_of("table-1")
    text = Report(tmp_path, plan, made_up(plan, tmp_path)).text()
    row = next(line for line in text.splitlines() if line.startswith("| MPNN (BFS) | 0.9928 |"))
    # Four sizes, a hundred each; of four seeds the first is wrong once at each size.
    assert row == (
        "| MPNN (BFS) | 0.9928 | 396 of 400 (0.9900) | 1,596 of 1,600 (0.9975) "
        "| 0.9995 | 400 of 400 (1.0000) | 1,600 of 1,600 (1.0000) |"
    )


def test_a_share_is_never_rounded_up_to_all() -> None:
    zeros = np.zeros((1, 1), np.int64)

    def share(asked: int, wrong: int) -> str:
        half = {"search": asked // 2}, {"search": 0}
        rest = {"search": asked - asked // 2}, {"search": wrong}
        parts = [Runs("", "", zeros, zeros, zeros, (), *counts) for counts in (half, rest)]
        return _share(parts, "search")

    assert share(1_000_000, 1) == "999,999 of 1,000,000 (0.9999)"
    assert share(10, 0) == "10 of 10 (1.0000)"
    assert share(0, 0) == "none asked"


def fewer_forms(folder: Path, name: str) -> list[Path]:
    """One plot in all forms, the others without the last, a PDF, which takes longest."""
    return [file for file in EVERY_FORM(folder, name) if name == "sizes" or file.suffix != ".pdf"]


EVERY_FORM = plots.every_form


def test_the_whole_report_is_the_same_twice_with_all_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of()
    texts = []
    for name, forms in (("a", EVERY_FORM), ("b", fewer_forms)):
        monkeypatch.setattr(plots, "every_form", forms)
        write_report(tmp_path / name, plan, made_up(plan, tmp_path), [])
        texts.append(
            {
                str(path.relative_to(tmp_path / name)): path.read_bytes()
                for path in (tmp_path / name).rglob("*.*")
            }
        )
    drawn = {"figure-2", "figure-3", "seeds", "sizes"}
    assert len(texts[1]) == 2 + 2 * len(drawn) + 1
    assert {name: texts[0][name] for name in texts[1]} == texts[1]
    assert set(texts[0]) == {"report.md", "reproduction/trainings.json"} | {
        f"reproduction/{name}.{kind}" for name in drawn for kind in ("png", "svg", "pdf")
    }
    text = texts[0]["report.md"].decode()
    for name in drawn:
        assert f"(reproduction/{name}.png)" in text
    assert b"<dc:date>" not in texts[0]["reproduction/seeds.svg"]
    assert max(map(len, (x for x in text.splitlines() if x[:1] not in ("|", "!", "a")))) <= 120


def test_the_page_of_times_adds_up() -> None:
    machine = {"processor": "abacus", "cores": "10"}
    training = {"what": "training", "network": "discrete", "epochs": 3, "seconds": 6.0}
    part = {"what": "part", "network": "discrete", "scale": 16, "p": "1/4", "seconds": 3.5}
    sitting = {"what": "sitting", "ended": "done", "slots": 2, "tasks": 3, "seconds": 90.0}
    times = [told | {"machine": machine} for told in (training, part, training, sitting)]
    lines = times_text(times, {"discrete": "discrete (hidden=8)"}).splitlines()
    assert "- processor abacus, cores 10: 3 tasks" in lines
    assert "| training | discrete (hidden=8) | – | 2 | 6 | 12.0 |" in lines
    assert "| evaluation | discrete (hidden=8) | 16x, p = 1/4 | 1 | – | 3.5 |" in lines
    assert "| 1 | done | 2 | 3 | 1.5 |" in lines


@pytest.mark.parametrize(
    "name", ["table-1", "figure-2", "figure-3", "rule", "std", "first", "large", "sparse"]
)
def test_every_section_can_stand_alone(tmp_path: Path, name: str) -> None:
    plan = plan_of(name)
    text = Report(tmp_path, plan, made_up(plan, tmp_path)).text()
    assert f"## {plan.sections[0].title}" in text
    assert f"augury reproduce {plan.sections[0].option} --seeds 4 --runs 4" in text


def test_a_report_of_variants_says_so_and_has_none_of_the_papers_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "every_form", lambda folder, name: [folder / f"{name}.svg"])
    plan = replace(plan_of(), settings=("network.hidden=64", "data.extra_graphs=0"))
    results = made_up(plan, tmp_path)
    write_report(tmp_path, plan, results, [])
    text = (tmp_path / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for name in ("paper-mpnn", "paper-pna", "discrete"):
        named = [row for row in rows if row.startswith(f"| {name} (")]
        assert named and all("hidden=64" in row.split(" | ")[0] for row in named), name
    assert not any(row.startswith(("| MPNN", "| PNA")) for row in rows)
    assert "They are variants, trained with hidden=64, extra_graphs=0: " in " ".join(text.split())
    for word in (
        "1x paper",
        "99.8 ± 0.6",
        "0.9928",
        "## Differences",
        "the paper's best",
        "The paper:",
    ):
        assert word not in text, word
    for name in ("figure-2", "seeds", "sizes"):
        drawn = (tmp_path / "reproduction" / f"{name}.svg").read_text()
        assert "paper-mpnn (hidden=64)" in drawn and "the paper's network" not in drawn, name


def test_without_extra_graphs_pna_is_the_network_that_the_paper_has_so_too(tmp_path: Path) -> None:
    plan = replace(plan_of("table-2"), settings=("data.extra_graphs=0",))
    lines = Report(tmp_path, plan, made_up(plan, tmp_path)).text().splitlines()
    name = "paper-pna-nostd (extra_graphs=0) (BFS)"
    assert any(line.startswith(f"| {name} | 100 ± 0 | ") for line in lines)
    assert any(line.startswith("| MPNN (BFS) | 99.8 ± 0.6 | ") for line in lines)
    row = next(line for line in lines if line.startswith(f"| {name}, −bottle | "))
    assert row.split(" | ")[1] == "–"
