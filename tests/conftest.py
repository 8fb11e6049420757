"""What holds for every test: PyTorch works on one thread, quickest on graphs this small."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, by whoever needs it

# Time is measured in benchmarks/, never asserted in a test: the first call imports and compiles.
settings.register_profile("augury", deadline=None)
settings.load_profile("augury")
