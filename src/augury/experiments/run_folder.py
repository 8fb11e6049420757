"""A folder becomes the state of a reproduction, and the results of tasks go into it.

    DIR/train/NETWORK/seed-K/   best.safetensors, history.csv, epoch-NNN.safetensors, just as
                                `augury train` leaves them; until the training is finished,
                                resume.safetensors
    DIR/records.jsonl           what each network did in each condition, a line for each part
    DIR/times.jsonl             how long each task took, and where
    DIR/report.md               tables made of the above
    DIR/reproduction/           plots, times.md, and trainings.json, the chosen epochs
    DIR/scratch/                what tasks need while they run; empty before and gone afterwards
    DIR/lock                    held by the process that works here

Only one process writes, and at any moment every file is either complete or ends in a line that will
be cut off; so the process may be killed at any time.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augury.config import Config, difference
from augury.errors import InputError
from augury.experiments.plan import Plan, Rule, Want
from augury.experiments.records import Part, RecordsFile, Runs, read_records
from augury.files import atomic_file, locked, named

TRAININGS = "trainings.json"
"""The file that says which epochs were chosen."""
SCRATCH = "scratch"
"""The folder of running tasks."""
RULES: tuple[Rule, ...] = ("execution", "paper", "last")
"""The rules that choose one epoch."""
PAPERS_SCORE = "validation_last_predecessor"
"""The score that the paper's rule uses."""


def chosen_epoch(scores: Sequence[float], patience: int) -> tuple[int, bool]:
    """Return the best epoch, and whether `patience` epochs after it bring no better one.

    >>> chosen_epoch([0.2, 0.8, 0.7, 0.6, 0.9], patience=2)
    (1, True)
    """
    best = -1
    for epoch, score in enumerate(scores):
        if best < 0 or score > scores[best]:
            best = epoch
        if epoch - best >= patience:
            return best, True
    return best, False


@dataclass
class Seed:
    """One seed of a network, as far as it is trained."""

    network: str
    seed: int
    config: Config
    folder: Path
    history: list[dict[str, float]] = field(default_factory=list)
    """A row for each epoch."""
    shipped: Path | None = None
    """The checkpoint used instead of a training."""
    known: dict[str, int] = field(default_factory=dict)
    """By rule: the epoch that it chooses, where there is no history to tell."""

    @property
    def is_finished(self) -> bool:
        """Whether no further epoch is to come."""
        training = self.config.training
        is_over = len(self.history) >= training.max_epochs
        return bool(self.known) or is_over or self._chosen("execution")[1]

    @property
    def num_epochs(self) -> int:
        """How many epochs were trained so far."""
        return self.known["last"] + 1 if self.known else len(self.history)

    def epoch(self, rule: Rule) -> int:
        """Return the epoch that a rule chooses among those trained so far."""
        return self.known[rule] if self.known else self._chosen(rule)[0]

    def epochs(self, rule: Rule) -> Sequence[int]:
        """Return the epoch that a rule chooses, or with the rule "every" all of them."""
        return range(self.num_epochs) if rule == "every" else [self.epoch(rule)]

    @property
    def chosen(self) -> dict[str, int]:
        """By rule: the epoch that it chooses; what `known` may hold."""
        return {rule: self.epoch(rule) for rule in RULES}

    def _scores(self, rule: Rule) -> list[float]:
        name = "score" if rule == "execution" else PAPERS_SCORE
        return [row[name] for row in self.history]

    def _chosen(self, rule: Rule) -> tuple[int, bool]:
        if rule == "last":
            return len(self.history) - 1, False
        return chosen_epoch(self._scores(rule), self.config.training.patience)

    def checkpoint(self, epoch: int) -> Path:
        """Return the file of an epoch."""
        if self.shipped:
            return self.shipped
        path = self.folder / f"epoch-{epoch:03d}.safetensors"
        is_best = epoch == self.epoch("execution")
        return self.folder / "best.safetensors" if is_best and not path.exists() else path


