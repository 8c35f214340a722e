"""I/O lower bounds of loop nests by X-partitioning of array programs (DAAP; Kwasniewski et al. 2021)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lamcts.movement.costs.intensity import least_of, linear
from lamcts.movement.costs.nest import Nest, once
from lamcts.movement.costs.statement import Access, Affine, Statement
from lamcts.movement.costs.statement_bound import (
    Formula,
    StatementBound,
    Task,
    bound_statement,
    clashing,
    groups_of,
    is_full,
    memory_name,
    total_formula,
)
from lamcts.movement.costs.terms import fillers, overlaps, pivots, terms_of
from lamcts.movement.costs.volume import iterations, least
from lamcts.types import whole_number

CLOSE = 1e-9  # relative rounding of sums


@dataclass(frozen=True)
class LowerBound:
    """The least data movement of a loop nest, in words, on `processors` memories of `memory` words each.

    Two models, whose numbers may differ by orders of magnitude: a cache that allocates a place for what is written, in
    which each iteration runs once (`loads`), and the red-blue pebble game, in which results need no place before they
    are stored and may be computed again (`daap`).

    Parameters
    ----------
    loads : float
        Misses of the cache that no order of the iterations avoids, for these very sizes; of the busiest processor.
    daap : float
        Loads of the pebble game, the bound of the paper: exact to leading order, where the sizes are large compared
        with the memory. Statements in `produced` add nothing to it but the inputs of the nest.
    statements : tuple of StatementBound
        The bounds of the statements by themselves.
    reuse : mapping of str to float
        Words of each input array that statements may share, which `daap` subtracts.
    formula : str
        The closed form of `daap`, or "" where there is none, as where the range of a loop limits the tile.
    clashes : tuple of str
        Pairs of accesses that may read one element, so that they count once.
    produced : tuple of str
        Targets of statements that read results of the nest a step away, as stencils do: no bound of the pebble game is
        known for them.
    repeated : tuple of str
        Loops, such as over time, whose variable is in no index: the bounds are those of one of their iterations.
    """

    memory: int
    processors: int
    loads: float
    daap: float
    statements: tuple[StatementBound, ...]
    reuse: Mapping[str, float] = field(hash=False)
    formula: str
    clashes: tuple[str, ...]
    produced: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

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
        Capacity of the fast memory in words, at least the number of elements of one iteration.
    processors : int, default 1
        Number of processors, each with a fast memory of its own (Lemma 9).

    Returns
    -------
    LowerBound
        `loads` holds for these sizes. `daap` is the bound of the paper, and `formula` its closed form.

    Notes
    -----
    `daap` follows sections 3 to 6 of [1]_ and holds to leading order only. The paper counts all reads of a set of
    iterations as its dominator (3.1), which is not so where the set computes them itself. So statements that read their
    own results a step away, at all loop variables, have no such bound here: a stencil that keeps a row in the memory
    loads none. First reads of results of other statements do not count where these may just have been computed: in LU
    the columns, N^2 / 2 words in section 6; and the elements of a sum that another statement sets to 0. Indices that
    are sums, such as `i+j`, are bounded over tiles of any shape. For sigma > 1 the closed form is
    `X0 = sigma M / (sigma - 1)` and `rho = C X0^sigma / (X0 - M)`; short loops cap the tile.

    `loads` needs no assumption on the sizes. It counts misses of a cache that allocates on writes, on arrays that the
    nest reads. Accesses that may touch one element count once, and statements that share arrays share loads.

    References
    ----------
    .. [1] Kwasniewski et al., "On the parallel I/O optimality of linear algebra kernels: near-optimal matrix
       factorizations", SC 2021.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=1024)
    >>> bound = costs.lower_bound(product, memory=4096)
    >>> bound.formula, round(bound.loads)
    ('2 N^3 / sqrt(M)', 33554432)
    """
    nest, repeated = once(nest)
    _check_memory(nest, memory)
    whole_number(processors, "processors")
    statements = _alone(nest, memory)
    produced = [one.statement for one in statements if _produced(one.statement, nest)]
    sound = [one for one in statements if one.statement not in produced]
    reuse, parts = _shared(nest, sound)
    parts += [one.closed for one in sound if one.loads] + [one.fresh_closed for one in sound if one.fresh]
    needs = [max(0.0, one.loads - one.fresh) for one in sound]
    whole = not produced and all(one.loads >= (1 - CLOSE) * one.fresh for one in sound)  # no statement without loads
    twice = _counted_twice(nest, sound, needs)
    total = sum(needs) - sum(reuse.values()) - twice
    most = max(needs, default=0.0)
    least = 0.0 if whole else _inputs(nest)
    return LowerBound(
        memory=memory,
        processors=processors,
        loads=certified_loads(nest, memory, statements) / processors,
        daap=max(total, most, least) / processors,
        statements=tuple(statements),
        reuse=reuse,
        formula=""
        if not whole or twice > CLOSE * total or most > total + CLOSE * most
        else total_formula(parts, memory_name(nest.sizes), processors),
        clashes=_clashes(nest),
        produced=tuple(str(statement.target) for statement in produced),
        repeated=tuple(repeated),
    )


