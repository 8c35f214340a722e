"""Problems of many bits: Ackley with three reals beside them, LABS, random weighted clauses, one-max."""

import math

import numpy as np

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from lamcts import Bool, Float, Space

ENERGY_50 = 153  # of the best sequence of 50, by exhaustive search (Packebusch and Mertens 2016, table 1)
CLOSE = 0.1  # of Ackley: all bits right, and the reals near
CLAUSES = 5  # a variable: beyond the 4.27 at which random ones are just satisfiable
CLAUSES_SEED = 20230  # of the instances, one for each number of variables
BEST_CLAUSES = {  # proven by SciPy's milp (HiGHS, no gap) in 0.4 and 3 seconds
    28: "0100100010011100000001011001",
    60: "011100010011111000110001111110100101111110011101011010001100",
}


def onemax(n: int = 8) -> Discrete:
    """The share of wrong bits: for tests and smoke, no part of a table."""
    space = Space({f"b{i:02}": Bool() for i in range(n)})
    return Discrete(
        "onemax", space, lambda p: 1 - sum(p.values()) / n, optimum=0.0, best=dict.fromkeys(space.names, True)
    )


def ackley53() -> Discrete:
    """50 bits and 3 reals in [-1, 1] in one Ackley function (Bliek et al. 2021; Wan et al. 2021); 0 where all are 0."""
    bits, reals = [f"b{i:02}" for i in range(50)], ["x", "y", "z"]
    space = Space({name: Bool() for name in bits} | {name: Float(-1, 1) for name in reals})

    def function(point: Point) -> float:
        v = np.array(list(point.values()), float)  # [53]
        waves = math.exp(np.cos(2 * math.pi * v).mean())
        return 20 - 20 * math.exp(-0.2 * math.sqrt(np.square(v).mean())) + math.e - waves

    best = dict.fromkeys(bits, False) | dict.fromkeys(reals, 0.0)
    return Discrete("ackley53", space, function, optimum=0.0, best=best, close=CLOSE, reach=dict.fromkeys(reals, 0.25))


def labs(n: int = 50) -> Discrete:
    """Low autocorrelation of a binary sequence: minus the merit factor n^2 / (2 sum_k C_k^2) (Golay 1982)."""

    def function(point: Point) -> float:
        s = np.where(list(point.values()), 1.0, -1.0)  # [n]
        lags = np.correlate(s, s, "full")[n:]  # C_1 to C_(n-1)
        return -n * n / (2 * float(np.square(lags).sum()))

    optimum = -n * n / (2 * ENERGY_50) if n == 50 else None
    return Discrete(f"labs{n}", Space({f"s{i:02}": Bool() for i in range(n)}), function, optimum=optimum, bound=-12.5)


def clauses(n: int) -> Discrete:
    """5 n random weighted 3-clauses over `n` variables, 28 or 60: the share of the weight that is not satisfied."""
    variables, signs, weights = instance(n)

    def function(point: Point) -> float:
        held = (np.array(list(point.values()), bool)[variables] == signs).any(1)  # [m]
        return float(weights[~held].sum())

    names = [f"v{i:02}" for i in range(n)]
    best = {name: bit == "1" for name, bit in zip(names, BEST_CLAUSES[n], strict=True)}
    space = Space({name: Bool() for name in names})
    return Discrete(f"maxsat{n}", space, function, optimum=function(best), best=best)


def instance(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the variables [m, 3] of the clauses, the values that satisfy them [m, 3], and the weights [m], sum 1."""
    rng = np.random.default_rng((CLAUSES_SEED, n))
    m = CLAUSES * n
    variables = np.array([rng.choice(n, 3, replace=False) for _ in range(m)])
    signs, weights = rng.random((m, 3)) < 0.5, rng.exponential(size=m)
    return variables, signs, weights / weights.sum()
