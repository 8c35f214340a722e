"""Run every benchmark with --smoke, two at a time, in forks of one process that imports the slow libraries once.

The runs of a benchmark are forks too; tests/benchmarks/test_runner.py starts them as processes, as benchmarks do.

python -m benchmarks.harness.smoke
"""

import json
import os
import runpy
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.svm  # noqa: F401
import torch._dynamo  # noqa: F401 # optimizers of torch import it

from benchmarks.harness import pool, worker

AT_A_TIME = 2
NOT_SCRIPTS = {"harness", "attacks", "tools"}


def main() -> int:
    running: dict[int, tuple[str, float, Path]] = {}
    failed = []
    names = scripts()
    while names or running:
        while names and len(running) < AT_A_TIME:
            name, said = names.pop(), Path(tempfile.mkstemp()[1])
            running[started(name, said)] = name, time.monotonic(), said
        child, status = os.wait()
        name, begun, said = running.pop(child)
        print(f"-- {name} ({time.monotonic() - begun:.0f} s)\n{said.read_text()}", end="", flush=True)
        said.unlink()
        if status:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all ran")
    return bool(failed)


def scripts() -> list[str]:
    """Return the modules that are scripts; the last is `run`, which takes longest and starts first."""
    files = sorted(Path("benchmarks").rglob("*.py"))
    found = [path for path in files if not NOT_SCRIPTS & set(path.parts) and "\nif __name__" in path.read_text()]
    return [".".join(path.with_suffix("").parts).removesuffix(".__main__") for path in found]


def started(name: str, said: Path) -> int:
    """Start a script in a fork that writes to `said`, and return its process."""
    child = os.fork()
    if child:
        return child
    out = os.open(said, os.O_WRONLY | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = [name, "--smoke"]
    pool.started = Forked
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    sys.exit()


class Forked:
    """The worker of a task as a fork of this process: what a `Pool` uses of a process."""

    def __init__(self, measure: str, task: Any, folder: Path) -> None:
        (read, write), self._code = os.pipe(), None
        self.stdin = os.fdopen(write, "wb")  # closes when we are gone: the worker's sign to end
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            os.chdir(folder)
            log = os.open("log", os.O_WRONLY | os.O_CREAT)
            for own, theirs in enumerate((read, log, log)):
                os.dup2(theirs, own)
            os.close(write)
            warnings.simplefilter("ignore")
            sys.argv = ["worker", measure, json.dumps(task._asdict()), "result.json"]
            worker.run()
        os.close(read)

    def poll(self) -> int | None:
        return self.wait(os.WNOHANG)

    def wait(self, options: int = 0) -> int | None:
        if self._code is None and (ended := os.waitpid(self.pid, options))[0]:
            self._code = os.waitstatus_to_exitcode(ended[1])
        return self._code


if __name__ == "__main__":
    sys.exit(main())
