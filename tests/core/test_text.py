"""What exceptions and values say of themselves, whatever that is, makes a message."""

import math

import pytest

from lamcts.optimizer.losses import loss_of
from lamcts.text import MOST_CHARACTERS, safe_repr, safe_text, visible


class Mute(Exception):
    """Neither its text nor its repr can be had."""

    def __str__(self):
        return self.args[0]["missing"]

    def __repr__(self):
        raise ZeroDivisionError


def test_text_that_is_no_valid_unicode_is_written_out():
    assert safe_text(OSError("no file '\udcff.txt'")) == r"no file '\udcff.txt'"
    assert safe_text("naïve \N{SNOWMAN}\n") == "naïve \N{SNOWMAN}\n"


def test_what_cannot_say_what_it_is_is_named_by_its_type():
    assert safe_text(Mute({})) == "<Mute, whose own text raises KeyError>"
    assert safe_repr(Mute({})) == "<Mute, whose own text raises ZeroDivisionError>"


def test_a_long_text_is_cut_once_and_says_how_much():
    cut = safe_text("x" * 50_000)
    assert len(cut) == MOST_CHARACTERS and cut.endswith("xxx... (cut: 50000 characters in all)")
    assert safe_text(cut) == cut
    assert safe_text("y" * MOST_CHARACTERS) == "y" * MOST_CHARACTERS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("one\ttwo\nthree", "one\ttwo\nthree"),
        ("back\r\x9b2J\x7f", r"back\x0d\x9b2J\x7f"),
        ("file\udcff \u202egpj", r"file\udcff \u202egpj"),
        ("naïve \N{SNOWMAN}", "naïve \N{SNOWMAN}"),
    ],
)
def test_a_terminal_is_shown_what_it_would_obey(text, shown):
    assert visible(text) == shown


def test_a_failure_and_a_wrong_value_that_say_nothing_still_make_a_message():
    loss, message = loss_of(Mute({}), maximize=False)
    assert math.isnan(loss) and message == "Mute: <Mute, whose own text raises KeyError>"
    with pytest.raises(ValueError, match="got list <list, whose own text raises ZeroDivisionError>"):
        loss_of([Mute({}), 1], maximize=False)
