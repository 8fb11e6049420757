"""A declaration of a few lines becomes a `Cell`: a local rule, its cases and its truth.

A cell decides a few output bits from its own bits and from the messages that reach it. How these
join is what keeps the number of cases finite:

    none     there are no messages: a case is a value of the own bits
    set      which kinds of message arrive, not how many: a case is (own, set of kinds)
    choice   the best message is chosen: a case is a pair of kinds of which one must win

A *kind* is a value of the message bits, as a number: the first field holds the highest bits. A set
of kinds is a number too, with bit k for kind k. With `set` a cell always hears itself, and only
sets that hold that kind occur. `rule` is the truth, and is stated nowhere else.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Entries = npt.NDArray[np.int8]


class Field(NamedTuple):
    """A named group of bits."""

    name: str
    bits: int


class Case(NamedTuple):
    """One thing to decide."""

    own: int
    """The own bits, as a number; 0 where there are none."""
    kinds: tuple[int, ...]
    """What is heard; for a choice the two that are compared, the better one first."""
    expected: tuple[bool, ...]
    """The output bits; for a choice the single answer "the first is better"."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A local rule.

    >>> both = Cell(name="both", own="left right", output="and", rule=lambda own: (all(own),))
    >>> [case.expected for case in both.cases]
    [(False,), (False,), (False,), (True,)]
    """

    name: str
    own: str = ""
    """The fields of the own bits, such as "candidate digit"; a field of four bits is "weight:4"."""
    message: str = ""
    """The fields of a message's bits."""
    joins: Literal["none", "set", "choice"] = "none"
    output: str = ""
    """The names of the output bits; a choice has none."""
    rule: Callable[..., Any]
    """none: own → output bits. set: own and the frozenset of kinds → output bits.
    choice: a kind → its rank, the highest is best, or None if it is never to be chosen.
    Own bits and kinds are named tuples of the fields' values.
    """
    itself: Callable[[Any], tuple[int, ...]] | None = None
    """set: the kind of the message that a cell with these own bits hears from itself."""
    occurs: Callable[[Any], bool] = lambda kind: True
    """choice: whether such a message occurs at all."""

    @cached_property
    def own_fields(self) -> tuple[Field, ...]:
        """The fields of the own bits."""
        return _fields(self.own)

    @cached_property
    def message_fields(self) -> tuple[Field, ...]:
        """The fields of a message's bits."""
        return _fields(self.message)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the output bits."""
        return tuple(self.output.split())

    @cached_property
    def owns(self) -> list[Any]:
        """Every value of the own bits."""
        return _values("Own", self.own_fields)

    @cached_property
    def kinds(self) -> list[Any]:
        """Every kind of message, `kinds[k]` being number k."""
        return _values("Kind", self.message_fields)

    @cached_property
    def heard_alone(self) -> list[int]:
        """The set that a cell hears if no other speaks, by its own bits."""
        assert self.itself is not None
        return [1 << self.kinds.index(tuple(self.itself(own))) for own in self.owns]

    @cached_property
    def cases(self) -> list[Case]:
        """Every case, each once."""
        return list(_ENUMERATED[self.joins](self))

    @cached_property
    def truth(self) -> Entries:
        """The rule as a table: see `shape`; −1 where a case does not occur.

        For a choice: the rank of each kind, 0 for those that are never to be chosen.
        """
        if self.joins == "choice":
            ranks = _ranked(self)
            return np.array([ranks.get(k, -1) for k in range(len(self.kinds))], np.int8)
        truth = np.full(self.shape, -1, np.int8)
        for case in self.cases:
            truth[case.own, mask_of(case.kinds)] = case.expected
        return truth

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the table: (own, set, output), a single set where nothing is heard; or (kind,)."""
        if self.joins == "choice":
            return (len(self.kinds),)
        sets = 2 ** len(self.kinds) if self.joins == "set" else 1
        return len(self.owns), sets, len(self.outputs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Cell:
        return self  # a declaration never changes, so copies of a network share it

    def words(self, case: Case) -> str:
        """Describe a case for people to read."""
        kinds = [_shown(self.kinds[kind]) for kind in case.kinds]
        if self.joins == "choice":
            return f"{kinds[0]} against {kinds[1]}"
        own = _shown(self.owns[case.own])
        return own if self.joins == "none" else f"{own}, hearing {' and '.join(kinds)}"


def mask_of(kinds: tuple[int, ...]) -> int:
    """Return the number of a set of kinds."""
    return sum(1 << kind for kind in kinds)


def kinds_of(mask: int) -> tuple[int, ...]:
    """Return the kinds of a set, in ascending order."""
    return tuple(kind for kind in range(mask.bit_length()) if mask >> kind & 1)


def _fields(text: str) -> tuple[Field, ...]:
    parts = (part.partition(":") for part in text.split())
    return tuple(Field(name, int(bits or 1)) for name, _, bits in parts)


def _values(name: str, fields: tuple[Field, ...]) -> list[Any]:
    """Return every value of the fields as a named tuple, in the order of its number."""
    kind = namedtuple(name, [field.name for field in fields])
    return [kind(*values) for values in product(*(range(2**field.bits) for field in fields))]


def _shown(values: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in values._asdict().items())


def _points(cell: Cell) -> Iterator[Case]:
    for number, own in enumerate(cell.owns):
        yield Case(number, (), tuple(map(bool, cell.rule(own))))


def _sets(cell: Cell) -> Iterator[Case]:
    for number, own in enumerate(cell.owns):
        for mask in range(2 ** len(cell.kinds)):
            if mask & cell.heard_alone[number]:
                kinds = kinds_of(mask)
                heard = frozenset(cell.kinds[kind] for kind in kinds)
                yield Case(number, kinds, tuple(map(bool, cell.rule(own, heard))))


def _pairs(cell: Cell) -> Iterator[Case]:
    """Compare every kind with those of the next lower rank: the order follows from these."""
    ranks = _ranked(cell)
    for better, worse in product(ranks, repeat=2):
        if ranks[better] == ranks[worse] + 1:
            yield Case(0, (better, worse), (True,))


def _ranked(cell: Cell) -> dict[int, int]:
    """Return the place of every kind that occurs: 0 if it is never to be chosen, and so on up."""
    ranks = {k: cell.rule(kind) for k, kind in enumerate(cell.kinds) if cell.occurs(kind)}
    order = sorted({rank for rank in ranks.values() if rank is not None})
    return {k: 0 if rank is None else 1 + order.index(rank) for k, rank in ranks.items()}


_ENUMERATED = {"none": _points, "set": _sets, "choice": _pairs}
