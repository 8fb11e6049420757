"""A result names the commit of this package, never that of a repository it happens to lie in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from augury.provenance import commit

OURS = '[project]\nname = "augury"\n'
THEIRS = '[project]\nname = "shop"\n'


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def repository(folder: Path, *tracked: str) -> str:
    """Make a repository of the folder that tracks these, and return its commit."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "note.txt").write_text(f"{folder}\n")  # so that no two commits are the same
    git(folder, "init", "-q")
    git(folder, "add", "note.txt", *tracked)
    git(folder, "commit", "-q", "-m", "all")
    return git(folder, "rev-parse", "HEAD").strip()


def package(source: Path, project: str | None = OURS) -> Path:
    """Put the package into a folder `source`, beside which lies its pyproject.toml."""
    (source / "augury").mkdir(parents=True)
    (source / "augury" / "provenance.py").write_text("# ours\n")
    if project is not None:
        (source.parent / "pyproject.toml").write_text(project)
    return source / "augury"


def test_a_checkout_has_its_own_commit(tmp_path: Path) -> None:
    found = package(tmp_path / "src")
    assert commit(found) == "unknown"
    expected = repository(tmp_path, "src", "pyproject.toml")
    assert commit(found) == expected
    git(tmp_path, "worktree", "add", "-q", str(tmp_path / "other"))
    assert commit(tmp_path / "other" / "src" / "augury") == expected


@pytest.mark.parametrize(
    ("where", "project", "tracked"),
    [
        ("vendor/augury/src", OURS, ["vendor"]),  # an archive of ours in their repository
        ("vendor/augury/src", OURS, []),
        ("src", THEIRS, ["src", "pyproject.toml"]),  # our package among theirs
        ("src", None, ["src"]),
        ("src", "name = [", ["src"]),
        ("src", OURS, []),  # theirs does not track ours
        ("env/lib/python3/site-packages", None, []),
        ("site-packages", OURS, ["site-packages"]),
    ],
)
def test_a_strangers_repository_is_never_asked(
    where: str, project: str | None, tracked: list[str], tmp_path: Path
) -> None:
    found = package(tmp_path / where, project)
    repository(tmp_path, *tracked)
    assert commit(found) == "unknown"


def test_what_is_no_repository_does_not_lead_to_the_one_around_it(tmp_path: Path) -> None:
    """Here an archive of ours lies in a checkout of ours, whose commit is not its own."""
    package(tmp_path / "src")
    found = package(tmp_path / "old" / "src")
    repository(tmp_path, "src", "old", "pyproject.toml")
    assert commit(found) == "unknown"
    (tmp_path / "old" / ".git").mkdir()
    assert commit(found) == "unknown"


def test_the_environment_of_a_strangers_hook_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets GIT_DIR for what it runs, and would then answer for that repository alone."""
    found = package(tmp_path / "ours" / "src")
    stranger = package(tmp_path / "stranger" / "src")
    repository(stranger.parents[1], "src", "pyproject.toml")
    for name in ("GIT_DIR", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(stranger.parents[1] / ".git"))
    assert commit(found) == "unknown"
    expected = repository(tmp_path / "ours", "src", "pyproject.toml")
    assert commit(found) == expected


def test_what_was_baked_in_goes_before_any_repository(tmp_path: Path) -> None:
    found = package(tmp_path / "src")
    repository(tmp_path, "src", "pyproject.toml")
    (found / "commit.txt").write_text("0123abcd\n")
    assert commit(found) == "0123abcd"


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = package(tmp_path / "src")
    repository(tmp_path, "src", "pyproject.toml")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert commit(found) == "unknown"
