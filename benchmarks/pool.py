"""Runs in processes of their own, some at a time, each in a scratch folder, ended when its time is up."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ledger, records
from benchmarks.ledger import Task

POLL_SECONDS = 0.05
Done = Callable[[Task, dict[str, Any]], None]


@dataclass
class Child:
    """A run under way; leaving `held` ends its claim and its folder."""

    task: Task
    process: subprocess.Popen[bytes]
    folder: Path
    ends: float
    held: ExitStack

    def finished(self) -> bool:
        return self.process.poll() is not None or time.monotonic() > self.ends

    def result(self, timeout_seconds: float) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the row and the curve; a run that failed or was too slow has a row that says so, and no curve."""
        code = self.process.poll()
        self.stop()
        out = self.folder / "result.json"
        if code == 0 and out.exists():
            row, curve = json.loads(out.read_text())
            return row, curve
        status, message = "failed", _last_line(self.folder / "log") or f"ended with exit status {code}"
        if code is None:
            status, message = "timeout", f"stopped after {timeout_seconds:.0f} s"
        return self.task._asdict() | {"status": status, "message": message}, None

    def stop(self) -> None:
        """End the process and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def run_all(
    tasks: Iterable[Task], jobs: int, timeout_seconds: float, folder: Path, until: float, report: Done, retry: bool
) -> None:
    """Run every task that has no row in `folder`; none starts after the monotonic time `until`."""
    left = iter(tasks)
    children: list[Child] = []
    try:
        while True:
            while len(children) < jobs and time.monotonic() < until and (task := next(left, None)) is not None:
                if (child := _start(task, timeout_seconds, folder, retry)) is not None:
                    children.append(child)
            if not children:
                return
            time.sleep(POLL_SECONDS)
            for child in [child for child in children if child.finished()]:
                row, curve = child.result(timeout_seconds)
                ledger.append(row, curve, folder)
                child.held.close()
                children.remove(child)
                report(child.task, row)
    finally:
        for child in children:
            child.stop()
            child.held.close()


def wanted(task: Task, rows: dict[tuple[str, ...], dict[str, str]], retry: bool) -> bool:
    """Return whether a task has to run: it has no row, or a failed one that is to be tried again."""
    row = rows.get(task.key)
    return row is None or (retry and row["status"] != "ok")


def _start(task: Task, timeout_seconds: float, folder: Path, retry: bool) -> Child | None:
    """Start a run unless another runner is at it or has just finished it."""
    held = ExitStack()
    if not held.enter_context(ledger.claim(task, folder)) or not wanted(task, ledger.rows(folder, task.problem), retry):
        held.close()
        return None
    scratch = Path(held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.worker", json.dumps(task._asdict()), "result.json"]
    with (scratch / "log").open("wb") as log:  # some libraries print a lot
        process = subprocess.Popen(
            command,
            cwd=scratch,
            env=records.inner_environment(),
            stdin=subprocess.PIPE,  # closes when we are gone: the worker's sign to end
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Child(task, process, scratch, time.monotonic() + timeout_seconds, held)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
