"""What a run gives back: each evaluation as it ends, and the result with its history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import Space
from lamcts.types import Floats, Rows


@dataclass(frozen=True)
class Evaluation:
    """One finished evaluation, in the user's units and sign.

    `value` is nan and `message` says why where it failed; `best` is the best value so far (nan before the first
    success), `count` the number of evaluations so far. `repeat` is 0 for a new point and j for the j-th
    re-evaluation of one (noisy=True), whose `trial` is the number of the first.
    """

    trial: int
    point: Any
    value: float
    seconds: float
    message: str | None
    best: float
    count: int
    repeat: int = 0

    @property
    def failed(self) -> bool:
        return self.message is not None


class Points(Sequence[Any]):
    """The points of a history, decoded when they are looked at."""

    def __init__(self, space: Space, x: Floats) -> None:
        self._space, self._x = space, x

    def __len__(self) -> int:
        return len(self._x)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> "Points": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Points(self._space, self._x[index])
        return self._space.decode(self._x[index])

    def __iter__(self) -> Iterator[Any]:
        return (self._space.decode(x) for x in self._x)

    def __repr__(self) -> str:
        return f"<{len(self)} points>"


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Finished evaluations in order of arrival, as columns; values in the user's sign, nan for failures."""

    points: Points
    x: Floats  # [n, d], encoded in the unit cube
    values: Floats  # [n]
    seconds: Floats  # [n]
    trial: Rows  # [n], -1 for points nobody asked for
    messages: dict[int, str]  # row -> what went wrong
    maximize: bool

    @property
    def failed(self) -> NDArray[np.bool_]:
        return np.isnan(self.values)

    @property
    def best(self) -> Floats:
        """The best value so far, [n]; nan before the first success."""
        best = (np.fmax if self.maximize else np.fmin).accumulate(self.values)
        return np.asarray(best, float)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<history of {len(self)} evaluations, {int(self.failed.sum())} failed>"


@dataclass(frozen=True)
class Candidate:
    """A point that was re-evaluated (noisy=True): its mean over `repeats` fresh evaluations, and the standard error.

    `first` is the value that made it a candidate; chosen for being good, it is lucky on average and not in the mean.
    """

    point: Any
    mean: float
    error: float
    repeats: int
    first: float


class Result(dict[str, Any]):
    """What was found; `result.x` and `result["x"]` are the same.

    x: the best point, None if every evaluation failed.
    fun: its value in the user's sign (nan if none; with noisy=True the mean of its re-evaluations).
    nfev: evaluations done, those of earlier sessions on the same journal included.
    nit: how often new points were asked for.
    success: whether any evaluation succeeded (to use up the budget is the normal end of a budgeted search, no failure).
    status: why the run stopped, one word.
    message: the same as a sentence.
    tree: how often the tree chose where to search, "chose 3 of 120 batches" (the others looked across the whole space);
        None without a tree.
    history: a `History`.
    candidates: with noisy=True the `Candidate`s, best first.
    seed: the run's.
    memory: where the objective is a `Learner`, what its evaluation of x was given.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a result has no {name!r}; it has {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __repr__(self) -> str:
        names = ("x", "fun", "nfev", "nit", "success", "status", "message", "tree")
        return "\n".join(f"{name:>8}: {self[name]!r}" for name in names if name in self)
