"""Regular expressions of the user, matched in a process that can be ended: `(a+)+$` takes time that doubles."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from multiprocessing.spawn import get_executable
from types import TracebackType
from typing import Self

from lamcts.objectives.programs import matcher
from lamcts.text import shortened

MOST_SECONDS, LEAST_SECONDS = 10.0, 1.0  # for all matches in an output: a mebibyte takes 50 ms (untuned)


def limit(timeout_seconds: float | None) -> float:
    """Return how long matches may take in the output of a program: as long as the program, within bounds; seconds."""
    return min(MOST_SECONDS, max(LEAST_SECONDS, timeout_seconds or MOST_SECONDS))


class Matcher:
    """A process that matches, started when it is first needed. Its matches take `seconds` together, or TimeoutError."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self.begin()

    def begin(self) -> None:
        """Give the matches from here on all of the time again."""
        self._until = time.monotonic() + self._seconds

    def matches(
        self, pattern: str, groups: Sequence[int | str], texts: Sequence[str], most: int | None = None
    ) -> matcher.Found:
        """Return the groups of the last `most` matches in each text (None: of all)."""
        left = max(1e-3, self._until - time.monotonic())  # seconds; 0 would be no limit
        answer = self._asked(json.dumps([pattern, groups, most, texts, left]))
        if answer:
            found: matcher.Found = json.loads(answer)
            return found
        status = self._started().wait()
        if status != -signal.SIGALRM:
            raise RuntimeError(f"expected matches of {shortened(pattern)!r}, got none: their process ended ({status})")
        raise TimeoutError(
            f"expected matches of {shortened(pattern)!r} within {self._seconds:g} s, got none: "
            "begin it with a fixed text, and repeat nothing that repeats, such as (a+)+"
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with self._process:  # waits, and closes the pipes
                self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _asked(self, request: str) -> str:
        """Return the answer to a request; "" where the process ended."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None  # both are pipes
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        except BrokenPipeError:
            return ""

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            # isolated, and without site-packages: it starts in 30 ms; a session of its own keeps Ctrl-C from it
            words = [get_executable(), "-I", "-S", matcher.__file__]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, start_new_session=True
            )
        return self._process
