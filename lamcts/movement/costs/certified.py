"""Loads that hold for every order of the same iterations, for all sizes: no lower-order terms are dropped.

DAAP counts accesses to one array apart and sums the statements. That is right to leading order, but not for all sizes:
an LU factorisation that fits into N^2 words loads N^2, less than the 7/6 N^2 of section 6 at M = N^2. Here elements
that two accesses may share count once, and statements that share an array share its loads.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.affine import Affine
from lamcts.movement.costs.intensity import TINY, Covering, Weights, average, capped, uncapped
from lamcts.movement.costs.nest import Nest
from lamcts.movement.costs.solvers import linear
from lamcts.movement.costs.statement import Access, Statement
from lamcts.movement.costs.statement_bound import StatementBound, groups_of, log_extents
from lamcts.movement.costs.terms import Term, overlaps, patterns, pivots, terms_of
from lamcts.movement.costs.volume import iterations, least

MARGIN = math.log(16)  # the tile of the closed form touches X0 < 16 M words
LONG = math.log(1000)  # range of a loop from which caps change an intensity of exponent 1 by less than 0.1 %


def certified_loads(nest: Nest, memory: int, alone: Sequence[StatementBound]) -> float:
    """Return the misses that no order of the nest's iterations avoids, on arrays that the nest reads.

    The machine is a cache of `memory` words, which starts empty; every element that is read or written must be in it.
    """
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
    families = _families(groups, terms, meet)
    caps, gains = log_extents(statement, sizes), np.zeros(len(terms))
    found = []
    for pattern in patterns(terms, statement.names):
        cover = np.array([[name in chosen for name in statement.names] for chosen in pattern], dtype=float)
        covering = Covering(cover, groups, families, gains, caps, math.log(memory))
        found.append(_least(covering))
    lowest = min(one.log_intensity for one in [*found, average(covering, found)])
    return iterations(statement.loops, sizes) / math.exp(lowest)


def _families(
    groups: NDArray[np.int64], terms: Sequence[Term], meet: Callable[[Term, Term], bool]
) -> NDArray[np.int64]:
    """Return a number for each term; terms of one group with one number do not meet."""
    families: list[list[int]] = []
    for i, one in enumerate(terms):
        fits = (f for f in families if groups[f[0]] == groups[i] and not any(meet(one, terms[j]) for j in f))
        family = next(fits, None)
        if family is None:
            families.append([i])
        else:
            family.append(i)
    numbers = {i: number for number, family in enumerate(families) for i in family}
    return np.array([numbers[i] for i in range(len(terms))])


def _least(covering: Covering) -> Weights:
    """Return the best weights; caps matter only where the tile without them comes near to them."""
    free = uncapped(covering)
    margin = LONG if free is not None and free.exponent < 1 + TINY else covering.memory + MARGIN
    if free is not None and (np.minimum(1, free.exponents) * margin <= covering.caps).all():
        return free
    return capped(covering, free)


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
