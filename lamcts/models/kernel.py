"""Kernel of all Gaussian processes: Matern 5/2 of the numbers times overlap of the categories, plus a quadratic part.

`k(z, t) = exp(-sum_c w_c [z_c != t_c]) (1 + R + R^2 / 3) exp(-R) + b ((1 + z.t / q)^2 - 1)`, where
`R = sqrt(5) |z - t|` of numbers divided by length scales (Rasmussen and Williams 2006, eq. 4.17), and `b` is usually 0.
Letters: n rows of the model, m other rows, c categories, q numbers, r right-hand sides.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.models.coding import Inputs
from lamcts.models.overlap import Overlap
from lamcts.types import Floats

Real = TypeVar("Real", np.float32, np.float64)


@dataclass(frozen=True, eq=False)
class Hyper:
    """Hyper-parameters of a kernel, and of the noise on its diagonal.

    lengths [q]: length scales, as shares of a range. noise: variance of the noise over that of the signal. weights [c]:
    weights of the categories. quadratic: variance `b` of the quadratic part; the variance of the other part is 1.
    """

    lengths: Floats
    noise: float
    weights: Floats = field(default_factory=lambda: np.empty(0))
    quadratic: float = 0.0


class Kernel:
    """Kernel between the rows of a model and other rows.

    middle [q]: origin of the numbers, so that rows far from 0 lose no digits; None: the mean of the rows.
    """

    def __init__(self, inputs: Inputs, hyper: Hyper, middle: Floats | None = None) -> None:
        self.inputs = inputs
        self.hyper = hyper
        self.middle = inputs.middle if middle is None else middle
        self.scaled = self.scale(inputs.numbers)  # [n, q]

    def scale(self, numbers: Floats) -> Floats:
        """Return numbers [m, q] in units of their length scales."""
        scaled: Floats = (numbers - self.middle) / self.hyper.lengths
        return scaled

    def at(self, inputs: Inputs) -> "Kernel":
        """Return the same kernel for other rows."""
        return Kernel(inputs, self.hyper, self.middle)

    @property
    def matrix(self) -> Floats:
        """Kernel between the rows of the model, [n, n]."""
        return self(self.inputs)

    def __call__(self, others: Inputs) -> Floats:
        """Return the kernel between other rows and those of the model, [m, n]."""
        kernel = matern(self.scale(others.numbers), self.scaled)
        if len(self.inputs.owner):
            kernel *= self._overlap(others, self.hyper.weights)
        if self.hyper.quadratic:
            inner = self._inner(others)
            inner *= inner + 2.0  # (1 + inner)^2 - 1
            inner *= self.hyper.quadratic
            kernel += inner
        return kernel

    def diagonal(self, others: Inputs) -> Floats:
        """Return the kernel of other rows with themselves, [m]."""
        square = np.square(others.numbers).mean(1) if self.hyper.quadratic else np.zeros(len(others))
        return 1.0 + self.hyper.quadratic * square * (square + 2.0)

    def diagonal_slopes(self, others: Inputs) -> Floats:
        """Return the slopes of `diagonal` along the numbers, [m, q]."""
        square = np.square(others.numbers).mean(1, keepdims=True)
        slopes: Floats = 4.0 * self.hyper.quadratic / len(self.middle) * (1.0 + square) * others.numbers
        return slopes

    def sloped(self, others: Inputs) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Return the kernel [m, n], and a function of weights [m, r, n] or [r, n].

        The function returns the slopes of `sum_i weights_i k(x, row_i)` along the numbers of other rows, [m, r, q].
        """
        scaled = self.scale(others.numbers)
        square = squares(scaled, self.scaled)
        falls = fall(np.sqrt(square))  # [m, n]
        kernel = correlation(square)
        if len(self.inputs.owner):
            overlap = self._overlap(others, self.hyper.weights)
            falls *= overlap
            kernel *= overlap
        inner = self._inner(others) if self.hyper.quadratic else np.zeros(())
        if self.hyper.quadratic:
            kernel += self.hyper.quadratic * (inner * (inner + 2.0))

        def slopes(weights: Floats) -> Floats:
            pull = falls[:, None] * weights  # [m, r, n]
            gradient: Floats = (pull @ self.scaled - pull.sum(2)[:, :, None] * scaled[:, None]) / self.hyper.lengths
            if self.hyper.quadratic:
                per_number = 2.0 * self.hyper.quadratic / len(self.middle)
                gradient += ((per_number * (1.0 + inner))[:, None] * weights) @ self.inputs.numbers
            return gradient

        return kernel, slopes

    def _inner(self, others: Inputs) -> Floats:
        """Return the mean over numbers of the products of other rows with those of the model, [m, n]."""
        inner: Floats = others.numbers @ (self.inputs.numbers.T / len(self.middle))
        return inner

    @cached_property
    def _overlap(self) -> Overlap:
        return Overlap(self.inputs)


def matern(a: NDArray[Real], b: NDArray[Real]) -> NDArray[Real]:
    """Return the correlations [n, m] of scaled rows `a` [n, d] and `b` [m, d], in the precision of its arguments."""
    return correlation(squares(a, b))


def squares(a: NDArray[Real], b: NDArray[Real]) -> NDArray[Real]:
    """Return `R^2` [n, m] of scaled rows `a` [n, d] and `b` [m, d]."""
    five = a.dtype.type(5)
    square = a @ (b.T * -(five + five))
    square += five * np.einsum("ij,ij->i", a, a)[:, None]
    square += five * np.einsum("ij,ij->i", b, b)[None, :]
    np.maximum(square, 0, out=square)  # rounding may leave -1e-16 for equal rows
    return square


def correlation(square: NDArray[Real]) -> NDArray[Real]:
    """Return the correlations at `R^2` of any shape; the argument is overwritten."""
    root = np.sqrt(square)
    square *= square.dtype.type(1 / 3)
    square += root
    square += 1
    np.negative(root, out=root)
    np.exp(root, out=root)
    square *= root
    return square


def fall(root: NDArray[Real]) -> NDArray[Real]:
    """Return `-k'(r) / r` of the correlation `k` at scaled distances `r`, given `R = sqrt(5) r`."""
    slope = root + 1
    slope *= np.exp(-root)
    slope *= root.dtype.type(5 / 3)
    return slope


def correlate(scaled: Floats, kernel: Floats, slope: Floats, work: Floats) -> None:
    """Fill `kernel` and `slope` [n, n] with `matern` and `fall` of scaled rows [n, d]; `work` [n, n] is overwritten."""
    np.matmul(scaled, scaled.T * -10.0, out=kernel)
    square = 5.0 * np.einsum("ij,ij->i", scaled, scaled)
    kernel += square[:, None]
    kernel += square
    np.maximum(kernel, 0.0, out=kernel)
    np.sqrt(kernel, out=slope)
    np.negative(slope, out=work)
    np.exp(work, out=work)
    slope += 1.0
    slope *= work  # (1 + R) exp(-R)
    kernel *= work
    kernel *= 1.0 / 3.0
    kernel += slope
    slope *= 5.0 / 3.0
