"""Proofs of a whole stack: nothing is called proven that one graph's certificate would refuse."""

from __future__ import annotations

import numpy as np
import pytest

from augury import InputError
from augury.classical import priced as module
from augury.classical.priced import NO_EDGE, Stack, priced
from augury.engines.least_cost import assigned

STACK = np.random.default_rng(0).integers(-20, 20, (12, 4, 5))


def test_what_is_proven_here_is_proven_in_full() -> None:
    stack = Stack.of(STACK, maximise=False)
    proofs = priced(stack, *assigned(stack.amount))
    assert proofs.is_proven.all()
    for number in range(len(STACK)):
        certificate = proofs.certificate(number)
        assert certificate.is_optimal and not certificate.remark
        assert certificate.cost == proofs.totals[number] and certificate.size == 4


def test_a_wrong_answer_or_price_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack.of(STACK, maximise=False)
    mates, price = assigned(stack.amount)
    rng = np.random.default_rng(1)
    for _ in range(200):
        wrong_mates, wrong_price = mates.copy(), price.copy()
        graph = int(rng.integers(len(STACK)))
        if rng.random() < 0.5:
            wrong_mates[graph, rng.integers(4)] = rng.integers(-1, 7)
        else:
            wrong_price[graph, rng.integers(price.shape[1])] += int(rng.choice([-3, 1, 2**61]))
        proofs = priced(stack, wrong_mates, wrong_price)
        assert np.delete(proofs.is_proven, graph).all()
        if proofs.is_proven[graph]:
            own = proofs.certificate(graph)
            assert own.is_optimal and not own.remark
    monkeypatch.setattr(module, "BLOCK_CELLS", 50)
    assert priced(stack, mates, price).is_proven.all()


def test_a_column_that_is_taken_twice_proves_nothing() -> None:
    stack = Stack.of(np.zeros((2, 2, 2), np.int64), maximise=False)
    mates, price = np.array([[0, 0], [0, 1]]), np.zeros((2, 6), np.int64)
    assert priced(stack, mates, price).is_proven.tolist() == [False, True]


def test_missing_edges_and_sense() -> None:
    matrices = np.array([[[1.5, np.inf], [2.0, 3.0]]])
    stack = Stack.of(matrices, maximise=False)
    assert stack.amount.tolist() == [[[15, NO_EDGE], [20, 30]]] and not stack.is_complete
    assert stack.graph(0).num_edges == 3
    most = Stack.of(-matrices, maximise=True)
    assert most.amount.tolist() == stack.amount.tolist()
    assert most.graph(0).costs.amount.tolist() == [-15, -20, -30]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="the cost at 0, 0, 1 is inf"):
        Stack.of(matrices, maximise=True)
