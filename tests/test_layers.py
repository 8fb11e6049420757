"""Who may import whom; see docs/architecture.md. Imports anywhere in a file count, hints do not.

The rules hold for files that exist, so they need no change while the plan is being filled in; that
they do catch what they forbid is tested on a small tree in which each of them is broken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "augury"

LAYERS = {
    "errors": 0,
    "extras": 0,
    "files": 0,
    "plugins": 0,
    "provenance": 0,
    "processes": 0,
    "clusters": 0,
    "config": 0,
    "compiled": 0,
    "classical": 1,
    "inputs": 2,
    "neural": 2,
    "cells": 3,
    "algorithms": 4,
    "paper": 5,
    "models": 6,
    "engines": 7,
    "training": 7,
    "verify": 8,
    "replay": 8,
    "check": 8,
    "direct": 8,
    "solution": 8,
    "solver": 8,
    "finer": 8,
    "scipy_like": 8,
    "networkx_like": 8,
    "torch": 8,
    "tables": 8,
    "ray": 8,
    "networkx_costs": 8,
    "networkx_backend": 8,
    "datasets": 8,
    "watch": 8,
    "page": 8,
    "experiments": 9,
    "apps": 10,
}
LEARNERS = ("torch", "torch_geometric", "lightning", "pytorch_lightning")
ANSWERS = ("augury.classical.trace", "augury.neural.batch", "augury.paper.losses")
SOLVERS = (
    "augury.solver",
    "augury.classical.ford_fulkerson",
    "augury.classical.least_cost",
    "augury.classical.simulate",
    "augury.classical.trace",
)
EXECUTORS = ("augury.paper.executor*", "augury.engines*")

UNREACHABLE = [
    *((executor, ANSWERS, "an executor must not see the answer") for executor in EXECUTORS),
    ("augury.paper.processors", (*SOLVERS, *ANSWERS, *EXECUTORS), "processors know no algorithm"),
    *(
        (proof, (*SOLVERS, "augury.neural*"), "a proof owes nothing to a solver")
        for proof in ("augury.classical.certificate*", "augury.classical.prices")
    ),
]
"""(modules, what they reach by no route, why)."""

UNIMPORTED = [
    ("augury.classical*", LEARNERS, "the truth must not depend on the learner"),
    ("augury.paper.processors", ("augury.classical*",), "processors know no algorithm"),
    ("augury.experiments.plot*", ("augury.neural*", "augury.paper*"), "plots read records"),
    ("augury.apps.explore*", ("augury.neural*", "augury.paper*"), "pages read stories"),
    ("augury.page*", ("augury.neural*", "augury.classical*"), "pages read stories"),
]
"""(modules, what they do not import themselves, why)."""


def is_for_hints(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk the tree, past what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and is_for_hints(node):
            for other in node.orelse:
                yield other
                yield from statements(other)
            continue
        yield node
        yield from statements(node)


def imported_names(path: Path, module: str) -> Iterator[str]:
    """Yield the full names that a file imports; for `from a import b` it is a.b, whatever b is."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*base, node.module or ""]).strip(".") if node.level else node.module
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            yield from (
                a.value
                for a in node.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            )


class Tree:
    """The modules of a package and what each imports."""

    def __init__(self, source: Path) -> None:
        self.paths: dict[str, Path] = {}
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source.parent).with_suffix("").parts
            self.paths[".".join(parts).removesuffix(".__init__")] = path
        names = {module: set(imported_names(self.paths[module], module)) for module in self.paths}
        self.names = names
        self.imports = {module: set(map(self.home, names[module])) for module in names}

    def home(self, name: str) -> str:
        """Return the module that a full name belongs to; of other packages, the package."""
        if name.partition(".")[0] != "augury":
            return name.partition(".")[0]
        while name not in self.paths and "." in name:
            name = name.rpartition(".")[0]
        return name

    def needed(self, module: str) -> set[str]:
        """What importing a module imports: its imports, and the packages that it lies in."""
        parts = module.split(".")
        parents = {".".join(parts[:k]) for k in range(2, len(parts))}
        return (self.imports.get(module, set()) | parents) - {"augury"}

    def asked_for(self, module: str) -> set[str]:
        """What a module imports, with the packages that it lies in; not those around them both."""
        parents: set[str] = set()
        for other in self.imports[module]:
            parts = other.split(".")
            parents |= {".".join(parts[:k]) for k in range(2, len(parts))}
        around = {name for name in parents if f"{module}.".startswith(f"{name}.")}
        return (self.imports[module] | parents - around) & set(self.paths) - {"augury", module}

    def routes(self, start: str) -> dict[str, str]:
        """Return every module of ours that `start` reaches, each with the way there."""
        found = {start: start}
        queue = [start]
        for module in queue:
            for other in sorted(self.needed(module) & set(self.paths)):
                if other not in found:
                    found[other] = f"{found[module]} → {other}"
                    queue.append(other)
        return found


