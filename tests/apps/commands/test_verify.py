"""`augury verify`: a table and 0 for a proof, the wrong case and 1, one sentence and 2."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import nn

from augury import __version__
from augury.cells.network import compiled
from augury.config import Config, preset, with_settings
from augury.models.checkpoint import save
from command import Augury
from proven import DISCRETE, proven, untrained
from tiny import neural, tiny_config

COUNTS = {
    "flood reached": 16,
    "flood changed": 16,
    "nearest": 60,
    "least candidate": 32,
    "subtract digit": 8,
    "subtract borrow": 8,
}


def written(name: str, network: nn.Module, config: Config = DISCRETE) -> str:
    save(Path(name), network.state_dict(), config, {"seed": 0})
    return name


def test_a_proven_network_gets_a_table_and_exit_code_0(augury: Augury) -> None:
    code, out, err = augury("verify", written("good.safetensors", proven()))
    assert (code, err) == (0, "")
    head, *rows, table, conclusion = out.splitlines()
    assert table == "table: 140 decisions, equal to the rules"
    assert head.split() == ["cell", "cases", "right", "margin", "rounding", "seconds"]
    assert [row.split()[:-3] for row in rows] == [
        [*name.split(), str(cases), str(cases)] for name, cases in COUNTS.items()
    ]
    assert all(float(row.split()[-3]) > float(row.split()[-2]) > 0 for row in rows)
    assert conclusion.startswith("Proven in all 140 cases: ")


def test_json_holds_the_verdict_and_every_part(augury: Augury) -> None:
    code, out, err = augury("verify", written("good.safetensors", proven()), "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["proven"] is True
    assert (told["model"], told["version"], told["bits"]) == ("good.safetensors", __version__, 63)
    assert {name: part["cases"] for name, part in told["parts"].items()} == COUNTS
    for part in told["parts"].values():
        assert part["right"] == part["cases"] and part["margin"] > part["bound"] > 0
    assert told["counterexample"] == ""


def test_a_wrong_network_is_shown_its_case_and_a_run_with_exit_code_1(augury: Augury) -> None:
    model = written("bad.safetensors", untrained())
    code, out, err = augury("verify", model)
    assert (code, err) == (1, "")
    assert "\nNot proven: " in out
    assert "\nwrong in flood reached: reached=" in out
    assert "\nseen in a run from 0 to " in out
    code, out, err = augury("verify", model, "--json")
    told = json.loads(out)
    assert (code, err, told["proven"]) == (1, "", False)
    assert told["counterexample"].startswith("from 0 to ")
    wrong = [part for part in told["parts"].values() if part["right"] < part["cases"]]
    assert wrong and all(part["wrong"] for part in wrong)


def test_what_is_no_discrete_network_is_one_sentence_and_exit_code_2(augury: Augury) -> None:
    paper = written("paper.safetensors", neural(), tiny_config("paper-mpnn", "network.heads=2"))
    Path("text.safetensors").write_text("this is no checkpoint")
    cases = {
        paper: "only a discrete network can be verified, and this is paper-mpnn",
        "nowhere.safetensors": "nowhere.safetensors: there is no such checkpoint",
        "text.safetensors": "text.safetensors: this is not a whole safetensors file",
    }
    for model, message in cases.items():
        for option in ([], ["--json"]):
            code, out, err = augury("verify", model, *option)
            assert (code, out) == (2, "")
            assert err.startswith("augury: ") and err.count("\n") == 1
            assert message in err


def test_the_range_of_the_checkpoint_is_what_is_proven(augury: Augury) -> None:
    config = with_settings(preset("discrete"), ["network.bits=8"])
    out = augury("verify", written("narrow.safetensors", proven(), config)).out
    assert "at most 2^8 − 1" in out


def test_table_and_weights_are_exported_exactly(augury: Augury) -> None:
    network = proven()
    model = written("good.safetensors", network)
    assert augury("verify", model, "--export", "all.json").code == 0
    told = json.loads(Path("all.json").read_text())
    assert told["table"] == compiled(network).to_dict()["table"]
    state = {name: torch.tensor(values) for name, values in told["weights"].items()}
    assert all(torch.equal(state[name], weight) for name, weight in network.state_dict().items())
    done = augury("verify", model, "--export", model)
    assert done.code == 2 and "--export names good.safetensors, which is read" in done.err


def test_an_algorithm_needs_its_own_cells_alone(augury: Augury) -> None:
    done = augury("verify", "--algorithm", "reachability")
    assert done.code == 0 and "Proven in all 92 cases: on every directed graph" in done.out
    done = augury("verify", "--algorithm", "flood")
    assert done.code == 2 and "'flood' is not one of the algorithms ford-fulkerson" in done.err
