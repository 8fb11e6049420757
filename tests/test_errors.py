import sys
import unicodedata

import pytest

from augury.errors import InputError, visible


def test_what_a_terminal_obeys_is_shown():
    assert visible("\x1b[2J\x9b31m\x07\r\x7f\0") == r"\x1b[2J\x9b31m\x07\r\x7f\x00"
    assert visible("a\u202eb\u2066c\u200fd") == r"a\u202eb\u2066c\u200fd"


def test_text_stays_as_it_is():
    for text in ("", "Jürgen 李 \U0001f600", "two\tcolumns\n", "family \U0001f468\u200d\U0001f469"):
        assert visible(text) == text


@pytest.mark.parametrize("kept", ["\t\n"])
def test_no_control_character_of_unicode_is_left(kept):
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {letter for letter in visible(every) if unicodedata.category(letter) == "Cc"}
    turned = {
        letter
        for letter in visible(every)
        if unicodedata.bidirectional(letter) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI")
    }
    assert left == set(kept) and turned == set()


def test_an_error_holds_nothing_that_a_terminal_obeys():
    assert str(InputError("no \x1b[31mfile")) == r"no \x1b[31mfile"
