"""The least data movement of one statement, by X-partitioning."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.intensity import Covering, Weights, capped, exact, smooth, uncapped
from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.terms import Term, clash, overlaps, terms_of
from lamcts.movement.costs.volume import Polynomial, extent, iterations, polynomial
from lamcts.types import Floats

LARGEST_DENOMINATOR = 1000  # of constants: products of small powers of the exponents
CLOSE = 1e-9  # relative: constants of closed forms are exact to rounding
LARGE = np.log(1e9)  # X at which lower-order terms of the constant have vanished
WIDEST = np.log(1e6)  # X / M beyond which no minimum of the intensity is sought
COARSE = 12  # values of X before the search is refined around the best
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
    """The concave programme of one statement; an index that is a sum such as `i+y` takes |I| + |Y| - 1 values.

    divisors [m]: how many elements of each access cost one word. caps [l]: logarithm of the range of each loop
    variable.
    """

    terms: list[Term]
    names: tuple[str, ...]
    divisors: Floats
    caps: Floats

    @cached_property
    def choices(self) -> tuple[Floats, NDArray[np.int64]]:
        """The rows of the linear programme: one for each choice of a variable in each sum; and their accesses."""
        rows, owners = [], []
        for owner, term in enumerate(self.terms):
            for chosen in product(*term.parts):
                rows.append([name in chosen for name in self.names])
                owners.append(owner)
        return np.array(rows, dtype=float), np.array(owners)

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

    def largest(self, log_words: float, start: Floats | None = None) -> Floats:
        """Return the logs of the extents of the largest tile with at most X words."""
        count = len(self.names)

        def room(logs: Floats) -> float:
            return float(log_words - np.log(self.elements(logs)[0].sum()))

        def slope(logs: Floats) -> Floats:
            words, slopes = self.elements(logs)
            return np.asarray(-slopes.sum(0) / words.sum())

        first = np.minimum(np.full(count, log_words / (2 * count)), self.caps) if start is None else start
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


def constant(tiles: Tiles, sigma: float) -> float:
    """Return log C, where the largest tile of X words has about C X^sigma iterations."""
    free = Tiles(tiles.terms, tiles.names, tiles.divisors, np.full(len(tiles.names), np.inf))
    return float(free.largest(LARGE).sum() - sigma * LARGE)


def best(tiles: Tiles, memory: float) -> tuple[float, Floats]:
    """Return log X0 and the logs of the tile's extents where iterations / (X - M) are fewest."""
    total = np.log(tiles.elements(np.minimum(tiles.caps, LARGE))[0].sum())
    low = np.log(memory) + 1e-3
    high = max(low + 1e-3, min(total, low + WIDEST))
    starts: list[Floats | None] = [None]

    def intensity(log_words: float) -> float:
        logs = tiles.largest(log_words, starts[-1])
        starts.append(logs)
        return float(logs.sum() - np.log(np.exp(log_words) - memory))

    grid = np.linspace(low, high, COARSE)
    values = [intensity(x) for x in grid]
    middle = int(np.argmin(values))
    around = (grid[max(middle - 1, 0)], grid[min(middle + 1, COARSE - 1)])
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(intensity, bounds=around, method="bounded", options={"xatol": 1e-7})
    log_words = float(found.x if found.fun < values[middle] else grid[middle])
    return log_words, tiles.largest(log_words)


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
    text = " + ".join(formula.text(memory) for formula in kept).replace("+ -", "- ") or "0"
    if processors == 1:
        return text
    return f"({text}) / P" if " " in text else f"{text} / P"