def layer(module: str) -> int:
    return LAYERS.get(module.split(".")[1], -1)


def violations(source: Path) -> list[str]:
    """Return every broken rule, a sentence each."""
    tree = Tree(source)
    return [
        *misplaced(tree),
        *upward(tree),
        *forbidden(tree),
        *cycles(tree),
        *(f"{path.name}: say what it is for" for path in source.rglob("utils.py")),
    ]


def misplaced(tree: Tree) -> Iterator[str]:
    for module in tree.paths:
        if module != "augury" and layer(module) < 0:
            yield f"{module} belongs to no layer"
        for name in tree.names[module]:
            if module == "augury" and tree.home(name) not in ("importlib", "typing", "__future__"):
                yield f"augury imports {name} before anybody asks for it"
            if tree.home(name) == "augury" and name not in ("augury", "augury.__version__"):
                yield f"{module} imports {name}, not its module"


def upward(tree: Tree) -> Iterator[str]:
    for module in tree.paths:
        for other in tree.imports[module] & set(tree.paths) - {"augury"}:
            if module != "augury" and layer(other) > layer(module):
                yield f"{module} imports {other}, a higher layer"


def forbidden(tree: Tree) -> Iterator[str]:
    for pattern, banned, why in UNIMPORTED:
        for module in filter(lambda name, p=pattern: fnmatch(name, p), tree.paths):
            for other in tree.imports[module]:
                if any(fnmatch(other, ban) for ban in banned):
                    yield f"{module} imports {other}: {why}"
    for pattern, banned, why in UNREACHABLE:
        for module in filter(lambda name, p=pattern: fnmatch(name, p), tree.paths):
            for other, route in tree.routes(module).items():
                if other != module and any(fnmatch(other, ban) for ban in banned):
                    yield f"{route}: {why}"


def cycles(tree: Tree) -> Iterator[str]:
    """Yield each circle of imports, lazy ones included, from the first of its modules by name."""
    for start in tree.paths:
        found = {start: start}
        queue = [start]
        for module in queue:
            for other in sorted(tree.asked_for(module)):
                if other == start and start == min(found[module].split(" → ")):
                    yield f"{found[module]} → {start}: a circle"
                if other not in found:
                    found[other] = f"{found[module]} → {other}"
                    queue.append(other)


def test_nobody_imports_what_they_must_not() -> None:
    assert violations(SOURCE) == []


LEGAL = {
    "__init__.py": "import typing\nif typing.TYPE_CHECKING:\n    from augury.solver import solve",
    "config.py": "",
    "classical/__init__.py": "",
    "classical/graph.py": "import numpy",
    "classical/trace.py": "from augury.classical import graph",
    "classical/certificate.py": "from augury.classical.graph import Graph",
    "neural/__init__.py": "",
    "neural/layers.py": "import torch",
    "neural/batch.py": "from augury.classical.trace import Trace",
    "paper/__init__.py": "",
    "paper/processors.py": "from augury.neural.layers import Linear",
    "paper/networks.py": "from augury.paper.processors import MPNN",
    "paper/executor.py": "from augury.paper.networks import Network",
    "engines/__init__.py": "from augury.engines import cpu",
    "engines/cpu.py": "def f():\n    from augury.paper import networks",
    "verify.py": "from augury.paper import networks",
    "solver.py": "from augury.paper.executor import run\nfrom augury.engines.cpu import f",
    "datasets.py": "import torch\nfrom augury.classical.trace import Trace",
    "experiments/plot.py": "import matplotlib.pyplot",
    "apps/explore.py": "from augury import __version__\nfrom augury.solver import solve",
}

