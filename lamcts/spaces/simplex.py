"""Mixtures: amounts that add up to a total.

The coordinates are the proportions, so that models see all ingredients alike. `snap` is the Euclidean projection onto
the simplex (Held, Wolfe and Crowder 1974). Letters: n rows, d ingredients, m moves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lamcts.spaces.base import Mask
from lamcts.spaces.float import Float
from lamcts.spaces.joint import JointSpace, some_of
from lamcts.spaces.kinds import register
from lamcts.spaces.values import brief, check_items, is_list, items_of, read_when, real, scalar
from lamcts.types import Floats, Point, Rows

SUM = 1e-6  # of the total: by how much a user's amounts may miss it, and how far below 0 they may lie
MANY = 600  # logarithm of a number of mixtures, from which on it counts as infinite: floats end at 709
DIGITS = 12  # of an amount in steps, which is a short decimal number
NEAR = 1e-4  # of a step: the tolerance of a user's amount
EXACT = 1e-12  # by how much proportions may miss 1 by rounding
LARGEST_DRAW = np.nextafter(1.0, 0.0)  # whose exponential variate is finite
SHARES = (0.3, 0.1, 0.03, 0.01)  # standard deviations of what a move transfers (untuned: steps of a real number)
MOST_PAIRS = 60  # of ingredients that a search transfers between at a time; of more, a random subset (untuned)


@register("simplex")
@dataclass(frozen=True, eq=False, repr=False)
class Simplex(JointSpace):
    """Amounts of at least 0 that add up to a total: mixtures, portfolios, shares of a budget.

    Parameters
    ----------
    items : int or sequence of str
        Number of ingredients, at least 2, or their names. With names a point is a dict, otherwise a tuple of floats.
    total : float, default 1.0
        The sum of the amounts, above 0.
    step : float or None, default None
        Amounts are multiples of this number, such as what a balance can weigh, and `total` is one.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    A coordinate is an ingredient's proportion. `sample` draws uniformly from all mixtures (flat Dirichlet). Searches
    transfer amounts from one ingredient to another, or step anywhere and project onto the simplex: amounts of exactly
    0 are reached. A point of yours may miss the total by 1e-6 of it; its amounts are then scaled to the total.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Simplex(["flour", "sugar", "butter"], total=200)
    >>> space.encode({"flour": 100, "sugar": 50, "butter": 50})
    array([0.5 , 0.25, 0.25])
    >>> lamcts.Simplex(3).decode([0.5, 0.5, 0.0])
    (0.5, 0.5, 0.0)
    """

    items: int | tuple[str, ...]
    total: float = 1.0
    step: float | None = None
    when: Mapping[str, object] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        total = real(self.total, "total")
        if total <= 0:
            raise ValueError(f"total: expected a number above 0, got {brief(self.total)}; pass the sum of the amounts")
        step = None if self.step is None else real(self.step, "step")
        if step is not None and not (0 < step <= total and abs(total / step - round(total / step)) <= SUM):
            raise ValueError(f"step: expected a number of which {total:.15g} is a multiple, got {brief(self.step)}")
        self._set(items=_items(self.items), total=total, step=step, when=read_when(self.when))

    @property
    def steps(self) -> int | None:
        """The number of steps that all amounts have together; None without steps."""
        return None if self.step is None else round(self.total / self.step)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.items if isinstance(self.items, int) else len(self.items)

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The names of the ingredients; None where points are tuples."""
        return None if isinstance(self.items, int) else self.items

    @property
    def columns(self) -> Sequence[Float]:  # type: ignore[override]
        return [Float(0.0, self.total, step=self.step)] * self.dim

    @property
    def size(self) -> float:
        if self.steps is None:
            return math.inf
        digits = math.lgamma(self.steps + self.dim) - math.lgamma(self.dim) - math.lgamma(self.steps + 1)
        return float(math.comb(self.steps + self.dim - 1, self.dim - 1)) if digits < MANY else math.inf

    @property
    def blocks(self) -> tuple[slice, ...]:
        return tuple(slice(i, i + 1) for i in range(self.dim))

    @property
    def continuous(self) -> Mask:
        return np.full(self.dim, self.steps is None)

    @property
    def sums(self) -> tuple[slice, ...]:
        return (slice(0, self.dim),)

    @np.errstate(all="ignore")
    def encode(self, point: Point) -> Floats:
        amounts = np.array([real(value, name) for name, value in self._pairs(point)])
        room = SUM * self.total
        got = float(amounts.sum())
        if amounts.min() < -room:
            raise ValueError(f"expected amounts of at least 0, got {brief(point)}; replace the negative ones")
        if not abs(got - self.total) <= room:
            raise ValueError(
                f"expected amounts that add up to {self.total:.15g}, got {brief(point)}, whose sum is {got:.15g}; "
                "divide them by their sum and multiply by the total"
            )
        x = np.maximum(amounts, 0.0) / self.total
        if self.steps is not None and np.abs(x * self.steps - np.round(x * self.steps)).max() > NEAR:
            raise ValueError(f"expected amounts in steps of {self.step:.15g}, got {brief(point)}; round them")
        return np.asarray(self.snap(x[None] if abs(x.sum() - 1.0) <= EXACT else x[None] / x.sum())[0])

    def _pairs(self, point: Point) -> Iterator[tuple[str, object]]:
        """Yield the label and the amount of each ingredient of a user's point."""
        if self.names is None:
            if not is_list(point) or len(point) != self.dim:
                raise ValueError(f"expected {self.dim} amounts, got {brief(point)}; pass one for each ingredient")
            yield from ((f"ingredient {i}", value) for i, value in enumerate(point))
        else:
            if not isinstance(point, Mapping) or set(point) != {*self.names}:
                raise ValueError(f"expected a dict with the names {brief(list(self.names))}, got {brief(point)}")
            yield from ((f"ingredient {name!r}", point[name]) for name in self.names)

    @np.errstate(all="ignore")
    def decode(self, x: Floats) -> Point:
        amounts = (self.total * self.snap(np.asarray(x, np.float64)[None])[0]).tolist()
        if self.step is not None:
            amounts = [float(f"{amount:.{DIGITS}g}") for amount in amounts]
        return tuple(amounts) if self.names is None else dict(zip(self.names, amounts, strict=True))

    def snap(self, x: Floats) -> Floats:
        """Return the nearest proportions: coordinates less a common number, cut at 0, and in whole steps."""
        result = np.array(x, np.float64, order="C") + 0.0
        lost = ~(((result >= 0.0) & (result <= 1.0)).all(1) & (np.abs(result.sum(1) - 1.0) <= EXACT))
        result[lost] = _projected(result[lost])
        return result if self.steps is None else _stepped(result, self.steps)

    def spread(self, u: Floats) -> Floats:
        """Map uniform `u` [n, d] to flat Dirichlet rows, exponential variates over their sum; or to equal lots."""
        if self.steps is not None:
            return _lots(u, self.steps) / self.steps
        waits = -np.log1p(-np.minimum(u, LARGEST_DRAW))
        sums = waits.sum(1, keepdims=True)
        return self.snap(np.where(sums > 0, waits, 1.0) / np.where(sums > 0, sums, self.dim))

    @np.errstate(all="ignore")
    def comparable(self, x: Floats) -> Floats:
        return self.total * self.snap(x)

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return mixtures in which some of an ingredient, or all of it, is replaced by another one, [m, d]."""
        givers, takers = np.nonzero((x[:, None] > 0) & ~np.eye(self.dim, dtype=bool))
        pairs = some_of(len(givers), rng, MOST_PAIRS)
        steps = np.abs(rng.standard_normal((len(pairs), len(SHARES)))) * SHARES
        giver = np.repeat(givers[pairs], len(SHARES) + 1)
        amounts = np.minimum(self._whole(np.column_stack([steps, np.ones(len(pairs))]).ravel()), x[giver])
        taker = np.repeat(takers[pairs], len(SHARES) + 1)
        near = self.snap(_transferred(np.repeat(x[None], len(giver), axis=0), giver, taker, amounts))
        return np.unique(near, axis=0)  # of an ingredient with little, several steps take all

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        n, d = x.shape
        giver = np.where(x > 0, rng.random((n, d)), -1.0).argmax(1)
        taker = (giver + rng.integers(1, d, n)) % d
        amounts = np.abs(rng.standard_normal(n)) * rng.choice(SHARES, n)
        return self.snap(_transferred(x.copy(), giver, taker, np.minimum(self._whole(amounts), x[np.arange(n), giver])))

    def _whole(self, amounts: Floats) -> Floats:
        """Return what moves transfer, in whole steps where there are steps: one at least."""
        return amounts if self.steps is None else np.maximum(np.round(amounts * self.steps), 1.0) / self.steps


def _items(given: object) -> int | tuple[str, ...]:
    """Return the number of ingredients, or their names."""
    number = scalar(given)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 2:
        check_items(number, "group the ingredients")
        return number
    names = items_of(number) if is_list(number) else ()
    texts = tuple(str(name) for name in names if isinstance(name, str) and name)
    if len(texts) == len(names) == len({*texts}) >= 2:
        return texts
    raise ValueError(f"expected at least 2 ingredients, or distinct names, got {brief(given)}; pass Simplex(3), say")


def _projected(x: Floats) -> Floats:
    """Return the points of the simplex nearest to rows `x` [n, d]."""
    high = -np.sort(-x, axis=1)
    over = (np.cumsum(high, axis=1) - 1.0) / np.arange(1, x.shape[1] + 1)  # what all would lose if so many were left
    kept = np.maximum((high > over).sum(1, keepdims=True), 1)
    result: Floats = np.maximum(x - np.take_along_axis(over, kept - 1, axis=1), 0.0)
    result /= result.sum(1, keepdims=True)
    return result


def _lots(u: Floats, steps: int) -> Floats:
    """Map uniform `u` [n, d] to whole numbers [n, d] whose sum is `steps`, each combination as likely as any other.

    Of r steps that are left for m + 1 ingredients, one gets more than k with probability C(r - k - 1 + m, m) /
    C(r + m, m); k is found by bisection.
    """
    from scipy.special import gammaln

    result, left = np.zeros(u.shape), np.full(len(u), float(steps))
    for j in range(u.shape[1] - 1):
        m = u.shape[1] - 1 - j
        low, high = np.zeros(len(u)), left.copy()
        while (low < high).any():
            k = np.floor((low + high) / 2)
            more = gammaln(left - k + m) - gammaln(left - k) - gammaln(left + m + 1) + gammaln(left + 1)
            below = np.exp(more) <= 1 - u[:, j]
            low, high = np.where(below, low, np.minimum(k + 1, high)), np.where(below, k, high)
        result[:, j], left = low, left - low
    result[:, -1] = left
    return result


def _stepped(x: Floats, steps: int) -> Floats:
    """Return proportions [n, d] in whole numbers of `steps`: rounded down, and the largest rests up (Hamilton)."""
    whole = np.floor(x * steps + SUM)
    missing = np.round(steps - whole.sum(1)).astype(np.int64)  # [n], below d
    rest = np.argsort(np.argsort(whole - x * steps, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray((whole + (rest < missing[:, None])) / steps)


def _transferred(x: Floats, giver: Rows, taker: Rows, amounts: Floats) -> Floats:
    """Return rows `x` [m, d] in which an amount [m] goes from one coordinate to another."""
    rows = np.arange(len(x))
    x[rows, taker] += amounts
    x[rows, giver] -= amounts
    return x
