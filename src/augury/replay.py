"""A proof object becomes a verdict: every case is computed again, in whole numbers.

This shares no code with what wrote the object, needs neither PyTorch nor NumPy, and restates the
rules and formulas (docs/verification.md has both). All numbers are integers in units of 2⁻⁷⁰⁰,
of which every value is a multiple: weights are multiples of 2⁻¹⁴⁹, the slope of 2⁻³⁰, and at most
four layers and three leaky ReLUs follow each other. So shifts lose nothing; bounds are rounded up.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator, Sequence
from itertools import product
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

from augury.errors import InputError
from augury.files import named, open_input

UNIT, WEIGHT, SLOPE, SLOPE_POWER = 700, 149, 10737418, 30
TINY, LIMIT = 1 << UNIT - 126, 1 << UNIT + 127
MAX_BYTES, MAX_HIDDEN, MAX_POWER = 2**26, 512, 2000
UNREADABLE = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
ARITHMETICS = {"float32": (24, UNIT), "tf32": (22, 10), "bfloat16": (22, 8)}
"""Bounds on relative errors: 2^−first for an operation, 2^−second for an input of a product."""

OUTPUTS = {
    "flood": ("reached", "changed"),
    "nearest": ("",),
    "least": ("candidate",),
    "subtract": ("digit", "borrow"),
}
CELLS = {name: tuple(OUTPUTS) for name in ("ford-fulkerson", "assignment", "min-cost-flow")}
CELLS["reachability"] = "flood", "nearest"

Case = tuple[int, tuple[int, ...]]
"""Own bits and kinds of message; for `nearest`, the better one and the worse one."""
Rule = dict[Case, tuple[bool, ...]]
Weights = dict[str, list[list[int]]]
"""In units of 2⁻¹⁴⁹."""


SETS = [tuple(k for k in range(4) if mask >> k & 1) for mask in range(16)]
PAIRS = [(k, k + 1) for k in range(49, 63)] + [(63, k) for k in range(48) if k % 16 or k == 0]
RULES: dict[str, Rule] = {
    "flood": {
        (own, heard): (own == 1 or 3 in heard, own == 0 and 3 in heard)
        for own, heard in product((0, 1), SETS)
        if 2 * own in heard  # by the self loop
    },
    "nearest": {(0, pair): (True,) for pair in PAIRS},
    "least": {
        (own, heard): (own >= 2 and not (own == 3 and 2 in heard),)
        for own, heard in product(range(4), SETS)
        if own in heard  # a number also hears itself
    },
    "subtract": {  # digit − amount − borrow, for each value of the own bits
        (own, ()): (left % 2 == 1, left < 0)
        for own, left in enumerate((0, -1, -1, -2, 1, 0, 0, -1))
    },
}
"""Every case of each cell, and what is to be decided in it."""


class Fault(Exception):
    """Why a proof does not hold."""


class Replayed(NamedTuple):
    """What was found."""

    cases: int
    decisions: int
    holds: list[str]
    """The arithmetics in which the proof holds."""
    fault: str
    """Why it does not hold; "" if it does."""


def replay(path: str | Path) -> Replayed:
    """Check a proof object; refuse any other file."""
    with named(path), open_input(path) as file:
        data = file.read(MAX_BYTES + 1)
        try:
            told = json.loads(data) if len(data) <= MAX_BYTES else {}
            if (told["format"], told["format_version"]) != ("augury-proof", 1):
                raise ValueError
            return _replayed(told)
        except UNREADABLE as error:
            where = f", see {error}" if isinstance(error, KeyError) else ""
            raise InputError(f"this is not a proof object of format 1{where}") from None


def _replayed(told: dict[str, Any]) -> Replayed:
    weights = {name: _weight(own) for name, own in told["weights"].items()}
    rules = {cell: RULES[cell] for cell in CELLS[told["algorithm"]]}
    parts = {(part["cell"], part["output"]): _cases(part["cases"]) for part in told["parts"]}
    claimed = [name for name in ARITHMETICS if told["holds"][name] is True]
    counts = sum(map(len, rules.values())), sum(len(OUTPUTS[c]) * len(rules[c]) for c in rules)
    try:
        if _digest(told["weights"], weights) != told["digest"]:
            raise Fault("its weights are not those of the checkpoint that it names")
        wanted = sorted((cell, output) for cell in rules for output in OUTPUTS[cell])
        if sorted((part["cell"], part["output"]) for part in told["parts"]) != wanted:
            raise Fault("it does not have each part of its algorithm once")
        if "float32" not in claimed:
            raise Fault("it claims nothing of float32")
        for cell, rule in rules.items():
            own = _shaped(cell, weights, told["hidden"])
            stated = [parts[cell, output] for output in OUTPUTS[cell]]
            for arithmetic in claimed:
                _check(cell, Layers(own, *ARITHMETICS[arithmetic]), rule, stated, arithmetic)
    except Fault as fault:
        return Replayed(*counts, [], str(fault))
    return Replayed(*counts, claimed, "")


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(told: Any) -> int:
    """[whole, power] → units of 2⁻⁷⁰⁰."""
    whole, power = map(_integer, told)
    if not -UNIT <= power <= MAX_POWER:
        raise ValueError
    return whole << UNIT + power


def _weight(own: dict[str, Any]) -> list[list[int]]:
    """Return a matrix in units of 2⁻¹⁴⁹; refuse one that is not float32."""
    rows, power = own["whole"], _integer(own["power"])
    if not -WEIGHT <= power <= 127 or len({len(row) for row in rows}) != 1:
        raise ValueError
    scaled = [[_integer(whole) << power + WEIGHT for whole in row] for row in rows]
    for whole in (whole for row in scaled for whole in row):
        [value] = struct.unpack("<f", struct.pack("<f", math.ldexp(whole, -WEIGHT)))
        if math.ldexp(value, WEIGHT) != whole:
            raise ValueError
    return scaled


def _cases(rows: list[dict[str, Any]]) -> dict[Case, dict[str, Any]]:
    found = {(_integer(row["own"]), tuple(map(_integer, row["kinds"]))): row for row in rows}
    if len(found) != len(rows):
        raise ValueError
    return found


def _digest(told: dict[str, Any], weights: Weights) -> str:
    """Return the digest of a checkpoint with these weights."""
    digest = hashlib.sha256(b"{}")
    for name, rows in sorted(weights.items()):
        values = [math.ldexp(whole, -WEIGHT) for row in rows for whole in row]
        for place in told[name].get("minus_zeros", ()):
            values[_integer(place)] *= -1.0
        digest.update(f"{name} torch.float32 {len(rows), len(rows[0])}".encode())
        digest.update(struct.pack(f"<{len(values)}f", *values))
    return digest.hexdigest()[:12]


def _shaped(cell: str, weights: Weights, hidden: int) -> Weights:
    """Return the weights of a cell, if they have the shapes of its formula."""
    k = _integer(hidden)
    inner = {"message": (k, 3 * k), "join": (k, 2 * k)}
    shapes = {
        "flood": inner | {"own": (k, 1), "kind": (2 * k, 2), "head": (2, 2 * k)},
        "least": inner | {"own": (k, 2), "kind": (2 * k, 2), "head": (1, 2 * k)},
        "nearest": {"kind": (3 * k, 6), "hidden": (k, 3 * k), "score": (1, k)},
        "subtract": {"own": (k, 3), "head": (2, k)},
    }[cell]
    biases = {f"{name}.bias": (1, shapes[name][0]) for name in BIASED if name in shapes}
    shapes = {f"{name}.weight": shape for name, shape in shapes.items()} | biases
    own = {name: weights[f"{cell}.{name}"] for name in shapes}
    found = {name: (len(rows), len(rows[0])) for name, rows in own.items()}
    if found != shapes or not 1 <= k <= MAX_HIDDEN:
        raise ValueError
    return own


BIASED = "own", "kind", "head", "score"


class Row(NamedTuple):
    """Numbers, a bound on the error of each, and one on every partial sum so far."""

    values: list[int]
    errors: list[int]
    largest: int


def _beside(one: Row, other: Row) -> Row:
    largest = max(one.largest, other.largest)
    return Row(one.values + other.values, one.errors + other.errors, largest)


def _up(value: int, power: int) -> int:
    return -(-value >> power)


class Layers(NamedTuple):
    """The weights of a cell, and an arithmetic."""

    weights: Weights
    unit: int
    input: int

    def apply(self, name: str, row: Row) -> Row:
        """Apply a linear layer."""
        columns = self.weights[f"{name}.weight"]
        [bias] = self.weights.get(f"{name}.bias", [[0] * len(columns)])
        terms = len(row.values) + (name in BIASED)
        sizes = [abs(own) + error for own, error in zip(row.values, row.errors, strict=True)]
        sums = [self._sum(row, sizes, *own, terms) for own in zip(columns, bias, strict=True)]
        values, errors, largest = map(list, zip(*sums, strict=True))
        return Row(values, errors, max(row.largest, *largest))

    def _sum(
        self, row: Row, sizes: list[int], column: list[int], bias: int, terms: int
    ) -> tuple[int, int, int]:
        """Return a sum, its error and its largest partial sum."""
        value = (sum(map(mul, row.values, column)) >> WEIGHT) + (bias << UNIT - WEIGHT)
        column, small = list(map(abs, column)), abs(bias) << UNIT - WEIGHT
        exact_inputs = _up(sum(map(mul, sizes, column)), WEIGHT)
        read = _up(exact_inputs * ((1 << self.input) + 1) ** 2, 2 * self.input)
        lost = sum(s * w for s, w in zip(sizes, column, strict=True) if w < 1 << WEIGHT - 126)
        error = _up(sum(map(mul, row.errors, column)), WEIGHT) + read - exact_inputs
        error += _up(lost, WEIGHT) + (small if small < TINY else 0)
        n, total = terms + 2, read + small
        rounding = _up(total * ((n << self.unit) + 2 * n * n), 2 * self.unit) + 16 * terms * TINY
        return value, error + rounding, total + rounding

    def leaky(self, row: Row) -> Row:
        """Apply the leaky ReLU."""
        values = [own if own > 0 else own * SLOPE >> SLOPE_POWER for own in row.values]
        errors = [
            error + -(-_up(2 * (abs(own) + error), self.unit) // 100) + 4 * TINY
            for own, error in zip(row.values, row.errors, strict=True)
        ]
        return Row(values, errors, row.largest)

    def encoded(self, name: str, number: int) -> Row:
        """Encode the bits of a number, the highest first."""
        width = len(self.weights[f"{name}.weight"][0])
        bits = [(number >> place & 1) << UNIT for place in range(width - 1, -1, -1)]
        return self.leaky(self.apply(name, Row(bits, [0] * width, 0)))

    def points(self, cases: Sequence[Case]) -> Iterator[Row]:
        """Compute `subtract`."""
        for own, _ in cases:
            yield self.apply("head", self.encoded("own", own))

    def sets(self, cases: Sequence[Case]) -> Iterator[Row]:
        """Compute `flood` or `least`."""
        owns = {own: self.encoded("own", own) for own, _ in cases}
        kinds = [self.encoded("kind", kind) for kind in range(4)]
        sent = {o: [self.apply("message", _beside(owns[o], kind)) for kind in kinds] for o in owns}
        for own, heard in cases:
            values, errors, largest = zip(*(sent[own][kind] for kind in heard), strict=True)
            loudest, worst = ([*map(max, zip(*own, strict=True))] for own in (values, errors))
            received = self.leaky(Row(loudest, worst, max(largest)))
            joined = self.leaky(self.apply("join", _beside(owns[own], received)))
            yield self.apply("head", _beside(owns[own], joined))

    def choices(self, cases: Sequence[Case]) -> Iterator[Row]:
        """Compute `nearest`."""
        kinds = {kind for _, pair in cases for kind in pair}
        hidden = {kind: self.apply("hidden", self.encoded("kind", kind)) for kind in kinds}
        scores = {kind: self.apply("score", self.leaky(row)) for kind, row in hidden.items()}
        for _, (better, worse) in cases:
            ([score], [error], largest), ([other], [more], most) = scores[better], scores[worse]
            yield Row([score - other], [error + more], max(largest, most))


def _check(
    cell: str, layers: Layers, rule: Rule, stated: list[dict[Case, dict[str, Any]]], name: str
) -> None:
    """Raise a Fault unless every decision is stated, right and safe."""
    formula = {"nearest": layers.choices, "subtract": layers.points}.get(cell, layers.sets)
    if any(part.keys() != rule.keys() for part in stated):
        raise Fault(f"{cell} does not have every case once")
    for (case, expected), said in zip(rule.items(), formula(list(rule)), strict=True):
        for place, bit in enumerate(expected):
            told, where = stated[place][case], f"{cell}, own bits {case[0]}, kinds {[*case[1]]}"
            margin = said.values[place] if bit else -said.values[place]
            if told["decision"] is not bit:
                raise Fault(f"{where}: this decision is against the rule")
            if margin != _number(told["margin"]):
                raise Fault(f"{where}: the margin is another one")
            if said.errors[place] > _number(told["bound"][name]):
                raise Fault(f"{where}: the bound is too low for {name}")
            if margin <= said.errors[place] or said.largest >= LIMIT:
                raise Fault(f"{where}: this is not safe in {name}")
