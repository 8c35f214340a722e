"""Which code a row was measured on."""

import subprocess

from benchmarks.records import ROOT


def commit() -> str:
    """Return the short hash of the working tree's commit, with a plus where files differ; "unknown" outside git."""
    try:
        short = _git("rev-parse", "--short", "HEAD")
        return short + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", "lamcts") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
