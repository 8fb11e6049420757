"""The histories of a training become logs for other programs: one CSV file, and TensorBoard's.

Both are a function of the histories. A resumed run first rewrites them from the state it resumes
from, so no epoch is missing or duplicated wherever a process was killed. Weights & Biases gets
every epoch too, if a project is named; it is never imported otherwise.
"""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from torch.utils.tensorboard.summary import hparams
from torch.utils.tensorboard.writer import SummaryWriter

from augury.extras import needs
from augury.files import atomic_file

Row = Mapping[str, float]
"""The figures of one network after one epoch."""
Histories = Mapping[int, Sequence[Row]]
"""By seed: a row for each epoch."""

METRICS = Path("logs", "csv", "metrics.csv")
EVENTS = Path("logs", "tensorboard")
TRACKED = Path("logs", "wandb-id")
"""The file with the name of the run at Weights & Biases."""
QUEUE = 1000
"""Events that may queue for the thread that writes them: enough for an epoch of many seeds."""


class Logs:
    """The logs of a run folder, open for further epochs; a context manager closes them."""

    def __init__(
        self,
        folder: Path,
        histories: Histories,
        settings: Mapping[str, object],
        track: str | None = None,
    ) -> None:
        """Rewrite the logs with the epochs so far; `track` is a project of Weights & Biases."""
        self._tracker = None if track is None else _tracker(folder, settings, track)
        self.folder, self.path = folder, folder / METRICS
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._names: list[str] = []
        for path in (folder / EVENTS).glob("events.out.tfevents.*"):
            path.unlink()
        self._events = SummaryWriter(str(folder / EVENTS), max_queue=QUEUE)
        self._add_settings(settings)
        text = "".join(self._taken(epoch, rows) for epoch, rows in _by_epoch(histories))
        with atomic_file(self.path) as file:
            file.write(text.encode())

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_: object) -> None:
        self._events.close()
        if self._tracker is not None:
            self._tracker.finish()

    def _add_settings(self, settings: Mapping[str, object]) -> None:
        """Tell TensorBoard the settings, by which its HPARAMS page compares runs."""
        values = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in settings.items()
        }
        for summary in hparams(values, {}):
            self._events._get_file_writer().add_summary(summary)

    def add(self, epoch: int, rows: Mapping[int, Row]) -> None:
        """Add the rows of an epoch, by seed; the first epoch has those of all seeds."""
        text = self._taken(epoch, rows)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    def flush(self) -> None:
        """Wait until TensorBoard's events are on disk as well."""
        self._events.flush()

    def _taken(self, epoch: int, rows: Mapping[int, Row]) -> str:
        """Pass an epoch's figures to TensorBoard, and return its lines for the CSV file."""
        named = [
            {f"seed_{seed}/{name}": value for name, value in row.items()}
            for seed, row in rows.items()
        ]
        for figures in named:
            for name, value in figures.items():
                self._events.add_scalar(name, value, epoch)
        if self._tracker is not None:
            together = {name: value for figures in named for name, value in figures.items()}
            self._tracker.log(together, step=epoch)
        is_first = not self._names
        self._names = self._names or sorted(name for figures in named for name in figures)
        text = io.StringIO()
        writer = csv.DictWriter(text, [*self._names, "step"], lineterminator="\n")
        if is_first:
            writer.writeheader()
        writer.writerows(figures | {"step": epoch} for figures in named)
        return text.getvalue()


def _tracker(folder: Path, settings: Mapping[str, object], project: str) -> Any:
    """Join a run of Weights & Biases: that of this folder, if it has one."""
    with needs("--wandb"):
        wandb = import_module("wandb")
    path = folder / TRACKED
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secrets.token_hex(4), encoding="utf-8")
    told = {"config": dict(settings), "name": folder.name, "dir": str(folder / "logs")}
    return wandb.init(project=project, id=path.read_text(encoding="utf-8"), resume="allow", **told)


def _by_epoch(histories: Histories) -> Iterator[tuple[int, dict[int, Row]]]:
    """Yield the rows of each epoch by seed, without the seeds that have finished."""
    for epoch in range(max(map(len, histories.values()), default=0)):
        yield epoch, {seed: rows[epoch] for seed, rows in histories.items() if epoch < len(rows)}
