"""A program run to its end, and never longer: it and all that it started are killed if the wait for it breaks off."""

import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from types import FrameType
from typing import IO, NamedTuple

from lamcts.errors import Pruned
from lamcts.objectives.programs.watched import Watch

POLL_SECONDS = 0.2  # between two checks whether a wait should end (untuned)
GRACE_SECONDS = 2.0  # from SIGTERM to SIGKILL, to write a checkpoint or to free a device (untuned)
KEPT_BYTES = 2**20  # of each stream, from its end: the value is on its last lines (untuned)
MOST_BYTES = 2**26  # that it may write to a stream: a disk is not filled by a loop that prints (untuned)
LAST_LINES, LAST_CHARACTERS = 3, 400  # of the error stream, in messages (untuned)
USUAL: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class Ended(NamedTuple):
    """The result of a program: exit status (-n: killed by signal n), and the end of its output."""

    status: int
    output: str
    errors: str


def run(words: Sequence[str], timeout_seconds: float | None = None, watch: Watch | None = None) -> Ended:
    """Run the program `words[0]` with the other words as its arguments, without a shell and without input.

    It is the head of a session of its own, so that a Ctrl-C at the terminal reaches it through this wait alone.
    TimeoutError after `timeout_seconds`. On this, on Ctrl-C, on SIGTERM or SIGHUP to this process, when the interpreter
    ends while a thread waits, and when the parent of a worker process ends, the whole process group is killed.
    So it is once it has written more than `MOST_BYTES`, a RuntimeError. OSError where the program cannot start.
    `watch` looks at its output as it comes, and ends it by raising; what has ended in time is looked at, and stands.
    It is closed in the end.
    """
    # Files, not pipes: a pipe stays open as long as any stray child holds it, and the wait would last as long.
    looking = nullcontext() if watch is None else closing(watch)
    with looking, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, _stops_noticed() as stops:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True, env=_told(watch)
        )
        try:
            status = _wait(process, timeout_seconds, stops, (output, errors), watch)
        except TimeoutError as error:
            _kill(process)
            raise TimeoutError(f"{error}{last_words(_end_of(errors))}") from None
        except BaseException:
            _kill(process)
            raise
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
            if _nobody_waits():
                raise RuntimeError("given up: who asked for it has ended") from None
            if time.monotonic() >= deadline:
                raise TimeoutError(f"killed after {timeout_seconds:g} s") from None


def _check_sizes(files: Iterable[IO[bytes]]) -> None:
    if any(os.fstat(file.fileno()).st_size > MOST_BYTES for file in files):
        raise RuntimeError(f"it wrote more than {MOST_BYTES / 2**20:g} MiB: print less, or write to a file") from None


def _nobody_waits() -> bool:
    """Return whether the interpreter ends, which would wait for this thread, or the process ended that this serves."""
    parent = multiprocessing.parent_process()
    return not threading.main_thread().is_alive() or (parent is not None and not parent.is_alive())


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process group: politely, and after a grace surely."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:  # whatever breaks off the grace
        _signal(process, signal.SIGKILL)  # children outlive their parent
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all gone; macOS denies where only dead ones are left
        os.killpg(process.pid, number)


@contextmanager
def _stops_noticed() -> Iterator[list[int]]:
    """Collect the signals that would end this process and leave its program running; they act when this is left.

    Ctrl-C too: a KeyboardInterrupt while a program is being started would leave it running.
    Only where they would have their usual effect, and in the main thread, which alone can ask for them.
    """
    noticed: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    ours = [each for each, handler in USUAL.items() if main and signal.getsignal(each) is handler]
    for each in ours:
        signal.signal(each, lambda number, frame: noticed.append(number))
    try:
        yield noticed
    finally:
        for each in ours:
            signal.signal(each, USUAL[each])
        if noticed:
            signal.raise_signal(noticed[0])


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - KEPT_BYTES))
    return file.read().decode(errors="replace")
