"""Three forms of one reduction agree with each other and with PyTorch Geometric's aggregations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.nn import aggr

from augury.classical.batch import Batch
from augury.classical.network import FlowNetwork
from augury.neural.wiring import Wiring
from augury.paper import reduce
from augury.paper.reduce import KINDS, best_links, gather_senders, pad_incoming, reduce_links
from graphs import networks
from tiny import UNEQUAL, bipartite

WIRING = Wiring.of(Batch.of([*UNEQUAL, bipartite(5)]))

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def inputs(wiring: Wiring = WIRING, *leading: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return values without ties, so that the gradient of a maximum is unique."""
    generator = torch.Generator().manual_seed(seed)
    sent = torch.randn(*leading, wiring.num_nodes, 5, generator=generator)
    return sent, torch.randn(*leading, wiring.num_links, 5, generator=generator)


def compiled(sent: Tensor, along: Tensor, wiring: Wiring) -> list[Tensor]:
    return reduce_links(sent, along, wiring, KINDS)


def in_tables(sent: Tensor, along: Tensor, wiring: Wiring) -> list[Tensor]:
    # A leading axis is what an ensemble has; only tables handle it.
    return [found[0] for found in reduce_links(sent[None], along[None], wiring, KINDS)]


def in_segments(sent: Tensor, along: Tensor, wiring: Wiring) -> list[Tensor]:
    return reduce._in_segments(sent, along, wiring, KINDS)


def by_pyg(sent: Tensor, along: Tensor, wiring: Wiring) -> list[Tensor]:
    values = sent[wiring.sender] + along
    total = aggr.SumAggregation()
    return [
        aggr.MaxAggregation()(values, wiring.receiver, dim_size=wiring.num_nodes),
        aggr.MinAggregation()(values, wiring.receiver, dim_size=wiring.num_nodes),
        total(values, wiring.receiver, dim_size=wiring.num_nodes),
        total(values.square(), wiring.receiver, dim_size=wiring.num_nodes),
    ]


Form = Callable[[Tensor, Tensor, Wiring], list[Tensor]]
FORMS: list[Form] = [compiled, in_tables, in_segments]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_values_of_pyg(form: Form) -> None:
    for got, expected in zip(form(*inputs(), WIRING), by_pyg(*inputs(), WIRING), strict=True):
        torch.testing.assert_close(got, expected)


def with_gradients(sent: Tensor, along: Tensor, wiring: Wiring) -> list[Tensor]:
    return reduce_links(sent, along, wiring, KINDS)


def test_the_gradients_are_those_of_pyg() -> None:
    results: list[list[Tensor]] = []
    for function in (with_gradients, by_pyg):
        sent, along = (tensor.requires_grad_() for tensor in inputs())
        found = function(sent, along, WIRING)
        weight = torch.randn(
            len(KINDS), *found[0].shape, generator=torch.Generator().manual_seed(1)
        )
        (torch.stack(found) * weight).sum().backward()
        assert sent.grad is not None and along.grad is not None
        results.append([*found, sent.grad, along.grad])
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected)


@given(st.lists(networks(), min_size=1, max_size=3), st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_all_forms_agree_on_any_graphs(alone: list[FlowNetwork], seed: int) -> None:
    wiring = Wiring.of(Batch.of(alone))
    expected = torch.stack(by_pyg(*inputs(wiring, seed=seed), wiring))
    for form in FORMS:
        found = torch.stack(form(*inputs(wiring, seed=seed), wiring))
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kinds", [("max",), ("sum", "min"), ("square", "max"), KINDS[::-1]])
def test_only_what_is_asked_for_is_returned_in_that_order(kinds: tuple[str, ...]) -> None:
    everything: dict[str, Tensor] = dict(zip(KINDS, compiled(*inputs(), WIRING), strict=True))
    for kind, values in zip(kinds, reduce_links(*inputs(), WIRING, kinds), strict=True):
        assert torch.equal(values, everything[kind])
    sent, along = (tensor.requires_grad_() for tensor in inputs())
    found = reduce_links(sent, along, WIRING, kinds)
    found[0].sum().backward()  # what was returned but not used has no gradient to give
    assert sent.grad is not None and sent.grad.abs().sum() > 0


def test_an_ensemble_is_reduced_member_by_member() -> None:
    sent, along = inputs(WIRING, 3)
    together = reduce_links(sent, along, WIRING, KINDS)
    for member in range(3):
        alone = reduce_links(sent[member], along[member], WIRING, KINDS)
        for one, other in zip(together, alone, strict=True):
            torch.testing.assert_close(one[member], other)


def test_senders_are_gathered_and_their_gradients_summed() -> None:
    sent, along = inputs()
    sent.requires_grad_()
    (gather_senders(sent, WIRING) * along).sum().backward()
    expected = torch.zeros_like(sent).index_add(0, WIRING.sender, along)
    assert sent.grad is not None
    torch.testing.assert_close(sent.grad, expected)


def test_a_table_is_filled_up_and_the_filling_has_no_gradient() -> None:
    _, along = inputs()
    padded = pad_incoming(along.requires_grad_(), WIRING, -3.0)
    assert (padded[WIRING.tables.incoming == WIRING.num_links] == -3).all()
    padded.sum().backward()
    assert along.grad is not None and (along.grad == 1).all()


@given(st.lists(networks(), min_size=1, max_size=3), st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_the_best_link_is_the_first_of_the_highest(alone: list[FlowNetwork], seed: int) -> None:
    wiring = Wiring.of(Batch.of(alone))
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(3, (wiring.num_links,), generator=generator).float()  # many ties
    column = pad_incoming(scores[:, None], wiring, -torch.inf)[..., 0].argmax(-1)
    assert torch.equal(best_links(scores, wiring), wiring.start[:-1] + column)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("form", [in_tables, in_segments, by_pyg])
def test_every_form_has_the_same_values_on_a_gpu(form: Form) -> None:
    sent, along = inputs()
    expected = form(sent, along, WIRING)
    found = form(sent.cuda(), along.cuda(), WIRING.to("cuda"))
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got.cpu(), wanted)
