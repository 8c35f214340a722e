"""The least data movement of one statement, by X-partitioning."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.intensity import Covering, Weights, capped, exact, least_of, smooth, uncapped
from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.terms import Term, clash, fillers, overlaps, patterns, terms_of
from lamcts.movement.costs.volume import Polynomial, extent, iterations, polynomial
from lamcts.types import Floats

LARGEST_DENOMINATOR = 1000  # of constants: products of small powers of the exponents
CLOSE = 1e-9  # relative: constants of closed forms are exact to rounding
SLACK = 1e-9  # of logarithms of extents against their caps


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


@dataclass(frozen=True)
class Tiles:
    """The concave programme of one statement; an index that is a sum such as `i+y` takes |I| + |Y| - 1 values."""

    terms: Sequence[Term]
    names: tuple[str, ...]
    divisors: Floats  # [m], how many elements of each access cost one word
    caps: Floats  # [l], logarithm of the range of each loop variable

    @cached_property
    def _columns(self) -> list[list[list[int]]]:
        return [[[self.names.index(name) for name in part] for part in term.parts] for term in self.terms]

    def elements(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the words of each access on a tile [m], and their derivatives by the logs of the extents [m, l]."""
        extents = np.exp(logs)
        words = np.ones(len(self.terms))
        slopes = np.zeros((len(self.terms), len(logs)))
        for row, parts in enumerate(self._columns):
            sums = [extents[part].sum() - len(part) + 1 for part in parts]
            words[row] = np.prod(sums) / self.divisors[row]
            for part, total in zip(parts, sums, strict=True):
                slopes[row, part] = words[row] * extents[part] / total
        return words, slopes

    def largest(self, log_words: float) -> Floats:
        """Return the logs of the extents of the largest tile with at most X words."""
        count = len(self.names)

        def room(logs: Floats) -> float:
            return float(log_words - np.log(self.elements(logs)[0].sum()))

        def slope(logs: Floats) -> Floats:
            words, slopes = self.elements(logs)
            return np.asarray(-slopes.sum(0) / words.sum())

        first = np.minimum(np.full(count, log_words / (2 * count)), self.caps)
        bounds = [(0.0, float(min(cap, log_words))) for cap in self.caps]
        return smooth(
            lambda logs: -float(logs.sum()), lambda logs: -np.ones(count), first, bounds, [("ineq", room, slope)], 1e-12
        )


@dataclass(frozen=True)
class StatementBound:
    """The least data movement of one statement."""

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
    fresh: float = 0.0  # of `loads`, what another statement may just have computed
    fresh_closed: Formula | None = None  # minus its closed form
    first_reads: Mapping[Term, float] = field(default_factory=dict, hash=False)  # of other elements, in words


@dataclass(frozen=True)
class Task:
    """A statement, the terms that limit it, their groups and families (see `Covering`), and the sizes."""

    statement: Statement
    terms: Sequence[Term]
    gains: Floats  # [m], logarithm of the elements that cost one word
    groups: NDArray[np.int64]  # [m]
    families: NDArray[np.int64]  # [m]
    sizes: Mapping[str, int]
    memory: int

    @cached_property
    def iterations(self) -> int:
        """The iterations of the statement."""
        return iterations(self.statement.loops, self.sizes)

    @cached_property
    def caps(self) -> Floats:
        """The logarithms of the ranges of the loop variables [l]."""
        return log_extents(self.statement, self.sizes)

    def coverings(self) -> list[Covering]:
        """Return the programmes of the weights: one for each way in which elements determine variables in sums."""
        found = []
        for pattern in patterns(self.terms, self.statement.names):
            cover = np.array([[name in chosen for name in self.statement.names] for chosen in pattern], dtype=float)
            own = (self.groups, self.families, self.gains, self.caps, math.log(self.memory))
            found.append(Covering(cover, *own))
        return found

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
    if not terms:
        return StatementBound(statement, iterations(statement.loops, sizes), None, math.inf, math.inf, {}, 0.0, {})
    groups, own = groups_of(terms, clashing(terms, statement, nest)), np.array([gains[term] for term in terms])
    task = Task(statement, terms, own, groups, np.arange(len(terms)), sizes, memory)
    plain = all(term.plain for term in terms)
    found = _plain(task) if plain else _summed(task)
    reads = {term: _first_reads(task, place) for place, term in enumerate(terms)}
    fresh = [reads.pop(term) for term in terms if _is_fresh(term, statement, nest)]
    volumes = [volume for _, volume in fresh if volume is not None]
    exact_form = plain and not own.any() and len(volumes) == len(fresh)
    return replace(
        found,
        fresh=float(sum(words for words, _ in fresh)),
        fresh_closed=Formula(sum(volumes, Polynomial()) * -1, Fraction(0)) if exact_form else None,
        first_reads={term: words for term, (words, _) in reads.items()},
    )


