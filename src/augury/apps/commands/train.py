"""A preset and settings become a run folder of trained networks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from augury.apps.commands.terminal import Interrupted, chosen_device, raise_lost, say

if TYPE_CHECKING:
    from collections.abc import Generator

    from augury.config import Config
    from augury.experiments.reproduce import Status


LARGEST_SEED = 2**63 - 1
"""PyTorch refuses seeds from 2^64 on, but only once the folder is made."""

MOST_SEEDS = 100
"""The most networks that train side by side: they share the memory, and 0-9999 is a slip."""


def epilog() -> str:
    """Return the end of the help text: presets, every setting with its default, and examples."""
    from augury.config import PRESETS, settings_of

    texts = [f"{setting.key} = {setting.default}: {setting.help}" for setting in settings_of()]
    examples = (
        "Examples:  augury train paper-mpnn --seed 0",
        "augury train paper-pna-nostd --seeds 0-9 --device cuda --out runs/pna",
        "augury train paper-mpnn --set network.hidden=64 --set training.patience=5 --out runs/64",
        "augury train paper-mpnn --resume",
    )
    presets = f"Presets:  {', '.join(PRESETS)}"
    return "\n\n".join([presets, "Settings and their defaults:", *texts, *examples])


def train(  # noqa: PLR0913  # one parameter for each option
    name: Annotated[
        str, typer.Argument(metavar="PRESET", help="Which network; see below.", show_default=False)
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=LARGEST_SEED, help="Seed of the initial weights.", show_default="0"
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Several seeds, trained together: 0-9 or 0,2,5.", show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda if there is one.")] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "--output", help="The run folder.", show_default="runs/PRESET"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting, such as network.hidden=64; repeatable."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file with the tables [data], [network], [training]; --set wins."),
    ] = None,
    select: Annotated[
        Literal["execution", "both", "paper"] | None,
        typer.Option(
            help="The best epoch: by whole executions, by these with t = 1 too, or by the paper's "
            "rule; training.select.",
            show_default="execution",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder.")
    ] = False,
    wandb: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="Log to this project of Weights & Biases as well."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS|local",
            help="Seeds on a Ray cluster: that of this machine, HOST:PORT, or one started here.",
        ),
    ] = None,
) -> None:
    """Train a network for each seed; the run folder keeps every epoch and the best one.

    A run can be interrupted at any time; --resume continues from its last whole epoch, and a
    larger training.max_epochs prolongs it.
    """
    from augury.config import preset, with_file, with_settings
    from augury.errors import InputError

    if seed is not None and seeds is not None:
        raise typer.BadParameter("give either --seed or --seeds", param_hint="--seeds")
    wanted = [seed or 0] if seeds is None else chosen_seeds(seeds)
    resolved = preset(name) if config is None else with_file(preset(name), config)
    chosen = [f"training.select={select}"] if select else []
    resolved = with_settings(resolved, [*(settings or []), *chosen])
    where = chosen_device(device)
    if ray is not None and wandb is not None:
        raise InputError("--wandb logs what is trained here, not on --ray")
    folder = out or Path("runs") / name
    with _lines() as print_line:
        try:
            if ray is not None:
                _train_on_ray(resolved, wanted, folder, (where, resume), ray, print_line)
            else:
                _train(resolved, wanted, folder, where, resume, print_line, wandb)
        except (KeyboardInterrupt, SystemExit):  # Lightning turns the first into the second
            raise Interrupted(
                f"interrupted; the same command with --resume goes on with {folder}"
            ) from None
    made = f"{folder}: {resolved.name}, seed-*/best.safetensors"
    say(f"{made}; augury evaluate {folder} measures them")


def _train(  # noqa: PLR0913  # as `train`
    config: Config,
    seeds: list[int],
    folder: Path,
    device: str,
    resume: bool,
    say: Callable[[str], None],
    wandb: str | None,
) -> None:
    from augury.errors import InputError
    from augury.files import os_fault
    from augury.training.trainer import lightning_quiet
    from augury.training.trainer import train as train_networks

    def pause() -> bool:
        raise_lost()
        return False

    try:
        with lightning_quiet():
            train_networks(config, seeds, folder, device, resume, say, pause, track=wandb)
        raise_lost()
    except OSError as error:
        raise InputError(f"{folder}: {os_fault(error)}") from None


def _train_on_ray(
    config: Config,
    seeds: list[int],
    folder: Path,
    options: tuple[str, bool],
    address: str,
    say: Callable[[str], None],
) -> None:
    from augury.errors import InputError
    from augury.experiments.cluster import task_workers
    from augury.experiments.sweep import train_seeds
    from augury.files import os_fault

    def done(status: Status) -> None:
        raise_lost()
        say(status.text)

    try:
        workers = task_workers(address, options[0])
        train_seeds(config, seeds, folder, options, workers, done)
    except OSError as error:
        raise InputError(f"{folder}: {os_fault(error)}") from None


def chosen_seeds(text: str) -> list[int]:
    """Return the seeds in a text such as 0-9 or 0,2,5, each once."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        bounds = (first, last) if dash else (first, first)
        if not all(bound.isascii() and bound.isdigit() for bound in bounds):
            raise typer.BadParameter(
                f"{text!r} is not of the form 0-9 or 0,2,5", param_hint="--seeds"
            )
        low, high = map(int, bounds)
        if low > high:
            raise typer.BadParameter(f"{part!r} runs backwards", param_hint="--seeds")
        if high > LARGEST_SEED:
            raise typer.BadParameter(f"the largest seed is {LARGEST_SEED}", param_hint="--seeds")
        if len(found) + high - low >= MOST_SEEDS:
            raise typer.BadParameter(
                f"{text!r} is more than {MOST_SEEDS} seeds", param_hint="--seeds"
            )
        found += range(low, high + 1)
    return list(dict.fromkeys(found))


@contextmanager
def _lines() -> Generator[Callable[[str], None]]:
    """Yield a function that prints a line; a terminal shows a status below while work goes on."""
    from augury.errors import visible

    if not sys.stdout.isatty():
        yield lambda line: print(visible(line), flush=True)
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    with console.status("training; after Ctrl-C, --resume goes on from the last whole epoch"):
        yield lambda line: console.print(visible(line))
