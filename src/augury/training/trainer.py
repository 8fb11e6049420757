"""A configuration becomes a run folder of trained networks; Lightning runs the epochs.

A run folder holds config.json, the lock of the process at work, a folder per seed with every
epoch's checkpoint, the best one and history.csv, logs of all seeds, and resume.safetensors.
"""

from __future__ import annotations

import ctypes
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from augury.config import Config, difference, from_dict, to_dict, values_of
from augury.errors import InputError
from augury.extras import needs
from augury.files import locked
from augury.provenance import provenance

with needs("training networks"):
    import lightning.pytorch as pl

    from augury.models import checkpoint
    from augury.models.checkpoint import make_network
    from augury.neural.isolation import one_thread, own_precision
    from augury.training.ensemble import Ensemble, Progress, training_data_of
    from augury.training.executions import Executions, Validation, processes_for
    from augury.training.keeping import KeepEverything, Look, Resume, is_over
    from augury.training.logs import Logs

EPOCHS_AHEAD = {"cuda": 6}
"""How many epochs the updates on a device may run ahead of the executions, which take longer."""


def train(  # noqa: PLR0913  # what, where, and three hooks
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    device: str = "cpu",
    resume: bool = False,
    say: Callable[[str], None] = print,
    pause: Callable[[], bool] = lambda: False,
    timeline: list[dict[str, float]] | None = None,
    track: str | None = None,
) -> list[Progress]:
    """Train a network for each seed in one run folder; returns how each went.

    `pause` is called after each epoch; if it returns True the call ends, to be continued with
    `resume`. `timeline` receives the seconds of each epoch, spent on updates, figures, waiting for
    its executions, and keeping it. `track` names a project of Weights & Biases, which then gets
    every epoch too. Lightning prints advice and warnings unless the call is inside
    `lightning_quiet`. On a GPU the updates of the paper's networks are recorded as CUDA graphs (see
    `recorded`), and the next epochs train while the validation graphs of the last are executed.

    Raises:
        InputError: the folder holds another run, there is nothing to resume, or another process
            is using it.

    >>> from tempfile import TemporaryDirectory
    >>> from augury.config import preset, with_settings
    >>> few = ["data.train_graphs=4", "data.validation_graphs=2", "data.side=4"]
    >>> few += ["training.max_epochs=1", "training.execution_graphs=1"]
    >>> with TemporaryDirectory() as folder, lightning_quiet():
    ...     run = Path(folder, "run")
    ...     told = train(with_settings(preset("discrete"), few), [0], run, say=lambda line: None)
    ...     sorted(path.name for path in (run / "seed-0").iterdir())
    ['best.safetensors', 'epoch-000.safetensors', 'history.csv']
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("training needs at least one seed, and all of them different")
    make_network(config.network)  # refuse a wrong setting before making a folder
    if resume and not (folder / "config.json").exists():
        raise InputError(f"{folder}: there is no run in this folder to resume")
    folder.mkdir(parents=True, exist_ok=True)
    look = Look(say, pause, [] if timeline is None else timeline)
    with own_precision(device), locked(folder / "lock", folder):
        prepare_folder(folder, config, seeds, device, resume)
        return _train(config, seeds, folder, device, resume, look, track)


def _train(  # noqa: PLR0913  # as `train`
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    device: str,
    resume: bool,
    look: Look,
    track: str | None,
) -> list[Progress]:
    state = folder / "resume.safetensors"
    resumed = [Resume(state)] if resume and state.exists() else []
    for callback in resumed:
        if is_over(config, callback.progress):
            return callback.progress
    histories = {progress.seed: progress.history for c in resumed for progress in c.progress}
    data = training_data_of(config)
    validation = Validation(config, data.train.mean_log_degree)
    kind = device.partition(":")[0]
    ahead = EPOCHS_AHEAD.get(kind, 0) if config.training.select != "paper" else 0
    num_processes = processes_for(len(seeds)) if ahead else 0
    with (
        # Beside a GPU the host only assembles batches. Its threads would wait for each other
        # whenever one shares its core with an execution: an epoch would take twice as long.
        one_thread(kind == "cuda"),
        memory_kept(),
        closing(Executions(validation, num_processes, look.say)) as executions,
        Logs(folder, histories, values_of(config), track) as logs,
    ):
        module = Ensemble(config, seeds, data, kind == "cuda" and config.network.kind == "paper")
        keep = KeepEverything(logs, executions, ahead, device, look)
        _fit(_trainer(config, device, [keep, *resumed]), module)
    return module.progress


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory with the process until the training ends.

    Every update allocates the same arrays again. If they were returned to the system in between, it
    would have to clear fresh pages for them: a tenth of the time of an update on the CPU.
    """
    try:
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**30)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)
    except (AttributeError, TypeError, OSError):  # only glibc has it
        yield
        return
    try:
        yield
    finally:
        library.malloc_trim(0)


MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Parameters of `mallopt`: the size of the largest arrays kept, and how much free memory is."""


def _fit(trainer: pl.Trainer, module: Ensemble) -> None:
    """Fit, and raise Ctrl-C as `KeyboardInterrupt`: Lightning makes it a `SystemExit`."""
    try:
        trainer.fit(module)
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None


@contextmanager
def lightning_quiet() -> Iterator[None]:
    """Keep Lightning's advice off the terminal; for commands, which own their process."""
    logger = logging.getLogger("lightning.pytorch")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(before)


def _trainer(config: Config, device: str, callbacks: list[pl.Callback]) -> pl.Trainer:
    kind, _, number = device.partition(":")
    return pl.Trainer(
        accelerator="gpu" if kind == "cuda" else kind,
        devices=[int(number)] if number else 1,
        max_epochs=config.training.max_epochs,
        reload_dataloaders_every_n_epochs=1,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        log_every_n_steps=1,  # else Lightning warns; we log epochs ourselves
        logger=False,
        callbacks=callbacks,
        num_sanity_val_steps=0,
    )


def prepare_folder(
    folder: Path, config: Config, seeds: Sequence[int], device: str, resume: bool
) -> None:
    """Make the run folder, or check that it holds this run; its `max_epochs` may be changed."""
    told = {"config": to_dict(config), "seeds": list(seeds), "name": config.name}
    path = folder / "config.json"
    if path.exists():
        try:
            there = dict(json.loads(path.read_text(encoding="utf-8")))
            before, seeds_before = from_dict(there["config"]), list(there["seeds"])
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(f"{path}: this is not the configuration of a run") from None
        if not resume:
            raise InputError(f"{folder}: there is a run in this folder; --resume continues it")
        allowed = config.training.max_epochs
        if config.training.decay != "none":  # which depends on it
            allowed = before.training.max_epochs
        same = replace(before, training=replace(before.training, max_epochs=allowed))
        differs = difference(same, config)
        if not differs and seeds_before != list(seeds):
            differs = f"the seeds are {_listed(seeds_before)}, not {_listed(seeds)}"
        if differs:
            raise InputError(f"{folder}: the run in this folder has other settings: {differs}")
        for left in folder.rglob(".augury-*.tmp"):
            left.unlink()  # unfinished files of a killed process
        if not difference(before, config):
            return
        told = there | told
    else:
        for seed in seeds:
            (folder / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
        told |= provenance(device)
    checkpoint.write_bytes(path, (json.dumps(told, indent=2) + "\n").encode())


def _listed(seeds: Sequence[object]) -> str:
    return ", ".join(map(str, seeds))
