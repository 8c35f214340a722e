"""Output of the commands: lines, tables and numbers on the terminal."""

import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from lamcts.errors import MissingExtra
from lamcts.outcomes.front import Front
from lamcts.text import columns, visible
from lamcts.types import Point

MOST_SHOWN = 24  # coordinates of a point that are printed (by eye)


class ReaderLeft(Exception):
    """The reader of stdout has closed the pipe, as `lamcts list | head` does."""


class _Screen:
    """A file that writes to stdout: to a terminal with control characters escaped, elsewhere what it can encode."""

    def write(self, text: str) -> None:
        text = visible(text) if sys.stdout.isatty() else text
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderLeft from None


SCREEN = _Screen()


def say(line: str = "") -> None:
    """Print a line with control characters escaped, wherever its text comes from."""
    SCREEN.write(visible(line) + "\n")


def complain(who: str, what: str) -> None:
    """Print an error as one line to stderr."""
    sys.stderr.write(visible(f"{who}: {' '.join(what.split())}") + "\n")


@contextmanager
def warnings_as_lines(who: str, options: Mapping[str, str]) -> Iterator[None]:
    """Print each Python warning once to stderr, as one line with options for arguments, `who: warning: text`."""
    usual, printed = warnings.formatwarning, set[str]()

    def line(message: Warning | str, *_: object, **__: object) -> str:
        text = visible(f"{who}: warning: {in_options(' '.join(str(message).split()), options)}") + "\n"
        new = text not in printed
        printed.add(text)
        return text if new else ""

    warnings.formatwarning = line
    try:
        yield
    finally:
        warnings.formatwarning = usual


def silence() -> None:
    """Redirect stdout to nowhere if its reader has gone: the interpreter flushes it at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Return an error message with options for arguments: `--dataset: expected` for `dataset: expected`.

    options: the option of each argument.
    """
    names = "|".join(map(re.escape, options))
    text = re.sub(rf"^(expected )?({names})(?=:| of | as )", lambda at: f"{at[1] or ''}{options[at[2]]}", text)
    return re.sub(rf"\bpass ({names})=", lambda at: f"pass {options[at[1]]} ", text, count=1)


def counted(count: int, what: str) -> str:
    """Return a number of things, such as "1 point" or "2 points"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    """Return a value in six digits."""
    return f"{value:.6g}"


def pairs(values: Mapping[str, float]) -> str:
    """Return values by name as one line."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def point_text(point: Point) -> str:
    """Return a point as one line, of an array its first coordinates."""
    if isinstance(point, dict):
        return ", ".join(f"{name}={value}" for name, value in point.items())
    if not isinstance(point, (list, tuple)):
        return str(point)
    shown = [number(value) if isinstance(value, float) else str(value) for value in point[:MOST_SHOWN]]
    return ", ".join(shown) + (f", ... ({len(point)} in all)" if len(point) > MOST_SHOWN else "")


def front_text(front: Front, reference: Mapping[str, float] | None = None) -> str:
    """Return the size of a front and its hypervolume from a reference point (None: its own)."""
    size = counted(len(front), "point")
    chosen = front.reference if reference is None else reference
    if chosen is None:
        return size
    try:
        return f"{size}, hypervolume {number(front.hypervolume(chosen))} (reference point {pairs(chosen)})"
    except MissingExtra as error:
        return f"{size}; no hypervolume: {error}"


def place_of(trial: int | None) -> str:
    """Return the name of an evaluation, which is that of its trial; a known one has none (below 0, or None)."""
    return "among the known evaluations" if trial is None or trial < 0 else f"in trial {trial}"


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
    """Print rows of texts in columns; the last column may have any length."""
    for line in columns(rows):
        say(f"  {line}")
