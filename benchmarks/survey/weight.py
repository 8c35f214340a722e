"""What the package weighs: seconds of its import, and seconds and megabytes of a fresh installation."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness.pool import environment
from benchmarks.harness.sheet import ROOT

TIMES = 5
SOURCES = ("lamcts", "pyproject.toml", "constraints.txt", "README.md", "LICENSE")  # what a build needs
LINE = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \|\s*(\S+)")  # self and cumulative microseconds, and the module


def imports(package: str = "lamcts", times: int = TIMES) -> dict[str, tuple[float, float, float]]:
    """Return median, least and most seconds of the import, and those of each top-level package inside it."""
    runs = [_import(package) for _ in range(times)]
    names = sorted({name for run in runs for name in run})
    rows = {name: [run.get(name, 0.0) for run in runs] for name in names}
    return {name: (statistics.median(row), min(row), max(row)) for name, row in rows.items()}


def _import(package: str) -> dict[str, float]:
    """Return the seconds that a fresh process spends on the import: in all, and by top-level package of what loads."""
    words = [sys.executable, "-X", "importtime", "-c", f"import {package}"]
    told = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stderr
    lines = [(int(own), int(all_), name) for own, all_, name in LINE.findall(told)]
    seconds = {"in all": next(all_ for _, all_, name in lines if name == package) / 1e6}
    begins = max((i + 1 for i, (_, _, name) in enumerate(lines) if name == "site"), default=0)  # Python's own start
    for own, _, name in lines[begins:]:
        top = name.split(".")[0]
        seconds[top] = seconds.get(top, 0.0) + own / 1e6
    return seconds


def installation(*options: str) -> dict[str, float]:
    """Install the working tree into a fresh environment; return the seconds, and the megabytes that came.

    options: further words for pip, such as "--no-deps".
    """
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as copy:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(["cp", "-r", *SOURCES, copy], cwd=ROOT, check=True)  # a build leaves files beside the sources
        before, began = _megabytes(Path(folder)), time.monotonic()
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "-c", "constraints.txt"]
        subprocess.run([*pip, *options, "."], cwd=copy, env=clean, check=True)
        return {"seconds": time.monotonic() - began, "megabytes": _megabytes(Path(folder)) - before}


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6
