"""Parts of a loop nest: affine accesses, loops, statements, and blocks of statements."""

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


@dataclass(frozen=True)
class Access:
    """One access of a statement to an array, such as the read of `A[i, k+1]`."""

    array: str
    indices: tuple[Affine, ...]
    write: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the indices, each once, sorted."""
        return tuple(sorted({name for index in self.indices for name in index.names}))

    def __str__(self) -> str:
        return f"{self.array}[{','.join(map(str, self.indices))}]"


@dataclass(frozen=True)
class Loop:
    """A loop from `start` up to, but not including, `stop`; both are affine in sizes and outer loop variables."""

    name: str
    start: Affine
    stop: Affine

    @property
    def range_names(self) -> frozenset[str]:
        """The names in both ends."""
        return frozenset((*self.start.names, *self.stop.names))

    def __str__(self) -> str:
        return f"{self.name} in {self.start}..{self.stop}"


@dataclass(frozen=True)
class Statement:
    """An assignment inside loops."""

    loops: tuple[Loop, ...]
    target: Access
    reads: tuple[Access, ...]
    shared: int = 0

    def __post_init__(self) -> None:
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f"{name}: expected one loop of that name around {self.target}, got {names.count(name)}"
                )
        if not self.target.write or any(read.write for read in self.reads):
            raise ValueError(f"{self.target}: expected write=True for the target and write=False for all reads")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the loops, outermost first."""
        return tuple(loop.name for loop in self.loops)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """All accesses of one iteration in program order: reads as they appear, then the write."""
        return (*self.reads, self.target)

    def __str__(self) -> str:
        loops = ", ".join(map(str, self.loops))
        return f"for {loops}: {self.target} = f({', '.join(map(str, self.reads))})"


@dataclass(frozen=True)
class Block:
    """A loop and what it executes on each pass, in order."""

    loop: Loop
    body: tuple["Block | Statement", ...]
