"""What holds for every test: PyTorch works on one thread, quickest on graphs this small."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, by whoever needs it
