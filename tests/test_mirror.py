"""`tests/` mirrors `src/augury/`: every module has a test file at its own place.

`classical/trace.py` is tested in `classical/test_trace.py`, and a package that holds code itself,
such as `engines/__init__.py`, in `engines/test_engines.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "augury"

ELSEWHERE = {
    # Parts of another module, tested through it.
    "__init__.py": "test_state.py",
    "algorithms/algorithm.py": "algorithms/test_reachability.py",
    "algorithms/__init__.py": "algorithms/test_reachability.py",
    "clusters.py": "experiments/test_cluster.py",
    "classical/answer.py": "test_solver.py",
    "classical/arrays.py": "classical/test_graph.py",
    "classical/ways.py": "classical/test_first.py",
    "classical/faults.py": "classical/test_certificate.py",
    "classical/sides.py": "classical/test_graph.py",
    "classical/sparse.py": "classical/test_graph.py",
    "algorithms/ford_fulkerson.py": "test_solver.py",
    "algorithms/story.py": "test_watch.py",
    "algorithms/cells.py": "cells/test_cell.py",
    "classical/formats/blocks.py": "classical/formats/test_cells.py",
    "classical/formats/edge_writer.py": "classical/formats/test_edge_list.py",
    "classical/formats/networkx_graph.py": "inputs/test_costs.py",
    "classical/formats/npy.py": "classical/formats/test_matrix.py",
    "classical/formats/own_arrays.py": "classical/formats/test_matrix.py",
    "engines/assignment_loops.py": "engines/test_assignments.py",
    "engines/assignment_tables.py": "engines/test_assignments.py",
    "engines/engine.py": "engines/test_engines.py",
    "engines/gpu.py": "engines/test_table.py",
    "engines/lanes.py": "engines/test_assignments.py",
    "engines/lists.py": "engines/test_engines.py",
    "engines/round_forms.py": "engines/test_rounds.py",
    "engines/sharded_check.py": "engines/test_sharded.py",
    "engines/sharded_files.py": "engines/test_sharded.py",
    "engines/sharded_loops.py": "engines/test_sharded.py",
    "engines/sharded_part.py": "engines/test_sharded.py",
    "engines/sharded_run.py": "engines/test_sharded.py",
    "engines/sharded_team.py": "engines/test_sharded.py",
    "engines/stepwise.py": "engines/test_engines.py",
    "engines/tight.py": "engines/test_assignments.py",
    "engines/tight_word.py": "engines/test_assignments.py",
    "engines/words.py": "engines/test_engines.py",
    "models/__init__.py": "models/test_checkpoint.py",
    "paper/attention.py": "paper/test_walked.py",
    "paper/gradients.py": "paper/test_unroll.py",
    "paper/judges.py": "paper/test_unroll.py",
    "paper/loops.py": "paper/test_fast.py",
    "paper/recipes.py": "paper/test_unroll.py",
    "paper/recurrence.py": "paper/test_unroll.py",
    "solution.py": "test_solver.py",
    "ray/__init__.py": "test_ray.py",  # tests/ray would hide the package ray
    "ray/pieces.py": "test_ray.py",
    "ray/writing.py": "test_ray.py",
    "tables/columns.py": "tables/test_tables.py",
    "tables/packed.py": "tables/test_tables.py",
    "tables/rows.py": "tables/test_tables.py",
    "tables/settings.py": "tables/test_tables.py",
    "training/ensemble.py": "training/test_trainer.py",
    "training/keeping.py": "training/test_trainer.py",
    "apps/explore/limits.py": "apps/explore/test_server.py",
    "apps/explore/worker.py": "apps/explore/test_workers.py",
    # Commands and experiments are tested as a whole run.
    "apps/commands/evaluate.py": "experiments/test_evaluate.py",
    "apps/commands/reproduce.py": "experiments/test_reproduce.py",
    "apps/commands/exam.py": "experiments/test_exam.py",
    "experiments/exam_driver.py": "experiments/test_exam.py",
    "experiments/exam_page.py": "experiments/test_exam.py",
    "experiments/exam_solvers.py": "experiments/test_exam.py",
    "experiments/exam_suites.py": "peers/test_peers.py",
    "experiments/growth.py": "experiments/test_bench.py",
    "experiments/plots.py": "experiments/test_report.py",
    "experiments/run_folder.py": "experiments/test_reproduce.py",
    "experiments/tasks.py": "experiments/test_workers.py",
}
"""Modules without a test file of their own, and the file that tests them."""

OF_NO_MODULE = {
    # The whole project
    "test_adversarial.py",
    "test_determinism.py",
    "test_docs.py",
    "test_end_to_end.py",
    "test_faults.py",
    "test_fuzz.py",
    "test_layers.py",
    "test_mirror.py",
    "test_attacks.py",
    "test_proof.py",
    "test_readme.py",
    "test_site.py",
    "test_supply_chain.py",
    "test_performance.py",
    "test_surroundings.py",
    "test_tracked_files.py",
    "test_wheel.py",
    "models/test_cards.py",
    "apps/commands/test_interrupts.py",
    # What the tests of kernels run on
    "engines/test_races.py",
    # The page: its scripts, the page in a browser, and the server as a whole
    "page/test_javascript.py",
    "page/test_network.py",
    "apps/explore/test_browser.py",
    "apps/explore/test_load.py",
    "apps/explore/test_schema.py",
}
"""Test files that are not about one module."""


def has_code(path: Path) -> bool:
    """Tell whether a module holds more than its docstring."""
    return len(ast.parse(path.read_text(encoding="utf-8")).body) > 1


def place_of(module: str) -> str:
    """Return where a module's own test file belongs."""
    path = Path(module)
    name = path.parent.name if path.stem == "__init__" else path.stem
    return str(path.with_name(f"test_{name}.py"))


MODULES = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if has_code(path)}
FILES = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}


def test_every_module_has_a_test_file_of_its_own() -> None:
    missing = {module: place_of(module) for module in MODULES if place_of(module) not in FILES}
    assert missing.keys() == ELSEWHERE.keys()
    assert set(ELSEWHERE.values()) <= FILES


def test_every_test_file_has_its_module() -> None:
    of_modules = {place_of(module) for module in MODULES} | set(ELSEWHERE.values())
    assert FILES - of_modules == OF_NO_MODULE


SEEN: list[str] = []


@pytest.mark.parametrize("turn", range(4))
def test_the_tests_of_a_file_run_in_one_process(turn: int, request: pytest.FixtureRequest) -> None:
    SEEN.append(request.node.nodeid)
    base = request.node.nodeid.partition("[")[0]
    own = [item.nodeid for item in request.session.items if item.nodeid.startswith(base)]
    assert own[: len(SEEN)] == SEEN, "what they share would be made in every process"
