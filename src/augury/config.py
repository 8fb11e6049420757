"""Settings become a `Config`: a neural network, its data and its training; presets.

Every field documents itself, and the help of `augury train` is made from these texts. Run folders
and checkpoints hold the resolved configuration, so a network never travels without it.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from augury.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The graphs that are traced."""

    train_graphs: int = 300
    """Graphs to train on; every round of each is a sample."""
    validation_graphs: int = 50
    """Graphs on which the network's steps are compared with the true ones."""
    extra_graphs: int = 0
    """Extra graphs, for reachability only, with up to 40 % of the pairs matched greedily."""
    side: int = 8
    """Nodes on each side of a training graph."""
    p: float = 0.25
    """Probability of an edge."""
    walk_length: int = 5
    """Length of the random walks that teach bottleneck and augmentation."""
    max_capacity: int = 10
    """Largest capacity on these walks; the smallest is 0."""
    stop_early: int = 0
    """Steps before the first that changes nothing in which a search is to stop; at most 1. The
    authors' code has 1: the network must foresee that nothing would change."""
    search_stop_weight: float = 1.0
    """Weight in the loss of the steps after which a search stops. Below 1 the network would rather
    go on; if it is only just sure on training graphs, it stops too early on larger ones."""
    reach_stop_weight: float = 1.0
    """The same for reachability."""
    seed: int = 0
    """Seed of graphs, weights, walks and the order of samples; shared by all networks."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The shape of a network."""

    kind: Literal["paper", "discrete"] = "paper"
    """The paper's network, or ours, which carries only bits from step to step."""
    algorithm: str = "ford-fulkerson"
    """The algorithm that the discrete network learns: a name in ALGORITHMS."""
    processor: str = "mpnn"
    """The message-passing layer that updates the nodes: a name in PROCESSORS."""
    hidden: int = 32
    """Width K of every latent vector."""
    bits: int = 8
    """Width of capacities and, in the paper's network, of distances; all ones is infinity."""
    heads: int = 4
    """Attention heads of the layer that finds the bottleneck."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a network is trained and which of its epochs is kept."""

    learning_rate: float = 5e-4
    """Learning rate of Adam."""
    batch_size: int = 32
    """Rounds per update."""
    max_epochs: int = 100
    """Maximum number of epochs."""
    patience: int = 10
    """Epochs without improvement before training stops."""
    decay: Literal["none", "cosine"] = "none"
    """Whether the learning rate falls to 0 by the last of `max_epochs`, along a cosine."""
    select: Literal["execution", "both", "paper"] = "execution"
    """What has to improve: whole executions on validation graphs of three sizes, or these and runs
    that the first invalid path ends (t = 1), or the paper's predecessor accuracy of the last step,
    which ignores reachability."""
    execution_scales: tuple[int, ...] = (1, 2, 4)
    """Sizes of the validation graphs executed after each epoch, as multiples of `side`."""
    execution_graphs: int = 40
    """Validation graphs of each size."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A complete configuration."""

    preset: str
    """The preset it started from."""
    data: DataConfig = field(default_factory=DataConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    @property
    def name(self) -> str:
        """The name of its networks: that of a preset, plus whatever was changed.

        >>> with_settings(preset("paper-mpnn"), ["network.hidden=64", "data.seed=5"]).name
        'paper-mpnn (hidden=64)'
        """
        for name, config in PRESETS.items():
            if not changes(self, config):
                return name
        base = PRESETS.get(self.preset, Config(preset=self.preset))
        return f"{self.preset or 'unnamed'} ({', '.join(changes(self, base))})"


PRESETS: dict[str, Config] = {
    config.preset: config
    for config in (
        Config(preset="paper-mpnn"),
        Config(preset="paper-pna", network=NetworkConfig(processor="pna")),
        Config(
            preset="paper-pna-nostd",
            network=NetworkConfig(processor="pna-nostd"),
            data=DataConfig(extra_graphs=200),
        ),
        Config(preset="gatv2", network=NetworkConfig(processor="gatv2")),
        Config(
            preset="discrete",
            network=NetworkConfig(kind="discrete", bits=63),
            data=DataConfig(max_capacity=255),
            training=TrainingConfig(learning_rate=3e-3, max_epochs=12),
        ),
    )
}
"""The paper's networks, another processor for comparison, and the discrete network."""


LARGEST = 2**63
"""No setting needs more, and PyTorch accepts no more."""

MAX_BYTES = 2**20
"""A settings file is a page; anything larger than this is something else."""


def changes(config: Config, base: Config) -> list[str]:
    """List the settings in which two configurations differ, such as "hidden=64".

    The seed of the data does not count: different random graphs do not make a different network.
    """
    there = values_of(base)
    return [
        f"{key.partition('.')[2]}={value}"
        for key, value in values_of(config).items()
        if there[key] != value and key != "data.seed"
    ]


def difference(there: Config, wanted: Config) -> str:
    """Name the settings in which two configurations differ, such as "network.hidden is 32, not 64".

    The text is empty if they are equal.
    """
    theirs = values_of(there)
    told = [
        f"{key} is {theirs[key]}, not {value}"
        for key, value in values_of(wanted).items()
        if theirs[key] != value
    ]
    if not told and there.preset != wanted.preset:
        told = [f"the preset is {there.preset}, not {wanted.preset}"]
    return "; ".join(told)


def values_of(config: Config) -> dict[str, object]:
    """Return the value of every setting, by its key, such as "network.hidden"."""
    parts = {"data": config.data, "network": config.network, "training": config.training}
    return {f"{part}.{name}": vars(own)[name] for part, own in parts.items() for name in vars(own)}


def preset(name: str) -> Config:
    """Return the preset of that name.

    >>> preset("discrete").training.max_epochs
    12
    """
    if name not in PRESETS:
        raise ConfigError(f"{name!r} is none of the presets {', '.join(PRESETS)}")
    return PRESETS[name]


def with_settings(config: Config, settings: Iterable[str]) -> Config:
    """Apply settings such as `network.hidden=64`, in order.

    >>> with_settings(preset("paper-mpnn"), ["network.hidden=64"]).network.hidden
    64
    """
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"the setting {reprlib.repr(setting)} is not of the form part.name=value"
            )
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = text  # not a literal, or nested too deeply for Python
        config = _with_value(config, key.strip(), value)
    return _coherent(config)