@dataclass
class Results:
    """The seeds of each network, and the parts that are done."""

    seeds: dict[str, list[Seed]]
    parts: dict[Part, Runs]

    def config(self, network: str) -> Config:
        """Return the configuration that the seeds of a network were trained with."""
        return self.seeds[network][0].config

    def first(self, network: str) -> Seed:
        """Return the first seed of a network, which is the one that ships."""
        return self.seeds[network][0]

    def parts_of(self, want: Want) -> list[Part]:
        """Return the parts that a want amounts to, as far as they are known."""
        seeds = self.seeds[want.network]
        if want.who == "first":
            seeds = seeds[:1]
        is_every = want.rule == "every"
        return [
            Part(want.network, seed.seed, epoch, want.condition, want.extent)
            for seed in seeds
            if is_every or seed.is_finished
            for epoch in seed.epochs(want.rule)
        ]

    def unfinished(self) -> list[Seed]:
        """Return the seeds whose training is not finished."""
        return [seed for seeds in self.seeds.values() for seed in seeds if not seed.is_finished]

    def missing(self, wants: Sequence[Want]) -> list[Part]:
        """Return the parts that are known but not done, each once."""
        told = dict.fromkeys(part for want in wants for part in self.parts_of(want))
        return [part for part in told if part not in self.parts]


