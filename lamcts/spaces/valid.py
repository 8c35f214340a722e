"""Spaces restricted by rules that are checked before any evaluation."""

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import cached_property, partial

import numpy as np

from lamcts.rng import keyed
from lamcts.spaces.adapter import SpaceAdapter
from lamcts.spaces.base import SearchSpace, comparable_of, identity_of, rows_of
from lamcts.spaces.linear import Polytope, Within, polytope
from lamcts.spaces.values import own_copy
from lamcts.types import Floats, Json, Point
from lamcts.utils.numerics import users_numerics

Rule = Callable[[Point], object]
DRAWS = 20_000  # to find a valid point: exp(-10) is the risk to miss a share of one in two thousand
FIRST_DRAWS = 64  # in the first round, doubled each round
TRIES = 64  # draws to replace an invalid one, a millisecond: the risk is 4 % if one draw in twenty is valid
FEW_VALID = 20  # valid draws or fewer: walks, some hundred rule calls a point, are then cheaper
MOST_DRAWS = 200_000  # to find the first point of a walk, once: some seconds
LEVEL = 500  # points that satisfy the rules so far: finds a next rule that one in a hundred of them satisfies
LONGEST = 200  # characters of a rule in a signature; of longer rules, a checksum
KNOWN = 64  # starting points of walks: more cost rule calls (SWEEPS each), fewer span less of the valid set
SWEEPS = 60  # moves of each of these points before any draw; one along a band of width 1e-4 needs some 40
MOVES = 8  # from such a point to a draw: fewer leave draws close to the starting points, more cost rule calls
CUTS = 60  # of a line, whose length is then some 2^-60 and the walk keeps its point
ALONG = 0.5  # chance of a move along the difference of two points
JUMP = 0.3  # chance of a move to a random value of a discrete parameter


class HitAndRun:
    """Dependent draws of points with `inside(x)`, from `starts` [a, d], a > 0, along the directions `ways` [d, r]."""

    def __init__(
        self, space: SearchSpace, inside: Callable[[Floats], bool], starts: Floats, ways: Floats | None = None
    ) -> None:
        self._space = space
        self._inside = inside
        self._ways = np.eye(space.dim)[:, space.continuous] if ways is None else ways
        self._discrete = [block for block in space.blocks if not space.continuous[block].any()]
        self._known = self._apart(starts, np.random.default_rng(0))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return a point inside, [d]."""
        x: Floats = self._known[rng.integers(len(self._known))]
        for _ in range(MOVES):
            x = self._moved(x, self._known, rng)
        return x

    def _apart(self, starts: Floats, rng: np.random.Generator) -> Floats:
        """Return points inside that many moves from `starts` have dispersed, [a, d]."""
        known: Floats = starts[rng.permutation(np.arange(KNOWN) % len(starts))]
        for _ in range(SWEEPS):
            for i in range(KNOWN):
                known[i] = self._moved(known[i], known, rng)
        return known

    def _moved(self, x: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        """Return the point after one move from `x` [d]."""
        if self._discrete and (not self._ways.shape[1] or rng.random() < JUMP):
            return self._jumped(x, rng)
        way = np.zeros(len(x))
        if rng.random() < ALONG:
            first, second = known[rng.integers(len(known), size=2)]
            way = first - second
        if not way.any():
            way = self._ways @ rng.standard_normal(self._ways.shape[1])
        return self._along(x, way, rng)

    def _jumped(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return `x` with a random value of a discrete parameter, if that is inside."""
        block = self._discrete[rng.integers(len(self._discrete))]
        new = x.copy()
        new[block] = self._space.spread(rng.random((1, len(x))))[0, block]
        new = self._space.snap(new[None])[0]  # other parameters may be active then
        return new if self._inside(new) else x

    def _along(self, x: Floats, way: Floats, rng: np.random.Generator) -> Floats:
        """Return a point inside on the line through `x` in the direction `way` [d], not 0."""
        is_moving = way != 0
        with np.errstate(over="ignore"):
            ends = np.sort([-x[is_moving] / way[is_moving], (1 - x[is_moving]) / way[is_moving]], axis=0)
        low = min(0.0, float(ends[0].max()))
        high = max(0.0, float(ends[1].min()))
        for _ in range(CUTS):
            step = low + (high - low) * rng.random()
            new = self._space.snap(np.clip(x + step * way, 0.0, 1.0)[None])[0]
            if self._inside(new):
                return np.asarray(new)
            low, high = (step, high) if step < 0 else (low, step)
        return x


