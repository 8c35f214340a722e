"""Run a program. Its process group ends with it, and with the wait for it."""

import multiprocessing
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from lamcts.errors import Pruned
from lamcts.utils.interrupts import held_back

POLL_SECONDS = 0.2  # between two checks whether a wait should end (untuned)
STEP_SECONDS = 0.02  # between two checks of a process group that is about to end (untuned)
GRACE_SECONDS = 2.0  # from SIGTERM to SIGKILL, to write a checkpoint or to free a device (untuned)
KEPT_BYTES = 2**20  # of each stream, from its end: the value is on its last lines (untuned)
MOST_BYTES = 2**26  # that it may write to a stream: a disk is not filled by a loop that prints (untuned)
LAST_LINES, LAST_CHARACTERS = 3, 400  # of the error stream, in messages (untuned)
STEP, VALUE = "step", "value"  # groups of a pattern
CHUNK_BYTES = 2**16  # read at a time (untuned)
LINE_BYTES = 2**20  # of a line that does not end: what is longer is no report (untuned)


class Reporting(Protocol):
    """The receiver of the intermediate values of an evaluation."""

    @property
    def folder(self) -> Path:
        """The folder of the configuration, which is there."""

    def report(self, step: int, value: float | tuple[float, ...]) -> None:
        """Take the value, or that of each objective, at a step; `Pruned` is raised if the evaluation should stop."""


class Watch:
    """Reports what a pattern finds in new lines of a file."""

    def __init__(self, pattern: str, trial: Reporting, names: Sequence[str] = (VALUE,)) -> None:
        self._pattern, self._trial = re.compile(pattern, re.MULTILINE), trial
        named = STEP in self._pattern.groupindex
        self._places = [STEP, *_values(names)] if named else [*range(1, len(names) + 2)]
        self._read, self._rest = 0, b""

    def look(self, file: IO[bytes], ended: bool = False) -> None:
        """Report the lines written to a file since the last look; of one that has `ended`, all."""
        # no seek: the program writes where it would lead
        while new := os.pread(file.fileno(), CHUNK_BYTES, self._read):
            self._read += len(new)
            self._take(new)
        if ended and not self._rest.endswith(b"."):  # a number that is cut off
            self._take(b"\n")

    def _take(self, new: bytes) -> None:
        *lines, self._rest = (self._rest + new).split(b"\n")
        self._rest = self._rest[-LINE_BYTES:]
        for line in lines:
            for match in self._pattern.finditer(line.decode(errors="replace")):
                self._report(*(match[place] for place in self._places))

    def _report(self, step: str | None, *values: str | None) -> None:
        try:
            at, numbers = int(step or ""), tuple(float(value or "") for value in values)
        except ValueError:
            count = "a number" if len(values) == 1 else f"{len(values)} numbers"
            got = " and ".join(map(repr, (step, *values)))
            raise ValueError(
                f"report: expected a whole number and {count} for {self._pattern.pattern!r}, got {got}"
            ) from None
        self._trial.report(at, numbers[0] if len(numbers) == 1 else numbers)


class Ended(NamedTuple):
    """The result of a program: exit status (-n: killed by signal n), and the end of its output."""

    status: int
    output: str
    errors: str


def run(
    words: Sequence[str], timeout_seconds: float | None = None, watch: Watch | None = None, folder: str | None = None
) -> Ended:
    """Run the program `words[0]` without a shell and without input, in a session of its own, from a folder.

    TimeoutError after `timeout_seconds`. On this, on Ctrl-C, on SIGTERM or SIGHUP, and when this process or the parent
    of a worker ends, the whole process group is killed; so it is with a RuntimeError after `MOST_BYTES`. `watch` looks
    at the output as it comes, and ends the program by raising.
    """
    # Files, not pipes: a pipe stays open as long as any stray child holds it, and the wait would last as long.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, held_back() as stops:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            env=_told(watch),
        )
        try:
            status = _wait(process, timeout_seconds, stops, (output, errors), watch)
        except TimeoutError as error:
            _kill(process)
            raise TimeoutError(f"{error}{last_words(_end_of(errors))}") from None
        except BaseException:
            _kill(process)
            raise
        _kill(process)
        _check_sizes((output, errors))
        if watch is not None:
            with suppress(Pruned):
                watch.look(output, ended=True)
        return Ended(status, _end_of(output), _end_of(errors))


def last_words(errors: str) -> str:
    """Return the last lines of an error stream as the end of a message: ": ..." or nothing."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    text = " | ".join(lines[-LAST_LINES:])
    return f": {text if len(text) <= LAST_CHARACTERS else '...' + text[-LAST_CHARACTERS:]}" if text else ""


def _told(watch: Watch | None) -> dict[str, str] | None:
    """Return the environment of a program: one that is watched is not to keep its lines back, if it is Python's."""
    return None if watch is None else {**os.environ, "PYTHONUNBUFFERED": "1"}


def _wait(
    process: "subprocess.Popen[bytes]",
    timeout_seconds: float | None,
    stops: list[int],
    files: Sequence[IO[bytes]],
    watch: Watch | None,
) -> int:
    deadline = float("inf") if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        try:
            return process.wait(max(0.0, min(POLL_SECONDS, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            _check_sizes(files)
            if watch is not None:
                watch.look(files[0])
            if stops:
                raise SystemExit(128 + stops[0]) from None
            parent = multiprocessing.parent_process()  # the interpreter waits for this thread when it ends
            if not threading.main_thread().is_alive() or (parent is not None and not parent.is_alive()):
                raise RuntimeError("given up: who asked for it has ended") from None
            if time.monotonic() >= deadline:
                raise TimeoutError(f"killed after {timeout_seconds:g} s") from None


def _check_sizes(files: Iterable[IO[bytes]]) -> None:
    if any(os.fstat(file.fileno()).st_size > MOST_BYTES for file in files):
        raise RuntimeError(f"it wrote more than {MOST_BYTES / 2**20:g} MiB: print less, or write to a file") from None


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process group: by SIGTERM, and after a grace by SIGKILL."""
    deadline = time.monotonic() + GRACE_SECONDS
    alive = _signal(process, signal.SIGTERM)
    try:
        while alive and time.monotonic() < deadline:
            time.sleep(STEP_SECONDS)
            process.poll()  # a dead leader counts as alive until then
            alive = _signal(process, 0)
    finally:  # whatever breaks off the grace
        if alive:
            _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: int) -> bool:
    """Send a signal to the process group, 0 for none, and return whether anything is left of it."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS denies where only dead ones are left
        return False
    return True


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - KEPT_BYTES))
    return file.read().decode(errors="replace")


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
