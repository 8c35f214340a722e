"""Computational intensity: the most iterations for each word loaded, from weights of the accesses.

Weights `s_j >= 0` of accesses that touch `a_j` elements cover each loop variable t to `1 - z_t`. A phase executes at
most `prod_j a_j^s_j * prod_t N_t^z_t` iterations (Loomis and Whitney, Finner). With `sum_j a_j <= X`, S the sum of the
weights and the best X, the intensity is at most `exp(F)`:

    F(s, z) = sum_j s_j log s_j + (S - 1) log(M / (S - 1)) + sum_t z_t log N_t,    X0 = S M / (S - 1).

Accesses of one group may share elements and count once; those of one family of a group share none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

Constraint = tuple[str, Callable[[Floats], Any], Callable[[Floats], Floats]]  # "eq" or "ineq" (>= 0), value, slope
TINY = 1e-12  # keeps logarithms of weights finite, and takes the rounding of sums
MARGIN = math.log(16)  # the tile of the closed form touches X0 < 16 M words
LONG = math.log(1000)  # range of a loop from which caps change an intensity of exponent 1 by less than 0.1 %
LARGEST_DENOMINATOR = 60  # of exponents: those of the linear programme are ratios of small determinants


class Vertex(NamedTuple):
    """A solution of a linear programme, the prices of its rows, and the reduced costs of its variables."""

    x: Floats
    prices: Floats
    reduced: Floats


@dataclass(frozen=True)
class Covering:
    """The programme of the weights; all ranges and capacities are logarithms."""

    cover: Floats  # [m, l], 1 where access j determines loop variable t
    group: NDArray[np.int64]  # [m], and family: numbers of accesses
    family: NDArray[np.int64]
    gain: Floats  # [m], elements of an access for each word
    caps: Floats  # [l], ranges of the loop variables
    memory: float  # the capacity in words


@dataclass(frozen=True)
class Weights:
    """Weights of the accesses, the uncovered part of each loop variable, and the logarithm of the intensity."""

    weight: Floats  # [m]
    rest: Floats  # [l]
    log_intensity: float
    exponents: Floats  # [l] of the tile in X, where there are no caps
    unique: bool = False

    @property
    def exponent(self) -> float:
        """The sum of the weights."""
        return float(self.weight.sum())


def exact(value: float) -> Fraction:
    """Return the simple fraction next to a solver's number."""
    return Fraction(float(value)).limit_denominator(LARGEST_DENOMINATOR)


def uncapped(covering: Covering) -> Weights | None:
    """Return the weights without caps, or None where some loop variable is in no access."""
    cover = covering.cover
    if not cover.any(0).all():
        return None
    if cover.all(1).any():
        full = covering.cover.all(
            1
        )  # some accesses determine all loop variables: exponent 1, intensity 1 / u (Lemma 6)
        costs = np.where(full, np.exp(-covering.gain), 0)  # words of an access for each iteration
        for group in range(int(covering.group.max()) + 1):  # one element serves a group: its dearest access counts
            rows = np.flatnonzero(covering.group == group)
            costs[np.delete(rows, np.argmax(costs[rows]))] = 0
        return _weighed(covering, costs / costs.sum(), np.ones(covering.cover.shape[1]), unique=True)
    found = vertex(tuple(map(tuple, cover.tolist())))
    weight = np.array([float(exact(w)) for w in found.x])
    tight = np.count_nonzero(found.prices > 1e-9) + np.count_nonzero(found.reduced > 1e-9)
    unique = bool(tight == len(cover))
    first = _weighed(covering, weight, found.prices, unique)
    return first if unique or _flat(covering) else _polished(covering, first, exact(weight.sum()))


@lru_cache(maxsize=128)
def vertex(cover: tuple[tuple[float, ...], ...]) -> Vertex:
    """Return the weights of least sum that cover all loop variables; statements often share a pattern of accesses."""
    rows = np.array(cover)
    return linear(np.ones(len(rows)), rows.T, np.ones(rows.shape[1]))


def _flat(covering: Covering) -> bool:
    """Return whether F depends on the sum of the weights alone: one group, each access a family of its own."""
    return not covering.group.any() and len(np.unique(covering.family)) == len(covering.family)


def capped(covering: Covering, start: Weights | None = None) -> Weights:
    """Return the weights with the least intensity that a search from one or two starts finds, caps included."""
    m, n = covering.cover.shape
    costs = np.r_[np.full(m, covering.memory) + covering.gain, covering.caps]
    rows = np.r_[np.c_[covering.cover.T, np.eye(n)], [np.r_[np.ones(m), np.zeros(n)]]]
    found = linear(np.maximum(costs, 0), rows, np.ones(n + 1))
    starts = [_weighed(covering, found.x[:m], np.zeros(n)), *([start] if start else [])]
    return min((_polished(covering, one, None) for one in starts), key=lambda one: one.log_intensity)


def least(covering: Covering) -> Weights:
    """Return the best weights; caps matter only where the tile without them comes near to them."""
    free = uncapped(covering)
    margin = LONG if free is not None and free.exponent < 1 + TINY else covering.memory + MARGIN
    if free is not None and (np.minimum(1, free.exponents) * margin <= covering.caps).all():
        return free
    return capped(covering, free)


