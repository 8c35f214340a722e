"""Numbers of iterations: polynomials equal to counting by hand."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.statement import Affine, Statement
from lamcts.movement.costs.volume import Polynomial, extent, iterations, polynomial

TEXTS = {
    "for i,j in N: a[i] = b[j]": "N^2",
    "for k in N: for i in k+1..N: a[i] = b[k]": "1/2 N^2 - 1/2 N",
    "for k in N: for i,j in k+1..N: a[i,j] = b[k]": "1/3 N^3 - 1/2 N^2 + 1/6 N",
    "for k in N: for i in k+1..N: for j in k+1..i+1: a[i,j] = b[k]": "1/6 N^3 - 1/6 N",
    "for i in N: for j in i: for k in 2*i-j..2*i+M: a[i,j] = b[k]": "1/2 M N^2 + 1/6 N^3 - 1/2 M N - 1/2 N^2 + 1/3 N",
}


def counted(statement: Statement, sizes: dict[str, int]) -> int:
    """Count iterations one by one."""

    def inside(depth: int, values: dict[str, Any]) -> int:
        if depth == len(statement.loops):
            return 1
        loop = statement.loops[depth]
        steps = range(loop.start.value(values), loop.stop.value(values))
        return sum(inside(depth + 1, values | {loop.name: step}) for step in steps)

    return inside(0, dict(sizes))


@pytest.mark.parametrize(("text", "formula"), TEXTS.items())
def test_the_polynomial_is_the_number_of_iterations(text: str, formula: str) -> None:
    sizes = {name: size for name, size in {"N": 7, "M": 3}.items() if name in text}
    (statement,) = costs.nest(text, **sizes).statements
    volume = polynomial(statement.loops, sizes)
    assert str(volume) == formula
    assert volume is not None
    assert volume.value(sizes) == counted(statement, sizes) == iterations(statement.loops, sizes)


def test_ranges_that_end_before_they_start_are_counted_as_empty() -> None:
    (statement,) = costs.nest("for k in N: for i in k+3..M: for j in i-k..4: a[i,k] = b[j]", N=9, M=7).statements
    assert polynomial(statement.loops, {"N": 9, "M": 7}) is None
    assert iterations(statement.loops, {"N": 9, "M": 7}) == counted(statement, {"N": 9, "M": 7}) > 0


def test_too_many_outer_iterations_with_empty_ranges_are_refused() -> None:
    (statement,) = costs.nest("for k in N: for i in k+9..N: for j in N: a[i,k] = b[j]", N=100_000).statements
    with pytest.raises(ValueError, match="write ranges that never end before they start"):
        iterations(statement.loops, {"N": 100_000})


def test_extents_hold_all_values() -> None:
    (statement,) = costs.nest("for k in N: for i in k+1..N: a[i,k] = b[i-k]", N=9).statements
    assert [extent(name, statement.loops, {"N": 9}) for name in ("k", "i")] == [9, 8]


@pytest.mark.parametrize("power", range(6))
def test_sums_of_powers_are_exact(power: int) -> None:
    term = Polynomial.of(1)
    for _ in range(power):
        term = term * Polynomial.of(Affine.of("t"))
    total = term.summed("t", Affine.of(2), Affine.of("N"))
    assert total.value({"N": 12}) == sum(t**power for t in range(2, 12))


def test_polynomials_multiply_as_numbers_do() -> None:
    rng = np.random.default_rng(0)
    values = {"x": 5, "y": -2}
    for a, b, c, d in rng.integers(-3, 4, (20, 4)).tolist():
        one, two = (Polynomial.of(Affine((("x", p), ("y", q)), 1)) for p, q in ((a, b), (c, d)))
        assert ((one + two) * (one - two)).value(values) == one.value(values) ** 2 - two.value(values) ** 2
    assert str(Polynomial.of(Fraction(-1, 2)) * Polynomial.of(Affine.of("x"))) == "- 1/2 x"
    assert str(Polynomial()) == "0"
