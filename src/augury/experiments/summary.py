"""Parts become a summary of each condition, and summaries become a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms import FORD_FULKERSON
from augury.classical.simulate import DECISIONS
from augury.experiments.conditions import Condition, Extent
from augury.experiments.paper import papers_figure
from augury.experiments.records import CONDITION_FIELDS, Part, Runs

Points = dict[int, tuple[float, float, float]]
"""By size: a share, and the ends of its interval."""

Group = dict[Part, Runs]
"""Parts that make one row of a table: of one network, condition and extent, one for each seed."""


def summarise(parts: Mapping[Part, Runs]) -> list[dict[str, Any]]:
    """Return one object per network, condition and extent: accuracy over runs, and over seeds.

    `std` is over runs, of the accuracy of all networks together, as the paper has it for its one
    network (the population standard deviation). `seed_mean`, `seed_std` and `seed_interval` are
    over seeds, with Student's t at 95 %. Where several epochs of one seed ran, each `epoch` is
    summarised by itself; where test graphs of several seeds did, so is each `test_seed`.
    """
    groups: dict[tuple[str, Condition, Extent], Group] = {}
    for part, runs in parts.items():
        groups.setdefault((part.network, part.condition, part.extent), {})[part] = runs
    networks = list(dict.fromkeys(network for network, *_ in groups))
    has_seeds = len({extent.seed for _, _, extent in groups}) > 1

    def place(key: tuple[str, Condition, Extent]) -> tuple[Any, ...]:
        network, condition, extent = key
        failures = int(condition.termination) if condition.termination.isdigit() else 0
        classical = [not condition.neural_bottleneck, not condition.neural_augmentation]
        own = (condition.p, failures, classical, condition.costs, condition.scale)
        return (networks.index(network), *own, extent.seed, extent.graphs, extent.runs)

    found: list[dict[str, Any]] = []
    for key in sorted(groups, key=place):
        seed = {"test_seed": key[2].seed} if has_seeds else {}
        for epoch, group in _by_epoch(groups[key]).items():
            which = {} if epoch is None else {"epoch": epoch}
            found.append(_summary(group) | seed | which)
    return found


def _by_epoch(group: Group) -> dict[int | None, Group]:
    """Split a group by epoch if a seed occurs more than once in it."""
    if len({part.seed for part in group}) == len(group):
        return {None: group}
    found: dict[int | None, Group] = {}
    for part in sorted(group, key=lambda part: (part.epoch, part.seed)):
        found.setdefault(part.epoch, {})[part] = group[part]
    return found


def _summary(group: Group) -> dict[str, Any]:
    [*_, (part, runs)] = group.items()
    right = np.array([runs.is_right for runs in group.values()])  # (part, run, graph)
    by_run = right.mean(axis=(0, 2))
    by_seed = {part.seed: runs.accuracy for part, runs in group.items()}
    by_seed = {seed: by_seed[seed] for seed in sorted(by_seed)}
    told: dict[str, Any] = {"model": runs.name}
    told |= {name: getattr(part.condition, name) for name in CONDITION_FIELDS}
    if part.condition.algorithm != FORD_FULKERSON.name:
        told["algorithm"] = part.condition.algorithm
    if part.condition.costs:
        told["costs"] = part.condition.costs
    told |= {
        "accuracy": float(right.mean()),
        "std": float(by_run.std()),
        "flow_error": float(np.mean([runs.flow_error for runs in group.values()])),
        "graphs": part.extent.graphs,
        "runs": part.extent.runs,
        "seeds": len(by_seed),
        "by_seed": by_seed,
    }
    if len(by_seed) > 1:
        told |= over_seeds(np.array(list(by_seed.values())))
    for decision in DECISIONS:
        told[f"{decision}_asked"] = sum(runs.asked[decision] for runs in group.values())
        told[f"{decision}_wrong"] = sum(runs.wrong[decision] for runs in group.values())
    endings = [ending for runs in group.values() for ending in runs.ending]
    return told | {"endings": {ending: endings.count(ending) for ending in sorted(set(endings))}}


def over_seeds(by_seed: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return mean, deviation and Student's interval at 95 % of the accuracies of several seeds."""
    from scipy.stats import t

    mean, std, count = by_seed.mean(), by_seed.std(ddof=1), len(by_seed)
    half = float(t.ppf(0.975, count - 1) * std / np.sqrt(count))
    interval = [max(0.0, float(mean) - half), min(1.0, float(mean) + half)]
    return {"seed_mean": float(mean), "seed_std": float(std), "seed_interval": interval}