def _produced(statement: Statement, nest: Nest) -> bool:
    """Return whether a statement reads what itself, or a later one, writes a step away, at all loop variables."""
    for other in nest.statements[nest.statements.index(statement) :]:
        for term in terms_of(statement):
            if term.access.array == other.target.array and term.access.indices != statement.target.indices:
                steps = [one - two for one, two in zip(term.access.indices, other.target.indices, strict=True)]
                if is_full(term, statement) or not any(step.names for step in steps):
                    return True
    return False


def _inputs(nest: Nest) -> float:
    """Return the number of elements that are surely read of arrays that the nest never writes."""
    written = {statement.target.array for statement in nest.statements}
    arrays = {read.array for statement in nest.statements for read in statement.reads} - written
    return float(sum(_touched(nest, array) for array in arrays))


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


def _counted_twice(nest: Nest, sound: Sequence[StatementBound], needs: Sequence[float]) -> float:
    """Return the words that a statement loads, directly or not, for results whose first reads another one counts."""
    total = 0.0
    loaded = {id(one.statement): need for one, need in zip(sound, needs, strict=True)}
    for one, need in zip(sound, needs, strict=True):
        words = 0.0
        for term, first_reads in one.first_reads.items():
            sources = _sources(nest, one.statement, term.access)
            words += min(first_reads, sum(loaded.get(id(source), 0.0) for source in sources))
        total += min(need, words)
    return total


def _sources(nest: Nest, statement: Statement, access: Access) -> list[Statement]:
    """Return the other statements whose results a statement reads by an access, directly or not."""
    found: list[Statement] = []
    new = fillers(access, statement, nest.statements, nest.sizes)
    while new:
        source = new.pop()
        if source is not statement and all(source is not one for one in found):
            found.append(source)
            new += [one for read in source.reads for one in fillers(read, source, nest.statements, nest.sizes)]
    return found


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


def certified_loads(nest: Nest, memory: int, alone: Sequence[StatementBound]) -> float:
    """Return the misses of an empty cache of `memory` words that no order of the nest's iterations avoids."""
    needs = [one.loads if one.strict else _statement_loads(one.statement, nest.sizes, memory) for one in alone]
    arrays = sorted({read.array for statement in nest.statements for read in statement.reads})
    touched = [_touched(nest, array) for array in arrays]
    if len(needs) == 1 or len(arrays) < 2:
        return float(max(sum(touched), *needs))
    rows = [[float(any(r.array == array for r in s.reads)) for array in arrays] for s in nest.statements]
    return float(linear(np.ones(len(arrays)), np.array(rows), np.array(needs), np.array(touched)).x.sum())


def _statement_loads(statement: Statement, sizes: Mapping[str, int], memory: int) -> float:
    """Return the loads of one statement: the best of the bounds that hold for all subsets of its iterations."""
    terms = terms_of(statement)
    if not terms:
        return 0.0
    meet = overlaps(terms, statement, sizes)
    groups = groups_of(terms, meet)
    families: list[list[int]] = []
    for i, one in enumerate(terms):
        fits = (f for f in families if groups[f[0]] == groups[i] and not any(meet(one, terms[j]) for j in f))
        family = next(fits, None)
        if family is None:
            families.append([i])
        else:
            family.append(i)
    numbers = {i: number for number, family in enumerate(families) for i in family}
    numbered = np.array([numbers[i] for i in range(len(terms))])
    task = Task(statement, terms, np.zeros(len(terms)), groups, numbered, sizes, memory)
    return task.iterations / math.exp(least_of(task.coverings()).log_intensity)


def _touched(nest: Nest, array: str) -> int:
    """Return a number of elements of an array that are surely touched."""
    counts = [
        _distinct(statement, access, nest.sizes)
        for statement in nest.statements
        for access in statement.accesses
        if access.array == array
    ]
    return max(counts)


def _distinct(statement: Statement, access: Access, sizes: Mapping[str, int]) -> int:
    """Return how many elements an access touches while the loops that it does not determine stay at their start."""
    kept = pivots(access, statement.names)
    starts: dict[str, int | Affine] = {}
    loops = []
    for depth, loop in enumerate(statement.loops):
        if loop.name in kept:
            loops.append(type(loop)(loop.name, loop.start.put(starts), loop.stop.put(starts)))
        else:
            if least(loop.stop - loop.start, statement.loops[:depth], sizes) < 1:
                return 0
            starts[loop.name] = loop.start.put(starts)
    return iterations(tuple(loops), sizes)
