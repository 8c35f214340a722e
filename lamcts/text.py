"""Text of exceptions and user values, safe for messages and terminals."""

import re
from collections.abc import Callable, Sequence

SHOWN = 80  # characters of a value in a message: a line of a terminal
MOST_CHARACTERS = 4000  # of a failure message: a traceback fits, and a thousand of them take 4 MB in a journal
# What a terminal may obey instead of showing it (newline and tab apart), what turns the direction of writing, and
# halves of characters, which no stream takes.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_text(value: object) -> str:
    """Return `str(value)`, valid Unicode and cut to `MOST_CHARACTERS`; where `str` raises, a text that says so."""
    return _cut(valid(_written(str, value)))


def safe_repr(value: object) -> str:
    """Return `repr(value)` as valid Unicode; where `repr` raises, a text that says so."""
    return valid(_written(repr, value))


def shortened(text: str) -> str:
    """Return `text`, cut to `SHOWN` characters, so that it fits into a message."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of texts as lines in columns; the last column may have any length."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    cells = ([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1]] for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


def visible(text: str) -> str:
    """Return `text` with control characters written out, as `\\x1b`: a terminal shows them and obeys none."""
    return _UNSEEN.sub(lambda found: _escape(ord(found[0])), text)


def _written(write: Callable[[object], str], value: object) -> str:
    try:
        return write(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose own text raises {type(error).__name__}>"


def valid(text: str) -> str:
    """Return a text with halves of characters written out, as `\\ud800`: a file takes it."""
    return str.encode(text, "utf-8", "backslashreplace").decode()  # not its own encode: it may be of a derived class


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    note = f"... (cut: {len(text)} characters in all)"
    return text[: MOST_CHARACTERS - len(note)] + note


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
