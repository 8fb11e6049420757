"""Refuse trailing white space, a missing last newline, bad TOML and files over 1 MB.

    python tests/check_files.py FILE...

A pre-commit hook, and a test over all tracked files.
"""

import sys
import tomllib
from pathlib import Path

TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".cff", ".csv", ".json", ".js", ".css", ".html"}
MAX_BYTES = 1_000_000


def faults(path: Path) -> list[str]:
    """Return what is wrong with a file, a sentence each."""
    data = path.read_bytes()
    found: list[str] = []
    if len(data) > MAX_BYTES:
        found.append(f"{path}: {len(data)} bytes is more than {MAX_BYTES}")
    if path.suffix in TEXT:
        lines = data.decode().split("\n")
        found += [
            f"{path}:{number}: trailing white space"
            for number, line in enumerate(lines, 1)
            if line != line.rstrip()
        ]
        if data and lines[-1]:
            found.append(f"{path}: no newline at the end")
    if path.suffix == ".toml":
        try:
            tomllib.loads(data.decode())
        except tomllib.TOMLDecodeError as error:
            found.append(f"{path}: {error}")
    return found


def main(names: list[str]) -> int:
    """Print the faults of the named files; 1 if there are any."""
    found = [fault for name in names for fault in faults(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
