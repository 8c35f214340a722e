"""The Matern 5/2 kernel and its slope (Rasmussen and Williams 2006, eq. 4.17): all processes take them from here.

With `R = sqrt(5) |a - b|` of rows divided by the length scales, the correlation is `(1 + R + R^2 / 3) exp(-R)`.
Letters: n and m rows, d coordinates.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

Real = TypeVar("Real", np.float32, np.float64)


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
    """Return by how much the correlation at `R` falls for a scaled step, for each unit of distance: its slope."""
    steep = root + 1
    steep *= np.exp(-root)
    steep *= root.dtype.type(5 / 3)
    return steep


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
