"""The logs hold every epoch of every seed once, whatever the process before left of them."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from augury.training.logs import EVENTS, METRICS, Logs

HISTORIES = {4: [{"loss": 0.5, "acc": 1.0}, {"loss": 0.25, "acc": 0.5}], 7: [{"loss": 2.0}]}
WHOLE = """\
seed_4/acc,seed_4/loss,seed_7/loss,step
1.0,0.5,,0
,,2.0,0
0.5,0.25,,1
"""


def events(folder: Path) -> list[tuple[str, int, float]]:
    [path] = (folder / EVENTS).iterdir()  # one file, however often the run went on
    return [
        (value.tag, event.step, value.tensor.float_val[0])
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]


def test_epochs_are_added_one_by_one_or_written_anew_to_the_same_logs(tmp_path: Path) -> None:
    with Logs(tmp_path, {}) as logs:
        assert (tmp_path / METRICS).read_text() == ""
        logs.add(0, {4: HISTORIES[4][0], 7: HISTORIES[7][0]})
        logs.flush()
        first = events(tmp_path)
        assert first == [("seed_4/loss", 0, 0.5), ("seed_4/acc", 0, 1.0), ("seed_7/loss", 0, 2.0)]
        logs.add(1, {4: HISTORIES[4][1]})
    assert (tmp_path / METRICS).read_text() == WHOLE
    added = events(tmp_path)
    assert added == [*first, ("seed_4/loss", 1, 0.25), ("seed_4/acc", 1, 0.5)]
    with Logs(tmp_path, HISTORIES):
        pass
    assert (tmp_path / METRICS).read_text() == WHOLE and events(tmp_path) == added


def test_what_a_killed_process_left_beyond_the_history_is_forgotten(tmp_path: Path) -> None:
    with Logs(tmp_path, HISTORIES) as logs:
        logs.add(2, {4: HISTORIES[4][0]})  # its epoch was not kept
    with (tmp_path / METRICS).open("a") as file:
        file.write("0.5,0.")  # cut off in the middle of a line
    with Logs(tmp_path, {seed: rows[:1] for seed, rows in HISTORIES.items()}) as logs:
        logs.add(1, {4: HISTORIES[4][1]})
    assert (tmp_path / METRICS).read_text() == WHOLE
    assert [step for _, step, _ in events(tmp_path)] == [0, 0, 0, 1, 1]