def least_of(coverings: Sequence[Covering]) -> Weights:
    """Return the best weights of some coverings of one statement, or their mean: all inequalities hold."""
    found = [least(one) for one in coverings]
    return min([*found, average(coverings[0], found)], key=lambda one: one.log_intensity)


def _weighed(covering: Covering, weight: Floats, exponents: Floats, unique: bool = False) -> Weights:
    """Return weights with the logarithm of the intensity that they prove."""
    weight = np.maximum(weight, 0)
    if weight.sum() < 1:
        weight = weight / weight.sum() if weight.sum() else np.full(len(weight), 1 / len(weight))
    rest = np.maximum(1 - weight @ covering.cover, 0)
    rest[rest < TINY] = 0
    return Weights(weight, rest, _value(covering, weight, rest), exponents, unique)


def average(covering: Covering, parts: list[Weights]) -> Weights:
    """Return the mean of weights that cover the loop variables, each in its own way: their inequalities multiply."""
    weight, rest = np.mean([one.weight for one in parts], 0), np.mean([one.rest for one in parts], 0)
    return Weights(weight, rest, _value(covering, weight, rest), parts[0].exponents)


def _value(covering: Covering, weight: Floats, rest: Floats) -> float:
    """Return F."""
    totals = np.bincount(covering.group, weight)
    over = max(float(weight.sum()) - 1, 0.0)
    entropy = float(totals @ np.log(np.maximum(totals, TINY)))
    inside = float(weight @ _family_logs(covering, weight))
    memory = over * (covering.memory - np.log(max(over, TINY)))
    return entropy + inside + float(memory) + float(weight @ covering.gain) + float(rest @ covering.caps)


def _family_logs(covering: Covering, weight: Floats) -> Floats:
    """Return the logarithm of the share of each access in its family [m]."""
    safe = np.maximum(weight, TINY)
    return np.asarray(np.log(safe / np.bincount(covering.family, safe)[covering.family]))


def _polished(covering: Covering, start: Weights, total: Fraction | None) -> Weights:
    """Return the best weights near `start`: of a fixed sum that cover all, or with caps where `total` is None."""
    m, n = covering.cover.shape

    def value(x: Floats) -> float:
        return _value(covering, x[:m], x[m:])

    def slope(x: Floats) -> Floats:
        totals = np.maximum(np.bincount(covering.group, np.maximum(x[:m], 0)), TINY)
        over = max(float(x[:m].sum()) - 1, TINY)
        weights = np.log(totals)[covering.group] + _family_logs(covering, x[:m]) + covering.gain
        return np.asarray(np.r_[weights + covering.memory - np.log(over), covering.caps])

    rows = np.c_[covering.cover.T, np.eye(n)]
    least = float(total or 1)
    sums = np.r_[np.ones(m), np.zeros(n)]
    covered: Constraint = ("ineq", lambda x: rows @ x - 1, lambda x: rows)
    summed: Constraint = ("ineq" if total is None else "eq", lambda x: sums @ x - least, lambda x: sums)
    bounds = [(0.0, None)] * m + [(0.0, 1.0 if total is None else 0.0)] * n
    found = smooth(value, slope, np.r_[start.weight, start.rest], bounds, [covered, summed])
    best = _weighed(covering, found[:m], start.exponents)
    if total is not None:
        rounded = np.array([float(exact(w)) for w in best.weight])
        simple = _weighed(covering, rounded, start.exponents)
        best = simple if simple.log_intensity <= best.log_intensity + 1e-9 and not simple.rest.any() else best
    return min(best, replace(start, unique=False), key=lambda one: one.log_intensity)


def linear(costs: Floats, rows: Floats, least: Floats, lower: Floats | None = None) -> Vertex:
    """Minimise `costs @ x` where `rows @ x >= least` and `x >= lower` (0); the programme must have a solution."""
    from scipy.optimize import linprog

    bounds = np.c_[np.zeros(len(costs)) if lower is None else lower, np.full(len(costs), np.inf)]
    found: Any = linprog(costs, A_ub=-rows, b_ub=-least, bounds=bounds)
    if found.x is None:
        raise RuntimeError(f"linear programme: expected a solution, got {found.message}")
    return Vertex(found.x, -found.ineqlin.marginals, found.lower.marginals)


def smooth(
    value: Callable[[Floats], float],
    slope: Callable[[Floats], Floats],
    start: Floats,
    bounds: Sequence[tuple[float, float | None]],
    constraints: Sequence[Constraint],
    tolerance: float = 1e-9,
) -> Floats:
    """Return where sequential least squares programming (SLSQP) stops, moved into the bounds."""
    from scipy.optimize import minimize

    written: Any = [{"type": kind, "fun": fun, "jac": jac} for kind, fun, jac in constraints]
    search: Any = minimize
    options = {"ftol": tolerance, "maxiter": 300}
    found = search(value, start, jac=slope, bounds=bounds, constraints=written, method="SLSQP", options=options)
    most = [np.inf if upper is None else upper for _, upper in bounds]
    return np.asarray(np.clip(found.x, [lower for lower, _ in bounds], most))