def wilson(share: float, trials: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 % of a share; 0 and 1 are no special cases.

    >>> [round(end, 3) for end in wilson(1.0, 50)]
    [0.929, 1.0]
    """
    z = 1.96
    middle, half = (
        share + z * z / (2 * trials),
        z * np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)),
    )
    whole = 1 + z * z / trials
    return max(0.0, float(middle - half) / whole), min(1.0, float(middle + half) / whole)


HEAD = (
    "model", "scale", "p", "end", "accuracy %", "paper", "over seeds, 95 %",
    "flow error",
    "search", "reach", "bottleneck", "empty paths seen", "augmentation",
)  # fmt: skip


def table_rows(summaries: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Return the rows of a table under `HEAD`.

    For a subroutine they say how often it was wrong out of how often it was asked, or a dash if it
    was not the network's.
    """
    return [_table_row(told) for told in summaries]


def _table_row(told: dict[str, Any]) -> list[str]:
    is_bfs, classical = told["termination"] == "bfs", told["model"] == "classical"
    end = "bfs" if is_bfs else f"t = {told['termination']}"
    if is_bfs and not classical:
        end += "" if told["neural_bottleneck"] else " -bottleneck"
        end += "" if told["neural_augmentation"] else " -augmentation"
    is_neural = {
        "search": True,
        "reach": is_bfs,
        "bottleneck": told["neural_bottleneck"],
        "augmentation": told["neural_augmentation"],
    }
    shown = {
        name: f"{told[f'{name}_wrong']:,}/{told[f'{name}_asked']:,}" if neural else "–"
        for name, neural in is_neural.items()
    }
    empty = told["empty_path_asked"] if told["neural_bottleneck"] else 0
    seen = f"{1 - told['empty_path_wrong'] / empty:.1%} of {empty:,}" if empty else "–"
    seeds = "–"
    if told["seeds"] > 1:
        low, high = told["seed_interval"]
        seeds = f"{told['seed_mean']:.2%} [{low:.2%}, {high:.2%}] of {told['seeds']}"
    accuracy = f"{100 * told['accuracy']:.2f} ± {100 * told['std']:.2f}"
    model, figure = told["model"], "–"
    if "algorithm" in told:
        end = told["algorithm"]
        if "costs" in told:
            end += f", costs to {told['costs']:,}"
        else:
            shown |= dict.fromkeys(("bottleneck", "augmentation"), "–")
    elif "epoch" in told:  # not one that was chosen, so the paper has no figure for it
        model += f", epoch {told['epoch']}"
    else:
        condition = Condition(**{name: told[name] for name in CONDITION_FIELDS})
        figure = papers_figure(told["model"], condition)
    if "test_seed" in told:
        model += f", test seed {told['test_seed']}"
    return [
        model, f"{told['scale']}x", told["p"], end, accuracy,
        figure, seeds.replace("%", ""), f"{told['flow_error']:.4f}",
        shown["search"], shown["reach"], shown["bottleneck"], seen, shown["augmentation"],
    ]  # fmt: skip


def lines_of(summaries: Iterable[dict[str, Any]]) -> dict[str, dict[str, tuple[str, Points]]]:
    """Return accuracy over size by probability, for `plots.plot_scales`; one line for each name.

    The interval is Student's over seeds, or Wilson's over graphs where there is one seed.
    """
    lines: dict[str, dict[str, tuple[str, Points]]] = {}
    for told in summaries:
        label = _named(told)
        share = told["accuracy"]
        low, high = told.get("seed_interval") or wilson(share, told["graphs"])
        _, points = lines.setdefault(told["p"], {}).setdefault(label, (label, {}))
        points[told["scale"]] = share, low, high
    return lines


def _named(told: dict[str, Any]) -> str:
    """Name a row: the network, and how it was run if not in the usual way."""
    model, _, _, end, *_ = _table_row(told)
    return model if end == "bfs" else f"{model}, {end}"


def latex_table(summaries: Iterable[dict[str, Any]]) -> str:
    """Return accuracies for LaTeX with booktabs: a row for each network, a column for each size.

    Means are in per cent, with ± over seeds (half of Student's 95 % interval), or over the runs of
    a single seed.
    """
    rows: dict[str, dict[tuple[str, int], str]] = {}
    for told in summaries:
        spread = told["std"]
        if told["seeds"] > 1:
            spread = (told["seed_interval"][1] - told["seed_interval"][0]) / 2
        cell = f"${100 * told['accuracy']:.1f} \\pm {100 * spread:.1f}$"
        rows.setdefault(_named(told), {})[told["p"], told["scale"]] = cell
    columns = list(dict.fromkeys(key for cells in rows.values() for key in cells))
    several = len({p for p, _ in columns}) > 1
    head = [f"${scale}\\times$" + (f", $p = {p}$" if several else "") for p, scale in columns]
    body = [
        [_escaped(name), *(cells.get(key, "--") for key in columns)] for name, cells in rows.items()
    ]
    lines = [" & ".join(row) + r" \\" for row in (["network", *head], *body)]
    start = [r"\begin{tabular}{l" + "r" * len(columns) + "}", r"\toprule"]
    end = [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*start, lines[0], r"\midrule", *lines[1:], *end])


def _escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return text.translate(ESCAPES)


ESCAPES = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}", "−": "$-$"}
)
"""Characters that LaTeX would take for commands."""
