"""`pip install augury` alone solves: run by `make light` where only the base dependencies are.

A script for an environment that has no pytest either: every function below is a test.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
LIGHT_HELP, LIGHT_SOLVE = 0.2, 0.4
"""CPU seconds that these commands may take once they have run before."""
SLACK = 2.0
"""Times so many on a machine of unknown speed."""


def augury(*words: str, code: int = 0) -> str:
    """Run the command; return what it says, on standard error if it fails."""
    command = [sys.executable, "-m", "augury.apps.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done)
    return done.stderr if code == 2 else done.stdout


def nothing_more_is_installed() -> None:
    from augury.extras import EXTRAS

    here = [name for name in EXTRAS if find_spec(name)]
    assert not here, f"this is no light installation: there is {', '.join(here)}"


def python_solves_what_it_is_given() -> None:
    import numpy as np
    import scipy.sparse

    import augury

    dense = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    for graph in (dense, scipy.sparse.csr_array(dense), [(0, 0), (0, 1), (1, 0), (2, 0)]):
        assert augury.solve(graph).is_maximum and augury.solve(graph).size == 2
    for engine in ("auto", "lookup", "table"):
        assert augury.solve(dense, engine=engine).size == 2
        assert [x.size for x in augury.solve_batch([dense, dense], engine=engine)] == [2, 2]
    arcs = [("s", "a", 3), ("a", "t", 2)]
    assert augury.solve(arcs, source="s", sink="t").size == 2
    hours = augury.solve([("Ann", "cook", 4), ("Ann", "paint", 2)], algorithm="assignment")
    assert hours.is_optimal and hours.cost == 2
    for file in sorted(EXAMPLES.iterdir()):
        assert augury.solve(file).is_maximum, file
    rng = np.random.default_rng(0)
    assert augury.solve(augury.generate("uniform", rng, n=40, p=0.1)).is_maximum
    assert augury.certify(dense, [(0, 1), (1, 0)]).is_maximum


def the_shapes_of_scipy_work() -> None:
    import numpy as np
    import scipy.sparse

    import augury

    costs = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    assert augury.linear_sum_assignment(costs)[1].tolist() == [1, 0, 2]
    matrix = scipy.sparse.csr_array(costs)
    assert augury.maximum_bipartite_matching(matrix).tolist().count(-1) == 0
    assert augury.maximum_flow(matrix, 0, 2).flow_value == 4
    assert augury.min_weight_full_bipartite_matching(matrix)[1].tolist() == [1, 0, 2]


def the_command_solves_generates_and_certifies() -> None:
    with tempfile.TemporaryDirectory() as name:
        graph, answer = f"{name}/graph.csv", f"{name}/answer.json"
        augury("generate", "uniform", "--n", "8", "--output", graph)
        augury("solve", graph, "--output", answer)
        assert "certified maximum" in augury("certify", graph, answer)
        told = json.loads(augury("solve", graph, str(EXAMPLES / "pipes.max"), "--json"))
        assert len(told["solutions"]) == 2
        page = f"{name}/run.html"
        augury("solve", graph, "--model", "classical", "--html", page)
        assert "</html>" in Path(page).read_text()
    for file in sorted(EXAMPLES.iterdir()):
        assert "certified" in augury("solve", str(file)), file


def what_needs_more_says_so() -> None:
    neural = "needs PyTorch: pip install 'augury[neural]'\n"
    jobs = str(EXAMPLES / "jobs.csv")
    for words in (
        "verify",
        "evaluate discrete --scales 1",
        "reproduce --quick --out never-made",
        f"solve {jobs} --engine plain",
        f"solve {jobs} --engine cuda",
        f"solve {jobs} --device cuda",
        f"solve {jobs} --model paper-mpnn",
        f"solve {jobs} --story never-made.json",
    ):
        assert augury(*words.split(), code=2).endswith(neural), words
    assert not Path("never-made").exists()
    assert "pip install 'augury[neural]'" in augury("train", "discrete", code=2)
    assert "pip install 'augury[web]'" in augury("explore", code=2)

    import augury as package
    from augury.extras import MissingExtra

    def dataset() -> None:
        import augury.datasets  # noqa: F401

    calls: list[Callable[[], object]] = [
        dataset,
        lambda: package.solve([(0, 0)], engine="plain"),
        lambda: package.solve([(0, 0)], model="paper-mpnn"),
        lambda: package.solve([(0, 0)]).story(),
        lambda: package.BipartiteGraph.from_edges([(0, 0)]).to_networkx(),
        lambda: package.neural_ford_fulkerson,
    ]
    for call in calls:
        try:
            call()
        except MissingExtra as error:
            assert "pip install" in str(error)
        else:
            raise AssertionError(call)


def compiling_is_told_where_it_happens() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ["NUMBA_CACHE_DIR"] = name
        large = f"{name}/large.csv"
        augury("generate", "uniform", "--n", "300", "--p", "1/2", "--output", large)
        for told, file in ((False, str(EXAMPLES / "jobs.csv")), (True, large), (False, large)):
            command = [sys.executable, "-m", "augury.apps.cli", "solve", file]
            command += ["--engine", "table"] * (file == large)
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert done.stderr.count("compiling") == told, (file, done.stderr)
        del os.environ["NUMBA_CACHE_DIR"]


def small_things_take_no_time() -> None:
    """Least of five runs of each, in CPU seconds."""
    limits = {("--help",): LIGHT_HELP}
    limits |= {("solve", str(file)): LIGHT_SOLVE for file in sorted(EXAMPLES.iterdir())}
    for words, limit in limits.items():
        least = min(cpu_seconds(*words) for _ in range(5))
        print(f"  {least:.3f} s of CPU (at most {limit}): augury {' '.join(words)}")
        assert least <= SLACK * limit, words


def cpu_seconds(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    augury(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


LIGHT = """
import sys
sys.argv = ["augury", "solve", sys.argv[1]]
from augury.apps.cli import main
try:
    main()
finally:
    print(*[name for name in ("numba", "pydantic", "rich", "asyncio") if name in sys.modules])
"""


def a_small_solve_imports_nothing_heavy() -> None:
    for file in sorted(EXAMPLES.iterdir()):
        command = [sys.executable, "-c", LIGHT, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "", (file, done.stdout)


TESTS = (
    nothing_more_is_installed,
    python_solves_what_it_is_given,
    the_shapes_of_scipy_work,
    the_command_solves_generates_and_certifies,
    what_needs_more_says_so,
    a_small_solve_imports_nothing_heavy,
    compiling_is_told_where_it_happens,
    small_things_take_no_time,
)

if __name__ == "__main__":
    for test in TESTS:
        print(test.__name__.replace("_", " "), flush=True)
        test()
