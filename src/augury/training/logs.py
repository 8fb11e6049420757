"""The histories of a training become logs for other programs: one CSV file, and TensorBoard's.

Both are a function of the histories. Whoever goes on with a run first writes them anew from the
state to resume from, so no epoch is missing and none is there twice, wherever a process was killed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from torch.utils.tensorboard.writer import SummaryWriter

from augury.files import atomic_file

Row = Mapping[str, float]
"""What is known of one network after one epoch."""
Histories = Mapping[int, Sequence[Row]]
"""By seed: a row for each epoch."""

METRICS = Path("logs", "csv", "metrics.csv")
EVENTS = Path("logs", "tensorboard")
QUEUE = 1000
"""Events that may wait for the thread that writes them: room for an epoch of many seeds."""


class Logs:
    """The logs of a run folder, open to take further epochs; to be closed, as a context manager."""

    def __init__(self, folder: Path, histories: Histories) -> None:
        """Write the logs anew with the epochs that there are."""
        self.folder, self.path = folder, folder / METRICS
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._names: list[str] = []
        for path in (folder / EVENTS).glob("events.out.tfevents.*"):
            path.unlink()
        self._events = SummaryWriter(str(folder / EVENTS), max_queue=QUEUE)
        text = "".join(self._taken(epoch, rows) for epoch, rows in _by_epoch(histories))
        with atomic_file(self.path) as file:
            file.write(text.encode())

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_: object) -> None:
        self._events.close()

    def add(self, epoch: int, rows: Mapping[int, Row]) -> None:
        """Take the rows of an epoch, by seed; the first epoch has those of all seeds."""
        text = self._taken(epoch, rows)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    def flush(self) -> None:
        """Wait until TensorBoard's events are on disk too."""
        self._events.flush()

    def _taken(self, epoch: int, rows: Mapping[int, Row]) -> str:
        """Hand an epoch's figures to TensorBoard, and return its lines of the CSV file."""
        named = [
            {f"seed_{seed}/{name}": value for name, value in row.items()}
            for seed, row in rows.items()
        ]
        for figures in named:
            for name, value in figures.items():
                self._events.add_scalar(name, value, epoch)
        is_first = not self._names
        self._names = self._names or sorted(name for figures in named for name in figures)
        text = io.StringIO()
        writer = csv.DictWriter(text, [*self._names, "step"], lineterminator="\n")
        if is_first:
            writer.writeheader()
        writer.writerows(figures | {"step": epoch} for figures in named)
        return text.getvalue()


def _by_epoch(histories: Histories) -> Iterator[tuple[int, dict[int, Row]]]:
    """Yield the rows of each epoch by seed; a seed that has ended has no more of them."""
    for epoch in range(max(map(len, histories.values()), default=0)):
        yield epoch, {seed: rows[epoch] for seed, rows in histories.items() if epoch < len(rows)}