def with_file(config: Config, path: Path) -> Config:
    """Apply the settings of a TOML file with the tables data, network and training."""
    try:
        return _with_tables(config, _tables(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _tables(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # a device may be endless
        if len(data) <= MAX_BYTES:
            return tomllib.loads(data.decode())
    except OSError as error:
        raise ConfigError((error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError:
        raise ConfigError("this is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"this is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError("this TOML is nested too deeply") from None
    except ValueError:
        raise ConfigError("this TOML holds a number of thousands of digits") from None
    raise ConfigError(f"more than {MAX_BYTES:,} bytes are no configuration")


def _with_tables(config: Config, tables: Mapping[str, Any]) -> Config:
    for part, values in tables.items():
        if not isinstance(values, dict):
            raise ConfigError(
                f"{part[:40]} must be one of the tables [data], [network], [training]"
            )
        for name, value in values.items():
            config = _with_value(config, f"{part}.{name}", value)
    return _coherent(config)


def _with_value(config: Config, key: str, value: object) -> Config:
    known = values_of(config)
    if key not in known:
        raise ConfigError(f"there is no setting {reprlib.repr(key)}; there are {', '.join(known)}")
    part, _, name = key.partition(".")
    section = getattr(config, part)
    section = dataclasses.replace(section, **{name: _checked(key, type(section), name, value)})
    return dataclasses.replace(config, **{part: section})


def _checked(key: str, section: type, name: str, value: object) -> object:
    """Return the value in the field's type, or say what it should be."""
    kind = get_type_hints(section)[name]
    choices = get_args(kind)
    if type(value) is int and abs(value) >= LARGEST:
        raise ConfigError(f"the setting {key} is {_told(value)}, but must be below 2^63")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, list):
        value = tuple(value)
    if kind in (int, float, str):
        fits, wanted = type(value) is kind, kind.__name__
    elif Ellipsis in choices:
        fits = isinstance(value, tuple) and all(type(n) is int and n > 0 for n in value)
        wanted = "positive whole numbers such as (1, 2)"
    else:
        fits, wanted = value in choices, " or ".join(map(str, choices))
    if not fits:
        raise ConfigError(f"the setting {key} is {_told(value)}, but must be {wanted}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"the setting {key} is {value}, but must be finite")
    if isinstance(value, int | float) and (value < 0 or (value == 0 and name not in MAY_BE_ZERO)):
        raise ConfigError(f"the setting {key} is {value}, but must be positive")
    return value


def _told(value: object) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python prints at most 4,300 digits, but reads more in TOML's hex
        return "a number of thousands of digits"


def _coherent(config: Config) -> Config:
    """Return the configuration if its settings are consistent, or say which are not."""
    network, data = config.network, config.data
    if network.hidden % network.heads:
        raise ConfigError(
            f"network.hidden is {network.hidden}, but must be a multiple of network.heads, "
            f"{network.heads}"
        )
    low, high = BITS[network.kind]
    if not low <= network.bits <= high:
        raise ConfigError(f"network.bits is {network.bits}, not from {low} to {high}")
    if network.kind == "paper" and network.algorithm != "ford-fulkerson":
        raise ConfigError("network.algorithm must be ford-fulkerson: the paper's networks know one")
    if network.kind == "discrete" and network.processor != "mpnn":
        raise ConfigError("network.processor must be mpnn: a proof needs the maximum")
    for name in ("stop_early", "search_stop_weight", "reach_stop_weight"):
        if network.kind == "discrete" and vars(data)[name] != vars(DataConfig())[name]:
            raise ConfigError(f"data.{name} is for the paper's networks: the discrete one is exact")
    if data.max_capacity >= 2**network.bits:
        raise ConfigError(
            f"data.max_capacity is {data.max_capacity}, beyond the {network.bits} bits of the "
            f"network"
        )
    if data.stop_early > 1:
        raise ConfigError(f"data.stop_early is {data.stop_early}, but must be 0 or 1")
    if data.p > 1:
        raise ConfigError(f"data.p is {data.p}, but a probability is at most 1")
    return config


BITS = {"paper": (4, 16), "discrete": (1, 63)}
"""Limits of `network.bits`: the paper's network must hold weights up to 15, and its augmentation
chooses among 2^bits residuals, each with its own parameters; the discrete one goes through int64
bit by bit.
"""

MAY_BE_ZERO = frozenset({"seed", "extra_graphs", "patience", "p", "execution_graphs", "stop_early"})


@dataclass(frozen=True)
class Setting:
    """A setting, for help texts."""

    key: str
    default: object
    help: str


def settings_of() -> list[Setting]:
    """List every setting with its default and help text."""
    import inspect

    found: list[Setting] = []
    for part in dataclasses.fields(Config):
        if part.name == "preset":
            continue
        section = get_type_hints(Config)[part.name]
        # The string after a field documents it; only the source has it.
        tree = ast.parse(inspect.getsource(section)).body[0]
        assert isinstance(tree, ast.ClassDef)
        for statement, after in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(after, ast.Expr):
                assert isinstance(statement.target, ast.Name)
                assert isinstance(after.value, ast.Constant)
                name, text = statement.target.id, " ".join(str(after.value.value).split())
                found.append(Setting(f"{part.name}.{name}", getattr(section, name), text))
    return found


def to_dict(config: Config) -> dict[str, Any]:
    """Return the configuration as plain tables."""
    return dataclasses.asdict(config)


def from_dict(tables: Mapping[str, Any]) -> Config:
    """Return the configuration that `to_dict` turned into tables; refuse unknown settings."""
    parts = {part: values for part, values in tables.items() if part != "preset"}
    return _with_tables(Config(preset=str(tables.get("preset", ""))), parts)
