"""Every setting is documented, and a wrong one is reported in one sentence."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from augury.config import (
    PRESETS,
    Config,
    DataConfig,
    NetworkConfig,
    TrainingConfig,
    from_dict,
    preset,
    settings_of,
    to_dict,
    with_file,
    with_settings,
)
from augury.errors import ConfigError

PAPER = preset("paper-mpnn")


def test_every_setting_is_documented_with_its_default() -> None:
    parts = {"data": DataConfig, "network": NetworkConfig, "training": TrainingConfig}
    expected = {
        f"{part}.{field.name}": field.default
        for part, section in parts.items()
        for field in dataclasses.fields(section)
    }
    assert {setting.key: setting.default for setting in settings_of()} == expected
    for setting in settings_of():
        assert setting.help.endswith(".") and "\n" not in setting.help, setting.key


def test_presets_have_their_own_names() -> None:
    assert all(config.preset == name == preset(name).preset for name, config in PRESETS.items())
    assert PRESETS["paper-pna-nostd"].data.extra_graphs == 200
    with pytest.raises(ConfigError, match=r"^'paper' is none of the presets paper-mpnn, .*$"):
        preset("paper")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("network.hidden=64", 64),
        ("network.processor=pna", "pna"),
        ("network.processor='pna'", "pna"),
        ("training.learning_rate=1", 1.0),
        ("training.learning_rate=1e-3", 1e-3),
        ("training.execution_scales=[2, 4]", (2, 4)),
        ("training.execution_scales=(1,)", (1,)),
        ("training.execution_scales=()", ()),
        ("training.select=paper", "paper"),
        ("data.seed=0", 0),
        ("data.p=1", 1.0),
        (" data.side =4", 4),
    ],
)
def test_a_setting_takes_effect_in_its_fields_own_type(setting: str, value: object) -> None:
    part, name = setting.partition("=")[0].strip().split(".")
    found = getattr(getattr(with_settings(PAPER, [setting]), part), name)
    assert (found, type(found)) == (value, type(value))


def test_the_last_setting_wins_and_nothing_else_changes() -> None:
    config = with_settings(PAPER, ["data.side=4", "data.side=6"])
    assert config == dataclasses.replace(PAPER, data=DataConfig(side=6))
    assert with_settings(PAPER, []) == PAPER


WRONG = {
    "hidden=3": "there is no setting 'hidden'",
    "network.width=3": "there is no setting 'network.width'",
    "preset.name=3": "there is no setting 'preset.name'",
    "preset=paper-pna": "there is no setting 'preset'",
    "network=3": "there is no setting 'network'",
    "network.hidden": "is not of the form part.name=value",
    "network.hidden=": "network.hidden is '', but must be int",
    "network.hidden=wide": "network.hidden is 'wide', but must be int",
    "network.hidden=3.5": "network.hidden is 3.5, but must be int",
    "network.hidden=True": "network.hidden is True, but must be int",
    "network.hidden=0": "network.hidden is 0, but must be positive",
    "network.hidden=-32": "network.hidden is -32, but must be positive",
    "network.hidden=30": "must be a multiple of network.heads, 4",
    "network.heads=5": "must be a multiple of network.heads, 5",
    "network.bits=3": "network.bits is 3, not from 4 to 16",
    "network.bits=40": "network.bits is 40, not from 4 to 16",
    "network.processor=3": "network.processor is 3, but must be str",
    "data.max_capacity=256": "data.max_capacity is 256, beyond the 8 bits",
    "data.p=1.5": "data.p is 1.5, but a probability is at most 1",
    "data.p=nan": "data.p is 'nan', but must be float",
    "data.seed=-1": "data.seed is -1, but must be positive",
    "data.stop_early=2": "data.stop_early is 2, but must be 0 or 1",
    "data.reach_stop_weight=0": "data.reach_stop_weight is 0.0, but must be positive",
    "training.learning_rate=1e999": "training.learning_rate is inf, but must be finite",
    "training.select=best": "training.select is 'best', but must be execution or both or paper",
    "training.execution_scales=2": "must be positive whole numbers such as (1, 2)",
    "training.execution_scales=(1, 0)": "must be positive whole numbers such as (1, 2)",
    "training.execution_scales=(1, 'x')": "must be positive whole numbers such as (1, 2)",
}


@pytest.mark.parametrize(
    "setting", ["stop_early=1", "search_stop_weight=2", "reach_stop_weight=.1"]
)
def test_nothing_is_taught_to_the_discrete_network_that_it_does_not_learn(setting: str) -> None:
    name = setting.partition("=")[0]
    with pytest.raises(ConfigError, match=f"^data.{name} is for the paper's networks"):
        with_settings(preset("discrete"), [f"data.{setting}"])


@pytest.mark.parametrize("setting", WRONG)
def test_a_wrong_setting_gets_one_sentence(setting: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_settings(PAPER, [setting])
    assert WRONG[setting] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text('[network]\nhidden = 64\n[training]\nexecution_scales = [1]\nselect="paper"\n')
    config = with_file(PAPER, path)
    assert config.network == NetworkConfig(hidden=64)
    assert config.training == TrainingConfig(execution_scales=(1,), select="paper")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"hidden = 3", "hidden must be one of the tables"),
        (b"[network]\nwidth = 3", "there is no setting 'network.width'"),
        (b"[network]\nhidden = 'x'", "network.hidden is 'x', but must be int"),
        (b"[network]\nhidden = 30", "multiple of network.heads"),
        (b"[model]\nhidden = 3", "there is no setting 'model.hidden'"),
        (b"[network\nhidden = 3", "this is not TOML: "),
        (b"\xff\xfe", "this is not text in UTF-8"),
    ],
)
def test_a_wrong_file_gets_one_sentence(text: bytes, match: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_bytes(text)
    with pytest.raises(ConfigError) as caught:
        with_file(PAPER, path)
    assert match in str(caught.value)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path, match in ((tmp_path / "absent.toml", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(ConfigError, match=f"^{path}: {match}"):
            with_file(PAPER, path)


@pytest.mark.parametrize("name", PRESETS)
def test_a_configuration_survives_json(name: str) -> None:
    config = with_settings(preset(name), ["training.execution_scales=(3, 5)", "data.p=0.1"])
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


def test_tables_of_another_version_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"network\.depth"):
        from_dict({"preset": "x", "network": {"depth": 3}})
    with pytest.raises(ConfigError, match=r"model\.depth"):
        from_dict({"preset": "x", "model": {"depth": 3}})
    assert from_dict({}) == Config(preset="")


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("paper-mpnn", [], "paper-mpnn"),
        ("paper-mpnn", ["data.seed=7"], "paper-mpnn"),
        ("paper-mpnn", ["network.hidden=32"], "paper-mpnn"),
        ("paper-mpnn", ["network.hidden=16"], "paper-mpnn (hidden=16)"),
        (
            "paper-mpnn",
            ["network.processor=pna", "network.hidden=16"],
            "paper-mpnn (processor=pna, hidden=16)",
        ),
        ("paper-mpnn", ["network.processor=pna"], "paper-pna"),  # which is just that
        ("paper-pna-nostd", ["data.extra_graphs=0"], "paper-pna-nostd (extra_graphs=0)"),
        ("discrete", ["training.max_epochs=2"], "discrete (max_epochs=2)"),
        (
            "gatv2",
            ["training.execution_scales=(1,)", "training.select=paper"],
            "gatv2 (select=paper, execution_scales=(1,))",
        ),
    ],
)
def test_a_name_says_what_was_changed(name: str, settings: list[str], expected: str) -> None:
    assert with_settings(preset(name), settings).name == expected


def test_every_change_but_that_of_a_seed_shows_in_the_name() -> None:
    """And the names of settings are told apart without their tables."""
    values: dict[type, object] = {int: 1, float: 0.125, str: "other", tuple: (7,)}
    names = [setting.key.partition(".")[2] for setting in settings_of()]
    assert len(names) == len(set(names))
    for setting in settings_of():
        part, _, name = setting.key.partition(".")
        section = dataclasses.replace(getattr(PAPER, part), **{name: values[type(setting.default)]})
        changed = dataclasses.replace(PAPER, **{part: section}).name
        value = values[type(setting.default)]
        assert changed == ("paper-mpnn" if name == "seed" else f"paper-mpnn ({name}={value})")


def test_what_is_no_preset_never_takes_the_name_of_one() -> None:
    assert Config(preset="mine", network=NetworkConfig(hidden=8)).name == "mine (hidden=8)"
    assert Config(preset="", network=NetworkConfig(hidden=8)).name == "unnamed (hidden=8)"
    assert Config(preset="classical").name == "paper-mpnn"
    assert all(config.name == name for name, config in PRESETS.items())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 100_000, "this TOML is nested too deeply"),
        ("x = " + "{a=" * 100_000, "this TOML is nested too deeply"),
        ("x = " + "9" * 5000, "this TOML holds a number of thousands of digits"),
        (
            "[network]\nhidden = " + "9" * 400,
            "the setting network.hidden is 999999999999999999...99",
        ),
        ("[data]\nseed = 0x" + "f" * 9999, "the setting data.seed is a number of thousands of dig"),
        ("[data]\nseed = [0x" + "f" * 9999 + "]", "the setting data.seed is a number of thousan"),
        ("[data]\np = " + "9" * 400, "the setting data.p is 999"),
        ("[data]\nseed = " + "[" * 50 + "]" * 50, "the setting data.seed is"),
        ('[data]\n"' + "x" * 9999 + '" = 1', "there is no setting"),
        ("#" * (2**20 + 1), "more than 1,048,576 bytes are no configuration"),
    ],
    ids=[
        "lists",
        "tables",
        "digits",
        "integer",
        "hexadecimal",
        "in a list",
        "float",
        "value",
        "name",
        "size",
    ],
)
def test_a_hostile_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        with_file(PAPER, path)
    told = str(caught.value)
    assert str(path) in told and message in told
    assert "\n" not in told and len(told) < 1500


def test_a_device_is_no_configuration() -> None:
    with pytest.raises(ConfigError, match="/dev/zero: more than"):
        with_file(PAPER, Path("/dev/zero"))


@pytest.mark.parametrize("value", ["[" * 9999, "-" * 99_999 + "1", "{[]: 1}", "(" * 500])
def test_a_hostile_value_is_one_sentence(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^the setting network.hidden is .*, but must be int$"):
        with_settings(PAPER, [f"network.hidden={value}"])
