"""What is built is what is needed: wheel and source archive, installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both with the backend that pyproject.toml names, from a clean copy of the source."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip("not a git checkout")
    subprocess.run(["tar", "x", "-C", str(copy)], input=archive.stdout, check=True)
    builder = tmp_path_factory.mktemp("builder")
    subprocess.run([sys.executable, "-m", "venv", str(builder)], check=True)
    python = str(builder / "bin" / "python")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    install = [python, "-m", "pip", "install", "-q", *needed, "wheel"]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        pytest.skip("the tools that build cannot be installed here")
    code = (
        "import sys; from setuptools import build_meta as b; "
        "out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"  # the first changes sys.argv
    )
    subprocess.run([python, "-c", code, str(out)], cwd=copy, check=True, capture_output=True)
    return out


def test_the_wheel_holds_models_and_types_and_no_tests(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"augury/py.typed", "augury/models/discrete.safetensors"} <= set(names)
    assert "augury/models/paper-mpnn.safetensors" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"augury"}
    source = {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "augury").rglob("*.py")
    }
    assert source <= set(names)


def test_the_source_archive_can_be_built_from(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "src/augury/py.typed"}
    assert needed | {"src/augury/models/discrete.safetensors"} <= names
    # And what README.md speaks of: tests with their helpers, documents, examples.
    assert {"Makefile", "constraints.txt", "examples/jobs.csv", "docs/tutorial.md"} <= names
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")} <= names


def test_the_wheel_installs_into_an_empty_environment_and_runs(built: Path, tmp_path: Path) -> None:
    """Its dependencies come from where these tests found theirs; the package does not."""
    [wheel] = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    paths = [path for path in sys.path if path.endswith("site-packages")]
    own = tmp_path / "env" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (own / "theirs.pth").write_text("\n".join(paths) + "\n")
    (tmp_path / "jobs.csv").write_text("ann,cook\nbob,cook\nbob,sing\n")

    def run(*words: str) -> str:
        done = subprocess.run(
            [str(python.parent / "augury"), *words], cwd=tmp_path, capture_output=True, text=True,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [str(python), "-c", "import augury; print(augury.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(own) in where.stdout
    assert "augmentation" in run("verify", "discrete")  # and exit code 0: it is proven
    assert "matching of 2" in run("solve", "jobs.csv")
    assert run("--version").startswith("augury ")
