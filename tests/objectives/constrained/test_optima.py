"""What is called the best is feasible and has its value, and descents from elsewhere find nothing better."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts import objectives

G = ["g1", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10", "g11", "g12", "g13", "g18", "g19", "g24"]
DESIGNS = ["speed-reducer", "welded-beam", "pressure-vessel", "tension-spring", "three-bar-truss"]
PLANE = ["townsend", "gramacy", "gardner1", "gardner2"]
CASES = [(name, {}) for name in [*G, *DESIGNS, *PLANE, "ackley-constrained"]]
CASES += [("pressure-vessel", {"continuous": True}), ("keane", {"dim": 10}), ("keane", {"dim": 20}), ("keane", {})]
CASES += [("ackley-constrained", {"shift": 1}), ("ackley-constrained", {"dim": 6, "shift": 2, "rotate": 3})]
CASES += [("welded-beam", {"permute": 5}), ("g9", {"permute": 2})]
IDS = ["-".join([name, *map(str, settings.values())]) for name, settings in CASES]
LITERATURE = {  # Liang et al. 2006; Coello Coello and others for the designs; Chebfun; Gramacy et al. 2016
    "g1": -15.0,
    "g3": -1.00050010001,
    "g4": -30665.5386717834,
    "g5": 5126.4967140071,
    "g6": -6961.81387558015,
    "g7": 24.3062090681,
    "g8": -0.0958250414180359,
    "g9": 680.630057374402,
    "g10": 7049.24802052867,
    "g11": 0.7499,
    "g12": -1.0,
    "g13": 0.053941514041898,
    "g18": -0.866025403784439,
    "g19": 32.6555929502463,
    "g24": -5.50801327159536,
    "speed-reducer": 2994.471066,
    "welded-beam": 1.724852309,
    "pressure-vessel": 6059.714335,
    "tension-spring": 0.0126652328,
    "three-bar-truss": 263.8958434,
    "townsend": -2.0239884,
    "gramacy": 0.5998,
}


def misses(f, x):
    """Return what is at most 0 where `x` is feasible, and its scales: of the constraints' own limits and changes."""
    values, found = f(x), []
    for text in f.constraints:
        name, sign, limit, *rest = text.split()
        away = off(name, values[name], limit)
        found += [away] if sign == "<=" else [-away] if sign == ">=" else [abs(away) - float(rest[1])]
    return np.array(found)


def off(name, value, limit):
    """Return by how much a quantity is beyond its limit; Keane's product, of 30 factors, in logarithms."""
    return np.log(max(value, 1e-9) / float(limit)) if name == "product" else value - float(limit)


def scales(f):
    """Return how much each constraint changes over the box, [c]."""
    drawn = np.random.default_rng(7).uniform(f.space.low, f.space.high, (50, f.space.dim))
    return np.ptp([misses(f, x) for x in drawn], axis=0) + 1e-9


def sought(f, x):
    return f(x)[next(iter(f.objectives))]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=IDS)
def test_the_best_is_feasible_and_has_its_value(name, settings):
    f = objectives.make(name, **settings)
    assert (f.space.low <= f.at).all() and (f.at <= f.space.high).all()
    assert sought(f, f.at) == pytest.approx(f.optimum, rel=1e-9, abs=1e-12)
    assert (misses(f, f.at) / scales(f)).max() <= 1e-9


@pytest.mark.parametrize("name", LITERATURE)
def test_optima_are_those_of_the_literature(name):
    assert objectives.make(name).optimum == pytest.approx(LITERATURE[name], rel=1e-4 if name == "gramacy" else 1e-7)


def descend(f, start, allowed, scale):
    """Return a feasible place that SLSQP reaches from `start`, None where it reaches none; in the unit cube."""
    width = f.space.high - f.space.low
    size = max(1e-3, abs(sought(f, start)), abs(f.optimum))

    def place(u):
        return f.space.low + np.clip(u, 0, 1) * width

    def slack(u):
        values, found = f(place(u)), []
        for i, (name, sign, limit, *rest) in enumerate(text.split() for text in f.constraints):
            away = off(name, values[name], limit) / scale[i]
            found += [away] if sign == ">=" else [-away]
            if sign == "==":  # both sides, as smooth functions
                tolerance = float(rest[1]) / scale[i]
                found[-1:] = [tolerance - away, tolerance + away]
        return np.array(found)

    problem = {"type": "ineq", "fun": slack}
    goal = (lambda u: sought(f, place(u)) / size, (start - f.space.low) / width)
    bounds = [(0, 1)] * len(start)
    ended = minimize(*goal, bounds=bounds, constraints=problem, method="SLSQP", options={"ftol": 1e-13, "maxiter": 300})
    x = place(ended.x)
    return x if np.isfinite(sought(f, x)) and (misses(f, x) / scale).max() <= allowed else None


SMOOTH = [case for case in CASES if case not in [("g12", {}), ("pressure-vessel", {})]]


@pytest.mark.parametrize(("name", "settings"), SMOOTH, ids=["-".join([n, *map(str, s.values())]) for n, s in SMOOTH])
def test_no_descent_finds_better_and_one_from_nearby_arrives(name, settings):
    f, rng = objectives.make(name, **settings), np.random.default_rng(0)
    scale, width = scales(f), f.space.high - f.space.low
    near = np.clip(f.at + 0.01 * width * rng.standard_normal(f.space.dim), f.space.low, f.space.high)
    far = 0 if name == "keane" else STARTS  # of whose thousands of dents a descent finds any
    starts = [near, *rng.uniform(f.space.low, f.space.high, (far, f.space.dim))]
    ends = [x for start in starts if (x := descend(f, start, 1e-7, scale)) is not None]
    values = [sought(f, x) for x in ends]
    assert min(values) >= f.optimum - 1e-5 * max(abs(f.optimum), 1e-3)
    if not name.startswith("ackley"):  # a funnel with a point at its bottom, which no such descent reaches
        assert min(values) == pytest.approx(f.optimum, rel=1e-5, abs=1e-8)


STARTS = 3  # random ones beside the one nearby: a descent takes milliseconds to a second


def test_the_vessel_is_best_at_its_steps():
    """For each pair of thicknesses the rest is a problem of two parameters, whose best is known in closed form."""
    f = objectives.make("pressure-vessel")
    best = np.inf
    for shell in np.arange(1, 40) * 0.0625:
        for head in np.arange(1, 40) * 0.0625:
            radius = np.linspace(10, min(shell / 0.0193, head / 0.00954, 200), 400)
            length = np.maximum((1_296_000 - 4 / 3 * np.pi * radius**3) / (np.pi * radius**2), 10)
            kept = length <= 200  # the box
            if kept.any():
                x = np.stack([np.full(400, shell), np.full(400, head), radius, length], axis=1)[kept]
                best = min(best, f.many(x)["cost"].min())
    assert best == pytest.approx(f.optimum, rel=1e-9)


def test_the_balls_of_g12_are_feasible_and_what_is_between_them_is_not():
    f = objectives.make("g12")
    assert f([5, 5, 5]) == {"value": -1.0, "g1": -0.0625}
    assert f([9, 1.2, 3.1])["g1"] < 0 < f([5.5, 5, 5])["g1"]
    assert f([10, 1, 1])["g1"] == pytest.approx(1 - 0.0625)  # no ball has its centre at 0 or 10
