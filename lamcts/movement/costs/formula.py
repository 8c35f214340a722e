"""Closed forms of lower bounds: polynomials in the sizes, divided by powers of the memory M."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from lamcts.movement.costs.polynomial import Polynomial

LARGEST_DENOMINATOR = 1000  # of constants: products of small powers of the exponents
CLOSE = 1e-9  # relative: constants of closed forms are exact to rounding


@dataclass(frozen=True)
class Formula:
    """A polynomial divided by `M^power`."""

    polynomial: Polynomial
    power: Fraction

    def scaled(self, factor: float) -> "Formula | None":
        """Return the formula times a factor, or None where the factor is no simple fraction."""
        simple = Fraction(factor).limit_denominator(LARGEST_DENOMINATOR)
        if abs(float(simple) - factor) > CLOSE * abs(factor):
            return None
        return Formula(self.polynomial * simple, self.power)

    def text(self, memory: str = "M") -> str:
        """Return the formula with a name for the memory."""
        text = str(self.polynomial)
        if not self.power:
            return text
        inner = f"({text})" if len(self.polynomial.terms) > 1 else text
        return f"{inner} / {_root(self.power, memory)}"


def memory_name(sizes: Iterable[str]) -> str:
    """Return the name of the memory in formulas: M, or `memory` where a size is called M."""
    return "memory" if "M" in sizes else "M"


def _root(power: Fraction, name: str) -> str:
    """Return a power of the memory as a reader writes it."""
    if power == 1:
        return name
    if power == Fraction(1, 2):
        return f"sqrt({name})"
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


def total_formula(parts: Iterable[Formula | None], memory: str, processors: int = 1) -> str:
    """Return the sum of closed forms as a text, or "" where a part has none."""
    sums: dict[Fraction, Polynomial] = {}
    for part in parts:
        if part is None:
            return ""
        sums[part.power] = sums.get(part.power, Polynomial()) + part.polynomial
    kept = [Formula(polynomial, power) for power, polynomial in sorted(sums.items(), reverse=True) if polynomial.terms]
    text = " + ".join(formula.text(memory) for formula in kept).replace("+ -", "- ") or "0"
    if processors == 1:
        return text
    return f"({text}) / P" if " " in text else f"{text} / P"
