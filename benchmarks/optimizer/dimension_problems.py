"""Functions of many parameters as objectives on the unit cube: `wide-few_ackley-0-300` is draw 0 of one in d = 300.

Development kinds: few of the parameters matter (branin 2, hartmann 6, few_rosenbrock 10, few_ackley 20; penalties of
the columns of a regression, a tenth of which matter), sums over groups of five, a rotated function of rank 8, dense
smooth and rippled ones (a rotated ellipsoid, Ackley's, Rastrigin's), a chain (Dixon and Price), and the weights of a
ridge and of a logistic regression on drawn data. Kinds for claims alone: other functions in each of these groups.
Optima are drawn in the middle eight tenths of the cube, for each number. Values are gaps to the optimum where that is
known. Every method begins at the centre. `largescale-f15-i6-320` is a function of COCO's
bbob-largescale (Varelas et al. 2020), instance index 6.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Problem
from lamcts import Box

Floats = NDArray[np.float64]
Value = Callable[[Floats], float]  # of a point of the unit cube [d]
NAME = re.compile(r"wide-(?P<kind>\w+)-(?P<number>\d+)-(?P<dim>\d+)|largescale-f(\d+)-i(\d+)-(?P<wide>\d+)")
RANK, GROUP, SAMPLES = 8, 5, 400  # directions, parameters of a group, rows of a regression's data


class WideObjective:
    """A function of many parameters, to be minimised."""

    maximize, optimum = False, None
    x0_alone = True  # peers begin at the centre, as ours does

    def __init__(self, name: str) -> None:
        found = NAME.fullmatch(name)
        if found is None:
            raise ValueError(f"expected a name such as wide-few_ackley-0-300 or largescale-f15-i6-320, got {name!r}")
        self.name = name
        if found["wide"]:
            self._f, low, high = largescale(*map(int, found.groups()[-3:]))
        else:
            kind, number, dim = found["kind"], int(found["number"]), int(found["dim"])
            self._f, low, high = made(kind, number, dim), np.zeros(dim), np.ones(dim)
        self.space, self.x0 = Box(low, high), (low + high) / 2

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        return self._f(np.asarray(point, float))


def made(kind: str, number: int, dim: int) -> Value:
    """Return draw `number` of a kind."""
    rng = np.random.default_rng((zlib.crc32(kind.encode()), number, dim))
    every = DEVELOPMENT | CLAIMS
    if kind not in every:
        raise ValueError(f"expected one of {', '.join(every)}, got {kind!r}")
    return every[kind](dim, rng)


def place(dim: int, rng: np.random.Generator) -> Floats:
    """Return where the optimum lies, [d]."""
    return rng.uniform(0.1, 0.9, dim)


def turned(dim: int, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """Return a rotation of the space, as a product of six reflections."""
    ways = rng.standard_normal((6, dim))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)

    def turn(v: Floats) -> Floats:
        for way in ways:
            v = v - 2 * (way @ v) * way
        return v

    return turn


def few(formula: Value, count: int, best: Floats | None = None) -> Callable[[int, np.random.Generator], Value]:
    """Return the maker of a function of `count` drawn parameters, whose least is at `best` in units of its own."""

    def make(dim: int, rng: np.random.Generator) -> Value:
        axes, at = rng.permutation(dim)[:count], place(count, rng)
        return lambda x: formula(x[axes] - at + (0.0 if best is None else best))

    return make


def dense(formula: Value, rotated: bool = False) -> Callable[[int, np.random.Generator], Value]:
    """Return the maker of a function of all parameters, whose least is at 0."""

    def make(dim: int, rng: np.random.Generator) -> Value:
        at, turn = place(dim, rng), turned(dim, rng) if rotated else (lambda v: v)
        return lambda x: formula(turn(x - at))

    return make


# Formulas: of the distance to the optimum, in shares of the cube ------------------------------------------------------


def ackley(v: Floats) -> float:
    u = 10 * v
    return float(20 - 20 * np.exp(-0.2 * np.sqrt(np.mean(u * u))) + np.e - np.exp(np.mean(np.cos(2 * np.pi * u))))


def rastrigin(v: Floats) -> float:
    u = 5 * v
    return float((10 + u * u - 10 * np.cos(2 * np.pi * u)).sum())


def rosenbrock(v: Floats) -> float:
    u = 1 + 2 * v
    return float((100 * (u[1:] - u[:-1] ** 2) ** 2 + (1 - u[:-1]) ** 2).sum())


def dixon_price(v: Floats) -> float:
    k = np.arange(1, len(v) + 1)
    u = 2.0 ** (-(1 - 2.0 ** (1 - k))) + 4 * v
    return float((u[0] - 1) ** 2 + (k[1:] * (2 * u[1:] ** 2 - u[:-1]) ** 2).sum())


def ellipsoid(v: Floats) -> float:
    return float((10.0 ** np.linspace(0, 3, len(v)) * v * v).sum())


def branin(x: Floats) -> float:
    a, b = 15 * x[0] - 5, 15 * x[1]
    rest = b - 5.1 / (4 * np.pi**2) * a * a + 5 / np.pi * a - 6
    return float(rest * rest + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 0.39788735772973816)


def hartmann(x: Floats) -> float:
    from lamcts.objectives.synthetic.formulas import hartmann6

    return float(hartmann6(x[None])[0]) + 3.32236801141551


def levy(v: Floats) -> float:
    w = 1 + 10 * v / 4
    inner = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + inner.sum() + last)


def griewank(v: Floats) -> float:
    u = 100 * v
    return float(1 + (u * u).sum() / 4000 - np.prod(np.cos(u / np.sqrt(np.arange(1, len(u) + 1)))))


def powers(v: Floats) -> float:
    return float((np.abs(2 * v) ** np.linspace(2, 6, len(v))).sum())


def zakharov(v: Floats) -> float:
    u = 10 * v
    line = 0.5 * (np.arange(1, len(u) + 1) * u).sum() / len(u)
    return float((u * u).sum() + line**2 + line**4)


def bent_cigar(v: Floats) -> float:
    return float(v[0] ** 2 + 1e3 * (v[1:] ** 2).sum())


def schaffer(v: Floats) -> float:
    s = np.sqrt((10 * v[:-1]) ** 2 + (10 * v[1:]) ** 2)
    return float(np.mean(np.sqrt(s) * (1 + np.sin(50 * s**0.2) ** 2)) ** 2)


def powell(v: Floats) -> float:
    u = 4 * v[: len(v) // 4 * 4].reshape(-1, 4)
    a = (u[:, 0] + 10 * u[:, 1]) ** 2 + 5 * (u[:, 2] - u[:, 3]) ** 2
    return float((a + (u[:, 1] - 2 * u[:, 2]) ** 4 + 10 * (u[:, 0] - u[:, 3]) ** 4).sum())


def groups(formula: Value) -> Callable[[int, np.random.Generator], Value]:
    """Return the maker of a weighted sum of a rotated function over drawn groups of GROUP parameters."""

    def make(dim: int, rng: np.random.Generator) -> Value:
        at, order = place(dim, rng), rng.permutation(dim)
        parts = [order[i : i + GROUP] for i in range(0, dim, GROUP)]
        weights = 10.0 ** rng.uniform(-1, 1, len(parts))
        turns = [np.linalg.qr(rng.standard_normal((len(part), len(part))))[0] for part in parts]

        def value(x: Floats) -> float:
            v = x - at
            return sum(w * formula(q @ v[p]) for w, q, p in zip(weights, turns, parts, strict=True))

        return value

    return make


def low_rank(formula: Value) -> Callable[[int, np.random.Generator], Value]:
    """Return the maker of a function of RANK directions."""

    def make(dim: int, rng: np.random.Generator) -> Value:
        at = place(dim, rng)
        ways = np.linalg.qr(rng.standard_normal((dim, RANK)))[0].T
        return lambda x: formula(ways @ (x - at))

    return make


# Statistics: loss of a model on drawn data ---------------------------------------------------------------------------


def data(dim: int, rng: np.random.Generator, share: float) -> tuple[Floats, Floats]:
    """Return columns that are correlated [n, d], and weights of which a share is not 0, [d]."""
    mixing = np.eye(dim) + 0.3 * rng.standard_normal((dim, dim)) / np.sqrt(dim)
    weights = rng.standard_normal(dim) * (rng.random(dim) < share)
    return rng.standard_normal((SAMPLES, dim)) @ mixing, weights


def regression(loss: Callable[[Floats, Floats], float], target: Callable[[Floats, np.random.Generator], Floats]) -> Any:
    """Return the maker of the regularised loss of a linear model, whose weights lie in [-3, 3]."""

    def make(dim: int, rng: np.random.Generator) -> Value:
        rows, true = data(dim, rng, 1.0)
        rows /= np.sqrt(dim)
        y = target(3 * rows @ true, rng)

        def value(x: Floats) -> float:
            w = 6 * x - 3
            return loss(3 * rows @ w, y) + 1e-3 * float(w @ w)

        return value

    return make


def squared(s: Floats, y: Floats) -> float:
    return float(np.square(s - y).mean())


def logistic(s: Floats, y: Floats) -> float:
    return float(np.logaddexp(0.0, -y * s).mean())


def poisson(s: Floats, y: Floats) -> float:
    return float((np.exp(np.minimum(s, 30.0)) - y * s).mean())


def penalties(dim: int, rng: np.random.Generator) -> Value:
    """Return the validation error of a ridge regression with a penalty of its own for each column, 1e-3 to 1e3."""
    rows, true = data(dim, rng, 0.1)
    y = rows @ true + rng.standard_normal(SAMPLES)
    half = SAMPLES // 2
    fit, check = rows[:half], rows[half:]

    def value(x: Floats) -> float:
        shrunk = fit * 10.0 ** (3 - 6 * x)  # a row of each column divided by its penalty
        w = shrunk.T @ np.linalg.solve(shrunk @ fit.T + half * 1e-2 * np.eye(half), y[:half])
        return float(np.log(np.square(check @ w - y[half:]).mean()))

    return value


SIX = np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])  # of Hartmann's function
DEVELOPMENT: dict[str, Callable[[int, np.random.Generator], Value]] = {
    "branin": few(branin, 2, np.array([0.54277284, 0.15166667])),
    "hartmann": few(hartmann, 6, SIX),
    "few_rosenbrock": few(rosenbrock, 10),
    "few_ackley": few(ackley, 20),
    "penalties": penalties,
    "groups": groups(rosenbrock),
    "low_rank": low_rank(ellipsoid),
    "ellipsoid": dense(ellipsoid, rotated=True),
    "ackley": dense(ackley),
    "rastrigin": dense(rastrigin),
    "dixon_price": dense(dixon_price),
    "ridge": regression(squared, lambda s, rng: s + rng.standard_normal(len(s))),
    "logistic": regression(logistic, lambda s, rng: np.where(rng.random(len(s)) < 1 / (1 + np.exp(-s)), 1.0, -1.0)),
}
CLAIMS: dict[str, Callable[[int, np.random.Generator], Value]] = {
    "few_zakharov": few(zakharov, 4),
    "few_levy": few(levy, 8),
    "few_ellipsoid": few(ellipsoid, 15),
    "few_griewank": few(griewank, 6),
    "groups_levy": groups(levy),
    "groups_powers": groups(powers),
    "rank_ackley": low_rank(ackley),
    "bent_cigar": dense(bent_cigar, rotated=True),
    "levy": dense(levy),
    "schaffer": dense(schaffer),
    "powell": dense(powell),
    "poisson": regression(poisson, lambda s, rng: rng.poisson(np.exp(np.minimum(s / 3, 5.0))).astype(float)),
}


def largescale(function: int, index: int, dim: int) -> tuple[Value, Floats, Floats]:
    """Return a function of COCO's suite with its bounds; it keeps the suite, which owns the problem."""
    import cocoex

    suite = cocoex.Suite(
        "bbob-largescale", "", f"dimensions:{dim} instance_indices:{index} function_indices:{function}"
    )
    problem = suite[0]
    return lambda x: float(problem(x) if suite else np.nan), problem.lower_bounds, problem.upper_bounds


@dataclass(frozen=True)
class WideProblem(Problem):
    """One of them as a problem of the benchmarks; the seed of a run does not change the function."""

    missing = False

    def make(self, seed: int) -> Any:
        return WideObjective(self.name)


def find(name: str) -> WideProblem | None:
    """Return the problem of a name, None where it is none of these."""
    found = NAME.fullmatch(name)
    return WideProblem(name, "", int(found["wide"] or found["dim"]), 300, 1e-8) if found else None
