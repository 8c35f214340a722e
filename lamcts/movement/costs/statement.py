"""Parts of a loop nest: affine accesses, loops, statements, and blocks of statements."""

from dataclasses import dataclass

from lamcts.movement.costs.affine import Affine


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
    formula: str = ""

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
