"""A stack of dense graphs and their matchings become covers, all graphs at once.

What `certificate` does for one graph by searching its arcs, this does for many small ones with
machine words: a row's columns are the bits of one or more words, and a step of all graphs is an OR.
A cover counts as a proof only after three checks that do not depend on how it was found: the pairs
are edges and share no node, every edge has an end in the cover, and the cover is as large as the
matching. No cover is smaller than any matching, so both are then optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, IntArray, Numbers, WideArray
from augury.classical.certificate import Certificate, Cover, certify_mates
from augury.classical.graph import BipartiteGraph, pairs_of

WORD = 64
Words = npt.NDArray[np.uint64]

BLOCK_BYTES = 2**21
"""Dense bytes of the graphs processed together, so that they stay in the cache."""


class Covers(NamedTuple):
    """What is known about each graph's matching."""

    rows: Words
    """(graph, left, word): the graphs; column v is bit v % 64 of word v // 64."""
    sizes: WideArray
    """(graph,): edges of the matching."""
    is_proven: BoolArray
    """(graph,): whether the matching is legal and the cover is valid and of the same size."""
    in_left: BoolArray
    """(graph, left): whether a row is in the cover; meaningless where nothing is proven."""
    in_right: BoolArray
    """(graph, right)"""

    mates: IntArray
    """(graph, left): the column of each row, −1 for none."""

    @classmethod
    def joined(cls, parts: Sequence[Covers]) -> Covers:
        """Concatenate several stacks."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))

    noun = BipartiteGraph.noun

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `proofs.Proofs`."""
        return self.noun, list(pairs_of(self.mates[number]))

    def graph(self, number: int) -> BipartiteGraph:
        """Return one of the graphs."""
        return BipartiteGraph.from_dense(_bits(self.rows[number], self.in_right.shape[1]))

    def certificate(self, number: int) -> Certificate:
        """Return what is known about one of them; if it is not proven here, search again."""
        sides = self.in_left[number], self.in_right[number]
        return _certificate(self, number, sides)


