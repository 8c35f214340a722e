"""I/O lower bounds of loop nests by X-partitioning of array programs (DAAP; Kwasniewski et al. 2021)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lamcts.costs.certified import certified_loads
from lamcts.costs.formula import Formula, memory_name, total_formula
from lamcts.costs.nest import Nest
from lamcts.costs.statement_bound import StatementBound, bound_statement, clashing
from lamcts.costs.terms import terms_of
from lamcts.types import whole_number


@dataclass(frozen=True)
class LowerBound:
    """The least data movement of a loop nest, in words.

    Parameters
    ----------
    memory : int
        Capacity of the fast memory of each processor in words.
    processors : int
        Number of processors; `loads` and `daap` count the words of the busiest one.
    loads : float
        Misses that no order of the iterations avoids, for these very sizes.
    daap : float
        The bound of the paper: exact to leading order, where the sizes are large compared with the memory.
    statements : tuple of StatementBound
        The bounds of the statements by themselves.
    reuse : mapping of str to float
        Words of each input array that statements may share, which `daap` subtracts.
    formula : str
        The closed form of `daap`, or "" where there is none, as where the range of a loop limits the tile.
    clashes : tuple of str
        Pairs of accesses that may read one element, so that they count once.
    """

    memory: int
    processors: int
    loads: float
    daap: float
    statements: tuple[StatementBound, ...]
    reuse: Mapping[str, float] = field(hash=False)
    formula: str
    clashes: tuple[str, ...]

    @property
    def main(self) -> StatementBound:
        """The bound of the statement that loads most."""
        return max(self.statements, key=lambda one: one.loads)


def lower_bound(nest: Nest, memory: int, processors: int = 1) -> LowerBound:
    """Return the least data movement of a loop nest."""
    least = max(len({(a.array, a.indices) for a in statement.accesses}) for statement in nest.statements)
    if whole_number(memory, "memory") < least:
        raise ValueError(
            f"memory: expected at least {least} words, one for each element of an iteration, got {memory}; "
            f"memory={least}"
        )
    whole_number(processors, "processors")
    statements: list[StatementBound] = []
    producers: dict[str, float] = {}
    for statement in nest.statements:
        found = bound_statement(statement, nest, memory, producers)
        producers[statement.target.array] = max(found.intensity, producers.get(statement.target.array, 0.0))
        statements.append(found)
    reuse, parts = _shared(nest, statements)
    parts += [one.closed for one in statements if one.loads]
    return LowerBound(
        memory=memory,
        processors=processors,
        loads=certified_loads(nest, memory, statements) / processors,
        daap=(sum(one.loads for one in statements) - sum(reuse.values())) / processors,
        statements=tuple(statements),
        reuse=reuse,
        formula=total_formula(parts, memory_name(nest.sizes), processors),
        clashes=_clashes(nest),
    )


def _shared(nest: Nest, statements: list[StatementBound]) -> tuple[dict[str, float], list[Formula | None]]:
    """Return the words of each input array that statements may share (Lemma 7), and minus their closed forms."""
    written = {statement.target.array for statement in nest.statements}
    reuse: dict[str, float] = {}
    parts: list[Formula | None] = []
    for array in sorted({array for one in statements for array in one.shares} - written):
        users = [one for one in statements if array in one.shares]
        for one in sorted(users, key=lambda one: one.shares[array] * one.loads)[:-1]:
            reuse[array] = reuse.get(array, 0.0) + one.shares[array] * one.loads
            parts.append(one.closed and one.closed.scaled(-one.shares[array]))
    return reuse, parts


def _clashes(nest: Nest) -> tuple[str, ...]:
    """Return messages on accesses that break the disjoint access property."""
    messages = []
    for statement in nest.statements:
        terms = terms_of(statement)
        for i, one in enumerate(terms):
            for two in terms[:i]:
                if clashing(one, two, statement, nest):
                    messages.append(f"{two.access} and {one.access} may read one element, so they count once")
    return tuple(messages)
