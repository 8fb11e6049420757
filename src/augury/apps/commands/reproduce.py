"""A choice of tables and figures becomes a run folder with a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from augury.apps.commands.terminal import (
    Interrupted,
    chosen_device,
    progress_shown,
    raise_lost,
    say,
)

if TYPE_CHECKING:
    from augury.experiments.plan import Plan, Size
    from augury.experiments.reproduce import Options, Status
    from augury.experiments.tasks import Workers

EXAMPLES = (
    "Examples:  augury reproduce --quick  ·  "
    "augury reproduce --all --workers 16  ·  "
    "augury reproduce --table 1 --table 3 --seeds 5 --out runs/five  ·  "
    "augury reproduce --all --ray auto"
)


def reproduce(  # noqa: PLR0913  # one parameter for each option
    table: Annotated[
        list[int] | None,
        typer.Option(min=1, max=3, help="A table of the paper, 1 to 3; repeatable."),
    ] = None,
    figure: Annotated[
        list[int] | None,
        typer.Option(min=2, max=3, help="A figure of the paper, 2 or 3; repeatable."),
    ] = None,
    beyond: Annotated[
        list[str] | None,
        typer.Option(
            help="rule, std, first, large or sparse: what the paper does not have; repeatable."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of these.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shipped checkpoints, few graphs; minutes on one core.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N − 1 of each network.")] = 10,
    out: Annotated[Path, typer.Option("--out", "--output", help="The run folder.")] = Path(
        "runs/reproduction"
    ),
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda if there is one.")] = "cpu",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes of this machine that tasks run in, side by side.",
            show_default="in order, in this one",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS|local",
            help="Tasks on a Ray cluster: that of this machine, HOST:PORT, or one started here.",
        ),
    ] = None,
    graphs: Annotated[
        int | None, typer.Option(min=1, help="Test graphs of each condition.", show_default="50")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs on each graph.", show_default="10")
    ] = None,
    max_scale: Annotated[
        int | None, typer.Option(min=1, help="No larger sizes than this.", show_default="128")
    ] = None,
    max_epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs at most; as --set training.max_epochs=N.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting of every network, as in augury train."),
    ] = None,
    train_only: Annotated[
        bool, typer.Option("--train-only", help="Train what is needed; evaluate nothing.")
    ] = False,
    tidy: Annotated[
        bool,
        typer.Option(
            "--tidy", help="Delete each epoch's checkpoint once no plot needs it any more."
        ),
    ] = False,
    stop_after: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after this many seconds; the same command goes on."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Report again from the records and trainings.json of this folder; run nothing.",
        ),
    ] = None,
) -> None:
    """Rebuild the paper's tables and figures with many seeds, and report ours beside them.

    It can be stopped or killed at any time; the same command then does only what is missing.
    """
    from augury.experiments.plan import FULL, QUICK
    from augury.extras import require

    require("a reproduction", "torch", "matplotlib")  # which its tasks import, much later
    if workers is not None and ray is not None and ray != "local":
        raise typer.BadParameter("a Ray cluster has its own", param_hint="--workers")
    given = {"graphs": graphs, "runs": runs, "max_scale": max_scale}
    given = {name: value for name, value in given.items() if value is not None}
    size = replace(QUICK if quick else FULL, **given)
    if quick and (settings or max_epochs):
        raise typer.BadParameter(
            "it trains nothing, so no setting would count", param_hint="--quick"
        )
    changed = [*(settings or []), *([f"training.max_epochs={max_epochs}"] if max_epochs else [])]
    asked = _asked(table, figure, beyond, everything or quick)
    plan = _plan(asked, size, seeds, changed, quick)
    if source is not None:
        _report_again(source, plan, out)
        return
    from augury.experiments.reproduce import Options

    options = Options(chosen_device(device), train_only, tidy, stop_after)
    _run(plan, out, options, lambda scratch: _workers(workers, ray, options.device, scratch))


def _asked(
    table: list[int] | None, figure: list[int] | None, beyond: list[str] | None, everything: bool
) -> list[str]:
    """Return the options that ask for sections; none means all."""
    from augury.experiments.plan import TITLES

    asked = [f"--table {number}" for number in table or []]
    asked += [f"--figure {number}" for number in figure or []]
    for name in beyond or []:
        known = [name for name in TITLES if "-" not in name]
        if name not in known:
            raise typer.BadParameter(
                f"{name!r} is none of {', '.join(known)}", param_hint="--beyond"
            )
        asked.append(f"--beyond {name}")
    if not asked and not everything:
        raise typer.BadParameter("say what: --all, --quick, --table, --figure or --beyond")
    return asked


def _plan(asked: list[str], size: Size, seeds: int, settings: list[str], is_quick: bool) -> Plan:
    from augury.errors import InputError
    from augury.experiments.plan import FULL, QUICK, Plan, quick, sections

    chosen = tuple(
        section
        for section in sections(size).values()
        if (not asked or section.option in asked) and section.columns
    )
    usual = QUICK if is_quick else FULL
    options = ["--quick"] if is_quick else [f"--seeds {seeds}"] if seeds != 10 else []
    for name in ("graphs", "runs", "max_scale"):
        if getattr(size, name) != getattr(usual, name):
            options.append(f"--{name.replace('_', '-')} {getattr(size, name)}")
    options += [f"--set '{setting}'" for setting in settings]
    plan = Plan(
        chosen,
        tuple(range(seeds)),
        tuple(settings),
        asked=" ".join(asked or ["--all"]),
        options=" ".join(options),
    )
    for network in plan.networks:
        plan.config(network)  # refuse a wrong setting before anything is written
    if is_quick:
        from augury.models.checkpoint import MODELS

        plan = quick(plan, (path.stem for path in MODELS.glob("*.safetensors")))
        if not plan.sections:
            raise InputError("--quick has no epochs: figures and the paper's rule need trainings")
    if not plan.sections:
        raise InputError(f"--max-scale {size.max_scale} leaves nothing of what was asked for")
    return plan


def _report_again(source: Path, plan: Plan, out: Path) -> None:
    """Write the report of a finished run."""
    from augury.experiments.report import write_report
    from augury.experiments.run_folder import published

    plan, results = published(source, plan)
    write_report(out, plan, results, [])
    say(f"{out}: report.md, plots in reproduction/")


def _workers(count: int | None, ray: str | None, device: str, scratch: Path) -> Workers:
    from functools import partial

    from augury.experiments import tasks
    from augury.processes import Pool

    perform = partial(tasks.perform, scratch=scratch)
    if ray is not None:
        from augury.experiments.cluster import RayWorkers

        return RayWorkers(perform, ray, count, device.startswith("cuda"))
    if count is None:
        return tasks.InOrder(perform)
    devices: tuple[str, ...] = ()
    if device == "cuda":
        import torch

        devices = tuple(map(str, range(torch.cuda.device_count())))
    return Pool(perform, count, devices=devices)


def _run(plan: Plan, out: Path, options: Options, workers: Callable[[Path], Workers]) -> None:
    from augury.experiments.reproduce import run_plan
    from augury.experiments.run_folder import opened

    try:
        with opened(out, plan) as folder, progress_shown() as progress:

            def done(status: Status) -> None:
                progress(status)
                raise_lost()

            is_done = run_plan(folder, workers, options, done)
            raise_lost()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; the same command goes on with {out}") from None
    if not is_done:
        say(f"{out}: stopped after {options.stop_after:g} s; the same command goes on")
    elif options.train_only:
        say(f"{out}: every network is trained; without --train-only they are evaluated")
    else:
        say(f"{out}: report.md, records.jsonl, plots in reproduction/")
