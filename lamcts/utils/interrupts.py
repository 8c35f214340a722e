"""Ctrl-C, and the other signals that end a process.

C code, destructors and weak references drop an exception that is raised inside them, KeyboardInterrupt included. During
a run a handler therefore records Ctrl-C, and the run checks the record. In functions of the user KeyboardInterrupt is
raised at once, elsewhere at the next check, where the state of the run is complete. A second Ctrl-C is raised at once
everywhere. An import of this package and a command raise Ctrl-C at once; the end of the import, or a run inside the
command, checks whether the exception was dropped. Runs outside the main thread, and programs with their own handler for
Ctrl-C, are left as they are.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from types import FrameType
from typing import Any

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # no SIGHUP on Windows
CHECK_SECONDS = 0.2  # between two checks of a run that waits for evaluations (untuned)


class _Mode(Enum):
    RECORD = 0  # inside the run
    RECORD_AND_RAISE = 1  # inside a function of the user
    RAISE = 2  # outside the run


class _State:
    """The state of the handler, of which a process has one."""

    mode = _Mode.RAISE
    received = 0  # Ctrl-C in this run


def check() -> None:
    """Raise KeyboardInterrupt if the run has received Ctrl-C."""
    if _State.received and _handles():
        raise KeyboardInterrupt


def recorded() -> AbstractContextManager[None]:
    """Return the context of a run, which records Ctrl-C. KeyboardInterrupt ends the block at the latest."""
    return _recorded(_Mode.RECORD, again=True)


def imported() -> AbstractContextManager[None]:
    """Return a context of imports, which raises Ctrl-C at once, and at its end if that was dropped or replaced."""
    return _recorded(_Mode.RECORD_AND_RAISE, again=True)


def kept() -> AbstractContextManager[None]:
    """Return a context that raises Ctrl-C at once, and again in a run inside if the exception was dropped before it."""
    return _recorded(_Mode.RECORD_AND_RAISE, again=False)


@contextmanager
def _recorded(mode: _Mode, again: bool) -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if not _in_main_thread() or before not in (signal.default_int_handler, _handle):
        yield
        return
    outer = _State.mode if before is _handle else _Mode.RAISE
    _State.mode = mode
    signal.signal(signal.SIGINT, _handle)
    try:
        yield
    except BaseException as error:
        replaced = _restore(before, outer) and again and mode is _Mode.RECORD_AND_RAISE
        if replaced and isinstance(error, Exception):  # numpy makes an ImportError of it
            raise KeyboardInterrupt from error
        raise
    if _restore(before, outer) and again:
        raise KeyboardInterrupt


@contextmanager
def raised() -> Iterator[None]:
    """Raise KeyboardInterrupt inside a function of the user, or after it if the function has dropped it."""
    with _mode(_Mode.RECORD_AND_RAISE):
        yield
    check()


def passed_on() -> AbstractContextManager[None]:
    """Return a context outside the run, in which Ctrl-C is raised and not recorded."""
    return _mode(_Mode.RAISE)


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Collect signals that would end this process; they act at the end of the block.

    Only those without a handler of the user, and in the main thread, the only one that can set handlers.
    """
    received: list[int] = []
    usual = (signal.SIG_DFL, signal.default_int_handler, _handle)
    before: dict[int, Any] = {each: signal.getsignal(each) for each in ENDING if _in_main_thread()}
    before = {each: handler for each, handler in before.items() if handler in usual}
    for each in before:
        signal.signal(each, lambda number, frame: received.append(number))
    try:
        yield received
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if received:
            signal.raise_signal(received[0])


def _handle(number: int, frame: FrameType | None) -> None:
    if _State.mode is not _Mode.RAISE:
        _State.received += 1
    if _State.mode is not _Mode.RECORD or _State.received > 1:
        raise KeyboardInterrupt


def _restore(handler: "Callable[[int, FrameType | None], Any] | int | signal.Handlers | None", mode: _Mode) -> int:
    """End the innermost run, and return how often it has received Ctrl-C; a run around it has received that too."""
    if _handles():
        signal.signal(signal.SIGINT, handler)
    received, _State.mode = _State.received, mode
    if mode is _Mode.RAISE:
        _State.received = 0
    return received


@contextmanager
def _mode(mode: _Mode) -> Iterator[None]:
    """Set the mode of the run in this thread, if it has one."""
    if not _handles():
        yield
        return
    outer, _State.mode = _State.mode, mode
    try:
        yield
    finally:
        _State.mode = outer


def _handles() -> bool:
    return _in_main_thread() and signal.getsignal(signal.SIGINT) is _handle


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
