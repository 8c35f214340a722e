"""What a row was made with: the commit of this checkout, and the packages at hand."""

import importlib.metadata
import subprocess
from collections.abc import Iterable
from pathlib import Path

from benchmarks.harness.sheet import ROOT

OURS = ("lamcts", "numpy", "scipy", "scikit-learn", "torch")


def versions(packages: Iterable[str]) -> str:
    """Return "name version" of every package that is installed."""
    found = []
    for name in dict.fromkeys(packages):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return " ".join(found)


def commit() -> str:
    """Return the short hash of this checkout, with "-dirty" where the code of lamcts or of the runs differs from it."""
    changes = _git(ROOT, "status", "--porcelain", "--", "lamcts", "benchmarks/*.py")  # rows change all the time
    return head(ROOT) + "-dirty" * bool(changes)


def head(checkout: Path) -> str:
    """Return the short hash of a git checkout, "unknown" where there is none."""
    return _git(checkout, "rev-parse", "--short=7", "HEAD") or "unknown"


def _git(checkout: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, text=True).stdout.strip()
