"""One journalled run of `lamcts.minimize` drawn at random, what it must end with, and the program that is killed.

python -m benchmarks.attacks.runs KIND SEED CASE FOLDER       go on with the run of a case until it ends
"""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.attacks import spaces
from benchmarks.attacks.values import Regime
from benchmarks.attacks.verdict import Case, pick, unwarned

STOPPED = 3  # the exit status of a program whose run was ended by Ctrl-C
DEAR = ("bo", "nevergrad")


@dataclass(frozen=True)
class Run:
    """A function, its space, and the options of the call; the same case gives the same run in every process."""

    space: Any
    regime: Regime
    sense: str  # "minimize" or "maximize"
    options: dict[str, Any]

    @classmethod
    def drawn(cls, case: Case, budget: int, sampler: str | None = None) -> "Run":
        """Return the run of a case with up to `budget` evaluations; the samplers that can be resumed take turns."""
        rng = case.rng()
        space = spaces.drawn(rng, 40)
        sampler = sampler or _resumable(space, case.number)
        most = min(budget, 60) if sampler in DEAR else budget
        options: dict[str, Any] = {"sampler": sampler, "seed": int(rng.integers(2**31))}
        options["budget"] = int(rng.integers(most // 2, most + 1))
        options["batch"] = int(pick(rng, (1, 1, 4, 10)))
        options["tree"] = pick(rng, ("auto", None))
        options["noisy"] = bool(rng.random() < 0.3)
        options["n_init"] = pick(rng, (None, 5))
        return cls(space, Regime.drawn(rng), pick(rng, ("minimize", "minimize", "maximize")), options)

    def go(self, journal: Path | None, log: Path | None = None, **more: Any) -> Any:
        """Return the result; `log` takes a line before and after each evaluation, as it happens."""
        f = Objective(self.space, self.regime, log)
        f.note("session")
        options = self.options | {"journal": journal, "progress": False} | more
        with unwarned(self):
            return getattr(lamcts, self.sense)(f, self.space, **options)


def _resumable(space: Any, number: int) -> str:
    """Return the sampler whose turn it is, or the next that can be resumed; only that one loads its libraries."""
    names = list(lamcts.samplers.names())
    turns = names[number % len(names) :] + names
    return next(name for name in turns if lamcts.samplers.make(name, space).resumable)


class Objective:
    """A function whose value and failures hang on the point and the evaluation's own seed alone."""

    def __init__(self, space: Any, regime: Regime, log: Path | None) -> None:
        self.space, self.regime = space, regime
        self.log = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.__qualname__ = "objective"

    def note(self, words: str) -> None:
        """Write one line that outlives a killed process."""
        if self.log is not None:
            os.write(self.log, f"{words}\n".encode())

    def __call__(self, point: Any, seed: int) -> Any:
        self.note(f"start {seed}")
        value, _ = self.regime.draw(self.space.encode(point), np.random.default_rng(seed))
        self.note(f"end {seed}")
        if isinstance(value, Exception):
            raise value
        return value


def outcome(result: Any) -> dict[str, Any]:
    """Return what two runs of a case must share, as JSON values: floats in full, arrays as bytes."""
    history = result.history
    columns = {"x": history.x.tobytes().hex(), "y": history.values.tobytes().hex(), "trial": history.trial.tolist()}
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        found = {"point": repr(result.x), "candidates": repr(result.get("candidates"))}
    names = ("nfev", "nit", "seed", "status", "message")
    messages = {str(row): text for row, text in history.messages.items()}
    return columns | found | {"fun": repr(result.fun), "messages": messages} | {name: result[name] for name in names}


def budget_of(kind: str) -> int:
    """Return how many evaluations the runs of a kind make at most: enough to be killed, or to fill some pages."""
    return {"kills": 120, "flips": 60}[kind]


def main(kind: str, seed: str, number: str, folder: str) -> int:
    run = Run.drawn(Case(kind, int(seed), int(number)), budget_of(kind))
    result = run.go(Path(folder) / "run.db", Path(folder) / "log")
    if result.status == "interrupted":
        return STOPPED
    draft = Path(folder) / "result.json.new"
    draft.write_text(json.dumps(outcome(result)))
    draft.replace(Path(folder) / "result.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
