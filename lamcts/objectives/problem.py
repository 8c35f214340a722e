"""Problems of several quantities on a box, from formulas. Letters: n points, d parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import register
from lamcts.objectives.protocol import digest
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json, whole_number

Quantities = Callable[[Floats], dict[str, Floats]]  # of points x [n, d]: each quantity [n], by its name
Places = int | Sequence[float] | None  # a seed, or places in [0, 1]
AWAY = (0.2, 0.8)  # between which a seed moves what lies at an edge or in the centre of [0, 1]: far from both


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem of several quantities of a point in a box: objectives, and quantities with constraints.

    Parameters
    ----------
    name : str
        Its name.
    space : Box
        The box.
    formula : callable
        Returns all quantities (n,) by name, in their own units, for points (n, d).
    objectives : mapping of str to str
        The direction of each objective by name: "min" or "max".
    constraints : tuple of str, default ()
        as in `DictObjective`, such as "stress <= 250".
    optimum, at : float and array (d,), or None, default None
        The best feasible value of one objective and where it is; None: unknown.
    reference, hypervolume : mapping of str to float and float, or None, default None
        The reference point of hypervolumes, and the largest known hypervolume.
    order : array (d,) of int or None, default None
        The position of each parameter of the formula in a point; None: the formula's order.
    settings : mapping, default {}
        JSON values that tell it from other problems of its name.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.objectives.problem import Problem
    >>> beam = Problem(
    ...     "beam",
    ...     lamcts.Box(1, 5, dim=2),
    ...     lambda x: {"weight": x[:, 0] * x[:, 1], "stress": 60 / x[:, 1] ** 2},
    ...     {"weight": "min"},
    ...     ("stress <= 30",),
    ... )
    >>> beam([2.0, 3.0])
    {'weight': 6.0, 'stress': 6.666666666666667}
    """

    name: str
    space: Box
    formula: Quantities
    objectives: Mapping[str, str]
    constraints: tuple[str, ...] = ()
    optimum: float | None = None
    at: Floats | None = None
    reference: Mapping[str, float] | None = None
    hypervolume: float | None = None
    order: NDArray[np.int64] | None = None
    settings: Json = field(default_factory=dict)

    maximize = False
    x0 = None

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> dict[str, float]:
        """Return all quantities at `point`; `seed` has no effect, as there is no noise."""
        return {name: float(values[0]) for name, values in self.many(np.asarray(point, float)[None]).items()}

    def many(self, points: ArrayLike) -> dict[str, Floats]:
        """Return all quantities of `points` [n, d], each as [n]."""
        x = np.asarray(points, float)
        if x.ndim != 2 or x.shape[1] != self.space.dim:
            raise ValueError(f"expected points of shape [n, {self.space.dim}], got {list(x.shape)}")
        if self.order is not None:
            x = x[:, np.argsort(self.order)]
        return self.formula(x)

    def fingerprint(self) -> Json:
        return {"function": self.name, "dim": self.space.dim, "order": digest(self.order), **self.settings}

    def permuted(self, seed: int | None) -> "Problem":
        """Return the problem with its parameters in an order drawn by `seed`; None leaves them."""
        if seed is None:
            return self
        order = np.random.default_rng(whole_number(seed, "permute", least=0)).permutation(self.space.dim)
        space = Box(self.space.low[order], self.space.high[order])
        at = None if self.at is None else self.at[order]
        return replace(self, space=space, at=at, order=order)


def problem(
    name: str,
    line: str,
    space: Box,
    objectives: Mapping[str, str],
    constraints: tuple[str, ...] = (),
    *,
    budget: int,
    **known: Any,
) -> Callable[[Quantities], Quantities]:
    """Return a decorator that registers a formula as a problem; `known` has fields such as `optimum` and `at`."""

    def add(formula: Quantities) -> Quantities:
        made = Problem(name, space, formula, objectives, constraints, **known)

        def build(permute: int | None = None) -> Problem:
            """Return the problem.

            permute: seed of a permutation of the parameters (None: no permutation).
            """
            return made.permuted(permute)

        build.__module__ = formula.__module__  # by which `lamcts list` groups objectives
        register(name, line, budget=budget)(build)
        return formula

    return add


def moved(shift: Places, usual: float, dim: int) -> Floats:
    """Return places [dim] in [0, 1]: drawn by a seed, given as a vector, or `usual` for None."""
    if shift is None:
        return np.full(dim, usual)
    if isinstance(shift, (int, np.integer)) or np.ndim(shift) == 0:
        return np.random.default_rng(whole_number(shift, "shift", least=0)).uniform(*AWAY, dim)
    places = np.asarray(shift, float)
    if places.shape != (dim,) or not ((places >= 0) & (places <= 1)).all():
        raise ValueError(f"expected shift as None, a seed or {dim} places in [0, 1], got {shift!r}")
    return places