BROKEN: list[tuple[dict[str, str], str]] = [
    ({"classical/graph.py": "import torch"}, "augury.classical.graph imports torch"),
    ({"classical/graph.py": "def f():\n    from torch_geometric.data import Data"}, "truth must"),
    ({"classical/graph.py": "import lightning.pytorch as pl"}, "imports lightning: the truth"),
    ({"config.py": "import augury.classical.graph"}, "config imports augury.classical.graph, a hi"),
    ({"classical/graph.py": "from augury.neural import layers"}, "neural.layers, a higher layer"),
    ({"neural/layers.py": "from augury.solver import solve"}, "augury.solver, a higher layer"),
    ({"solver.py": "from augury.experiments import plot"}, "experiments.plot, a higher layer"),
    ({"datasets.py": "from augury.experiments import plot"}, "experiments.plot, a higher layer"),
    ({"neural/layers.py": "import augury.datasets"}, "augury.datasets, a higher layer"),
    ({"solver.py": "if 1:\n    import augury.apps.explore"}, "apps.explore, a higher layer"),
    ({"experiments/plot.py": "import augury.apps.explore"}, "apps.explore, a higher layer"),
    ({"neural/layers.py": "from importlib import import_module\nimport_module('augury.verify')"},
     "augury.verify, a higher layer"),
    ({"neural/layers.py": "from .. import solver"}, "augury.solver, a higher layer"),
    ({"paper/executor.py": "from augury.neural.batch import collate"},
     "augury.paper.executor → augury.neural.batch: an executor"),
    ({"engines/fast.py": "import augury.classical.trace"}, "engines.fast → augury.clas"),
    ({"paper/losses.py": "", "paper/networks.py": "from augury.paper import losses"},
     "augury.engines.cpu → augury.paper.networks → augury.paper.losses"),
    ({"paper/__init__.py": "from augury.neural.batch import collate"},
     "augury.paper.executor → augury.paper → augury.neural.batch"),
    ({"paper/processors.py": "from augury.classical.graph import Graph"}, "know no algorithm"),
    ({"neural/layers.py": "import augury.classical.ford_fulkerson",
      "classical/ford_fulkerson.py": ""},
     "augury.paper.processors → augury.neural.layers → augury.classical.ford_fulkerson: proc"),
    ({"paper/processors.py": "from augury.paper.executor import run"}, "know no algorithm"),
    ({"experiments/plot_tables.py": "import augury.paper.networks"}, "plots read records"),
    ({"apps/explore/page.py": "from augury.paper.networks import Network"}, "pages read stories"),
    ({"classical/graph.py": "def f():\n    from augury.classical import graph_parts",
      "classical/graph_parts.py": "import augury.classical.graph"},
     "augury.classical.graph → augury.classical.graph_parts → augury.classical.graph: a circle"),
    ({"engines/__init__.py": "def f():\n    import augury.solver"},
     "augury.engines → augury.solver → augury.engines: a circle"),
    ({"engines/cpu.py": "from augury.engines import run"},
     "augury.engines → augury.engines.cpu → augury.engines: a circle"),
    ({"classical/graph.py": "from augury.classical import trace"},
     "augury.classical.certificate → augury.classical.graph → augury.classical.trace: a proof"),
    ({"classical/utils.py": ""}, "utils.py: say what it is for"),
    ({"helpers.py": ""}, "augury.helpers belongs to no layer"),
    ({"__init__.py": "from augury.solver import solve"}, "before anybody asks for it"),
    ({"__init__.py": "import numpy"}, "augury imports numpy before anybody asks"),
    ({"classical/graph.py": "from augury import solve"}, "imports augury.solve, not its module"),
]  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> Path:
    source = folder / "augury"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


def test_what_is_allowed_is_not_reported(tmp_path: Path) -> None:
    assert violations(write(tmp_path, LEGAL)) == []


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_every_broken_rule_is_reported(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    assert message in "\n".join(violations(write(tmp_path, LEGAL | change)))
