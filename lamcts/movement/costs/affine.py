"""Affine expressions: whole multiples of names, plus a whole number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Affine:
    """A sum of whole multiples of names, and a whole number: `2*i + j - 1`."""

    coefficients: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __post_init__(self) -> None:
        totals: dict[str, int] = {}
        for name, factor in self.coefficients:
            totals[name] = totals.get(name, 0) + factor
        object.__setattr__(self, "coefficients", tuple(sorted((n, f) for n, f in totals.items() if f)))

    @classmethod
    def of(cls, term: "str | int | Affine") -> "Affine":
        """Return a name or a whole number as an affine expression."""
        if isinstance(term, Affine):
            return term
        return cls(((term, 1),)) if isinstance(term, str) else cls((), term)

    @property
    def names(self) -> tuple[str, ...]:
        """The names with a factor other than 0, sorted."""
        return tuple(name for name, _ in self.coefficients)

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return the value where each name has a number, or an array of whole numbers."""
        return sum((factor * values[name] for name, factor in self.coefficients), start=self.constant)

    def put(self, values: Mapping[str, "int | Affine"]) -> "Affine":
        """Return the expression with some names replaced."""
        terms = [Affine.of(values.get(name, name)) * factor for name, factor in self.coefficients]
        return sum(terms, start=Affine((), self.constant))

    def __add__(self, other: "int | Affine") -> "Affine":
        term = Affine.of(other)
        return Affine(self.coefficients + term.coefficients, self.constant + term.constant)

    def __sub__(self, other: "int | Affine") -> "Affine":
        return self + Affine.of(other) * -1

    def __mul__(self, factor: int) -> "Affine":
        return Affine(tuple((name, f * factor) for name, f in self.coefficients), self.constant * factor)

    def __str__(self) -> str:
        signs = {1: "+", -1: "-"}
        terms = [f"{signs.get(factor, f'{factor:+d}*')}{name}" for name, factor in self.coefficients]
        terms += [f"{self.constant:+d}"] if self.constant or not terms else []
        return "".join(terms).removeprefix("+")