class Valid(SpaceAdapter):
    """The points of another space that satisfy some rules.

    Parameters
    ----------
    inner : SearchSpace
        The space of the points.
    rule : callable or sequence of callables
        `rule(point)` returns whether a point is valid. Rules must be cheap and depend on the point alone.
    name : str, optional
        Identifies the rules in journals; by default the functions' names. Another name is another space.
    known : iterable of points, default ()
        Valid points, for rules that uniform draws rarely satisfy.

    Notes
    -----
    Points are drawn from the inner space until they are valid. If fewer than one in a thousand draws is valid, a
    hit-and-run sampler starts from valid draws, from `known`, from the centre of the polytope of linear rules, or from
    points that satisfy the first rule, then the second, and so on (`hit_and_run.py`).

    Examples
    --------
    >>> import lamcts
    >>> import numpy as np
    >>> space = lamcts.Valid(lamcts.Box(0, 1, dim=2), lambda point: point.sum() <= 1, name="simplex")
    >>> space.holds(np.array([0.2, 0.3])), space.holds(np.array([0.8, 0.3]))
    (True, False)
    >>> x = space.sample(100, np.random.default_rng(0))
    >>> bool((space.inner.decode(x).sum(1) <= 1).all())
    True
    """

    def __init__(
        self, inner: SearchSpace, rule: Rule | Iterable[Rule], name: str | None = None, known: Iterable[Point] = ()
    ) -> None:
        super().__init__(inner)
        rules = (rule,) if callable(rule) else tuple(rule) if isinstance(rule, Iterable) else ()
        if not rules or not all(map(callable, rules)):
            got = type(rule).__name__
            raise ValueError(f"valid: expected a function that returns whether a point is valid, got {got}")
        self.rules = rules
        self.name = name or ", ".join(_name(each) for each in rules)
        self._known_rows = np.array([inner.encode(point) for point in known]).reshape(-1, inner.dim)

    def holds(self, point: Point) -> bool:
        """Return whether a point is valid."""
        return _holds(self.rules, point)

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, dim] to valid rows; a row stays invalid if none is found for it."""
        x = np.array(self.inner.spread(u))
        for i, row in enumerate(x):
            if not self._is_valid(row):
                x[i] = self._another(np.asarray(u[i], float), row)
        return x

    def _another(self, u: Floats, row: Floats) -> Floats:
        """Return the valid row that replaces that of `u` [dim]; `row` if none is found."""
        rng = keyed(u.tobytes())
        if self._rare is not None:
            return self._reached(rng, row)
        drawn = self.inner.sample(TRIES, rng)
        return next((x for x in drawn if self._is_valid(x)), row)

    def _reached(self, rng: np.random.Generator, row: Floats) -> Floats:
        """Return a valid row without draws from the whole space; `row` if none is known."""
        if self._walks is not None:
            return self._walks.draw(rng)
        return np.asarray(self._starts[rng.integers(len(self._starts))] if len(self._starts) else row)

    def _is_valid(self, x: Floats) -> bool:
        return self.identity(x) is not None

    def identity(self, x: Floats) -> Hashable | None:
        """Return what x [dim] shares with all equal points; None if it is invalid."""
        if not self.holds(self.inner.decode(x)):
            return None
        inner_identity = identity_of(self.inner)
        return comparable_of(self.inner, x[None]).tobytes() if inner_identity is None else inner_identity(x)

    def find(self, rng: np.random.Generator) -> Floats:
        """Return a valid row [dim]; ValueError if many draws give none."""
        n_looked = 0
        draws = FIRST_DRAWS
        while n_looked < DRAWS:
            for x in self.inner.sample(draws, rng):
                if self._is_valid(x):
                    return np.asarray(x)
            n_looked = n_looked + draws
            draws = 2 * draws
        if self._rare is not None and len(self._starts):
            return self._reached(rng, self._starts[0])
        raise ValueError(
            f"valid: expected some valid points, got none among {n_looked} draws, nor by other methods (rule: "
            f"{self.name}); check that the rule is not inverted, or pass a valid point as x0 (or known=)"
        )

    # Valid points that are too rare for draws ---------------------------------------------------------------------

    @cached_property
    def _rare(self) -> Floats | None:
        """The valid rows among many draws, [k, dim]; None if draws suffice."""
        rng = np.random.default_rng(0)
        n_looked = 0
        draws = FIRST_DRAWS
        valid_rows = np.empty((0, self.dim))
        while n_looked < DRAWS:
            x = self.inner.sample(draws, rng)
            valid_rows = np.vstack([valid_rows, x[[self._is_valid(each) for each in x]]])
            if len(valid_rows) > FEW_VALID:
                return None
            n_looked, draws = n_looked + draws, min(2 * draws, DRAWS - n_looked - draws)
        return valid_rows

    @cached_property
    def _listed(self) -> Floats | None:
        """All valid rows, if the rows of the inner space can be listed."""
        rows = rows_of(self.inner)
        return None if rows is None else rows[[self._is_valid(x) for x in rows]]

    @cached_property
    def _starts(self) -> Floats:
        """The known valid rows, [k, dim]."""
        if self._listed is not None:
            return self._listed
        assert self._rare is not None, "asked for only where draws do not do"
        starts = np.vstack([self._rare, *[x for x in self._known_rows if self._is_valid(x)]])
        for search in (self._by_levels, self._by_patience):
            starts = starts if len(starts) else search()
        return starts

    @cached_property
    def _walks(self) -> HitAndRun | None:
        """The hit-and-run sampler of the valid rows, None if they can be listed."""
        if self._listed is not None or not len(self._starts):
            return None
        return HitAndRun(
            self.inner, self._is_valid, self._starts, None if self._polytope is None else self._polytope.ways
        )

    @cached_property
    def _polytope(self) -> Polytope | None:
        """The polytope of the linear rules, None without any."""
        linear = [rule for rule in self.rules if isinstance(rule, Within)]
        return polytope(self.inner, linear) if linear else None

    def _by_levels(self) -> Floats:
        """Return valid rows found by adding one rule at a time, linear rules first."""
        rng = np.random.default_rng(1)
        ways = None
        rules = sorted(self.rules, key=lambda rule: not isinstance(rule, Within))
        rows = self.inner.sample(DRAWS if len(rules) > 1 else 0, rng)
        n_kept = 0
        if self._polytope is not None:
            rows = self._polytope.centre[None]
            ways = self._polytope.ways
            n_kept = sum(isinstance(rule, Within) for rule in rules)
            rows = rows[[self._keep(x, rules[:n_kept]) for x in rows]]
        for i in range(n_kept, len(rules)):
            if i and len(rows):
                walks = HitAndRun(self.inner, partial(self._keep, rules=rules[:i]), rows, ways)
                rows = np.vstack([rows, *(walks.draw(rng) for _ in range(LEVEL))])
            rows = rows[[self._keep(x, rules[i : i + 1]) for x in rows]]
        return np.asarray(rows[[self._is_valid(x) for x in rows]])

    def _keep(self, x: Floats, rules: Sequence[Rule]) -> bool:
        return _holds(rules, self.inner.decode(x))

    def _by_patience(self) -> Floats:
        """Return the first valid row of very many draws, [1, dim], or [0, dim]."""
        rng = np.random.default_rng(2)
        for _ in range(0, MOST_DRAWS, DRAWS):
            for x in self.inner.sample(DRAWS, rng):
                if self._is_valid(x):
                    return np.asarray(x)[None]
        return np.empty((0, self.dim))

    def signature(self) -> Json:
        return {"kind": "valid", "rule": self.name, "inner": self.inner.signature()}

    def __repr__(self) -> str:
        return f"Valid({self.inner!r}, {self.name})"


def _holds(rules: Collection[Rule], point: Point) -> bool:
    several = len(rules) > 1  # each gets a copy, which it may change
    with users_numerics():
        return all(bool(rule(own_copy(point) if several else point)) for rule in rules)


def _name(rule: Rule) -> str:
    if isinstance(rule, partial):
        return _name(rule.func)
    if isinstance(rule, Within):
        text = str(rule)
        return text if len(text) <= LONGEST else f"Within {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return str(getattr(rule, "__qualname__", type(rule).__name__))
