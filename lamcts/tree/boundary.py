"""Boundaries of splits. The side of a row never depends on the other rows of a call.

Matrix products round differently for one row and for many. So a row close to the boundary is evaluated again on its
own, by sums in a fixed order. Zero is good. Letters: n rows, d dimensions, s support vectors.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from lamcts.types import Floats, Mask

Kernel = Literal["rbf", "linear", "poly"]

RELATIVE_TOLERANCE = 1e-9  # relative; a product of 1000 float64 terms errs by some 1e-13, so the margin is ample
CONSTANT_TOLERANCE = 1e-9  # spread of a coordinate that rows share, in widths of the space: far above rounding
# (untuned)
BLOCK = 2000  # rows evaluated at once: bounds the temporaries to 2000 x s


@dataclass(frozen=True, eq=False)
class Frame:
    """Standardisation of x by the mean and spread of some rows.

    `rate` [d] is the inverse spread, 0 for a coordinate that the rows share (to 1e-9).
    """

    centre: Floats
    rate: Floats

    @classmethod
    def of(cls, x: Floats) -> "Frame":
        """Return the frame of rows `x` [n, d]."""
        spread = x.std(0)
        wide = spread > CONSTANT_TOLERANCE
        return cls(x.mean(0), np.divide(1.0, spread, out=np.zeros(x.shape[1]), where=wide))

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
        raw = w * frame.rate
        size = float(np.abs(raw).max(initial=0.0)) or 1.0
        raw = raw / size
        return cls(raw, b / size - float(frame.centre @ raw))

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
            score[i] = np.sum(self._values_of_one(z[i]) * self.weight) + self.b
        return np.asarray(score >= 0)

    def _values_of_one(self, z: Floats) -> Floats:
        """Return the kernel between `z` [d] and every support vector, [s], without BLAS."""
        d = len(z)
        if self.kernel == "rbf":
            return np.asarray(np.exp(-np.square(self.support - z).sum(1) / d))
        return np.asarray((np.sum(self.support * z, axis=1) / d + 1) ** self.degree)


def gram(a: Floats, b: Floats, kernel: Kernel, degree: int, square: Floats | None = None) -> Floats:
    """Return the kernel between standardised rows `a` [n, d] and `b` [s, d], [n, s].

    Width 1/d in all of them, so that values keep their size with the number of dimensions:
    rbf exp(-|a - b|^2 / d), linear a.b / d, poly (a.b / d + 1)^degree.
    `square`: the squared norms of `b` [s], if known.
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