def _is_fresh(term: Term, statement: Statement, nest: Program) -> bool:
    """Return whether another statement may just have computed what `loads` counts as loaded, each element once."""
    if is_own(term, statement):
        return bool(fillers(term.access, statement, nest.statements, nest.sizes))
    others = [other.target.array for other in nest.statements if other is not statement]
    return term.access.array in others and is_full(term, statement)


def _first_reads(task: Task, place: int) -> tuple[float, Polynomial | None]:
    """Return how many of the loads may be first reads of elements of a term, and a closed form or None."""
    term = task.terms[place]
    loops = tuple(loop for loop in task.statement.loops if loop.name in term.names)
    words = float(task.tiles().elements(task.caps)[0][place])
    if is_own(term, task.statement) and not is_full(term, task.statement):
        words *= float(np.bincount(task.groups)[task.groups[place]])
    if any(loop.range_names & set(task.statement.names) - set(term.names) for loop in loops):
        return min(words, task.iterations), None
    return min(words, iterations(loops, task.sizes)), polynomial(loops, task.sizes)


def is_full(term: Term, statement: Statement) -> bool:
    """Return whether an access has all loop variables of the reads, so that it reads most elements of the statement."""
    return set(term.names) >= {name for other in terms_of(statement) for name in other.names}


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


def is_own(term: Term, statement: Statement) -> bool:
    """Return whether a statement reads the element that it writes."""
    return (term.access.array, term.access.indices) == (statement.target.array, statement.target.indices)


def _gain(term: Term, statement: Statement, producers: Mapping[str, float]) -> float:
    """Return the logarithm of how many elements of an access cost one word (Lemma 8): 0 for sums of its own."""
    if is_own(term, statement) and not is_full(term, statement):
        return 0.0
    return math.log(max(1.0, producers.get(term.access.array, 1.0)))


def groups_of(terms: Sequence[Term], meet: Callable[[Term, Term], bool]) -> NDArray[np.int64]:
    """Return a number for each term; terms that meet have one number."""
    numbers = list(range(len(terms)))
    for i, one in enumerate(terms):
        for j in range(i):
            if meet(one, terms[j]):
                numbers = [numbers[j] if number == numbers[i] else number for number in numbers]
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _plain(task: Task) -> StatementBound:
    """Bound a statement whose elements determine all variables of their indices."""
    [covering] = task.coverings()
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


def _summed(task: Task) -> StatementBound:
    """Bound a statement with sums of variables in indices, over tiles of any shape."""
    found = least_of(task.coverings())
    sigma, closed = exact(found.exponent), None if found.rest.any() else _closed(task, found)
    if found.exponent <= 1 + SLACK:
        return _result(task, sigma, found.log_intensity, math.inf, None, found.weight, closed)
    words = task.words(found.exponent)
    return _result(task, sigma, found.log_intensity, words, task.tiles().largest(words), found.weight, closed)


def _result(
    task: Task,
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


def _strict(task: Task) -> bool:
    """Return whether each access determines its variables, costs a word an element, and shares none unless grouped."""
    apart = groups_of(task.terms, overlaps(task.terms, task.statement, task.sizes))
    costly = len(task.terms) == len(terms_of(task.statement)) and not task.gains.any()
    return costly and all(term.plain for term in task.terms) and bool((apart == task.groups).all())


def _closed(task: Task, weights: Weights) -> Formula | None:
    """Return iterations / (c M^(sigma - 1)) where all is exact: no element costs less than a word."""
    volume = polynomial(task.statement.loops, task.sizes)
    if volume is None or task.gains.any():
        return None
    power = exact(weights.exponent) - 1
    return Formula(volume, power).scaled(math.exp(float(power) * math.log(task.memory) - weights.log_intensity))


def extents(covering: Covering, weights: Weights, log_words: float) -> Floats:
    """Return the logs of the extents of the tile that weights with a sum above 1 describe."""
    used = weights.weight > 1e-9
    groups = np.bincount(covering.group, weights.weight)[covering.group]
    words = log_words + np.log(np.maximum(groups, 1e-12) / weights.exponent) + covering.gain  # [m]
    free = weights.exponents > 1e-9
    rows = covering.cover[used][:, free]
    logs = np.zeros(covering.cover.shape[1])
    logs[free] = np.linalg.lstsq(rows, words[used], rcond=None)[0]
    return logs


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
    text = " + ".join(formula.text(memory) for formula in kept).replace("+ -", "-") or "0"
    if processors == 1:
        return text
    return f"({text}) / P" if " " in text else f"{text} / P"
