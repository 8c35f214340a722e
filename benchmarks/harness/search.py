"""What a method sees of a run: a function of the unit cube to minimise, where to start, and when it is over.

The first evaluation of every method is the objective's own start, where it has one; then come the points of the
initial design, the same for all who take given points. Evaluation number k draws the same noise whoever asks.
Letters: d dimensions, n evaluations.
"""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lamcts
from lamcts.objectives import Objective
from lamcts.objectives.control.mujoco.gait import Gait
from lamcts.spaces.base import SearchSpace
from lamcts.study.peers import Enough as Enough

Floats = NDArray[np.float64]


class Search:
    """One run's objective on the unit cube, lower is better; it counts, clocks, and raises `Enough` at the budget.

    seed: of the method. batch: how many points a method that takes batches may ask for at a time.
    """

    bounded = False  # constraints are of benchmarks.constrained alone

    def __init__(self, objective: Objective, seed: int, budget: int, batch: int = 1) -> None:
        self.objective, self.seed, self.budget, self.batch = objective, seed, budget, batch
        self.dim: int = objective.space.dim
        self.x0 = None if objective.x0 is None else objective.space.encode(objective.x0)  # [d]
        self.values: list[float] = []  # losses; nan where an evaluation failed
        self.improved: list[tuple[int, float]] = []  # number of the evaluation (from 1) and its value, in user's sign
        self.own: list[float] = []  # own CPU seconds before evaluation k
        self.points: list[Any] = []  # what was evaluated then, one for each entry of `improved`
        self.objective_seconds = 0.0
        self.own_total = self.wall_seconds = math.nan  # once finished
        self._best = math.inf
        self._own_seconds = 0.0
        self.began = time.monotonic()
        self._since = time.process_time()

    @property
    def left(self) -> int:
        return self.budget - len(self.values)

    @property
    def space(self) -> SearchSpace:
        return self.objective.space

    def __call__(self, u: ArrayLike) -> float:
        """Return the loss at `u` [d]; a solver that steps outside the cube is put on its border."""
        return float(self.many(np.asarray(u, float).reshape(1, self.dim))[0])

    loss = __call__

    def excesses(self, u: ArrayLike) -> Floats:
        return np.empty(0)

    def point(self, point: Any) -> float:
        """Return the loss at a point of the objective's own space."""
        return self.evaluate_all([point])[0]

    def many(self, u: ArrayLike) -> Floats:
        """Return the losses [n] at `u` [n, d]."""
        cube = np.clip(np.asarray(u, float).reshape(-1, self.dim), 0, 1)
        return np.array(self.evaluate_all([self.objective.space.decode(row) for row in cube]))

    def evaluate_all(self, points: Sequence[Any], seeds: Sequence[Any] | None = None) -> list[float]:
        """Return the losses at points of the objective's own space, which episodes stepped together give sooner.

        seeds: of the noise, one a point; None: `noise_seed`, the same for every method.
        """
        k, n = len(self.values), min(self.left, len(points))
        if not n:
            raise Enough
        if not k and self.x0 is not None and not np.allclose(self.objective.space.encode(points[0]), self.x0):
            raise RuntimeError("expected the objective's own start as the first evaluation, got another point")
        self.own += [self.own_seconds()] * n
        values = self._evaluate(points[:n], seeds or [self.noise_seed(k + i) for i in range(n)])
        now = time.process_time()
        self.objective_seconds, self._since = self.objective_seconds + now - self._since, now
        losses = [-value if self.objective.maximize else value for value in values]
        for point, value, loss in zip(points[:n], values, losses, strict=True):
            self.values.append(loss)
            if loss < self._best:
                self._best = loss
                self.points.append(point)
                self.improved.append((len(self.values), value))
        if n < len(points):
            raise Enough
        return losses

    def _evaluate(self, points: Sequence[Any], seeds: Sequence[Any]) -> list[float]:
        if isinstance(self.objective, Gait):
            return self.objective.values(points, seeds)
        return [float(self.objective(point, seed=seed)) for point, seed in zip(points, seeds, strict=True)]

    def finish(self) -> None:
        """Stop the clocks."""
        self.own_total, self.wall_seconds = self.own_seconds(), time.monotonic() - self.began

    def noise_seed(self, k: int) -> int:
        """Return the seed of evaluation `k` from 0: the same for every method; numbers from 10**6 on re-score."""
        return int(np.random.SeedSequence(self.seed, spawn_key=(k,)).generate_state(1)[0] >> 1)

    def own_seconds(self) -> float:
        """Return the CPU seconds outside the objective up to now."""
        now = time.process_time()
        self._own_seconds, self._since = self._own_seconds + now - self._since, now
        return self._own_seconds

    def skip(self) -> None:
        """Do not count the CPU seconds since the last evaluation: they went into imports."""
        self._since = time.process_time()

    def rng(self) -> np.random.Generator:
        """Return the method's generator; each call gives the same one."""
        return np.random.default_rng((self.seed, 1))

    def optimizer(self, **settings: Any) -> lamcts.Optimizer:
        """Return one of ours for this space, seed and start."""
        given = None if self.x0 is None else [self.objective.x0]
        return lamcts.Optimizer(self.objective.space, seed=self.seed, x0=given, **settings)

    def initial(self, n: int | None = None) -> Floats:
        """Return the initial design [n, d]: x0 first, then scrambled Sobol points; None: as many as our samplers take.

        Those that start at the centre excepted. Of an objective with `x0_alone`, None is x0 alone.
        """
        if n is None and getattr(self.objective, "x0_alone", False):
            n = 1
        opt = self.optimizer(n_init=n, sampler="uniform")
        return np.array([trial.x for trial in opt.ask(min(opt.n_init, self.budget))])

    def start(self) -> Floats:
        """Evaluate the initial design and return its best point [d]: the start of methods that take one point."""
        x = self.initial()
        return x[int(np.nanargmin(self.many(x)))]

    def first(self) -> None:
        """Evaluate x0 where there is one: for methods that have an initial design of their own."""
        if self.x0 is not None:
            self(self.x0)
