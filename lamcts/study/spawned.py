"""Worker processes by "spawn", the only start method that is the same on every system and safe next to threads.

Python's own waits for ever for a process that dies before it has read a start message longer than a pipe holds
(64 KiB): the parent keeps the read end open while it writes (CPython issue 118981). The message holds `sys.argv` and
`sys.path`, which the main module may read while it is imported there, so that they cannot be left out.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from lamcts.study.devices import environment

if sys.platform == "win32":
    _Spawned = SpawnProcess
else:
    from multiprocessing.popen_spawn_posix import Popen

    class _Popen(Popen):
        """Leaves the read end of the start message to the child, so that it is closed where the child has died."""

        @property
        def pid(self) -> int:
            return self._pid

        @pid.setter
        def pid(self, pid: int) -> None:
            """Take note of the child, which has its own copies of both ends that it was given."""
            self._pid = pid
            read, write = self._fds[-2:]  # type: ignore[attr-defined]
            os.dup2(write, read, inheritable=False)  # closes `read`, and leaves a number that CPython can close later

        def _launch(self, process: Any) -> None:
            with suppress(BrokenPipeError):  # it has died: its sentinel says so
                super()._launch(process)  # type: ignore[misc]

    class _Spawned(SpawnProcess):
        """A process whose death at the start is noticed as any other, however long its start message is."""

        @staticmethod
        def _Popen(process: Any) -> _Popen:
            return _Popen(process)


class SpawnedProcess(_Spawned):
    """A process with some environment variables of its own, from before it imports anything."""

    variables: Mapping[str, str]

    def start(self) -> None:
        with environment(self.variables), _ctrl_c_blocked():
            super().start()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block Ctrl-C in a process that starts, until it calls `unblock_ctrl_c`: it has no handler while it imports."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock_ctrl_c() -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


class SpawnedContext(SpawnContext):
    """Starts processes of this module, with some environment variables, and keeps them in `started`."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._variables = variables
        self.started: list[SpawnedProcess] = []

    def Process(self, *arguments: Any, **words: Any) -> SpawnedProcess:  # type: ignore[override]
        self.started.append(SpawnedProcess(*arguments, **words))
        self.started[-1].variables = self._variables
        return self.started[-1]
