"""Kernels for a GPU, compiled for the simulated block of tests/engines/warps.h."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

COMPILER = shutil.which("g++")
WARPS = Path(__file__).parent / "engines" / "warps.h"
# Shared memory is static here, and no library may share it with another one.
FLAGS = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-w", "-fno-gnu-unique"]
FLAGS += [f"-I{WARPS.parent}"]
FINDS_RACES = bool(os.environ.get("RACES"))
if FINDS_RACES:
    FLAGS += ["-fsanitize=thread", "-DRACES", "-g"]
HEAD = """#include "warps.h"
static long long memory[1 << 17];
#define MEMORY
#define glance(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define leave(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELAXED)
#define power_of_2(x) exp2f(x)
"""
PIPES: dict[str, Any] = {"capture_output": True, "text": True}
PATIENCE = 120.0
MOST_RECENT = 6
"""Kernels that keep their fibers, if they find races: each takes megabytes."""
RECENT: dict[str, ctypes.CDLL] = {}
"""Those by their names, the last one used at the end."""


def simulated(folder: Path, code: str) -> ctypes.CDLL:
    """Compile this code, or load what an earlier run made of the same text with the same tools."""
    library = loaded(folder, code)
    if FINDS_RACES:
        RECENT.pop(library._name, None)
        RECENT[library._name] = library
        if len(RECENT) > MOST_RECENT:
            RECENT.pop(next(iter(RECENT))).forget()
    return library


@cache
def loaded(folder: Path, code: str) -> ctypes.CDLL:
    """Do so once."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    tools = [*FLAGS, str(Path(COMPILER).resolve().stat().st_mtime_ns), WARPS.read_text("utf-8")]
    code = HEAD + code
    digest = hashlib.sha256("\0".join([*tools, code]).encode()).hexdigest()
    library = folder / f"{digest[:32]}.so"
    if not library.exists():
        new = folder / f"{digest[:32]}-{os.getpid()}"
        command = [COMPILER, *FLAGS, "-x", "c++", "-", "-o", str(new)]
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(command, input=code, check=True, timeout=PATIENCE, env=own, **PIPES)
        new.replace(library)
    return ctypes.CDLL(str(library))
