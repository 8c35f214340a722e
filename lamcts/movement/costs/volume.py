"""Numbers of iterations and ranges of loop variables, exactly, for triangular loops too."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.affine import Affine
from lamcts.movement.costs.polynomial import Polynomial
from lamcts.movement.costs.statement import Loop

Whole = NDArray[np.int64]

MOST_ROWS = 20_000_000  # of outer iterations that are enumerated: 160 MB a loop variable


def iterations(loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> int:
    """Return how often the innermost body executes.

    Raises
    ------
    ValueError
        If a range is empty for some outer iterations, and there are too many outer iterations to enumerate.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> lu = costs.nest("for k in N: for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]", N=64)
    >>> costs.iterations(lu.statements[0].loops, lu.sizes)
    85344
    """
    volume = polynomial(loops, sizes)
    return _enumerated(loops, sizes) if volume is None else int(volume.value(sizes))


def polynomial(loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> Polynomial | None:
    """Return the number of iterations as a polynomial in the sizes, or None if some range ends before it starts."""
    return _polynomial(loops, tuple(sizes.items()))


@lru_cache(maxsize=512)
def _polynomial(loops: tuple[Loop, ...], pairs: tuple[tuple[str, int], ...]) -> Polynomial | None:
    """Return `polynomial` from hashable arguments."""
    sizes = dict(pairs)
    volume = Polynomial.of(1)
    for depth in reversed(range(len(loops))):
        loop = loops[depth]
        if least(loop.stop - loop.start, loops[:depth], sizes) < 0:
            return None
        volume = volume.summed(loop.name, loop.start, loop.stop)
    return volume


def least(expression: Affine, loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> int:
    """Return a number that an affine expression is never below inside loops; attained where no range is empty."""
    factors, constant = dict(expression.coefficients), expression.constant
    for loop in reversed(loops):
        factor = factors.pop(loop.name, 0)
        end = loop.start if factor > 0 else loop.stop  # the last value is stop - 1
        constant += factor * end.constant - min(factor, 0)
        for name, part in end.coefficients if factor else ():
            factors[name] = factors.get(name, 0) + factor * part
    return constant + sum(factor * sizes[name] for name, factor in factors.items())


def extent(name: str, loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> int:
    """Return the length of the interval that holds all values of a loop variable, at least 1."""
    index = Affine.of(name)
    return max(1, 1 - least(index * -1, loops, sizes) - least(index, loops, sizes))


def _enumerated(loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> int:
    """Count iterations by listing all but the innermost loop."""
    values: dict[str, Whole | int] = dict(sizes)
    rows = 1
    for loop in loops[:-1]:
        start, length = _lengths(loop, values, rows)
        rows = int(length.sum())
        if rows > MOST_ROWS:
            raise ValueError(
                f"{loop.name}: expected at most {MOST_ROWS} outer iterations where a range may be empty, got {rows}; "
                "write ranges that never end before they start"
            )
        index = np.repeat(np.arange(len(length)), length)
        offset = np.arange(rows) - np.repeat(np.cumsum(length) - length, length)
        values = {name: value if isinstance(value, int) else value[index] for name, value in values.items()}
        values[loop.name] = start[index] + offset
    return int(_lengths(loops[-1], values, rows)[1].sum()) if loops else 1


def _lengths(loop: Loop, values: Mapping[str, Whole | int], rows: int) -> tuple[Whole, Whole]:
    """Return the start and the length of a range for each outer iteration."""
    start = np.broadcast_to(loop.start.value(values), rows)  # [rows]
    return start, np.maximum(np.broadcast_to(loop.stop.value(values), rows) - start, 0)
