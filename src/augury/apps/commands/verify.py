"""A checkpoint of the discrete network becomes a proof, or the case in which it is wrong."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augury.apps.commands.terminal import print_table, refuse_overwriting, say

if TYPE_CHECKING:
    from augury.cells.network import CellNetwork

EXAMPLES = (
    "Examples:  augury verify discrete  ·  augury verify runs/discrete/seed-0/best.safetensors"
)

NOT_PROVEN = 1
"""Exit code for a network that was read and is wrong somewhere."""


def verify(
    model: Annotated[
        str,
        typer.Argument(help="A checkpoint of the discrete network; `discrete` is the shipped one."),
    ] = "discrete",
    algorithm: Annotated[
        str,
        typer.Option(
            help="What it is to execute: ford-fulkerson, assignment, min-cost-flow, reachability."
        ),
    ] = "ford-fulkerson",
    export: Annotated[
        Path | None,
        typer.Option(help="Write the table of all decisions, and the weights, here as JSON."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Enumerate every local case of a discrete network: is it exact at every graph size?

    Exit code 0 if it is proven, 1 if it is not, 2 if there is no such network.
    """
    from augury import __version__
    from augury.algorithms import ALGORITHMS
    from augury.cells.network import CellNetwork
    from augury.errors import InputError
    from augury.models.checkpoint import find, load
    from augury.verify import verify as proof_of

    row = ALGORITHMS[algorithm]
    path = find(model)
    loaded = load(path)
    if not isinstance(loaded.network, CellNetwork):
        raise InputError(
            f"{model}: only a discrete network can be verified, and this is {loaded.config.name}"
        )
    if export is not None:
        refuse_overwriting([str(path)], {"--export": [export]})
        _write(export, loaded.network, {"model": model, "digest": loaded.digest})
    proof = proof_of(loaded.network, algorithm=row)
    if json:
        print(json_text.dumps(proof.to_dict() | {"model": model, "version": __version__}))
    else:
        head = "cell", "cases", "right", "margin", "rounding", "seconds"
        rows: list[Sequence[str]] = []
        for part in proof.parts:
            numbers = f"{part.margin:.3f}", f"{part.bound:.1e}", f"{part.seconds:.3f}"
            rows.append((part.name, str(part.cases), str(part.right), *numbers))
        print_table(head, rows)
        say(f"table: {proof.table}")
        say((proof.conclusion, "green" if proof.is_proven else "yellow"))
        for part in proof.parts:
            if part.wrong:
                say(f"wrong in {part.name}: {part.wrong}")
        if proof.counterexample:
            say(f"seen in a run {proof.counterexample}")
    if not proof.is_proven:
        raise typer.Exit(NOT_PROVEN)


def _write(file: Path, network: CellNetwork, head: dict[str, Any]) -> None:
    """Write everything that a network of cells decides, and what it computes that from."""
    from augury import __version__
    from augury.cells.network import compiled
    from augury.files import write_text

    told = compiled(network).to_dict() | head | {"version": __version__, "hidden": network.hidden}
    told |= {"weights": network.weights_to_dict()}
    write_text(file, json_text.dumps(told) + "\n")
