"""Boundaries of splits. The side of a row never depends on the other rows of a call.

Matrix products round differently for one row and for many. A row close to the boundary is therefore evaluated again by
sums in a fixed order. A score of 0 is good. Letters: n rows, d dimensions, s support vectors.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from lamcts.types import Floats, Mask

Kernel = Literal["rbf", "linear", "poly"]

RELATIVE_TOLERANCE = 1e-9  # of a score, within which a row is evaluated again; 1000 float64 terms err by some 1e-13
CONSTANT_TOLERANCE = 1e-9  # spread, in widths of the space, below which a coordinate is constant: rounding is 1e-16
BLOCK = 2000  # rows evaluated at once: bounds the temporary arrays to 2000 x s


@dataclass(frozen=True, eq=False)
class Frame:
    """Standardisation of x by the mean and the inverse spread `rate` [d] of some rows, 0 for a constant coordinate."""

    centre: Floats
    rate: Floats

    @classmethod
    def of(cls, x: Floats) -> "Frame":
        """Return the frame of rows `x` [n, d]."""
        spread = x.std(0)
        is_wide = spread > CONSTANT_TOLERANCE
        return cls(x.mean(0), np.divide(1.0, spread, out=np.zeros(x.shape[1]), where=is_wide))

    def __call__(self, x: Floats) -> Floats:
        return (x - self.centre) * self.rate  # [n, d]


@dataclass(frozen=True, eq=False)
class Halfspace:
    """The flat boundary `x @ w + b = 0`; good is `>= 0`."""

    w: Floats
    b: float

    @classmethod
    def within(cls, frame: Frame, w: Floats, b: float) -> "Halfspace":
        """Return the half-space `frame(x) @ w + b >= 0`, scaled to a largest weight of 1."""
        weights = w * frame.rate
        size = float(np.abs(weights).max(initial=0.0)) or 1.0
        weights = weights / size
        return cls(weights, b / size - float(frame.centre @ weights))

    def good(self, x: Floats) -> Mask:
        """Return which rows of `x` [n, d] are on the good side, [n]."""
        score = x @ self.w + self.b  # [n]
        for i in np.flatnonzero(np.abs(score) <= RELATIVE_TOLERANCE * (np.abs(self.w).sum() + abs(self.b))):
            score[i] = np.sum(x[i] * self.w) + self.b
        return np.asarray(score >= 0)

    def halfspace(self) -> tuple[Floats, float] | None:
        return self.w, self.b


@dataclass(frozen=True, eq=False)
class KernelBoundary:
    """Curved boundary `sum_j weight_j k(z, support_j) + b = 0` of a support vector machine, z = frame(x)."""

    frame: Frame
    kernel: Kernel
    degree: int
    support: Floats  # [s, d], standardised, contiguous
    weight: Floats  # [s]
    b: float

    @cached_property
    def _square(self) -> Floats:
        return np.asarray(np.square(self.support).sum(1))

    def good(self, x: Floats) -> Mask:
        """Return which rows of `x` [n, d] are on the good side, [n]."""
        result = np.empty(len(x), bool)
        for start in range(0, len(x), BLOCK):
            block = slice(start, start + BLOCK)
            result[block] = self._good(self.frame(x[block]))
        return result

    def halfspace(self) -> tuple[Floats, float] | None:
        return None

    def _good(self, z: Floats) -> Mask:
        values = gram(z, self.support, self.kernel, self.degree, self._square)  # [n, s]
        score = values @ self.weight + self.b  # [n]
        if self.kernel == "rbf":
            size = np.ones(len(z))  # no value of this kernel is above 1
        else:
            size = np.abs(values).max(1, initial=1.0)
        for i in np.flatnonzero(np.abs(score) <= RELATIVE_TOLERANCE * (size * np.abs(self.weight).sum() + abs(self.b))):
            score[i] = np.sum(self._exact_values(z[i]) * self.weight) + self.b
        return np.asarray(score >= 0)

    def _exact_values(self, z: Floats) -> Floats:
        """Return the kernel between `z` [d] and every support vector, [s], without BLAS."""
        d = len(z)
        if self.kernel == "rbf":
            return np.asarray(np.exp(-np.square(self.support - z).sum(1) / d))
        return np.asarray((np.sum(self.support * z, axis=1) / d + 1) ** self.degree)


def gram(a: Floats, b: Floats, kernel: Kernel, degree: int, square: Floats | None = None) -> Floats:
    """Return the kernel between standardised rows `a` [n, d] and `b` [s, d], [n, s]; `square` [s] are norms of `b`.

    The width 1/d keeps the size of values in all dimensions: rbf exp(-|a - b|^2 / d), linear a.b / d,
    poly (a.b / d + 1)^degree.
    """
    d = a.shape[1]
    dot = a @ b.T  # [n, s]
    if kernel == "linear":
        return np.asarray(dot / d)
    if kernel == "poly":
        return np.asarray((dot / d + 1) ** degree)
    dot *= 2 / d
    dot -= np.square(a).sum(1)[:, None] / d
    dot -= (np.square(b).sum(1) if square is None else square) / d  # now -|a - b|^2 / d
    np.minimum(dot, 0, out=dot)
    return np.asarray(np.exp(dot, out=dot))
