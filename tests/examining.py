"""A solver for an exam that never ends on one question, and ends its process on another."""

from __future__ import annotations

import os
from collections import Counter

from augury.experiments.exam import Result, Task
from augury.experiments.exam_driver import cpu_limit


def examine_deadly(task: Task) -> Result:
    """Answer questions rightly, but for 7 and 9."""
    with cpu_limit(task.seconds):
        while 7 in task.numbers:
            pass
        if 9 in task.numbers:
            os._exit(5)
    return Result(Counter(right=len(task.numbers)), [])
