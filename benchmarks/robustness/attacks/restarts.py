"""A state taken in the middle of a session, and loaded by a new process, must go on with equal points.

python -m benchmarks.robustness.attacks.restarts SEED CASE FOLDER        what the new process runs
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.harness.pool import environment
from benchmarks.harness.sheet import ROOT
from benchmarks.robustness.attacks.sessions import Session, settings
from benchmarks.robustness.attacks.values import Regime
from benchmarks.robustness.attacks.verdict import Broken, Case, difference, expect, pick

KIND = "restarts"
ROUNDS = 6  # of asks and tells after the state was taken
PATIENCE = 300  # seconds for the other process: it takes two, and machines are shared


def check(case: Case, folder: Path, spoil: Callable[[dict[str, Any]], Any] = lambda state: None) -> int:
    """Play, save, load elsewhere, and compare what follows. `spoil` changes the saved state (a test does)."""
    session = Session(case)
    for _ in range(int(case.rng(1).integers(1, 60))):
        session.step()
    session.ask()
    session.tell()  # a state is taken after a tell, with points out or not
    state = session.opt.state_dict()
    spoil(state)
    save(state, folder, "state")
    words = [
        sys.executable,
        "-m",
        "benchmarks.robustness.attacks.restarts",
        str(case.seed),
        str(case.number),
        str(folder),
    ]
    child = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    expect(child.returncode == 0, f"a state that can be loaded, in {session}", child.stderr[-300:])
    ours, theirs = goes_on(session.opt, case), load(folder, "future")
    found = difference(ours["points"], theirs["points"])
    expect(not found, f"equal points after a restart, in {session}", f"others at {found}")
    found = difference(ours["state"], theirs["state"])
    expect(not found, f"an equal state at the end, in {session}", f"another {found}")
    return ROUNDS


def goes_on(opt: Any, case: Case) -> dict[str, Any]:
    """Return what comes next: the points of some rounds, and the state after them."""
    rng = case.rng(3)
    regime, points = Regime.drawn(rng), []
    for _ in range(ROUNDS):
        try:
            points += [[trial.id, np.array(trial.x)] for trial in opt.ask(int(pick(rng, (1, 3, 8))))]
        except lamcts.Exhausted:
            points.append([-1, np.zeros(0)])
        out = opt.pending
        told = [out[i] for i in rng.permutation(len(out))[: int(rng.integers(0, len(out) + 1))].tolist()]
        opt.tell(told, [None if rng.random() < regime.failing else regime.number(trial.x) for trial in told])
    return {"points": points, "state": opt.state_dict()}


def save(state: dict[str, Any], folder: Path, name: str) -> None:
    """Write JSON values and plain arrays, as the documentation of `state_dict` promises them, to two files."""
    arrays: list[np.ndarray] = []

    def put(array: Any) -> dict[str, int]:
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise Broken(f"expected a state of JSON values and plain arrays, got {type(array).__name__} in it")
        arrays.append(array)
        return {"array": len(arrays) - 1}

    (folder / f"{name}.json").write_text(json.dumps(state, default=put))
    np.savez(folder / f"{name}.npz", *arrays)


def load(folder: Path, name: str) -> dict[str, Any]:
    with np.load(folder / f"{name}.npz") as arrays:
        kept = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
    text = (folder / f"{name}.json").read_text()
    state: dict[str, Any] = json.loads(text, object_hook=lambda d: kept[d["array"]] if list(d) == ["array"] else d)
    return state


def main(seed: str, number: str, folder: str) -> None:
    case = Case(KIND, int(seed), int(number))
    opt = lamcts.Optimizer(**settings(case))
    opt.load_state_dict(load(Path(folder), "state"))
    save(goes_on(opt, case), Path(folder), "future")


if __name__ == "__main__":
    main(*sys.argv[1:])
