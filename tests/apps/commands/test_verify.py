"""`augury verify`: a table and 0 for a proof, the wrong case and 1, one sentence and 2."""

from __future__ import annotations

import json
import re
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
    head, *rows, table, arithmetic, conclusion = out.splitlines()
    assert table == "table: 140 decisions, equal to the rules"
    assert arithmetic == "arithmetic: the proof holds in float32, tf32, not in bfloat16"
    assert re.split("  +", head) == [
        *("cell", "cases", "right", "proven", "margin", "rounding", "largest sum"),
        *("tf32", "bfloat16", "seconds"),
    ]
    assert [row.split()[:-6] for row in rows] == [
        [*name.split(), *[str(cases)] * 3] for name, cases in COUNTS.items()
    ]
    for row in rows:
        margin, rounding, largest = map(float, row.split()[-6:-3])
        assert largest > margin > rounding > 0
    assert conclusion.startswith("Proven in all 116 cases, 140 decisions: ")


def test_json_holds_the_verdict_and_every_part(augury: Augury) -> None:
    code, out, err = augury("verify", written("good.safetensors", proven()), "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["proven"] is True
    assert (told["model"], told["version"], told["bits"]) == ("good.safetensors", __version__, 63)
    assert {name: part["cases"] for name, part in told["parts"].items()} == COUNTS
    for part in told["parts"].values():
        assert part["right"] == part["proven"] == part["cases"] and part["verdict"] == "proven"
        assert part["largest"] > part["margin"] > part["bound"] > 0
        assert list(part["arithmetics"]) == ["float32", "tf32", "bfloat16"]
    assert told["holds"] == {"float32": True, "tf32": True, "bfloat16": False}
    assert told["counterexample"] == ""


def test_a_wrong_network_is_shown_its_case_and_a_run_with_exit_code_1(augury: Augury) -> None:
    model = written("bad.safetensors", untrained())
    code, out, err = augury("verify", model)
    assert (code, err) == (1, "")
    assert "\nNot proven: " in out
    assert "\nwrong in flood reached: reached=" in out
    assert "\nseen in a run from 0 to " in out
    assert "\narithmetic: there is no proof in float32, tf32, bfloat16\n" in out
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


def test_a_proof_is_written_and_replayed(augury: Augury) -> None:
    model = written("good.safetensors", proven())
    assert augury("verify", model, "--proof", "proof.json").code == 0
    code, out, err = augury("verify", "--check", "proof.json")
    assert (code, err) == (0, "")
    assert out == ("The proof holds in float32, tf32: 116 cases, 140 decisions, computed again.\n")
    told = json.loads(Path("proof.json").read_text())
    told["parts"][0]["cases"][3]["decision"] ^= True
    Path("wrong.json").write_text(json.dumps(told))
    code, out, err = augury("verify", "--check", "wrong.json")
    assert (code, err) == (1, "")
    assert out.startswith("The proof does not hold: flood, own bits 0, kinds ")
    code, out, err = augury("verify", "--check", "wrong.json", "--json")
    assert code == 1 and json.loads(out)["fault"].endswith("this decision is against the rule")
    done = augury("verify", model, "--proof", model)
    assert done.code == 2 and "--proof names good.safetensors, which is read" in done.err


def test_what_is_no_proof_is_one_sentence_and_exit_code_2(augury: Augury) -> None:
    Path("text.json").write_text("this is no proof")
    for file, message in {
        "nowhere.json": "nowhere.json: there is no such file or folder",
        "text.json": "text.json: this is not a proof object of format 1",
    }.items():
        code, out, err = augury("verify", "--check", file)
        assert (code, out) == (2, "")
        assert err.startswith("augury: ") and err.count("\n") == 1 and message in err


def test_an_algorithm_needs_its_own_cells_alone(augury: Augury) -> None:
    done = augury("verify", "--algorithm", "reachability")
    assert (
        done.code == 0
        and "Proven in all 76 cases, 92 decisions: on every directed graph" in done.out
    )
    done = augury("verify", "--algorithm", "flood")
    assert done.code == 2 and "'flood' is not one of the algorithms ford-fulkerson" in done.err


def test_a_run_folder_stands_for_all_of_its_seeds(augury: Augury) -> None:
    for seed, network in enumerate((proven(), untrained())):
        Path(f"run/seed-{seed}").mkdir(parents=True)
        written(f"run/seed-{seed}/best.safetensors", network)
    code, out, _ = augury("verify", "run", "--json")
    told = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [Path(row["model"]).parent.name for row in told] == ["seed-0", "seed-1"]
    assert [row["proven"] for row in told] == [True, False]
    assert augury("verify", "run/seed-0").code == 0
    done = augury("verify", "run", "--proof", "proof.json")
    assert done.code == 2 and "are of one network, not of 2" in done.err
