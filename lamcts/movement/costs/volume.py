"""Numbers of iterations and ranges of loop variables, exactly, for triangular loops too."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.statement import Affine, Loop

Monomial = tuple[tuple[str, int], ...]  # powers by name, sorted, without zeros
Whole = NDArray[np.int64]
MOST_ROWS = 20_000_000  # of outer iterations that are enumerated: 160 MB a loop variable


@dataclass(frozen=True)
class Polynomial:
    """A polynomial; `terms` holds the coefficient of each monomial, without zeros."""

    terms: tuple[tuple[Monomial, Fraction], ...] = ()

    @classmethod
    def of(cls, value: "int | Fraction | Affine | Polynomial") -> "Polynomial":
        """Return a number or an affine expression as a polynomial."""
        if isinstance(value, Polynomial):
            return value
        if isinstance(value, Affine):
            terms: dict[Monomial, Fraction] = {((name, 1),): Fraction(f) for name, f in value.coefficients}
            return _made(terms | {(): Fraction(value.constant)})
        return _made({(): Fraction(value)})

    def __add__(self, other: "int | Fraction | Polynomial") -> "Polynomial":
        terms = dict(self.terms)
        for monomial, factor in Polynomial.of(other).terms:
            terms[monomial] = terms.get(monomial, Fraction(0)) + factor
        return _made(terms)

    def __sub__(self, other: "int | Fraction | Polynomial") -> "Polynomial":
        return self + Polynomial.of(other) * -1

    def __mul__(self, other: "int | Fraction | Polynomial") -> "Polynomial":
        terms: dict[Monomial, Fraction] = {}
        for one, first in self.terms:
            for two, second in Polynomial.of(other).terms:
                product = _product(one, two)
                terms[product] = terms.get(product, Fraction(0)) + first * second
        return _made(terms)

    def value(self, values: Mapping[str, int]) -> Fraction:
        """Return the exact value where each name has a whole number."""
        total = Fraction(0)
        for monomial, factor in self.terms:
            for name, power in monomial:
                factor *= values[name] ** power
            total += factor
        return total

    def summed(self, name: str, start: Affine, stop: Affine) -> "Polynomial":
        """Return the sum over `name` from `start` up to, but not including, `stop`, where stop >= start."""
        if all(part[0] != name for monomial, _ in self.terms for part in monomial):
            return self * Polynomial.of(stop - start)
        total = Polynomial()
        for monomial, factor in self.terms:
            power = dict(monomial).get(name, 0)
            rest = _made({tuple(part for part in monomial if part[0] != name): factor})
            ends = [_evaluated(_power_sums(power), Polynomial.of(end)) for end in (stop, start)]
            total = total + rest * (ends[0] - ends[1])
        return total

    def __str__(self) -> str:
        ordered = sorted(self.terms, key=lambda term: (-sum(p for _, p in term[0]), term[0]))
        words = []
        for monomial, factor in ordered:
            size = "" if abs(factor) == 1 and monomial else f"{abs(factor)} "
            names = " ".join(name if power == 1 else f"{name}^{power}" for name, power in monomial)
            words.append(f"{'-' if factor < 0 else '+'} {(size + names).strip()}")
        return " ".join(words).removeprefix("+ ") or "0"


def iterations(loops: tuple[Loop, ...], sizes: Mapping[str, int]) -> int:
    """Return how often the innermost body executes."""
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


def _made(terms: Mapping[Monomial, Fraction]) -> Polynomial:
    """Return the polynomial without zero terms, in one order."""
    return Polynomial(tuple(sorted((monomial, factor) for monomial, factor in terms.items() if factor)))


def _product(one: Monomial, two: Monomial) -> Monomial:
    """Return the product of two monomials."""
    powers = dict(one)
    for name, power in two:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


@cache
def _power_sums(power: int) -> tuple[Fraction, ...]:
    """Return the coefficients in n of 0^p + 1^p + ... + (n-1)^p, lowest power first."""
    if power == 0:
        return Fraction(0), Fraction(1)
    sums = [Fraction(0)] * (power + 2)  # n^(p+1) is the sum over q <= p of binomial(p+1, q) S_q(n)
    sums[power + 1] = Fraction(1)
    for lower in range(power):
        for i, factor in enumerate(_power_sums(lower)):
            sums[i] -= comb(power + 1, lower) * factor
    return tuple(factor / (power + 1) for factor in sums)


def _evaluated(coefficients: tuple[Fraction, ...], at: Polynomial) -> Polynomial:
    """Return a polynomial of one variable at a polynomial, by Horner's rule."""
    total = Polynomial()
    for factor in reversed(coefficients):
        total = total * at + factor
    return total
