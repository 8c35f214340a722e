"""What the commands write to the screen, and how."""

import math
import os
import re
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.outcomes.front import Front
from lamcts.text import visible
from lamcts.types import Rows


class ReaderLeft(Exception):
    """Nobody reads what is written any more, as after `lamcts list | head`: no mistake of anyone."""


class _Screen:
    """Where files are written that go to the screen."""

    def write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderLeft from None


SCREEN = _Screen()


def say(line: str = "") -> None:
    """Write a line. What comes from a journal, a program or an exception cannot steer the terminal with it."""
    SCREEN.write(visible(line) + "\n")


def complain(who: str, what: str) -> None:
    """Write what is wrong as one line to stderr."""
    sys.stderr.write(visible(f"{who}: {' '.join(what.split())}") + "\n")


def hush() -> None:
    """Write what is left for a reader who has gone to nowhere: the interpreter would complain of it as it ends."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Return an error of the package in the words of the command line: `--dataset: expected` for `dataset: expected`.

    options: what the user types for each argument. What he typed himself, further on in the text, stays as it is.
    """
    names = "|".join(map(re.escape, options))
    text = re.sub(rf"^(expected )?({names})(?=:| of | as )", lambda at: f"{at[1] or ''}{options[at[2]]}", text)
    return re.sub(rf"\bpass ({names})=", lambda at: f"pass {options[at[1]]} ", text, count=1)


def number(value: float) -> str:
    """Return a value in as many digits as a reader compares."""
    return f"{value:.6g}"


def pairs(values: Mapping[str, float]) -> str:
    """Return values by name in a line."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def front_text(front: Front, reference: Mapping[str, float] | None = None) -> str:
    """Return how large a front is, and its hypervolume from a reference (None: its own)."""
    said = f"{len(front)} point{'' if len(front) == 1 else 's'}"
    chosen = front.reference if reference is None else reference
    if chosen is None:
        return said
    try:
        return f"{said}, hypervolume {number(front.hypervolume(chosen))} from {pairs(chosen)}"
    except MissingExtra as error:
        return f"{said}; no hypervolume: {error}"


def evaluation_of(trial: Rows, row: int) -> int | None:
    """Return which evaluation a row was, from 1 on, by the numbers of trials [n]; None: it was known before."""
    return None if trial[row] < 0 else int(np.count_nonzero(trial[: row + 1] >= 0))


def span(seconds: float) -> str:
    """Return a duration in its two largest units."""
    if not math.isfinite(seconds):
        return f"{seconds} s"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows of texts in columns; the last column may be of any length."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        say("  " + "  ".join([*cells, row[-1]]).rstrip())
