"""A run that is killed at any moment, and called again until it ends, must end as the run that nobody killed.

The moments hang on the clock: a failure may need several replays to show again.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.pool import environment
from benchmarks.harness.sheet import ROOT
from benchmarks.robustness.attacks.runs import STOPPED, Run, budget_of, outcome
from benchmarks.robustness.attacks.verdict import Broken, Case, difference, expect, pick
from lamcts.journal import Journal

PATIENCE = 300  # seconds for one session: it takes a few, and machines are shared
EARLY = 0.15  # share of kills while the program still loads its libraries
FIRST = 0.3  # share of kills in the first evaluation of a session, in the first session before there is any row
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def check(case: Case, folder: Path, spoil: Callable[[Path], object] = lambda journal: None) -> int:
    """Kill one run a few times; return how often. `spoil` is done to the journal after each kill (by a test)."""
    run, rng, kills = Run.drawn(case, budget_of("kills")), case.rng(1), 0
    began = time.monotonic()
    wanted = outcome(run.go(None))
    seconds = time.monotonic() - began
    rows: list[bytes] = []
    for _ in range(int(rng.integers(1, 4))):
        if session(case, folder, rng, seconds):
            break
        kills += 1
        spoil(folder / "run.db")
        rows = kept(folder / "run.db", rows)
    else:
        expect(session(case, folder), "the run to end", "no result")
    kept(folder / "run.db", rows)
    check_result(run, wanted, json.loads((folder / "result.json").read_text()))
    if run.in_order:
        check_log((folder / "log").read_text())
    return max(kills, 1)


def kept(journal: Path, before: list[bytes]) -> list[bytes]:
    """Return the rows of a journal, which begin with those that were in it before."""
    if not journal.exists():
        expect(not before, f"a journal of {len(before)} rows", "none")
        return []
    record = Journal.read(journal)
    rows = [bytes(x.tobytes() + f.tobytes()) for x, f in zip(record.x, record.columns.f, strict=True)]
    expect(rows[: len(before)] == before, f"the {len(before)} rows that were there before a kill", f"{len(rows)} rows")
    return rows


def check_result(run: Run, wanted: dict[str, Any], found: dict[str, Any]) -> None:
    """Raise Broken where a run ended otherwise than one that was never killed; with workers only counts are equal."""
    if not run.in_order:
        wanted, found = counts(wanted), counts(found)
    unlike = difference(wanted, found)
    expect(not unlike, f"the result of a run that was never killed: {run}", f"another {unlike}")


def counts(result: dict[str, Any]) -> dict[str, Any]:
    """Return how a run ended, how many trials it told, and how many of them differ."""
    trials = result["trial"]
    return {"status": result["status"], "nfev": result["nfev"], "told": len(trials), "different": len(set(trials))}


def session(case: Case, folder: Path, rng: np.random.Generator | None = None, seconds: float = 0.0) -> bool:
    """Go on with the run, and end it at a random moment if there is a generator; return whether it came to its end."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.robustness.attacks.runs",
        case.kind,
        str(case.seed),
        str(case.number),
        str(folder),
    ]
    sent = None if rng is None else pick(rng, SIGNALS)
    first = rng is not None and rng.random() < FIRST
    if first:
        words.append(str(int(sent or 0)))
    log = folder / "log"
    before = log.stat().st_size if log.exists() else 0
    child = subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True)

    def under_way() -> bool:
        return log.exists() and log.stat().st_size > before

    try:
        if rng is not None and sent is not None and not first:
            early = rng.random() < EARLY
            while not early and child.poll() is None and not under_way():
                time.sleep(0.002)
            time.sleep(float(rng.uniform(0, max(1.2 * seconds, 0.3))))
            child.send_signal(sent)
        errors = child.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        raise Broken(f"expected an end within {PATIENCE} s of {sent or 'the start'}, got none") from None
    finally:
        child.kill()  # whatever happened here, nothing is left behind
        child.wait()
    if child.returncode and not _by(sent, child.returncode, under_way()):
        raise Broken(f"expected a run that goes on, or ends by {sent}, got status {child.returncode}: {errors[-300:]}")
    return (folder / "result.json").exists()


def _by(sent: signal.Signals | None, status: int, under_way: bool) -> bool:
    """Return whether a process that was sent a signal may end with this status."""
    if sent is None:
        return False
    interrupted = {STOPPED, 130} | (set() if under_way else {1})  # 1: a library that was interrupted while it loaded
    return status == -sent or (sent == signal.SIGINT and status in interrupted)


def check_log(text: str) -> None:
    """Raise Broken where an evaluation was done twice although it was complete before the run was killed.

    One that was under way, the last of a session, may be done again: its value may not have reached the journal.
    """
    complete: set[str] = set()
    for part in text.split("session\n")[1:]:
        lines = part.splitlines()
        started = [line.split()[1] for line in lines if line.startswith("start ")]
        ended = {line.split()[1] for line in lines if line.startswith("end ")}
        again = complete & set(started)
        expect(not again and len(started) == len(set(started)), "no evaluation done twice", f"seeds {again or started}")
        complete |= ended - set(started[-1:])
