"""Suggest and observe: points out, values in, as HEBO, bayesian-optimization and scikit-optimize have it.

    search = Suggester({"rate": lamcts.Float(1e-5, 1, log=True), "layers": lamcts.Int(1, 8)}, maximize=True, seed=0)
    for _ in range(50):
        point = search.suggest()
        search.observe(point, accuracy(**point))

Points are plain: they may go through a file or a queue before their value comes back, in any order. `Optimizer.ask` and
`tell` are the same with trials, which have a number and a seed of their own.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import lamcts
from lamcts.integrations.configspace import space_of


class Suggester:
    """An `lamcts.Optimizer` that takes and gives points.

    space: a space of lamcts; a dict or a list of them; (low, high) pairs; or a ConfigSpace.
    settings: those of `lamcts.Optimizer`, such as maximize, seed, n_init, x0, objectives, constraints.
    """

    def __init__(self, space: Any, **settings: Any) -> None:
        self.optimizer = lamcts.Optimizer(_space(space), **settings)

    def suggest(self, n: int | None = None) -> Any:
        """Return a point to evaluate, or a list of `n`; `lamcts.Exhausted` where none is left.

        Points that are not observed yet are not suggested again.
        """
        points = [trial.point for trial in self.optimizer.ask(1 if n is None else n)]
        return points[0] if n is None else points

    def observe(self, point: Any, value: Any, constraints: Any = None) -> None:
        """Take the value of a point, or a list of points and one of their values, suggested or not.

        A value of None, nan, infinity or an exception says that the evaluation failed. With several objectives it is a
        dict by name; `constraints` is one of the quantities that constraints bound.
        """
        if _is_list(value):
            self.optimizer.tell_points(point, list(value), constraints)
        else:
            self.optimizer.tell_point(point, value, constraints)

    def forget(self, point: Any) -> None:
        """Drop a suggestion that will never be observed; ValueError where the point is none."""
        encode = self.optimizer.space.encode
        code = encode(point)
        trial = next((one for one in self.optimizer.pending if np.array_equal(encode(one.point), code)), None)
        if trial is None:
            raise ValueError(f"forget: expected a point that was suggested and not observed, got {point}")
        self.optimizer.forget(trial)

    @property
    def pending(self) -> list[Any]:
        """The points that were suggested and not observed."""
        return [trial.point for trial in self.optimizer.pending]

    @property
    def best(self) -> lamcts.Best:
        """The best observation so far, with its `point` and `value`; RuntimeError before the first success."""
        return self.optimizer.best

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into one file; `Suggester.load(path)` goes on from it, bit for bit."""
        self.optimizer.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parts: Any) -> "Suggester":
        """Return what `save` wrote; parts: those of `lamcts.Optimizer.load`."""
        made = cls.__new__(cls)
        made.optimizer = lamcts.Optimizer.load(path, **parts)
        return made


def _space(given: Any) -> Any:
    if hasattr(given, "forbidden_clauses"):
        return space_of(given)
    if isinstance(given, Mapping):
        return lamcts.Space(given)
    if isinstance(given, (Sequence, np.ndarray)) and len(given) and not hasattr(given[0], "encode"):
        low, high = np.asarray(given, float).reshape(len(given), 2).T
        return lamcts.Box(low, high)
    return lamcts.Space(given) if isinstance(given, Sequence) else given


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and np.ndim(value) > 0)
