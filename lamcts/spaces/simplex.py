"""Mixtures: amounts that add up to a total.

The coordinates are pseudo-components (Kurotori 1966): the shares of what the lower bounds leave. Without bounds these
are the proportions, so that models see all ingredients alike. `snap` is the Euclidean projection onto the simplex
within the upper bounds (Held, Wolfe and Crowder 1974). Letters: n rows, d ingredients, m moves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lamcts.rng import keyed
from lamcts.spaces.base import Mask, SearchSpace
from lamcts.spaces.float import Float
from lamcts.spaces.joint import JointSpace, some_of
from lamcts.spaces.kinds import register
from lamcts.spaces.mixture_rows import counted, lots, projected, stepped
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.values import brief, check_items, is_list, items_of, read_when, real, scalar
from lamcts.types import Floats, Point, Rows

SUM = 1e-6  # of the total: by how much a user's amounts may miss it, and how far below 0 they may lie
MANY = 600  # logarithm of a number of mixtures, from which on it counts as infinite: floats end at 709
DIGITS = 12  # of an amount in steps, which is a short decimal number
NEAR = 1e-4  # of a step: the tolerance of a user's amount
EXACT = 1e-12  # by how much proportions may miss 1 by rounding
LARGEST_DRAW = np.nextafter(1.0, 0.0)  # whose exponential variate is finite
PASSES = 3  # projections of a row at most: from far outside, the first loses digits
MOST_COUNTED = 2_000_000  # additions to count mixtures; of larger spaces an upper bound, far above any budget
OFTEN = 0.01  # share of free draws within the bounds from which on draws are repeated
LOOKED = 1000  # free draws that estimate this share
MOST_LOOKED = 10_000_000  # their coordinates at most, 80 MB
TRIES = (8, 16, 32, 64, 128, 256, 512, 1024)  # free draws at a time: at a share of 0.01, 1e-9 of the rows find none
SWEEPS = 6  # of moves of a walk, and as many for each doubling of d: tests compare moments with those of free draws
SHARES = (0.3, 0.1, 0.03, 0.01)  # standard deviations of the transferred amount, the steps of a real number
MOST_PAIRS = 60  # pairs of ingredients in a search's neighbours, five each; of more, a random subset
Bound = float | Sequence[float] | Mapping[str, float] | None


class Frame(NamedTuple):
    """Least amounts [d], what they leave of the total, and the largest coordinates [d]: shares of the rest."""

    least: Floats
    rest: float
    most: Floats


@register("simplex")
@dataclass(frozen=True, eq=False, repr=False)
class Simplex(JointSpace):
    """Amounts within bounds that add up to a total: mixtures, portfolios, shares of a budget.

    Parameters
    ----------
    items : int or sequence of str
        Number of ingredients, at least 2, or their names. With names a point is a dict, otherwise a tuple of floats.
    total : float, default 1.0
        The sum of the amounts, above 0.
    step : float or None, default None
        Amounts are multiples of this number, such as what a balance can weigh, and so are `total` and all bounds.
    low, high : float, list of float, dict of str to float, or None, default None
        The least and the largest amount, of every ingredient or of each; a dict may name some ingredients alone. None
        is 0 and `total`. Both may be equal for some ingredients, whose amounts are then fixed.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    A coordinate is an ingredient's proportion; with `low`, its share of what the least amounts leave. Searches
    transfer amounts from one ingredient to another, or step anywhere and project onto the nearest mixture: amounts of
    exactly 0, and on bounds, are reached. A point of yours may miss the total by 1e-6 of it; its amounts are then
    scaled to the total.

    `sample` draws uniformly from all mixtures (flat Dirichlet). With `high` it draws until a mixture is within the
    bounds, if one draw in 100 is; otherwise a hit-and-run walk makes the draws, which are uniform approximately.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Simplex(["flour", "sugar", "butter"], total=200)
    >>> space.encode({"flour": 100, "sugar": 50, "butter": 50})
    array([0.5 , 0.25, 0.25])
    >>> lamcts.Simplex(3).decode([0.5, 0.5, 0.0])
    (0.5, 0.5, 0.0)
    >>> dough = lamcts.Simplex(["flour", "sugar", "butter"], total=200, low={"flour": 80}, high=100)
    >>> dough.decode([1.0, 0.0, 0.0])
    {'flour': 100.0, 'sugar': 50.0, 'butter': 50.0}
    """

    items: int | tuple[str, ...]
    total: float = 1.0
    step: float | None = None
    low: Bound = field(default=None, kw_only=True)
    high: Bound = field(default=None, kw_only=True)
    when: Mapping[str, object] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        total = real(self.total, "total")
        if total <= 0:
            raise ValueError(f"total: expected a number above 0, got {brief(self.total)}; pass the sum of the amounts")
        step = None if self.step is None else real(self.step, "step")
        if step is not None and not (0 < step <= total and abs(total / step - round(total / step)) <= SUM):
            raise ValueError(f"step: expected a number of which {total:.15g} is a multiple, got {brief(self.step)}")
        self._set(items=_items(self.items), total=total, step=step, when=read_when(self.when))
        self._set(low=self._bound("low", 0.0), high=self._bound("high", total))
        low, high = self._ends
        if (low > high).any() or not self._frame.rest > SUM * total:
            least, most = (f"{brief(each.tolist())} of sum {each.sum():.15g}" for each in (low, high))
            want = f"low <= high for each ingredient, and several mixtures between them that add up to {total:.15g}"
            raise ValueError(f"low, high: expected {want}, got low={least}, high={most}; lower low or raise high")

    def _bound(self, name: str, usual: float) -> tuple[float, ...] | None:
        """Return the bound of each ingredient, None where all have the `usual` one."""
        bound: object = getattr(self, name)
        if isinstance(bound, Mapping):
            names = [*(self.names or range(self.dim))]
            if unknown := [number for number in bound if number not in names]:
                raise ValueError(f"{name}: expected keys out of {brief(names)}, got {brief(unknown[0])}; rename it")
            bound = [bound.get(number, usual) for number in names]
        values = items_of(bound) if is_list(bound) else (usual if bound is None else bound,) * self.dim
        if len(values) != self.dim:
            raise ValueError(f"{name}: expected one number, or {self.dim}, one for each ingredient, got {brief(bound)}")
        bounds = tuple(real(number, f"{name}: {self._label(i)}") for i, number in enumerate(values))
        if min(bounds) < 0:
            raise ValueError(f"{name}: expected amounts of at least 0, got {brief(bound)}; raise the negative ones")
        if (
            self.step is not None
            and max(abs(number / self.step - round(number / self.step)) for number in bounds) > SUM
        ):
            raise ValueError(f"{name}: expected multiples of the step {self.step:.15g}, got {brief(bound)}; round them")
        bounds = tuple(min(number, self.total) for number in bounds) if name == "high" else bounds
        return None if {*bounds} == {usual} else bounds

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        """The bounds as they were given, [d] each."""
        low = (0.0,) * self.dim if self.low is None else self.low
        high = self.high or (self.total,) * self.dim
        return np.array(low), np.array(high)

    @cached_property
    @np.errstate(all="ignore")
    def _frame(self) -> "Frame":
        """The frame of the coordinates."""
        (low, high) = self._ends
        total = self.total
        unit = self.step or 1.0
        if self.low is None and self.high is None:
            return Frame(low, total, np.ones(self.dim))
        if self.step is not None:
            low = np.round(low / unit)
            high = np.round(high / unit)
            total = round(total / unit)
        least = total - (high.sum() - high)  # what the bounds of the others leave
        most = total - (low.sum() - low)
        least = np.where(least > low + EXACT * total, least, low)
        most = np.where(most < high - EXACT * total, most, high)
        rest = total - float(least.sum())
        return Frame(least * unit, rest * unit, np.clip((most - least) / rest, 0.0, 1.0))

    @property
    def steps(self) -> int | None:
        """The number of steps that all amounts above the least ones have together; None without steps."""
        return None if self.step is None else round(self._frame.rest / self.step)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.items if isinstance(self.items, int) else len(self.items)

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The names of the ingredients; None where points are tuples."""
        return None if isinstance(self.items, int) else self.items

    @property
    def most(self) -> Floats:
        """The largest coordinates, [d]: 1 without upper bounds."""
        return self._frame.most

    @cached_property
    def columns(self) -> Sequence[Float]:  # type: ignore[override]
        """The amounts at coordinates 0 and 1, which upper bounds may leave out."""
        least = map(self._short, self._frame.least.tolist())
        return [Float(low, self._short(low + self._frame.rest), step=self.step) for low in least]

    @cached_property
    def size(self) -> float:
        if self.steps is None:
            return math.inf
        digits = math.lgamma(self.steps + self.dim) - math.lgamma(self.dim) - math.lgamma(self.steps + 1)
        if digits < MANY and self.high is not None and self.steps * self.dim <= MOST_COUNTED:
            return float(counted(np.round(self.most * self.steps).astype(np.int64), self.steps))
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
        (low, high) = self._ends
        (least, rest, most) = self._frame
        got = float(amounts.sum())
        if not abs(got - self.total) <= room:
            raise ValueError(
                f"expected amounts that add up to {self.total:.15g}, got {brief(point)}, whose sum is {got:.15g}; "
                "divide them by their sum and multiply by the total"
            )
        if len(outside := np.flatnonzero((amounts < low - room) | (amounts > high + room))):
            i = int(outside[0])
            ends = f"{low[i]:.15g} to {high[i]:.15g} of {self._label(i)}"
            raise ValueError(f"expected {ends}, got {amounts[i]:.15g} in {brief(point)}; replace it")
        x = np.clip((amounts - least) / rest, 0.0, most)
        if self.steps is not None and np.abs(x * self.steps - np.round(x * self.steps)).max() > NEAR:
            raise ValueError(f"expected amounts in steps of {self.step:.15g}, got {brief(point)}; round them")
        return np.asarray(self.snap(x[None] if abs(x.sum() - 1.0) <= EXACT else x[None] / x.sum())[0])

    def _pairs(self, point: Point) -> Iterator[tuple[str, object]]:
        """Yield the label and the amount of each ingredient of a user's point."""
        if self.names is None:
            if not is_list(point) or len(point) != self.dim:
                raise ValueError(f"expected {self.dim} amounts, got {brief(point)}; pass one for each ingredient")
            yield from ((self._label(i), value) for i, value in enumerate(point))
        else:
            if not isinstance(point, Mapping) or set(point) != {*self.names}:
                raise ValueError(f"expected a dict with the names {brief(list(self.names))}, got {brief(point)}")
            yield from ((self._label(i), point[name]) for i, name in enumerate(self.names))

    def _label(self, i: int) -> str:
        return f"ingredient {i if self.names is None else repr(self.names[i])}"

    def _short(self, amount: float) -> float:
        """Return an amount in steps as a short decimal number, and any other as it is."""
        return amount if self.step is None else float(f"{amount:.{DIGITS}g}")

    @np.errstate(all="ignore")
    def decode(self, x: Floats) -> Point:
        amounts = [*map(self._short, self.comparable(np.asarray(x, np.float64)[None])[0].tolist())]
        if self.low is not None or self.high is not None:
            amounts = np.clip(amounts, *self._ends).tolist()  # rounding may miss a bound
        return tuple(amounts) if self.names is None else dict(zip(self.names, amounts, strict=True))

    def snap(self, x: Floats) -> Floats:
        """Return the nearest mixtures: coordinates less a common number, cut at the bounds, and in whole steps."""
        result = np.array(x, np.float64, order="C") + 0.0
        most = self.most
        for _ in range(PASSES):
            lost = ~(((result >= 0.0) & (result <= most)).all(1) & (np.abs(result.sum(1) - 1.0) <= EXACT))
            if not lost.any():
                break
            result[lost] = projected(result[lost], most, np.ones((int(lost.sum()), 1)))
        return result if self.steps is None else stepped(result, self.steps)

    def spread(self, u: Floats) -> Floats:
        """Map uniform `u` [n, d] to mixtures: free draws, and others for those above an upper bound."""
        x = self._free(u)
        if len(above := np.flatnonzero((x > self.most).any(1))):
            rngs = [keyed(np.asarray(row, np.float64).tobytes()) for row in u[above]]
            x[above] = self._redrawn(x[above], rngs)
        return self.snap(x)

    def _free(self, u: Floats) -> Floats:
        """Map uniform `u` [n, d] to flat Dirichlet rows, exponential variates over their sum; or to equal lots."""
        if self.steps is not None:
            return lots(u, self.steps) / self.steps
        waits = -np.log1p(-np.minimum(u, LARGEST_DRAW))
        sums = waits.sum(1, keepdims=True)
        return np.where(sums > 0, waits, 1.0) / np.where(sums > 0, sums, self.dim)

    @cached_property
    def _often(self) -> bool:
        """Whether enough free draws are within the bounds."""
        drawn = self._free(np.random.default_rng(0).random((min(LOOKED, MOST_LOOKED // self.dim), self.dim)))
        return float((drawn <= self.most).all(1).mean()) >= OFTEN

    def _redrawn(self, x: Floats, rngs: Sequence[np.random.Generator]) -> Floats:
        """Return rows within the bounds for rows `x` [n, d]: the first such free draw, else the end of a walk."""
        missing = np.arange(len(x))
        for tries in TRIES if self._often else ():
            drawn = self._free(np.vstack([rngs[i].random((tries, self.dim)) for i in missing.tolist()]))
            drawn = drawn.reshape(len(missing), tries, self.dim)
            is_within: Mask = np.all(drawn <= self.most, axis=2)  # [left, tries]
            has_fit = np.any(is_within, axis=1)
            x[missing[has_fit]] = drawn[has_fit, is_within.argmax(1)[has_fit]]
            missing = missing[~has_fit]
            if not len(missing):
                return x
        x[missing] = self._walked(x[missing], [rngs[i] for i in missing.tolist()])
        return x

    def _walked(self, x: Floats, rngs: Sequence[np.random.Generator]) -> Floats:
        """Return where walks from rows `x` [n, d] end: of two ingredients, a move draws how they share their sum."""
        x = self.snap(x)
        most = self.most
        half = self.dim // 2
        pairs = np.random.default_rng(0)
        for _ in range(int(SWEEPS * (1 + math.log2(self.dim)))):
            first, second = pairs.permutation(self.dim)[: 2 * half].reshape(2, half)
            sums = x[:, first] + x[:, second]
            share = np.array([rng.random(half) for rng in rngs])
            low = np.maximum(sums - most[second], 0.0)
            high = np.minimum(sums, most[first])
            if self.steps is not None:  # each whole number of steps from low to high is as likely as any other
                share = np.floor((np.round((high - low) * self.steps) + 1) * share) / self.steps
            x[:, first] = low + (share if self.steps is not None else (high - low) * share)
            x[:, second] = sums - x[:, first]
        return x

    @np.errstate(all="ignore")
    def comparable(self, x: Floats) -> Floats:
        return self._frame.least + self._frame.rest * self.snap(x)

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return mixtures in which some of an ingredient, or all of it, is replaced by another one, [m, d]."""
        room = self.most - x
        givers, takers = np.nonzero((x > 0)[:, None] & (room > 0) & ~np.eye(self.dim, dtype=bool))
        pairs = some_of(len(givers), rng, MOST_PAIRS)
        steps = np.abs(rng.standard_normal((len(pairs), len(SHARES)))) * SHARES
        giver = np.repeat(givers[pairs], len(SHARES) + 1)
        taker = np.repeat(takers[pairs], len(SHARES) + 1)
        amounts = self._whole(np.column_stack([steps, np.ones(len(pairs))]).ravel())
        amounts = np.minimum(amounts, np.minimum(x[giver], room[taker] + EXACT))  # so that rounding leaves no rest
        near = self.snap(_transferred(np.repeat(x[None], len(giver), axis=0), giver, taker, amounts))
        return np.unique(near, axis=0)  # of an ingredient with little, several steps take all

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        rows = np.arange(len(x))
        room = self.most - x
        taker = np.where(room > 0, rng.random(x.shape), -1.0).argmax(1)
        others = (x > 0) & (np.arange(self.dim) != taker[:, None])
        giver = np.where(others, rng.random(x.shape), -1.0).argmax(1)
        amounts = self._whole(np.abs(rng.standard_normal(len(x))) * rng.choice(SHARES, len(x)))
        amounts = np.minimum(amounts, np.minimum(x[rows, giver], room[rows, taker] + EXACT))
        return self.snap(_transferred(x.copy(), giver, taker, amounts))

    def with_amount(self, x: Floats, i: int) -> Floats:
        """Return rows `x` [n, d] in which the others share what ingredient `i` leaves, in proportion where they can."""
        others = np.delete(np.arange(self.dim), i)
        remaining = 1.0 - x[:, [i]]
        sums = x[:, others].sum(1, keepdims=True)
        shares = np.where(sums > 0, x[:, others] / np.where(sums > 0, sums, 1.0), 1 / len(others))
        result = x.copy()
        most = self.most[others]
        result[:, others] = projected(remaining * shares, most, remaining)
        return result

    def _whole(self, amounts: Floats) -> Floats:
        """Return what moves transfer, in whole steps where there are steps: one at least."""
        return amounts if self.steps is None else np.maximum(np.round(amounts * self.steps), 1.0) / self.steps


def mixtures_of(space: SearchSpace) -> list[tuple[slice, Simplex]]:
    """Return the coordinates of each mixture inside a space, and the mixture."""
    parameters = Parameters(space)
    mixtures = [
        (int(parameters.starts[part.start]), mixture)
        for part, mixture in parameters.joint
        if isinstance(mixture, Simplex)
    ]
    return [(slice(start, start + mixture.dim), mixture) for start, mixture in mixtures]


def _items(items: object) -> int | tuple[str, ...]:
    """Return the number of ingredients, or their names."""
    number = scalar(items)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 2:
        check_items(number, "group the ingredients")
        return number
    names = items_of(number) if is_list(number) else ()
    texts = tuple(str(name) for name in names if isinstance(name, str) and name)
    if len(texts) == len(names) == len({*texts}) >= 2:
        return texts
    raise ValueError(f"expected at least 2 ingredients, or distinct names, got {brief(items)}; pass Simplex(3), say")


def _transferred(x: Floats, giver: Rows, taker: Rows, amounts: Floats) -> Floats:
    """Return rows `x` [m, d] in which an amount [m] goes from one coordinate to another."""
    rows = np.arange(len(x))
    x[rows, taker] += amounts
    x[rows, giver] -= amounts
    return x
