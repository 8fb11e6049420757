"""Files are written whole or not at all, and a lock has one holder."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from augury.errors import InputError
from augury.files import BYTES_PER_BYTE, atomic_file, locked, refuse_bomb, write_text


def python(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == word


HOLD = """
    import time
    from pathlib import Path
    from augury.files import locked
    with locked(Path({lock!r}), Path("the folder")):
        print("held", flush=True)
        time.sleep(60)
"""


def test_a_lock_is_held_by_one_process_and_dies_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = python(HOLD.format(lock=str(lock)))
    wait_for(holder, "held")
    with pytest.raises(InputError, match="run: another process is at work here"):  # noqa: SIM117
        with locked(lock, Path("run")):
            pass
    holder.kill()
    holder.communicate()
    assert lock.exists()
    with locked(lock, Path("run")):  # no stale lock: the file is there, but nobody holds it
        assert lock.exists()
    assert not lock.exists()


def test_a_lock_whose_file_was_taken_away_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the process before may end and take the file with it."""
    import fcntl

    lock = tmp_path / "lock"
    monkeypatch.setattr(fcntl, "flock", lambda *_: lock.unlink())
    with pytest.raises(InputError, match="another process"), locked(lock, Path("run")):
        pass
    monkeypatch.setattr(fcntl, "flock", lambda *_: (lock.unlink(), lock.touch()))
    with pytest.raises(InputError, match="another process"), locked(lock, Path("run")):
        pass


def test_a_lock_without_a_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run: there is no such file or folder"):  # noqa: SIM117
        with locked(tmp_path / "gone" / "lock", Path("run")):
            pass


WRITE = """
    from augury.files import atomic_file
    with atomic_file({path!r}) as file:
        file.write(b"new" * 10**6)
        file.flush()
        print("written", flush=True)
        import time; time.sleep(60)
"""


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")
    writer = python(WRITE.format(path=str(path)))
    wait_for(writer, "written")
    writer.kill()
    writer.communicate()
    assert path.read_text() == "old"
    assert [x.suffix for x in tmp_path.iterdir() if x != path] == [".tmp"]  # nobody reads these


@pytest.mark.parametrize("error", [OSError(28, "No space left"), OSError(30, "Read-only")])
def test_a_disk_that_refuses_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")

    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(InputError, match=f"answer.json: {str(error.strerror).lower()}"):
            write_text(path, "new")
    with pytest.raises(OSError), atomic_file(path) as file:
        file.write(b"ne")
        raise error
    assert [x.name for x in tmp_path.iterdir()] == ["answer.json"] and path.read_text() == "old"


def test_writing_over_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="this is a folder"):
        write_text(tmp_path, "text")


def test_a_written_file_keeps_its_mode_and_its_link(tmp_path):
    path, link = tmp_path / "file.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_as_readable_as_any(tmp_path):
    (tmp_path / "other").touch()
    write_text(tmp_path / "file.txt", "text")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_device_is_written_to_not_replaced(tmp_path):
    write_text("/dev/null", "text")
    assert not os.path.isfile("/dev/null")


def test_standard_output_is_written(capsys):
    write_text("-", "text\n")
    assert capsys.readouterr().out == "text\n"


def test_what_unpacks_to_the_limit_is_read_and_a_byte_more_is_not() -> None:
    free, packed = 1000, 7
    refuse_bomb(free + packed * BYTES_PER_BYTE, packed, free)
    with pytest.raises(InputError, match="7 packed bytes unpack to more than 1700"):
        refuse_bomb(free + packed * BYTES_PER_BYTE + 1, packed, free)