class RunFolder:
    """The folder of one reproduction, open for writing; see `opened`."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan = path, plan
        self.scratch = path.resolve() / SCRATCH
        self.records = RecordsFile(path / "records.jsonl")
        times = path / "times.jsonl"
        lines = whole_lines(times) if times.exists() else []
        self.times: list[dict[str, Any]] = [json.loads(line) for line in lines]
        read = self._shipped if plan.is_quick else self._trained
        self.results = Results(
            {name: read(name) for name in plan.networks},
            self.records.parts,
        )

    def _trained(self, network: str) -> list[Seed]:
        config = self.plan.config(network)
        folder = self.path / "train" / network
        return [
            read_seed(Seed(network, seed, config, folder / f"seed-{seed}"))
            for seed in self.plan.seeds
        ]

    def _shipped(self, network: str) -> list[Seed]:
        from augury.models.checkpoint import find, load

        path = find(network)
        loaded = load(path)
        seed, epoch = (int(loaded.provenance.get(name, 0)) for name in ("seed", "epoch"))
        return [Seed(network, seed, loaded.config, path, [], path, dict.fromkeys(RULES, epoch))]

    def refuse_other_weights(self) -> None:
        """Refuse a checkpoint that is not the one its records were made with."""
        known = {
            (part.network, part.seed, part.epoch): runs.digest
            for part, runs in self.records.parts.items()
        }
        for seed in (seed for seeds in self.results.seeds.values() for seed in seeds):
            epoch = seed.epoch("execution")
            digest = known.get((seed.network, seed.seed, epoch))
            if digest is None:
                continue
            from augury.models.checkpoint import load

            if load(seed.checkpoint(epoch)).digest != digest:
                raise InputError(
                    f"{self.records.path}: these records were made with other weights than those "
                    f"of {seed.checkpoint(epoch)}"
                )

    def keep_training(self, seed: Seed, files: dict[str, bytes]) -> None:
        """Write the files of a slice of a training; the history last, since it says what exists."""
        seed.folder.mkdir(parents=True, exist_ok=True)
        order = ("resume.safetensors", "history.csv")
        for name in sorted(files, key=lambda name: (name in order, name == order[-1], name)):
            with atomic_file(seed.folder / name) as file:
                file.write(files[name])
        seed.history = _rows(files["history.csv"].decode())
        if seed.is_finished:
            (seed.folder / "resume.safetensors").unlink(missing_ok=True)

    def tidy(self, seed: Seed) -> None:
        """Delete the checkpoints of epochs that no part still needs."""
        wants = [want for want in self.plan.wants() if want.network == seed.network]
        needed = {part.epoch for part in self.results.missing(wants) if part.seed == seed.seed}
        if seed.history and not seed.is_finished:  # they may yet be chosen
            wanted = {want.rule for want in wants}
            needed |= {seed.epoch(rule) for rule in RULES[1:] if rule in wanted}
        for path in seed.folder.glob("epoch-*.safetensors"):
            if int(path.stem.removeprefix("epoch-")) not in needed:
                path.unlink()

    def note(self, **told: Any) -> None:
        """Record how long something took."""
        path = self.path / "times.jsonl"
        with named(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        self.times.append(told)


def trainings_text(results: Results) -> str:
    """Say which epochs were chosen: with the records, all that a report is made of."""
    told = {
        network: {str(seed.seed): seed.chosen for seed in seeds}
        for network, seeds in results.seeds.items()
    }
    return json.dumps(told, indent=1) + "\n"


def published(folder: Path, plan: Plan) -> tuple[Plan, Results]:
    """Read the records and chosen epochs of a finished run; keep what they cover of a plan.

    Raises:
        InputError: the folder lacks one of the files, or they cover nothing.
    """
    found = [
        path for path in (folder / f"records.jsonl{end}" for end in ("", ".gz")) if path.exists()
    ]
    path = folder / TRAININGS
    if not found or not path.exists():
        raise InputError(f"{folder}: there is no records.jsonl, or no {TRAININGS}, in this folder")
    with named(path):
        try:
            told: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
            seeds = {
                network: [
                    Seed(network, int(seed), plan.config(network), folder, known=dict(chosen))
                    for seed, chosen in told[network].items()
                ]
                for network in plan.networks
                if network in told
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError("this does not say which epochs were chosen") from None
    results = Results(seeds, read_records(found[0]).parts)
    sections = tuple(
        section
        for section in plan.sections
        if all(row.network in seeds for row in section.rows)
        and not results.missing(section.wants())
    )
    if not sections:
        raise InputError(f"{found[0]}: these records suffice for nothing that was asked for")
    kept = replace(plan, sections=sections)
    results.seeds = {network: seeds[network] for network in kept.networks}
    return kept, results


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file, after cutting off a half-written last one."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8", "replace").splitlines()


@contextmanager
def opened(path: Path, plan: Plan) -> Iterator[RunFolder]:
    """Open a folder for this process alone, creating it if need be; refuse another run's."""
    with named(path):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path / "lock", path):
        for left in path.rglob(".augury-*.tmp"):
            left.unlink()  # unfinished files of a killed process
        scratch = path / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        with named(scratch):
            scratch.mkdir(exist_ok=True)
        try:
            yield RunFolder(path, plan)
        finally:  # what a dying process still writes to it is deleted next time
            shutil.rmtree(scratch, ignore_errors=True)


def read_seed(seed: Seed) -> Seed:
    """Read the folder of a training, or say why it does not belong to this plan."""
    history = seed.folder / "history.csv"
    if not history.exists():
        return seed
    from augury.models.checkpoint import load

    with named(history):
        seed.history = _rows(history.read_text(encoding="utf-8"))
    there = load(seed.folder / "best.safetensors").config
    if difference(there, seed.config):
        raise InputError(
            f"{seed.folder}: this network was trained with other settings: "
            f"{difference(there, seed.config)}"
        )
    ensemble = seed.folder.parent / "resume.safetensors"
    if not seed.is_finished and ensemble.exists():
        raise InputError(
            f"{seed.folder.parent}: this training is not finished; "
            f"augury train with --resume finishes it"
        )
    return seed


def _rows(text: str) -> list[dict[str, float]]:
    try:
        rows = [
            {name: float(value) for name, value in row.items()}
            for row in csv.DictReader(io.StringIO(text))
        ]
        if not all({"score", PAPERS_SCORE} <= set(row) for row in rows):
            raise ValueError
    except (ValueError, TypeError):
        raise InputError("this is not the history of a training") from None
    return rows
