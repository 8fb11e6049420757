"""`augury solve --engine sharded`: a folder of shards, or a graph in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from augury.apps.cli import main


def test_the_command_matches_a_file_and_goes_on_with_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("0,0\n1,0\n1,1\n2,1\n")

    def run(*given: str) -> int:
        monkeypatch.setattr(
            "sys.argv", ["augury", "solve", str(path), "--engine", "sharded", *given]
        )
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    folder = ["--output", str(tmp_path / "out")]
    assert run(*folder) == 0
    told = capsys.readouterr().out
    assert "matching of 2 in 3 + 2 nodes, 4 edges" in told
    assert "certified maximum: 2 nodes cover every edge" in told
    assert run(*folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["cover"] == {"left": 0, "right": 2}
    path.write_text("0,0\n")
    assert run(*folder) == 2
    assert "another file" in capsys.readouterr().err
    assert run(*folder, "--flow") == 2
    assert run(*folder, "--model", "classical") == 2


def test_the_command_matches_a_graph_in_memory_with_its_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, answer = tmp_path / "people.csv", tmp_path / "answer.json"
    path.write_text("ann,cook\nbob,cook\nbob,sing\n")
    given = ["augury", "solve", str(path), "--engine", "sharded", "--output", str(answer)]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code and "sharded engine" in capsys.readouterr().out
    assert json.loads(answer.read_text())["matching"] == [["ann", "cook"], ["bob", "sing"]]
