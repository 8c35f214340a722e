"""Ctrl-C at a random moment of `lamcts run`: the run ends, with the points that it would have had, and goes on later.

Functions of Python and programs, one and two workers. The moments depend on the clock: a failure may need several
replays to show again.
"""

import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from benchmarks.harness.pool import environment
from benchmarks.robustness.attacks.verdict import Broken, Case, expect, pick
from lamcts.journal import Journal

PATIENCE = 120.0  # seconds from Ctrl-C to the end: evaluations take less than one, and machines are shared
MARGIN = 6  # evaluations that may end between the look at the journal and the signal
RESUMED = 3  # one of so many runs is resumed, which takes longer than the run that Ctrl-C ended
BUDGET, DESIGN = 24, 5  # evaluations; the first of them do not depend on the order of results
PROGRAM = "import sys; from lamcts.cli import main; sys.exit(main(sys.argv[1:]))"
FUNCTION = """
import time

def f(point):
    time.sleep(0.05)
    return (point["x"] - 0.3) ** 2 + abs(point["n"] - 4)
"""
PARAMETERS = ("--param", "x=0:1", "--param", "n=1:9:int", "--budget", str(BUDGET), "--no-plot", "--out", "out")
COMMAND = "sh -c 'sleep 0.05; echo {x} {n}'"
Rows = dict[int, bytes]


def check(case: Case, folder: Path) -> int:
    rng = case.rng()
    kind, workers = pick(rng, ("function", "command")), int(rng.integers(1, 3))
    wanted, seconds = undisturbed(kind, workers)
    run = start(kind, workers, folder)
    time.sleep(float(rng.uniform(0, 1.1 * seconds)))
    before = len(kept(folder))
    run.send_signal(signal.SIGINT)
    status, errors = ended(run)
    began = (folder / "out" / "journal.db").exists()
    may_have_ended = before > BUDGET - MARGIN
    expect(
        status == 130 or may_have_ended or (status != 0 and not began),
        f"exit status 130 after Ctrl-C at {before} of {BUDGET} evaluations",
        f"{status}: {errors[-300:]}",
    )
    tracebacks = errors.count("Traceback") - errors.count("Exception ignored in")  # Python's own, of an import
    expect(not tracebacks or not began, "no traceback once the run has begun", errors[-300:])
    first = kept(folder)
    same(first, wanted, workers)
    if case.number % RESUMED:
        return 1
    again, errors = ended(start(kind, workers, folder))
    expect(again == 0, "the same command to resume the run", f"{again}: {errors[-300:]}")
    last = kept(folder)
    expect(len(last) == BUDGET, f"{BUDGET} evaluations in the end", len(last))
    expect(all(last[trial] == row for trial, row in first.items()), "the rows from before Ctrl-C", "others")
    same(last, wanted, workers)
    return 1


@cache
def undisturbed(kind: str, workers: int) -> tuple[Rows, float]:
    """Return the rows of a run without Ctrl-C, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        status, errors = ended(start(kind, workers, Path(folder)))
        expect(status == 0, "a run that ends", errors[-300:])
        return kept(Path(folder)), time.monotonic() - began


def start(kind: str, workers: int, folder: Path) -> "subprocess.Popen[str]":
    (folder / "f.py").write_text(FUNCTION)
    target = ("f.py:f",) if kind == "function" else ("--command", COMMAND)
    words = [sys.executable, "-c", PROGRAM, "run", *target, *PARAMETERS, "--workers", str(workers)]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a run would inherit that Ctrl-C is ignored, as after `&`
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, cwd=folder, env=environment(), text=True, **streams)


def ended(run: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for the end of a run; Broken where it does not come."""
    try:
        errors = run.communicate(timeout=PATIENCE)[1]
        return run.returncode, errors
    except subprocess.TimeoutExpired:
        raise Broken(f"expected an end within {PATIENCE:.0f} s, got none") from None
    finally:
        run.kill()
        run.wait()


def kept(folder: Path) -> Rows:
    """Return points and values of the trials in the journal."""
    path = folder / "out" / "journal.db"
    if not path.exists():
        return {}
    found = Journal.read(path)
    rows = zip(found.trial.tolist(), found.x, found.columns.f, strict=True)
    return {trial: bytes(x.tobytes() + f.tobytes()) for trial, x, f in rows}


def same(rows: Rows, wanted: Rows, workers: int) -> None:
    """Raise Broken where a trial has another point or value; with two workers the design alone is comparable."""
    compared = [trial for trial in rows if workers == 1 or trial < DESIGN]
    unlike = [trial for trial in compared if rows[trial] != wanted[trial]]
    expect(not unlike, "the points and values of a run without Ctrl-C", f"others in trials {unlike}")
