"""The least data movement of one statement, by X-partitioning."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.formula import Formula, memory_name
from lamcts.movement.costs.intensity import Covering, Weights, capped, exact, uncapped
from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.terms import Term, clash, overlaps, terms_of
from lamcts.movement.costs.tile import Tiles, best, constant, extents
from lamcts.movement.costs.volume import extent, iterations, polynomial
from lamcts.types import Floats

SLACK = 1e-9  # of logarithms of extents against their caps


@dataclass(frozen=True)
class StatementBound:
    """The least data movement of one statement.

    Parameters
    ----------
    statement : Statement
        The statement.
    iterations : int
        How often it executes, |V|.
    sigma : Fraction or None
        Exponent: the largest subcomputation that touches X words grows as X^sigma. None where no access is limited.
    intensity : float
        The most iterations for each word that is loaded, rho.
    boundary : float
        Words that a best subcomputation touches, X0; infinite where no tile saves loads, as where sigma is 1.
    tile : mapping of str to float
        Extent of each loop in a best subcomputation; empty where no tile saves loads.
    loads : float
        `iterations / intensity`, in words.
    shares : mapping of str to float
        Words that a best schedule touches in each array for each word that it loads.
    closed : Formula or None
        The closed form of `loads`; None where the range of a loop limits the tile, or a constant is not rational.
    formula : str
        The closed form as a text, or "".
    strict : bool
        Whether `loads` holds for these very sizes: no sum in an index, and no two accesses share an element.
    """

    statement: Statement
    iterations: int
    sigma: Fraction | None
    intensity: float
    boundary: float
    tile: Mapping[str, float] = field(hash=False)
    loads: float
    shares: Mapping[str, float] = field(hash=False)
    closed: Formula | None = None
    formula: str = ""
    strict: bool = False


@dataclass(frozen=True)
class _Task:
    """A statement, the terms that limit it, and the logarithms of the ranges of its loops."""

    statement: Statement
    iterations: int
    terms: list[Term]
    gains: Floats  # [m], logarithm of the elements that cost one word
    groups: NDArray[np.int64]  # [m]
    caps: Floats  # [l]
    sizes: Mapping[str, int]
    memory: int

    def covering(self) -> Covering:
        """Return the programme of the weights; a sum counts as any one of its variables."""
        rows, owners = self.tiles().choices
        groups, families = self.groups[owners], np.arange(len(rows))
        return Covering(rows, groups, families, self.gains[owners], self.caps, math.log(self.memory))

    def tiles(self, limited: bool = True) -> Tiles:
        """Return the programme of the extents."""
        divisors = np.bincount(self.groups)[self.groups].astype(float) * np.exp(self.gains)
        caps = self.caps if limited else np.full(len(self.caps), np.inf)
        return Tiles(self.terms, self.statement.names, divisors, caps)

    def words(self, exponent: float) -> float:
        """Return log X0 for an exponent above 1, where X^exponent / (X - M) is least."""
        return math.log(self.memory * exponent / (exponent - 1))


def bound_statement(statement: Statement, nest: Program, memory: int, producers: Mapping[str, float]) -> StatementBound:
    """Return the least data movement of a statement alone; `producers` holds intensities of what fills its arrays."""
    sizes = nest.sizes
    gains = {term: _gain(term, statement, producers) for term in terms_of(statement)}
    terms = [term for term, gain in gains.items() if math.isfinite(gain)]
    caps = log_extents(statement, sizes)
    count = iterations(statement.loops, sizes)
    if not terms:
        return StatementBound(statement, count, None, math.inf, math.inf, {}, 0.0, {})
    groups = groups_of(terms, clashing(terms, statement, nest))
    task = _Task(statement, count, terms, np.array([gains[term] for term in terms]), groups, caps, sizes, memory)
    return _plain(task) if all(term.plain for term in terms) else _summed(task)


def clashing(terms: Sequence[Term], statement: Statement, nest: Program) -> Callable[[Term, Term], bool]:
    """Return a test of whether two terms may read one version of an element; arrays never written have one version."""
    meet = overlaps(terms, statement, nest.sizes)
    written = {other.target.array for other in nest.statements}

    def test(one: Term, two: Term) -> bool:
        if one.access.array not in written or one.access.array != two.access.array:
            return meet(one, two)
        return clash(one.access, two.access, statement, nest.sizes)

    return test


def log_extents(statement: Statement, sizes: Mapping[str, int]) -> Floats:
    """Return the logarithm of the range of each loop variable [l]."""
    return np.array([math.log(extent(name, statement.loops, sizes)) for name in statement.names])


def _gain(term: Term, statement: Statement, producers: Mapping[str, float]) -> float:
    """Return the logarithm of how many elements of an access cost one word (Lemma 8): 0 for an update of its own."""
    own = (term.access.array, term.access.indices) == (statement.target.array, statement.target.indices)
    return 0.0 if own else math.log(max(1.0, producers.get(term.access.array, 1.0)))


def groups_of(terms: Sequence[Term], meet: Callable[[Term, Term], bool]) -> NDArray[np.int64]:
    """Return a number for each term; terms that meet have one number."""
    numbers = list(range(len(terms)))
    for i, one in enumerate(terms):
        for j in range(i):
            if meet(one, terms[j]):
                numbers = [numbers[j] if number == numbers[i] else number for number in numbers]
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _plain(task: _Task) -> StatementBound:
    """Bound a statement whose elements determine all variables of their indices."""
    covering = task.covering()
    free = uncapped(covering)
    sigma = None if free is None else exact(free.exponent)
    if free is not None and sigma == 1:
        return _result(task, sigma, free.log_intensity, math.inf, None, free.weight, _closed(task, free))
    if free is not None:
        words = task.words(free.exponent)
        logs = extents(covering, free, words) if free.unique else task.tiles(limited=False).largest(words)
        if (logs <= task.caps + SLACK).all():
            return _result(task, sigma, free.log_intensity, words, logs, free.weight, _closed(task, free))
    found = capped(covering, free)
    if found.exponent <= 1 + SLACK:
        return _result(task, sigma, found.log_intensity, math.inf, None, found.weight)
    words = task.words(found.exponent)
    return _result(task, sigma, found.log_intensity, words, task.tiles().largest(words), found.weight)


def _summed(task: _Task) -> StatementBound:
    """Bound a statement with sums of variables in indices."""
    free = uncapped(task.covering())
    sigma = None if free is None else exact(free.exponent)
    owners = task.tiles().choices[1]
    if free is not None and sigma == 1:
        weight = np.bincount(owners, free.weight).astype(float)
        return _result(task, sigma, free.log_intensity, math.inf, None, weight, _closed(task, free))
    if free is not None:
        words, tiles = task.words(free.exponent), task.tiles(limited=False)
        logs = tiles.largest(words)
        if (logs <= task.caps + SLACK).all():
            log_intensity = constant(tiles, free.exponent) + free.exponent * words - _log_gap(words, task.memory)
            weight = _touched(tiles, logs, words, task.memory)
            proven = replace(free, log_intensity=log_intensity)
            return _result(task, sigma, log_intensity, words, logs, weight, _closed(task, proven))
    words, logs = best(task.tiles(), task.memory)
    weight = _touched(task.tiles(), logs, words, task.memory)
    return _result(task, sigma, float(logs.sum()) - _log_gap(words, task.memory), words, logs, weight)


def _log_gap(words: float, memory: int) -> float:
    """Return log(X - M) from log X."""
    return math.log(math.exp(words) - memory)


def _touched(tiles: Tiles, logs: Floats, words: float, memory: int) -> Floats:
    """Return how many words each access touches for each word that is loaded: its weight at the optimum."""
    return tiles.elements(logs)[0] / (math.exp(words) - memory)


def _result(
    task: _Task,
    sigma: Fraction | None,
    log_intensity: float,
    words: float,
    logs: Floats | None,
    weight: Floats,
    closed: Formula | None = None,
) -> StatementBound:
    """Return the bound, whose limited tile has no closed form."""
    loads = task.iterations / math.exp(log_intensity)
    shares: dict[str, float] = {}
    for term, one in zip(task.terms, weight, strict=True):
        shares[term.access.array] = shares.get(term.access.array, 0.0) + float(one)
    tile = {} if logs is None else dict(zip(task.statement.names, map(float, np.exp(logs)), strict=True))
    return StatementBound(
        statement=task.statement,
        iterations=task.iterations,
        sigma=sigma,
        intensity=math.exp(log_intensity),
        boundary=math.exp(words) if logs is not None else math.inf,
        tile=tile,
        loads=loads,
        shares=shares,
        closed=closed,
        formula="" if closed is None else closed.text(memory_name(task.sizes)),
        strict=_strict(task),
    )


def _strict(task: _Task) -> bool:
    """Return whether each access determines its variables, costs a word an element, and shares none unless grouped."""
    apart = groups_of(task.terms, overlaps(task.terms, task.statement, task.sizes))
    costly = len(task.terms) == len(terms_of(task.statement)) and not task.gains.any()
    return costly and all(term.plain for term in task.terms) and bool((apart == task.groups).all())


def _closed(task: _Task, weights: Weights) -> Formula | None:
    """Return iterations / (c M^(sigma - 1)) where all is exact: no element costs less than a word."""
    volume = polynomial(task.statement.loops, task.sizes)
    if volume is None or task.gains.any():
        return None
    power = exact(weights.exponent) - 1
    return Formula(volume, power).scaled(math.exp(float(power) * math.log(task.memory) - weights.log_intensity))
