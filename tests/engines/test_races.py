"""The simulated block of `make races` finds races, and only those."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from pathlib import Path
from kernels import simulated

KERNEL = '''
static int seen[64];
static void exchange() {{
    int* words = (int*)memory;
    words[threadIdx.x] = threadIdx.x;
    {between}
    seen[threadIdx.x] = words[63 - threadIdx.x];
}}
extern "C" int run() {{ launch(exchange, 2, 64); return seen[63]; }}
'''
simulated(Path(sys.argv[1]), KERNEL).run()
"""


@pytest.mark.parametrize(
    ("between", "is_race"),
    [
        ("__syncthreads();", False),
        ("__syncthreads_or(true);", False),
        ("__syncwarp(); __syncthreads();", False),
        ("", True),
        ("__syncwarp();", True),  # the other word is another warp's
        ("__shfl_sync(~0u, 1, 0); __any_sync(~0u, true);", True),  # these order nothing
    ],
)
def test_a_race_is_one_if_nothing_orders_both(tmp_path: Path, between: str, is_race: bool) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    command = ["g++", "-print-file-name=libtsan.so"]
    sanitizer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    found = subprocess.run(
        [sys.executable, "-c", CODE.format(between=between), str(tmp_path)],
        env={
            **os.environ,
            "RACES": "1",
            "LD_PRELOAD": sanitizer,
            "PYTHONPATH": str(Path(__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ("data race" in found.stderr) == is_race
    assert found.returncode == (66 if is_race else 0), found.stderr
