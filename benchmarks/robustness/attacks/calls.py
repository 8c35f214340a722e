"""Random sessions whose calls are interrupted at random moments and repeated, as in a notebook, with a journal.

The calls of `sessions` and `columns` go through an optimizer that records in a journal. A timer raises an exception in
the middle of most calls. The optimizer is then as before or as after, and the call is repeated if it was undone.
Meanwhile the journal is read in the same process, copied, and opened by another process. The ledger of the session
holds for the optimizer, and at the end the journal holds what the optimizer does.
"""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats  # noqa: F401 # an import that is interrupted leaves SciPy without its submodules

import lamcts
from benchmarks.robustness.attacks import columns, sessions
from benchmarks.robustness.attacks.verdict import LOST, Case, difference, expect, pick
from lamcts.journal import Journal

CALLS = ("ask", "confirm", "tell", "tell_point", "tell_points", "forget")
SECONDS = 0.01  # of CPU time from the beginning of a call, within which it is interrupted
OPEN_AND_CLOSE = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM meta').fetchall(); c.close()"
)


def check(case: Case, folder: Path) -> int:
    """Play one session; return how many calls it made."""
    path, rng = folder / "run.db", case.rng(4)
    session = pick(rng, (sessions.Session, columns.Session, columns.WithFidelity))

    def made(**settings: Any) -> Any:
        resumable = not settings["sampler"].startswith("nevergrad")
        return Interrupted(lamcts.Optimizer(**settings, journal=path if resumable else None), path, rng)

    before = signal.signal(signal.SIGVTALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        return sessions.play(session(case, made), case, (10, 30, 50), folder)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Interrupted:
    """An optimizer whose calls are interrupted and repeated."""

    def __init__(self, opt: lamcts.Optimizer, path: Path, rng: np.random.Generator) -> None:
        self._opt, self._path, self._rng = opt, path, rng

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._opt, name)
        return self._repeated(found, name) if name in CALLS else found

    def _repeated(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def repeated(*given: Any, **named: Any) -> Any:
            self._visit()
            for _ in range(int(self._rng.integers(0, 4))):
                before, pending = self._state(), {trial.id for trial in self._opt.pending}
                try:
                    return within(float(self._rng.random()) * SECONDS, lambda: call(*given, **named))
                except KeyboardInterrupt:
                    pass
                self._compare(f"an interrupted {name}")
                if difference(before, self._state()):  # it was complete
                    return [trial for trial in self._opt.pending if trial.id not in pending]
            return call(*given, **named)

        return repeated

    def _state(self) -> Any:
        """Return what calls change; a search that numpy gave another error than Ctrl-C was ended, and is left out."""
        state = self._opt.state_dict()
        return [state[name] for name in ("columns", "pending", "failures")]

    def _visit(self) -> None:
        """Have others read the journal."""
        if not self._path.exists():
            return
        draw = self._rng.random()
        if draw < 0.2:
            self._compare("a read")
        if 0.15 < draw < 0.25:
            shutil.copy(self._path, self._path.with_name("copy.db"))
        if 0.2 < draw < 0.25:
            subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE, self._path], check=True)

    def _compare(self, when: str) -> None:
        """Compare the journal with the optimizer."""
        if not self._path.exists():
            return
        held, opt = Journal.read(self._path), self._opt
        ours = list(opt.seen.columns()) if len(opt.seen) or held.n else []  # none has no width
        found = difference(list(held.columns) if held.n else [], ours)
        expect(not found, f"the rows of the optimizer in its journal after {when}", found)
        pending = [trial.id for trial in held.pending], [trial.id for trial in opt.pending]
        expect(pending[0] == pending[1], f"the pending trials of the optimizer in its journal after {when}", pending)


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return the result of a call; KeyboardInterrupt if it takes longer (of CPU time)."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 1e-6))
        return call()
    except (TypeError, ValueError) as error:
        if LOST in str(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
