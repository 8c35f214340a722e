"""Run every benchmark with --smoke, two at a time, in forks of one process that imports the slow libraries once.

python -m benchmarks.harness.smoke
"""

import os
import runpy
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.svm  # noqa: F401
import torch  # noqa: F401

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
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    sys.exit(main())
