"""Report the intermediate values in the output of a running program, which may end it."""

import os
import re
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

    def report(self, step: int, value: float) -> None:
        """Take the value at a step; `Pruned` is raised if the evaluation should stop."""


class Watch:
    """Reports what a pattern finds in new lines of a file.

    seconds: how long the matches of a look may take (10.0; seconds).
    """

    def __init__(self, pattern: str, trial: Reporting, seconds: float = MOST_SECONDS) -> None:
        self._pattern, self._trial, self._matcher = re.compile(pattern), trial, Matcher(seconds)
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
        places = (STEP, VALUE) if STEP in self._pattern.groupindex else (1, 2)
        for found in self._matcher.matches(pattern, places, lines):
            for step, value in found:
                try:
                    told = int(step or ""), float(value or "")
                except ValueError:
                    raise ValueError(
                        f"report: expected a whole number and a number for {pattern!r}, got {step!r} and {value!r}"
                    ) from None
                self._trial.report(*told)

    def close(self) -> None:
        """End the process that matches."""
        self._matcher.close()


def check_report(pattern: str | None) -> None:
    """Raise ValueError for what is no pattern of a step and a value."""
    if pattern is None:
        return
    try:
        made = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"report: expected a regular expression, got {pattern!r}: {error}") from None
    named = {*made.groupindex}
    if named & {STEP, VALUE} and not {STEP, VALUE} <= named:
        (missing,) = {STEP, VALUE} - named
        raise ValueError(f"report: expected both groups, (?P<step>...) and (?P<value>...), got no {missing!r}")
    if not named & {STEP, VALUE} and made.groups != 2:
        raise ValueError(
            f"report: expected two groups, the step and the value, got {made.groups} in {pattern!r}: write "
            "'epoch (\\d+) loss (\\S+)', or (?P<step>...) and (?P<value>...)"
        )
