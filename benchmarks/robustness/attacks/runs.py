"""One journalled run of `lamcts.minimize` drawn at random, what it must end with, and the program that is killed.

python -m benchmarks.robustness.attacks.runs KIND SEED CASE FOLDER [SIGNAL]  go on with the run of a case until it ends

With a number of a signal the program sends it to itself in its first evaluation.
"""

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks import spaces
from benchmarks.robustness.attacks.values import Regime
from benchmarks.robustness.attacks.verdict import Case, pick, unwarned

STOPPED = 3  # the exit status of a program whose run was ended by Ctrl-C
DEAR = ("bo", "nevergrad")
GOALS: tuple[dict[str, Any], ...] = (
    {"objectives": ["f"], "constraints": ["g <= 0.1"]},
    {"objectives": {"f": "max", "g": "min"}},
    {"objectives": {"f": "min", "g": "max"}, "constraints": ["h <= 0.2", "g >= 0.01"]},
)


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
        options["noisy"] = bool(rng.random() < 0.3) and spaces.fidelity_of(space) is None
        options["n_init"] = pick(rng, (None, 5))
        run = cls(space, Regime.drawn(rng), pick(rng, ("minimize", "minimize", "maximize")), options)
        return run.varied(case) if case.kind == "kills" else run

    def varied(self, case: Case) -> "Run":
        """Return the run with columns, a pruner, workers or conditional parameters, one of two cases."""
        rng, options = case.rng(2), dict(self.options)
        space = spaces.conditional(rng) if rng.random() < 0.25 else self.space
        if space is not self.space:
            options["sampler"] = _resumable(space, case.number)
        what = pick(rng, ("nothing", "nothing", "nothing", "columns", "columns", "pruner", "workers"))
        if what == "columns":
            options |= pick(rng, GOALS) | {"noisy": False}
        elif what == "pruner":
            options["pruner"] = pick(rng, ("median", "hyperband"))
        elif what == "workers":
            options |= {"workers": 2, "noisy": False, "budget": min(options["budget"], 40)}
        return replace(self, space=space, options=options, sense="minimize" if what == "columns" else self.sense)

    @property
    def in_order(self) -> bool:
        """Whether evaluations come one after the other, so that an equal result is promised."""
        return "workers" not in self.options

    def go(self, journal: Path | None, log: Path | None = None, stop: int | None = None, **more: Any) -> Any:
        """Return the result; `log` takes a line before and after each evaluation, as it happens.

        stop: a signal that the run gets in its first evaluation.
        """
        kind = Columns if "objectives" in self.options else Reporting if "pruner" in self.options else Objective
        f = kind(self.space, self.regime, log, stop)
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

    def __init__(self, space: Any, regime: Regime, log: Path | None, stop: int | None = None) -> None:
        self.space, self.regime, self.log, self.stop, self.pid = space, regime, log, stop, os.getpid()
        self.__qualname__ = "objective"

    def note(self, words: str) -> None:
        """Write one line that outlives a killed process."""
        if self.log is not None:
            file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # no handle that a worker would lack
            os.write(file, f"{words}\n".encode())
            os.close(file)

    def __call__(self, point: Any, seed: int) -> Any:
        return self.noted(point, seed)

    def noted(self, point: Any, seed: int, trial: Any = None) -> Any:
        """Return the value, or raise it; between two notes, or stop the run after the first."""
        self.note(f"start {seed}")
        if self.stop is not None:
            os.kill(self.pid, self.stop)
            time.sleep(1.0)  # a worker's value is not to be there first
        value = self.value(point, seed, trial)
        self.note(f"end {seed}")
        if isinstance(value, Exception):
            raise value
        return value

    def value(self, point: Any, seed: int, trial: Any) -> Any:
        return self.regime.draw(self.space.encode(point), np.random.default_rng(seed))[0]


class Columns(Objective):
    """The same with three numbers by name, where it does not fail."""

    def value(self, point: Any, seed: int, trial: Any) -> Any:
        value, x = super().value(point, seed, trial), self.space.encode(point)
        failed = value is None or isinstance(value, Exception)
        return value if failed else {"f": value, "g": float(np.mean(x**2)), "h": float(x[0])}


class Reporting(Objective):
    """The same with a few values on the way."""

    def __call__(self, point: Any, seed: int, trial: Any) -> Any:
        return self.noted(point, seed, trial)

    def value(self, point: Any, seed: int, trial: Any) -> Any:
        x = self.space.encode(point)
        try:
            for step in range(1, 5):
                trial.report(step, self.regime.number(x) + float(x[0]) / step)
        except lamcts.Pruned as pruned:
            return pruned
        return super().value(point, seed, trial)


def outcome(result: Any) -> dict[str, Any]:
    """Return what two runs of a case must share, as JSON values: floats in full, arrays as bytes."""
    history = result.history
    columns = {"x": history.x.tobytes().hex(), "y": history.values.tobytes().hex(), "trial": history.trial.tolist()}
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        found = {name: repr(result.get(name)) for name in ("x", "candidates", "front")}
    columns["constraints"], columns["curves"] = history.constraints.tobytes().hex(), repr(history.curves)
    names = ("nfev", "nit", "seed", "status", "message")
    messages = {str(row): text for row, text in history.messages.items()}
    return columns | found | {"fun": repr(result.fun), "messages": messages} | {name: result[name] for name in names}


def budget_of(kind: str) -> int:
    """Return how many evaluations the runs of a kind make at most: enough to be killed, or to fill some pages."""
    return {"kills": 120, "flips": 60}[kind]


def main(kind: str, seed: str, number: str, folder: str, stop: str | None = None) -> int:
    run = Run.drawn(Case(kind, int(seed), int(number)), budget_of(kind))
    result = run.go(Path(folder) / "run.db", Path(folder) / "log", stop=None if stop is None else int(stop))
    if result.status == "interrupted":
        return STOPPED
    draft = Path(folder) / "result.json.new"
    draft.write_text(json.dumps(outcome(result)))
    draft.replace(Path(folder) / "result.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
