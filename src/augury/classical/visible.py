"""Text from anywhere becomes text that a terminal shows and does not obey.

A label or the name of a file may hold escape sequences, with which whoever wrote it could move the
cursor, rename the window or hide what stands there, and marks that turn the direction of writing.
"""

from __future__ import annotations

import re

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and marks of direction and of lines."""


def visible(text: str) -> str:
    r"""Return the text with every character that a terminal would obey written as Python does.

    >>> print(visible("\x1b[31mann\r"), visible("李 Jürgen"))
    \x1b[31mann\r 李 Jürgen
    """
    return OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
