"""The proof in `proof/` is checked by Coq, and its checkers agree with the Python code."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import checkers
from augury.classical.network import FlowNetwork
from augury.models import shipped_table
from graphs import BRIDGE

ROOT = Path(__file__).parents[1]
PROOF = ROOT / "proof"
FILES = sorted(PROOF.glob("*.v"))


def has_coq() -> bool:
    if shutil.which("coqc") is None or shutil.which("ocamlfind") is None:
        return False
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True)
    return (Path(where.stdout.strip()) / "user-contrib" / "Flocq").is_dir()


needs_coq = pytest.mark.skipif(not has_coq(), reason="Coq, Flocq or OCaml is not installed")


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_nothing_is_left_open(path: Path) -> None:
    text = re.sub(r"\(\*.*?\*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture|give_up)\b", text)


def test_every_file_is_built() -> None:
    """Hypotheses of a section are discharged; a file that is not built proves nothing."""
    listed = set((PROOF / "_CoqProject").read_text().split()) - {"-Q", ".", "Augury"}
    assert listed == {path.name for path in FILES} - {"Assumptions.v", "Extract.v"}


def test_the_proof_is_about_the_shipped_network() -> None:
    """Its data is what `proof/generate.py` makes of the checkpoint."""
    spec = importlib.util.spec_from_file_location("generate", PROOF / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (PROOF / "Shipped.v").read_text() == generate.shipped()


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [shutil.which("make") or "make", "proof"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Coq 8.16 and Flocq" in done.stderr


@needs_coq
@pytest.mark.skipif(
    not (PROOF / "Main.vo").exists(), reason="the proof is not built: run make proof"
)
def test_the_theorems_rest_on_what_is_listed() -> None:
    """What `make proof` printed last, of the files as they are."""
    printed = PROOF / "assumptions.new"
    proven = [path for path in FILES if path.name != "Extract.v"]
    is_last = all(printed.stat().st_mtime >= path.stat().st_mtime for path in proven)
    assert is_last, "a file has changed: run make proof"
    assert printed.read_text() == (PROOF / "assumptions.txt").read_text()


@needs_coq
@pytest.mark.skipif(
    not checkers.PROGRAM.exists(), reason="the checkers are not built: run make proof"
)
class TestCheckers:
    def test_they_agree_with_the_python_code(self) -> None:
        counts = checkers.compared(400)
        assert set(counts) == {"00", "10", "11"}  # illegal, not proven, proven

    @pytest.mark.slow
    def test_they_agree_on_a_million_cases(self) -> None:
        for seed in range(100):
            checkers.compared(10_000, 10_000 * seed)

    def test_a_wrong_certificate_is_refused(self) -> None:
        edges, pairs = [2, 0, 0, 0, 1], [1, 0, 0]
        right = checkers.line("matching", edges, pairs, [1, 0], [0])
        misses_an_edge = checkers.line("matching", edges, pairs, [0], [1, 0])
        too_large = checkers.line("matching", edges, pairs, [1, 0], [1, 1])
        assert checkers.answers([right, misses_an_edge, too_large]) == ["11", "10", "10"]

    def test_a_run_of_the_executor_is_one_of_the_model(self) -> None:
        """Each step, latched link, path, bottleneck and residual is one that the model allows."""
        rng, told = np.random.default_rng(0), list[tuple[str, str]]()
        while len(told) < 200:
            nodes, count = int(rng.integers(2, 9)), int(rng.integers(1, 24))
            tail, head = rng.integers(0, nodes, (2, count))
            capacity = rng.integers(0, int(rng.choice([2, 9, 2**40])), count)
            columns = tail, head, capacity
            network = FlowNetwork.from_arcs(nodes, *columns, source=0, sink=nodes - 1)
            told += checkers.rounds(network, shipped_table(), len(told))
        lines, came = zip(*told, strict=True)
        assert checkers.answers(lines) == list(came)
        assert {"done"} < set(came)

    @pytest.mark.parametrize("name", ["nearest", "flood"])
    def test_a_run_by_other_rules_is_none_of_the_model(self, name: str) -> None:
        """A table that prefers heavy links, and one that never says that something changed."""
        right = shipped_table()
        entries = {
            "nearest": right.entries["nearest"][[*range(48), *range(63, 47, -1)]],
            "flood": right.entries["flood"] * np.array([1, 0], np.int8),
        }
        wrong = replace(right, entries={**right.entries, name: entries[name]})
        told = [text for seed in range(9) for text, _ in checkers.rounds(BRIDGE, wrong, seed)]
        assert "not allowed" in checkers.answers(told)
