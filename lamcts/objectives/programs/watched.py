"""Report the intermediate values in the output of a running program, which may end it."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from lamcts.objectives.programs.matching import MOST_SECONDS, Matcher

STEP, VALUE = "step", "value"  # groups of a pattern
CHUNK_BYTES = 2**16  # read at a time (untuned)
KEPT_BYTES = 2**20  # of a line that does not end: what is longer is no report (untuned)


class Reporting(Protocol):
    """The receiver of the intermediate values of an evaluation."""

    @property
    def folder(self) -> Path:
        """The folder of the configuration, which is there."""

    def report(self, step: int, value: float | tuple[float, ...]) -> None:
        """Take the value, or that of each objective, at a step; `Pruned` is raised if the evaluation should stop."""


class Watch:
    """Reports what a pattern finds in new lines of a file.

    seconds: how long the matches of a look may take (10.0; seconds). names: of the objectives.
    """

    def __init__(
        self, pattern: str, trial: Reporting, seconds: float = MOST_SECONDS, names: Sequence[str] = (VALUE,)
    ) -> None:
        self._pattern, self._trial, self._matcher = re.compile(pattern), trial, Matcher(seconds)
        named = STEP in self._pattern.groupindex
        self._places = [STEP, *_values(names)] if named else [*range(1, len(names) + 2)]
        self._read, self._rest = 0, b""

    def look(self, file: IO[bytes], ended: bool = False) -> None:
        """Report the lines that have been written to a file since the last look; of one that has `ended`, all.

        TimeoutError where the matches take too long.
        """
        self._matcher.begin()
        while new := os.pread(
            file.fileno(), CHUNK_BYTES, self._read
        ):  # no seek: the program writes where it would lead
            self._read += len(new)
            self._take(new)
        if ended:
            self._take(b"\n")

    def _take(self, new: bytes) -> None:
        *lines, self._rest = (self._rest + new).split(b"\n")
        self._rest = self._rest[-KEPT_BYTES:]
        if lines:
            self._report([line.decode(errors="replace") for line in lines])

    def _report(self, lines: list[str]) -> None:
        pattern = self._pattern.pattern
        for found in self._matcher.matches(pattern, self._places, lines):
            for step, *values in found:
                try:
                    at, numbers = int(step or ""), tuple(float(value or "") for value in values)
                except ValueError:
                    count = "a number" if len(values) == 1 else f"{len(values)} numbers"
                    got = " and ".join(map(repr, (step, *values)))
                    raise ValueError(
                        f"report: expected a whole number and {count} for {pattern!r}, got {got}"
                    ) from None
                self._trial.report(at, numbers[0] if len(numbers) == 1 else numbers)

    def close(self) -> None:
        """End the process that matches."""
        self._matcher.close()


def check_report(pattern: str | None, names: Sequence[str] = (VALUE,)) -> None:
    """Raise ValueError for what is no pattern of a step and a value, or of the values of several objectives."""
    if pattern is None:
        return
    try:
        made = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"report: expected a regular expression, got {pattern!r}: {error}") from None
    wanted = [STEP, *_values(names)]
    missing = [name for name in wanted if name not in made.groupindex]
    if missing and len(missing) < len(wanted):
        groups = ", ".join(f"(?P<{name}>...)" for name in wanted)
        raise ValueError(f"report: expected the groups {groups}, got no {missing[0]!r}; without names, in this order")
    if missing and made.groups != len(wanted):
        example = r"epoch (\d+)" + r" (\S+)" * len(names)
        raise ValueError(
            f"report: expected {len(wanted)} groups, for {', '.join(wanted)}, got {made.groups} in {pattern!r}: write "
            f"'{example}', or name them"
        )


def _values(names: Sequence[str]) -> Sequence[str]:
    """Return the groups of the values: one called value, or the names of several objectives."""
    return names if len(names) > 1 else (VALUE,)
