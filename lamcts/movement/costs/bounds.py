"""I/O lower bounds of loop nests by X-partitioning of array programs (DAAP; Kwasniewski et al. 2021)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lamcts.movement.costs.certified import certified_loads
from lamcts.movement.costs.formula import Formula, memory_name, total_formula
from lamcts.movement.costs.nest import Nest
from lamcts.movement.costs.statement_bound import StatementBound, bound_statement, clashing
from lamcts.movement.costs.terms import terms_of
from lamcts.types import whole_number

CLOSE = 1e-9  # relative rounding of sums


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
        Words of each input array that statements may share, which `daap` subtracts; `daap` is at least the bound of
        each statement.
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
    """Return the least data movement of a loop nest, over all orders of its iterations.

    Parameters
    ----------
    nest : Nest
        The loop nest; the given order of its loops does not matter.
    memory : int
        Capacity of the fast memory in words (elements), at least the number of elements of one iteration.
    processors : int, default 1
        Number of processors, each with a fast memory of its own (Lemma 9).

    Returns
    -------
    LowerBound
        `loads` holds for these sizes. `daap` is the bound of the paper, and `formula` its closed form.

    Raises
    ------
    ValueError
        If `memory` cannot hold the elements of one iteration, or an argument is no whole number of at least 1.

    Notes
    -----
    Each access that is read limits a subcomputation with X words; `sigma`, the constant and `X0` follow from a linear
    and a concave programme (sections 3.2 and 3.3 of [1]_). For sigma > 1 the closed form is
    `X0 = sigma M / (sigma - 1)` and `rho = C X0^sigma / (X0 - M)`. Lemma 6 (out-degree-one inputs) is the case
    sigma = 1. Short loops cap the tile. `daap` adds the statements, subtracts inputs that they share (Lemma 7, eq. 6),
    and divides accesses to the results of earlier statements by their intensity (Lemma 8, Corollary 1, eq. 7).

    `loads` needs no assumption on the sizes. It counts misses of a cache that allocates on writes, on arrays that the
    nest reads, where no iteration runs twice. Accesses that may touch one element count once. Sums such as `i+y`
    count as one of their variables. Statements that share arrays share loads.

    Misprints of [1]_: eq. 3 prints "1 >= t >= l" for 1 <= t <= l. Section 4.1 prints the access sizes (X/2)^2 and
    I = J = K = M; they are X/2 and I = J = M, K = 1. Section 6 prints |V_S1| as the sum of N - k - 1; the total
    N (N - 1) / 2 is the sum of N - k. It prints |V_S2| = N^3/3 - N^2 + 2N/3; the number of iterations is
    N (N - 1) (2N - 1) / 6. Its parallel bound prints P as p.

    `daap` holds to leading order only. At M = N^2 section 6 gives 7/6 N^2 for LU, which loads N^2. A producer that
    loads a word for each element (rho = 1) is counted twice by section 4.2. A symmetric product `A[i,k]*A[j,k]` has
    intensity sqrt(M/2), more than sqrt(M)/2, in triangular blocks [3]_: so N^3 / (3 sqrt M) for Cholesky, which
    counts both accesses, is no lower bound. Sums are compared on boxes, by |A+B| >= |A| + |B| - 1; a hexagonal tile of
    a convolution holds up to 4/3 of the iterations of a box.

    References
    ----------
    .. [1] Kwasniewski et al., "On the parallel I/O optimality of linear algebra kernels: near-optimal matrix
       factorizations", SC 2021: sections 3 to 6.
    .. [2] Christ, Demmel, Knight, Scanlon, Yelick, "Communication lower bounds and optimal algorithms for programs that
       reference arrays", 2013: the exponent as a linear programme.
    .. [3] Beaumont, Eyraud-Dubois, Verite, Langou, "I/O-optimal algorithms for symmetric linear algebra kernels",
       SPAA 2022.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=1024)
    >>> bound = costs.lower_bound(product, memory=4096)
    >>> bound.formula, round(bound.loads)
    ('2 N^3 / sqrt(M)', 33554432)
    >>> str(bound.main.sigma), round(bound.main.boundary / 4096, 6), round(bound.main.intensity, 6)
    ('3/2', 3.0, 32.0)
    >>> {name: round(extent, 6) for name, extent in bound.main.tile.items()}
    {'i': 64.0, 'j': 64.0, 'k': 64.0}
    """
    _check_memory(nest, memory)
    whole_number(processors, "processors")
    statements = _alone(nest, memory)
    reuse, parts = _shared(nest, statements)
    parts += [one.closed for one in statements if one.loads]
    total = sum(one.loads for one in statements) - sum(reuse.values())
    most = max(one.loads for one in statements)
    return LowerBound(
        memory=memory,
        processors=processors,
        loads=certified_loads(nest, memory, statements) / processors,
        daap=max(total, most) / processors,
        statements=tuple(statements),
        reuse=reuse,
        formula="" if most > total + CLOSE * most else total_formula(parts, memory_name(nest.sizes), processors),
        clashes=_clashes(nest),
    )


def _check_memory(nest: Nest, memory: int) -> None:
    """Check that the elements of one iteration fit."""
    least = max(len({(a.array, a.indices) for a in statement.accesses}) for statement in nest.statements)
    if whole_number(memory, "memory") < least:
        raise ValueError(
            f"memory: expected at least {least} words, one for each element of an iteration, got {memory}; "
            f"memory={least}"
        )


def _alone(nest: Nest, memory: int) -> list[StatementBound]:
    """Return the bounds of the statements by themselves, each with the intensities of earlier ones (Corollary 1)."""
    statements: list[StatementBound] = []
    producers: dict[str, float] = {}
    for statement in nest.statements:
        found = bound_statement(statement, nest, memory, producers)
        producers[statement.target.array] = max(found.intensity, producers.get(statement.target.array, 0.0))
        statements.append(found)
    return statements


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
        meet = clashing(terms, statement, nest)
        for i, one in enumerate(terms):
            for two in terms[:i]:
                if meet(one, two):
                    messages.append(f"{two.access} and {one.access} may read one element, so they count once")
    return tuple(messages)
