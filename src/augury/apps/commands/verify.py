"""A checkpoint of the discrete network becomes a proof, or the case in which it is wrong."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from augury.apps.commands.terminal import print_table, say

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
        str, typer.Option(help="What it is to execute: ford-fulkerson or reachability.")
    ] = "ford-fulkerson",
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

    if algorithm not in ALGORITHMS:
        raise InputError(f"{algorithm!r} is none of the algorithms {', '.join(ALGORITHMS)}")
    path = find(model)
    loaded = load(path)
    if not isinstance(loaded.network, CellNetwork):
        raise InputError(
            f"{model}: only a discrete network can be verified, and this is {loaded.config.name}"
        )
    proof = proof_of(loaded.network, algorithm=ALGORITHMS[algorithm])
    if json:
        print(json_text.dumps(proof.to_dict() | {"model": model, "version": __version__}))
    else:
        head = "cell", "cases", "right", "margin", "rounding", "seconds"
        rows = [
            (
                part.name,
                str(part.cases),
                str(part.right),
                f"{part.margin:.3f}",
                f"{part.bound:.1e}",
                f"{part.seconds:.3f}",
            )
            for part in proof.parts
        ]
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
