"""Four functions with known optima, in any dimension: shifted, rotated, noisy on request.

Formulas after S. Surjanovic and D. Bingham, Virtual Library of Simulation Experiments; boxes of the
thesis (section 5.4). Each formula takes `u` [n, d], the offset from the optimum (already rotated back),
so its value is exactly 0 at u = 0: 1 - cos is written as 2 sin^2 of the half angle, which loses no digits there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import register
from lamcts.spaces.box import Box

Floats = NDArray[np.float64]
Formula = Callable[[Floats], Floats]

SHIFT_SHARE = 1 / 4  # of the range, either way: the shifted optimum stays inside all four boxes
REFERENCE_SEED = 12345  # fixed so that numbers compare with earlier measurements on the same functions


@dataclass(frozen=True, eq=False)
class Synthetic:
    """`formula(R (x - centre))` plus normal noise. `centre` [d] is where the minimum, 0, lies."""

    name: str
    space: Box
    formula: Formula
    centre: Floats
    rotation: Floats | None = None
    noise: float = 0.0

    maximise = False
    x0 = None
    optimum = 0.0

    def many(self, points: ArrayLike) -> Floats:
        """Return the noise-free values of `points` [n, d] as [n]."""
        x = np.asarray(points, float)
        if x.ndim != 2 or x.shape[1] != len(self.centre):
            raise ValueError(f"expected points of shape [n, {len(self.centre)}], got {list(x.shape)}")
        u = x - self.centre  # [n, d]
        return self.formula(u if self.rotation is None else u @ self.rotation.T)

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        value = float(self.many(np.asarray(point, float)[None])[0])
        return value + self.noise * float(np.random.default_rng(seed).standard_normal()) if self.noise else value


def _ackley(u: Floats) -> Floats:
    slope = -20 * np.expm1(-0.2 * np.sqrt(np.mean(u**2, axis=1)))
    result: Floats = slope - np.e * np.expm1(-2 * np.mean(np.sin(np.pi * u) ** 2, axis=1))
    return result


def _rosenbrock(u: Floats) -> Floats:
    z = u + 1
    result: Floats = np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + u[:, :-1] ** 2, axis=1)
    return result


def _rastrigin(u: Floats) -> Floats:
    result: Floats = np.sum(u**2 + 20 * np.sin(np.pi * u) ** 2, axis=1)
    return result


def _levy(u: Floats) -> Floats:
    v = u / 4  # w - 1 of the usual form, and sin(pi w + 1) = -sin(pi v + 1)
    middle = np.sum(v[:, :-1] ** 2 * (1 + 10 * np.sin(np.pi * v[:, :-1] + 1) ** 2), axis=1)
    last = v[:, -1] ** 2 * (1 + np.sin(2 * np.pi * v[:, -1]) ** 2)
    result: Floats = np.sin(np.pi * v[:, 0]) ** 2 + middle + last
    return result


@dataclass(frozen=True)
class _Kind:
    """A formula, its box, and where its optimum lies before any shift (the same on every axis)."""

    name: str
    formula: Formula
    low: float
    high: float
    at: float
    least_dim: int = 1

    def place(self, dim: int, shift: Any, rotate: Any, noise: float) -> Synthetic:
        if dim < self.least_dim:
            raise ValueError(f"expected dim of at least {self.least_dim} for {self.name}, got {dim}")
        if not (np.isfinite(noise) and noise >= 0):
            raise ValueError(f"expected noise as a standard deviation of at least 0, got {noise}")
        centre = self.at + _shift(shift, dim, self.high - self.low)
        if not ((self.low <= centre) & (centre <= self.high)).all():
            box = f"[{self.low}, {self.high}]"
            raise ValueError(f"expected a shift that keeps the optimum inside {box}, got the optimum {centre}")
        space = Box(self.low, self.high, dim=dim)
        return Synthetic(self.name, space, self.formula, centre, _rotation(rotate, dim), noise)


def _shift(shift: Any, dim: int, width: float) -> Floats:
    """Return the vector [d] to move the optimum by: from None, "reference", a seed, or the vector itself."""
    if shift is None:
        return np.zeros(dim)
    if isinstance(shift, str):
        _check_reference("shift", shift)
        result: Floats = np.random.RandomState(REFERENCE_SEED).uniform(-SHIFT_SHARE, SHIFT_SHARE, dim) * width
        return result
    if isinstance(shift, (int, np.integer)):
        return np.random.default_rng(int(shift)).uniform(-SHIFT_SHARE, SHIFT_SHARE, dim) * width
    vector = np.asarray(shift, float)
    if vector.shape != (dim,) or not np.isfinite(vector).all():
        raise ValueError(
            f"expected shift as None, a seed, 'reference' or {dim} finite numbers, got shape {vector.shape}"
        )
    return vector


def _rotation(rotate: Any, dim: int) -> Floats | None:
    """Return a rotation or reflection [d, d], uniform over all (QR of normals, Mezzadri 2007), or None."""
    if rotate is None:
        return None
    if isinstance(rotate, str):
        _check_reference("rotate", rotate)
        from scipy.stats import ortho_group

        return np.atleast_2d(np.asarray(ortho_group.rvs(dim, random_state=REFERENCE_SEED), float))
    if not isinstance(rotate, (int, np.integer)):
        raise ValueError(f"expected rotate as None, a seed or 'reference', got {rotate!r}")
    q, r = np.linalg.qr(np.random.default_rng(int(rotate)).standard_normal((dim, dim)))
    return np.asarray(q * np.sign(np.diag(r)), float)


def _check_reference(what: str, text: str) -> None:
    if text != "reference":
        raise ValueError(f"expected {what} as None, a seed or 'reference', got {text!r}")


_ACKLEY = _Kind("ackley", _ackley, -5, 10, 0)
_ROSENBROCK = _Kind("rosenbrock", _rosenbrock, -10, 10, 1, least_dim=2)
_RASTRIGIN = _Kind("rastrigin", _rastrigin, -5.12, 5.12, 0)
_LEVY = _Kind("levy", _levy, -10, 10, 1)


@register("ackley", "one deep funnel among many small dents; minimum 0")
def ackley(dim: int = 20, shift: Any = None, rotate: Any = None, noise: float = 0.0) -> Synthetic:
    """Ackley on [-5, 10]^dim, minimum 0 at 0 + shift."""
    return _ACKLEY.place(dim, shift, rotate, noise)


@register("rosenbrock", "a long curved valley, flat along its floor; minimum 0")
def rosenbrock(dim: int = 20, shift: Any = None, rotate: Any = None, noise: float = 0.0) -> Synthetic:
    """Rosenbrock on [-10, 10]^dim, minimum 0 at 1 + shift."""
    return _ROSENBROCK.place(dim, shift, rotate, noise)


@register("rastrigin", "a bowl with a grid of deep local minima; minimum 0")
def rastrigin(dim: int = 20, shift: Any = None, rotate: Any = None, noise: float = 0.0) -> Synthetic:
    """Rastrigin on [-5.12, 5.12]^dim, minimum 0 at 0 + shift."""
    return _RASTRIGIN.place(dim, shift, rotate, noise)


@register("levy", "waves across a gentle bowl; minimum 0")
def levy(dim: int = 20, shift: Any = None, rotate: Any = None, noise: float = 0.0) -> Synthetic:
    """Levy on [-10, 10]^dim, minimum 0 at 1 + shift."""
    return _LEVY.place(dim, shift, rotate, noise)
