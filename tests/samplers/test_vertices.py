"""The default hits the solution of a linear programme, and of a convex quadratic one, exactly."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize

import lamcts
from lamcts.types import Floats

LOW, HIGH, EXACT = -5.0, 5.0, 1e-9  # of each parameter; of the range of the objective, and of a violation


class Programme(NamedTuple):
    """Minimise `f` where all of `g` are at most 0; `least` is the solution's value, `spread` the range of `f`."""

    f: Callable[[Floats], float]
    g: Callable[[Floats], Floats]
    constraints: int
    inside: Floats
    least: float
    spread: float


def programme(d: int, number: int, curved: bool) -> Programme:
    rng = np.random.default_rng(1000 * d + number)
    a, inside = rng.standard_normal((d + 2, d)), rng.uniform(-3, 3, d)
    b = a @ inside + rng.uniform(0.5, 3, d + 2)
    c, root, centre = rng.standard_normal(d), rng.standard_normal((d, d)), rng.uniform(-8, 8, d)
    bounds, h = [(LOW, HIGH)] * d, root @ root.T / d + 0.1 * np.eye(d)
    if not curved:
        least = optimize.linprog(c, A_ub=a, b_ub=b, bounds=bounds).fun
        return Programme(lambda x: float(c @ x), lambda x: a @ x - b, d + 2, inside, least, 10 * np.abs(c).sum())

    def f(x: Floats) -> float:
        return float((x - centre) @ h @ (x - centre)) / 2

    held = {"type": "ineq", "fun": lambda x: b - a @ x, "jac": lambda x: -a}
    options = {"ftol": 1e-15, "maxiter": 1000}
    found = optimize.minimize(
        f, inside, jac=lambda x: h @ (x - centre), bounds=bounds, constraints=held, options=options
    )
    spread = float(np.ptp([f(x) for x in rng.uniform(LOW, HIGH, (2000, d))]))
    return Programme(f, lambda x: a @ x - b, d + 2, inside, float(found.fun), spread)


def is_solved(problem: Programme, budget: int, x0: bool) -> bool:
    d, names = len(problem.inside), [f"g{i}" for i in range(problem.constraints)]
    start = problem.inside.tolist() if x0 else None
    opt = lamcts.Optimizer([(LOW, HIGH)] * d, constraints=[f"{name} <= 0" for name in names], x0=start, seed=0)
    for _ in range(budget):
        trial = opt.ask()[0]
        x = np.array(trial.point)
        g = problem.g(x)
        opt.tell(trial, problem.f(x), constraints=dict(zip(names, g, strict=True)))
        if g.max() <= EXACT and problem.f(x) <= problem.least + EXACT * problem.spread:
            return True
    return False


@pytest.mark.parametrize("x0", [False, True])
@pytest.mark.parametrize("d", [2, 5, 10])
def test_ten_linear_programmes_are_solved_exactly(d: int, x0: bool) -> None:
    unsolved = [k for k in range(10) if not is_solved(programme(d, k, curved=False), 4 * d + 10, x0)]
    assert not unsolved


@pytest.mark.parametrize("x0", [False, True])
@pytest.mark.parametrize("d", [2, 5, 10])
def test_ten_convex_quadratic_programmes_are_solved_exactly(d: int, x0: bool) -> None:
    unsolved = [k for k in range(10) if not is_solved(programme(d, k, curved=True), 8 * d + 20, x0)]
    assert not unsolved