@dataclass(frozen=True, eq=False)
class PackedCovers:
    """The same in bits, found and checked elsewhere, and fetched from there on request."""

    rows: Sequence[Any]
    """(graph, left, octet): the graphs, in parts of equal length, except the last."""
    num_right: int
    given: tuple[Any, Any, Any]
    """Mates, sizes, and which are proven: as in `Covers`, of any integer type."""
    covers: tuple[Any, Any]
    """(graph, octet): bits of the rows and of the columns in the cover."""
    fetch: Callable[[Any], npt.NDArray[Any]]
    """Returns any of these as an array."""

    @property
    def mates(self) -> Numbers:
        """See `Covers`."""
        return self._mates

    @property
    def sizes(self) -> Numbers:
        """See `Covers`."""
        return self._sizes

    @property
    def is_proven(self) -> BoolArray:
        """See `Covers`."""
        return self._is_proven

    @cached_property
    def _mates(self) -> Numbers:
        return self.fetch(self.given[0])

    @cached_property
    def _sizes(self) -> Numbers:
        return self.fetch(self.given[1])

    @cached_property
    def _is_proven(self) -> BoolArray:
        return self.fetch(self.given[2])

    @cached_property
    def _covers(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return self.fetch(self.covers[0]), self.fetch(self.covers[1])

    noun = BipartiteGraph.noun

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `proofs.Proofs`."""
        return self.noun, list(pairs_of(self.mates[number]))

    def graph(self, number: int) -> BipartiteGraph:
        """Return one of the graphs."""
        part, place = divmod(number, len(self.rows[0]))
        octets = self.fetch(self.rows[part][place])
        return BipartiteGraph.from_dense(_bits(octets, self.num_right))

    def certificate(self, number: int) -> Certificate:
        """See `Covers`."""
        counts = self.mates.shape[1], self.num_right
        own = zip(self._covers, counts, strict=True)
        return _certificate(self, number, [_bits(side[number], count) for side, count in own])

    def __reduce__(self) -> Any:
        rows = [self.fetch(part) for part in self.rows]
        given = self.mates, self.sizes, self.is_proven
        return PackedCovers, (rows, self.num_right, given, self._covers, np.asarray)


def _certificate(
    covers: Covers | PackedCovers, number: int, sides: Sequence[BoolArray]
) -> Certificate:
    if not covers.is_proven[number]:
        return certify_mates(covers.graph(number), covers.mates[number])
    cover = Cover(*(tuple(np.flatnonzero(side).tolist()) for side in sides))
    size = int(covers.sizes[number])
    return Certificate(size, "", size, cover)


def covers_of(adjacency: npt.NDArray[np.uint8], mates: IntArray) -> Covers:
    """Find and check a cover for the matching of each graph, (graph, left, right) bytes, 0 or 1.

    `mates`, (graph, left), is the column matched to each row, −1 for none.

    >>> covers = covers_of(np.array([[[1, 1], [0, 1]], [[1, 0], [1, 0]]], np.uint8),
    ...                    np.array([[0, 1], [0, -1]], np.int32))
    >>> covers.is_proven.tolist(), covers.in_left.tolist(), covers.in_right.tolist()
    ([True, True], [[True, True], [False, False]], [[False, False], [True, False]])
    """
    count, num_left, num_right = adjacency.shape
    many = max(1, BLOCK_BYTES // max(num_left * num_right, 1))
    blocks = [
        _block(adjacency[first : first + many], mates[first : first + many])
        for first in range(0, max(count, 1), many)
    ]
    return Covers.joined(blocks)


def _block(adjacency: npt.NDArray[np.uint8], mates: IntArray) -> Covers:
    num_graphs, num_left, num_right = adjacency.shape
    rows = _words(adjacency)
    is_matched = mates >= 0
    sizes = is_matched.sum(-1)
    in_left, in_right = is_matched.copy(), np.zeros((num_graphs, num_right), np.bool_)
    is_proven = _are_legal(adjacency, mates, is_matched, sizes)
    # If every row has a mate, the rows are a cover; an illegal answer is not searched.
    open_ = np.flatnonzero(is_proven & (sizes < num_left))
    if len(open_):
        reached, hit = _reached(rows[open_], mates[open_])
        in_left[open_] = ~reached
        in_right[open_] = _bits(hit, num_right)
        missed = (rows[open_] & ~hit[:, None] & _all_or_nothing(reached)).any((1, 2))
        num_cover = in_left[open_].sum(-1) + in_right[open_].sum(-1)
        is_proven[open_] = ~missed & (num_cover == sizes[open_])
    return Covers(rows, sizes, is_proven, in_left, in_right, mates)


def _are_legal(
    adjacency: npt.NDArray[np.uint8], mates: IntArray, is_matched: BoolArray, sizes: WideArray
) -> BoolArray:
    """Tell for each graph whether all pairs are edges and no two share a column."""
    num_graphs, num_left, num_right = adjacency.shape
    if not num_right:
        return sizes == 0
    row = np.flatnonzero(is_matched)
    column = mates.reshape(-1)[row].astype(np.int64)
    graph = row // num_left
    is_within = column < num_right
    column = np.minimum(column, num_right - 1)
    is_edge = is_within & (adjacency.reshape(-1)[row * num_right + column] > 0)
    is_used = np.zeros(num_graphs * num_right, np.bool_)
    is_used[graph * num_right + column] = True
    is_legal = is_used.reshape(num_graphs, num_right).sum(-1) == sizes
    is_legal[graph[~is_edge]] = False
    return is_legal


def _reached(rows: Words, mates: IntArray) -> tuple[BoolArray, Words]:
    """Return the rows and, as bits, the columns on alternating paths from the free rows."""
    reached = mates < 0
    hit = np.zeros((len(rows), rows.shape[2]), np.uint64)
    place, bit = np.maximum(mates, 0) // WORD, (np.maximum(mates, 0) % WORD).astype(np.uint64)
    going = np.arange(len(rows))
    while len(going):
        some = reached[going]
        found = np.bitwise_or.reduce(rows[going] & _all_or_nothing(some), axis=1)
        hit[going] = found
        word = found if rows.shape[2] == 1 else np.take_along_axis(found, place[going], axis=1)
        after = some | ((word >> bit[going] & np.uint64(1)) > 0)
        reached[going] = after
        going = going[(after != some).any(-1)]
    return reached, hit


def _all_or_nothing(bits: BoolArray) -> Words:
    """(graph, left) bits → (graph, left, 1) words with all bits set, or none."""
    return (np.uint64(0) - bits.astype(np.uint64))[..., None]


def _words(adjacency: npt.NDArray[np.uint8]) -> Words:
    """(…, right) bytes of 0 and 1 → (…, word)."""
    num_words = max(1, -(-adjacency.shape[-1] // WORD))
    packed = np.packbits(adjacency, axis=-1, bitorder="little")
    if packed.shape[-1] == 8 * num_words:
        return packed.view("<u8")
    filled = np.zeros((*packed.shape[:-1], 8 * num_words), np.uint8)
    filled[..., : packed.shape[-1]] = packed
    return filled.view("<u8")


def _bits(words: npt.NDArray[Any], count: int) -> Any:
    """(…, word or octet) → (…, count) of bool."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").view(np.bool_)
