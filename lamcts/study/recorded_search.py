"""Runs of other optimizers in a comparison, recorded in journals."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lamcts.optimizer.optimizer import Optimizer
from lamcts.outcomes.constrained_rank import total_violation
from lamcts.rng import Purpose, derive
from lamcts.samplers.base import Session, Supports
from lamcts.study.evaluation import evaluate, takes
from lamcts.study.peers import Enough
from lamcts.study.problem import RunProblem
from lamcts.types import Floats, Mask

SAME = 1e-9  # share of a range within which a point equals that of the journal


class Place(NamedTuple):
    """The journal of a run, and the key of the comparison, method and versions that may resume it."""

    path: Path
    key: str

    @property
    def again(self) -> "Place":
        """The journal of further evaluations of the best point."""
        return Place(self.path.parent / "again" / self.path.name, self.key)


class PeerSampler:
    """The sampler in the journal of another optimizer."""

    resumable = True
    supports = Supports(constraints=True, fronts=True)

    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, region: object, seen: object, rng: object) -> Session:
        """Raise RuntimeError: the other optimizer owns its loop."""
        raise RuntimeError(f"expected no ask: this journal is a record of {self.name}, which owns its loop")

    def restore(self, state: object, log: object, region: object, seen: object) -> Session:
        """Raise RuntimeError, as `start`."""
        return self.start(region, seen, None)

    def __repr__(self) -> str:
        return self.name


class RecordedSearch:
    """The `peers.Search` of a problem, recorded in a journal; `first` is the number of its first evaluation."""

    def __init__(
        self, problem: RunProblem, method: str, seed: int, budget: int, place: Place, first: int = 0, memory: Any = None
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.budget = budget
        self.n = 0
        self.space = problem.space
        self.dim = problem.space.dim
        goals = problem.goals
        options = {"objectives": goals.names, "maximize": problem.maximize} if goals.plain else goals.arguments()
        self.opt = Optimizer(problem.space, seed=seed, sampler=PeerSampler(method), n_init=0, **options)
        about = {"objective": problem.name, "budget": budget, "comparison": place.key}
        self.opt._record_in(place.path, about=about)
        self.bounded = bool(goals.constraints)
        self._seeded = takes(problem.call, "seed")
        self._first = first
        self._memory = memory
        self._last = b""  # the last point
        self._used = set[str]()  # values that were returned for the last point

    @property
    def left(self) -> int:
        return self.budget - self.n

    def loss(self, u: ArrayLike) -> float:
        return self._loss(self._row(u, "loss"))

    def _loss(self, row: int) -> float:
        f = self.opt.seen.f[: row + 1, 0]
        return float(f[row]) if np.isfinite(f[row]) else self._worst(np.isfinite(f)) + 1.0  # solvers stop at nan

    def _worst(self, rows: Mask) -> float:
        """Return the largest loss of the first rows in a mask, 0 for none."""
        return float(np.max(self.opt.seen.f[: len(rows), 0][rows], initial=-np.inf)) if rows.any() else 0.0

    def excesses(self, u: ArrayLike) -> Floats:
        return self._excesses(self._row(u, "excesses"))

    def _excesses(self, row: int) -> Floats:
        g = self.problem.goals.per_constraint(self.opt.seen.g[[row]])[0]
        return np.where(np.isfinite(g), g, 1.0)

    def __call__(self, u: ArrayLike) -> float:
        row = self._row(u, "loss")
        if not self.bounded or self.opt.seen.feasible[row]:
            return self._loss(row)
        over = float(total_violation(self._excesses(row)[None])[0])
        return self._worst(self.opt.seen.feasible[: row + 1]) + over  # worse than all feasible points

    def many(self, u: ArrayLike) -> Floats:
        return np.array([self(row) for row in np.asarray(u, float).reshape(-1, self.dim)])

    def _row(self, u: ArrayLike, what: str) -> int:
        """Return the row of a point, which is evaluated unless another value of the last point is requested."""
        x: Floats = self.space.snap(np.clip(np.asarray(u, float).reshape(1, self.dim), 0, 1))[0]
        if self._last == x.tobytes() and what not in self._used:
            self._used.add(what)
            return self.n - 1
        if not self.left:
            raise Enough
        row = self.n
        if row >= len(self.opt.seen):
            point = self.space.decode(x)
            seed = derive(self.seed, Purpose.EVALUATION, self._first + row)
            outcome = evaluate(self.problem.call, self._seeded, point, seed, self._memory)
            constraints = None if outcome.constraints is None else [outcome.constraints]
            self.opt.tell_points([point], [outcome.value_or_error], constraints, seconds=[outcome.seconds])
        elif not np.allclose(self.opt.seen.x[row], x, atol=SAME):
            raise RuntimeError(f"expected the points of {self.opt.sampler!r} as in its journal; remove the journal")
        self.n = row + 1
        self._last = x.tobytes()
        self._used = {what}
        return row

    def first(self) -> None:
        if self.problem.x0 is not None:
            self(self.space.encode(self.problem.x0))

    def initial(self, n: int | None = None) -> Floats:
        opt = Optimizer(self.space, seed=self.seed, n_init=n, sampler="uniform", x0=self.problem.x0)
        return np.array([trial.x for trial in opt.ask(max(1, min(opt.n_init, self.budget // 4 if n is None else n)))])

    def start(self) -> Floats:
        x = self.initial()
        return np.asarray(x[int(np.argmin(self.many(x)))])

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, 1))
