"""Runs in processes of their own, some at a time, each in a scratch folder, ended when its time is up."""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness.sheet import ROOT
from benchmarks.harness.task import Curve, Result, Row

POLL_SECONDS = 0.05
HARNESS = "benchmarks.harness.measure:measure"
Done = Callable[[Any, Row], None]


class Store(Protocol):
    """Where rows go: a `Sheet` or a `Ledger`. A task is a named tuple; its fields go to the function that measures."""

    def wants(self, task: Any) -> bool: ...
    def claim(self, task: Any) -> AbstractContextManager[bool]: ...
    def add(self, row: Row, curve: Curve | None) -> None: ...


@dataclass(frozen=True)
class Pool:
    """measure: the MODULE:FUNCTION of one run. until: the monotonic time after which none starts."""

    jobs: int = 1
    timeout_seconds: float = 4 * 3600  # the longest run of the tables took 12 minutes
    until: float = math.inf
    measure: str = HARNESS

    def run(self, tasks: Iterable[Any], store: Store, report: Done) -> None:
        """Run every task that the store wants; `report` is told of each, as soon as its row is in the store."""
        left, children = iter(tasks), list[_Child]()
        try:
            while True:
                while self._has_room(children) and (task := next(left, None)) is not None:
                    children += self._start(task, store)
                if not children:
                    return
                time.sleep(POLL_SECONDS)
                for child in [child for child in children if child.finished()]:
                    row = child.handed_in(store)
                    children.remove(child)
                    report(child.task, row)
        finally:
            for child in children:
                child.stop()
                child.held.close()

    def _has_room(self, children: list["_Child"]) -> bool:
        return len(children) < self.jobs and time.monotonic() < self.until

    def _start(self, task: Any, store: Store) -> list["_Child"]:
        """Start a run unless another runner is at it or has just finished it."""
        held = ExitStack()
        if not held.enter_context(store.claim(task)) or not store.wants(task):
            held.close()
            return []
        scratch = Path(held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        process = started(self.measure, task, scratch)
        return [_Child(task, process, scratch, self.timeout_seconds, time.monotonic(), held)]


def started(measure: str, task: Any, folder: Path) -> subprocess.Popen[bytes]:
    """Start the worker of a task in `folder`; all that it prints goes to the file `log` there."""
    fields = json.dumps(task._asdict())
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.harness.worker", measure, fields, "result.json"]
    with (folder / "log").open("wb") as log:  # some libraries print a lot
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,  # closes when we are gone: the worker's sign to end
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def environment() -> dict[str, str]:
    """Return the environment in which `python -m benchmarks.NAME` works from any folder."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


@dataclass
class _Child:
    """A run under way; leaving `held` ends its claim and its folder."""

    task: Any
    process: subprocess.Popen[bytes]
    folder: Path
    timeout_seconds: float
    began: float
    held: ExitStack

    def finished(self) -> bool:
        return self.process.poll() is not None or time.monotonic() > self.began + self.timeout_seconds

    def handed_in(self, store: Store) -> Row:
        """Put the result into the store, let go of the claim, and return the row."""
        row, curve = self.result()
        store.add(row, curve)
        self.held.close()
        return row

    def result(self) -> Result:
        """Return the row and the curve; a run that failed or was too slow has a row that says so, and no curve."""
        code = self.process.poll()
        self.stop()
        out = self.folder / "result.json"
        if code == 0 and out.exists():
            row, curve = json.loads(out.read_text())
            return row, curve
        status, message = "failed", _last_line(self.folder / "log") or f"ended with exit status {code}"
        if code is None:
            status, message = "timeout", f"stopped after {self.timeout_seconds:.0f} s"
        return self.task._asdict() | {"status": status, "message": message}, None

    def stop(self) -> None:
        """End the process and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
