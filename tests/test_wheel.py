"""The wheel and the source archive are complete, and install in an empty environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONSUMER = Path(__file__).parent / "consumer"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
pytestmark = pytest.mark.slow


def alone() -> dict[str, str]:
    """Return the environment without what would let a process find this checkout."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def repository(folder: Path) -> str:
    """Make a repository of all that lies in a folder, and return its commit."""
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "all"]):
        subprocess.run([*git, *words], check=True)
    told = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return told.stdout.strip()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a clean copy of the source, a repository by itself, and its commit."""
    copy = tmp_path_factory.mktemp("copy")
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip("not a git checkout")
    subprocess.run(["tar", "x", "-C", str(copy)], input=archive.stdout, check=True)
    return copy, repository(copy)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python that has what pyproject.toml names as needed to build."""
    builder = tmp_path_factory.mktemp("builder")
    subprocess.run([sys.executable, "-m", "venv", str(builder)], check=True)
    python = str(builder / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", *PROJECT["build-system"]["requires"], "wheel"]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        pytest.skip("the tools that build cannot be installed here")
    return python


def build(python: str, source: Path, out: Path, *kinds: str) -> None:
    """Build with the backend that pyproject.toml names."""
    code = (
        "import sys; from setuptools import build_meta as b; out, *kinds = sys.argv[1:]; "
        "[getattr(b, 'build_' + kind)(out) for kind in kinds]"  # which change sys.argv
    )
    subprocess.run(
        [python, "-c", code, str(out), *kinds], cwd=source, check=True, capture_output=True,
        env=alone(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(
    checkout: tuple[Path, str], python: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Build the source archive and the wheel."""
    out = tmp_path_factory.mktemp("dist")
    build(python, checkout[0], out, "sdist", "wheel")
    return out


def baked(wheel: Path) -> str:
    return zipfile.ZipFile(wheel).read("augury/commit.txt").decode().strip()


def test_what_is_built_carries_the_commit_of_its_checkout(
    checkout: tuple[Path, str], built: Path, python: str, tmp_path: Path
) -> None:
    [wheel], [archive] = built.glob("*.whl"), built.glob("*.tar.gz")
    copy, commit = checkout
    assert baked(wheel) == commit
    assert not (copy / "src" / "augury" / "commit.txt").exists()
    # And so does what is built of the archive, in a repository of somebody else.
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    assert repository(tmp_path) != commit
    [source] = (path for path in tmp_path.iterdir() if path.name.startswith("augury-"))
    assert (source / "src" / "augury" / "commit.txt").read_text().strip() == commit
    build(python, source, tmp_path, "wheel")
    [again] = tmp_path.glob("*.whl")
    assert baked(again) == commit


def test_what_is_built_of_a_bare_copy_in_a_strangers_repository_names_no_commit(
    checkout: tuple[Path, str], python: str, tmp_path: Path
) -> None:
    shutil.copytree(
        checkout[0], tmp_path / "theirs" / "augury", ignore=shutil.ignore_patterns(".git")
    )
    repository(tmp_path / "theirs")
    build(python, tmp_path / "theirs" / "augury", tmp_path, "wheel")
    [wheel] = tmp_path.glob("*.whl")
    assert "augury/commit.txt" not in zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_models_and_types_and_no_tests(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"augury/py.typed", "augury/models/discrete.safetensors"} <= set(names)
    assert {"augury/models/paper-mpnn.safetensors", "augury/experiments/report.md"} <= set(names)
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"augury"}
    source = {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "augury").rglob("*.py")
    }
    assert source <= set(names)


def test_the_source_archive_can_be_built_from(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    needed = {"pyproject.toml", "setup.py", "README.md", "LICENSE", "src/augury/py.typed"}
    assert needed | {"src/augury/models/discrete.safetensors"} <= names
    # And what README.md speaks of: tests with their helpers, documents, examples.
    assert {"Makefile", "constraints.txt", "examples/jobs.csv", "docs/tutorial.md"} <= names
    assert "proof/Makefile" in names and not any(name.endswith(".vo") for name in names)
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")} <= names


def test_the_wheel_installs_into_an_empty_environment_and_runs(
    checkout: tuple[Path, str], built: Path, tmp_path: Path
) -> None:
    """Its dependencies come from where these tests found theirs; the package does not."""
    [wheel] = built.glob("*.whl")
    assert repository(tmp_path) != checkout[1]
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, env=alone())
    paths = [path for path in sys.path if path.endswith("site-packages")]
    own = tmp_path / "env" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (own / "theirs.pth").write_text("\n".join(paths) + "\n")
    (tmp_path / "jobs.csv").write_text("ann,cook\nbob,cook\nbob,sing\n")

    def run(*words: str) -> str:
        done = subprocess.run(
            [str(python.parent / "augury"), *words], cwd=tmp_path, capture_output=True, text=True,
            env=alone(), timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "from augury import provenance as p; print(p.__file__, p.commit())"
    told = subprocess.run(
        [str(python), "-c", code],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=alone(),
    )  # fmt: skip
    assert str(own) in told.stdout and told.stdout.split()[1] == checkout[1]
    assert "augmentation" in run("verify", "discrete")  # and exit code 0: it is proven
    assert "matching of 2" in run("solve", "jobs.csv")
    assert run("--version").startswith("augury ")


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    """Return what a package index reads in the wheel."""
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        [name] = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(packed.read(name))


def test_an_index_is_told_licence_systems_and_versions(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier", [])
    assert metadata["License-Expression"] == "MIT" and metadata["Requires-Python"] == ">=3.11"
    assert not any(text.startswith("License") for text in classifiers)  # refused beside the former
    assert {"Operating System :: POSIX :: Linux", "Typing :: Typed"} <= set(classifiers)
    urls = dict(text.split(", ") for text in metadata.get_all("Project-URL", []))
    assert urls == PROJECT["project"]["urls"]


def test_the_description_on_an_index_links_to_files_of_this_version(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    links = re.findall(r"\]\(([^)\s]+)\)", text.decode())
    ours = PROJECT["project"]["urls"]["Repository"]
    kept = [link for link in links if link.startswith(f"{ours}/")]
    assert len(kept) > 10 and all(link.startswith(("https://", "#")) for link in links)
    for link in kept:
        kind, tag, path = link.removeprefix(f"{ours}/").split("/", 2)
        assert tag == f"v{PROJECT['project']['version']}", link
        assert (ROOT / path.partition("#")[0]).exists(), link
        assert kind == ("raw" if path.endswith((".png", ".svg")) else "blob"), link


@pytest.fixture(scope="module")
def user(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an empty environment with the source archive and its dependencies."""
    [archive] = built.glob("*.tar.gz")
    place = tmp_path_factory.mktemp("user")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    programs = place / "bin"
    pip = [str(programs / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt")]
    done = subprocess.run(
        [*pip, str(archive)], capture_output=True, text=True, check=False, env=alone(), cwd=place
    )
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("there is no package index here")
    assert done.returncode == 0, done.stderr
    return programs


def test_the_source_archive_installs_with_its_dependencies_alone_and_solves(
    user: Path, tmp_path: Path
) -> None:
    (tmp_path / "hours.csv").write_text("person,job,hours\nann,cook,4\nann,sing,1\nbob,cook,2\n")
    done = subprocess.run(
        [str(user / "augury"), "solve", "hours.csv"],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=alone(),
    )  # fmt: skip
    assert done.stdout.startswith("matching of 2, cost 3, ")
    assert "certified maximum of least cost" in done.stdout


def test_a_project_that_uses_the_package_passes_a_strict_checker(
    user: Path, tmp_path: Path
) -> None:
    """The installed package, not the checkout, is what it sees; a wrong type is seen, too."""
    project = tmp_path / "consumer"
    shutil.copytree(CONSUMER, project)
    run = subprocess.run(
        [str(user / "python"), "plan.py"],
        cwd=project, capture_output=True, text=True, check=True, env=alone(),
    )  # fmt: skip
    assert run.stdout == "[('Ann', 'paint'), ('Ben', 'cook')]\n[1, 0, 2]\n[1]\n"
    checker = [sys.executable, "-m", "pyright", "--pythonpath", str(user / "python"), str(project)]

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            checker, cwd=project, capture_output=True, text=True, check=False, env=alone()
        )

    done = check()
    assert done.returncode == 0, done.stdout
    with (project / "plan.py").open("a") as file:
        file.write("\nWRONG: str = augury.solve([(0, 0)]).size\n")
    assert '"int" is not assignable to "str"' in check().stdout
