from __future__ import annotations

import copy
import re

import pytest
import torch

from augury.cells.coq import rendered
from augury.errors import InputError
from augury.models.checkpoint import shipped_network


def numbers(text: str, name: str) -> list[int]:
    """Return the whole numbers of a definition, without the zeros and ones of names."""
    [found] = re.findall(rf"Definition {name}_weights : \w+ Z := \w+ Z\n(.*?)\.\n", text, re.DOTALL)
    return [int(number) for number in re.findall(r"-?\d+", found)]


@pytest.fixture(scope="module")
def text() -> str:
    return rendered(shipped_network(), "a test")


@pytest.mark.parametrize("name", ["flood", "nearest", "least", "subtract"])
def test_every_weight_is_written_exactly(text: str, name: str) -> None:
    own = [w for key, w in shipped_network().state_dict().items() if key.startswith(f"{name}.")]
    expected = torch.cat([weight.reshape(-1) for weight in own]).double() * 2**41
    assert sorted(numbers(text, name)) == sorted(map(int, expected.tolist()))


def test_columns_of_a_message_are_those_of_hearer_and_kind(text: str) -> None:
    weight = (shipped_network()["least"].message.weight.double() * 2**41).tolist()
    rows = [[int(number) for number in row] for row in weight]
    for part in (rows[3][:32], rows[3][32:]):
        assert f"[{'; '.join(map(str, part))}]" in text


def test_a_weight_that_is_too_fine_is_refused() -> None:
    network = copy.deepcopy(shipped_network())
    network["flood"].head.bias.data[0, 1] = 1e-30
    with pytest.raises(InputError, match=r"'flood.head.bias' has 1.*e-30, which is no multiple"):
        rendered(network, "a test")


def test_the_table_is_the_networks_own() -> None:
    network = copy.deepcopy(shipped_network())
    network["subtract"].head.bias.data += 1000.0
    assert "[[[1; 1]]; [[1; 1]];" in rendered(network, "a test")
    assert "[[[0; 0]]; [[1; 1]];" in rendered(shipped_network(), "a test")
