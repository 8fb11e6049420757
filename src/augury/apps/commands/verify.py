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
    from augury.verify import Proof

EXAMPLES = (
    "Examples:  augury verify discrete  ·  augury verify runs/discrete"
    "  ·  augury verify discrete --proof proof.json; augury verify --check proof.json"
)

NOT_PROVEN = 1
"""Exit code for a network that was read and is wrong somewhere."""


def verify(
    model: Annotated[
        str,
        typer.Argument(
            help="A checkpoint of a discrete network, or a run folder with all its seeds; "
            "`discrete` is the shipped one."
        ),
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
    proof: Annotated[
        Path | None,
        typer.Option(help="Write every case, its margin and its bounds, exactly, here as JSON."),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Replay such a proof instead; needs no PyTorch."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Enumerate every local case of a discrete network: is it exact at every graph size?

    Exit code 0 if it is proven, 1 if it is not, 2 if there is no such network or proof.
    """
    if check is not None:
        return _check(check, json)
    from augury import __version__
    from augury.algorithms import ALGORITHMS
    from augury.cells.network import CellNetwork
    from augury.errors import InputError
    from augury.files import write_text
    from augury.models.checkpoint import find_all, load
    from augury.verify import proof_object
    from augury.verify import verify as proof_of

    row = ALGORITHMS[algorithm]
    paths, is_proven = find_all(model), True
    if len(paths) > 1 and (export is not None or proof is not None):
        raise InputError(f"{model}: --export and --proof are of one network, not of {len(paths)}")
    for path in paths:
        name = model if len(paths) == 1 else str(path)
        loaded = load(path)
        if not isinstance(loaded.network, CellNetwork):
            raise InputError(
                f"{name}: only a discrete network can be verified, and this is {loaded.config.name}"
            )
        refuse_overwriting([str(path)], {"--export": [export], "--proof": [proof]})
        found = proof_of(loaded.network, algorithm=row)
        if export is not None:
            _write(export, loaded.network, {"model": name, "digest": loaded.digest})
        if proof is not None:
            told = proof_object(loaded.network, found, name, loaded.digest)
            write_text(proof, json_text.dumps(told) + "\n")
        if json:
            print(json_text.dumps(found.to_dict() | {"model": name, "version": __version__}))
        else:
            if len(paths) > 1:
                say(name)
            _say(found)
        is_proven = is_proven and found.is_proven
    if not is_proven:
        raise typer.Exit(NOT_PROVEN)


def _say(proof: Proof) -> None:
    head = "cell", "cases", "right", "proven", "margin", "rounding", "largest sum"
    others = [name for name in proof.holds if name != "float32"]
    rows: list[Sequence[str]] = []
    for part in proof.parts:
        counts = map(str, (part.cases, part.right, part.proven))
        numbers = f"{part.margin:.3g}", f"{part.bound:.1e}", f"{part.largest:.3g}"
        reduced = [str(part.arithmetics[name]["proven"]) for name in others]
        rows.append((part.name, *counts, *numbers, *reduced, f"{part.seconds:.3f}"))
    print_table((*head, *others, "seconds"), rows)
    say(f"table: {proof.table}")
    holds, fails = (
        [name for name in proof.holds if proof.holds[name] is value] for value in (True, False)
    )
    told = [f"the proof holds in {', '.join(holds)}"] if holds else []
    told += [f"{'not' if holds else 'there is no proof'} in {', '.join(fails)}"] if fails else []
    say(f"arithmetic: {', '.join(told)}")
    say((proof.conclusion, "green" if proof.is_proven else "yellow"))
    for part in proof.parts:
        for what, case in (("wrong", part.wrong), ("too thin", part.thin)):
            if case:
                say(f"{what} in {part.name}: {case}")
    if proof.counterexample:
        say(f"seen in a run {proof.counterexample}")


def _check(file: str, json: bool) -> None:
    """Replay a proof object."""
    from augury.replay import replay

    found = replay(file)
    if json:
        print(json_text.dumps(found._asdict()))
    elif found.fault:
        say((f"The proof does not hold: {found.fault}.", "yellow"))
    else:
        counts = f"{found.cases} cases, {found.decisions} decisions"
        say((f"The proof holds in {', '.join(found.holds)}: {counts}, computed again.", "green"))
    if found.fault:
        raise typer.Exit(NOT_PROVEN)


def _write(file: Path, network: CellNetwork, head: dict[str, Any]) -> None:
    """Write everything that a network of cells decides, and what it computes that from."""
    from augury import __version__
    from augury.cells.network import compiled
    from augury.files import write_text

    told = compiled(network).to_dict() | head | {"version": __version__, "hidden": network.hidden}
    told |= {"weights": network.weights_to_dict()}
    write_text(file, json_text.dumps(told) + "\n")
