"""Engineering designs and problems of the plane, against the formulas as their sources write them."""

import math
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

from lamcts import objectives


def speed_reducer(x1, x2, x3, x4, x5, x6, x7):
    f = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934) - 1.508 * x1 * (x6**2 + x7**2)
    return f + 7.4777 * (x6**3 + x7**3) + 0.7854 * (x4 * x6**2 + x5 * x7**2), [
        27 / (x1 * x2**2 * x3) - 1,
        397.5 / (x1 * x2**2 * x3**2) - 1,
        1.93 * x4**3 / (x2 * x3 * x6**4) - 1,
        1.93 * x5**3 / (x2 * x3 * x7**4) - 1,
        (1.5 * x6 + 1.9) / x4 - 1,
        (1.1 * x7 + 1.9) / x5 - 1,
        sqrt((745 * x4 / (x2 * x3)) ** 2 + 16.9e6) / (0.1 * x6**3) - 1100,
        sqrt((745 * x5 / (x2 * x3)) ** 2 + 157.5e6) / (0.1 * x7**3) - 850,
        x2 * x3 - 40,
        5 - x1 / x2,
        x1 / x2 - 12,
    ]


def welded_beam(x1, x2, x3, x4):
    p, length, e, g = 6000, 14, 30e6, 12e6
    m = p * (length + x2 / 2)
    r = sqrt(x2**2 / 4 + ((x1 + x3) / 2) ** 2)
    j = 2 * (sqrt(2) * x1 * x2 * (x2**2 / 12 + ((x1 + x3) / 2) ** 2))
    a, b = p / (sqrt(2) * x1 * x2), m * r / j
    tau = sqrt(a**2 + 2 * a * b * x2 / (2 * r) + b**2)
    load = 4.013 * e * sqrt(x3**2 * x4**6 / 36) / length**2 * (1 - x3 / (2 * length) * sqrt(e / (4 * g)))
    return 1.10471 * x1**2 * x2 + 0.04811 * x3 * x4 * (14 + x2), [
        tau - 13600,
        6 * p * length / (x4 * x3**2) - 30000,
        4 * p * length**3 / (e * x3**3 * x4) - 0.25,
        p - load,
        x1 - x4,
        0.10471 * x1**2 + 0.04811 * x3 * x4 * (14 + x2) - 5,
        0.125 - x1,
    ]


def pressure_vessel(x1, x2, x3, x4):
    f = 0.6224 * x1 * x3 * x4 + 1.7781 * x2 * x3**2 + 3.1661 * x1**2 * x4 + 19.84 * x1**2 * x3
    volume = -pi * x3**2 * x4 - 4 / 3 * pi * x3**3 + 1296000
    return f, [-x1 + 0.0193 * x3, -x2 + 0.00954 * x3, volume, x4 - 240]


def tension_spring(x1, x2, x3):
    return (x3 + 2) * x2 * x1**2, [
        1 - x2**3 * x3 / (71785 * x1**4),
        (4 * x2**2 - x1 * x2) / (12566 * (x2 * x1**3 - x1**4)) + 1 / (5108 * x1**2) - 1,
        1 - 140.45 * x1 / (x2**2 * x3),
        x1 + x2 - 1.5,
    ]


def three_bar_truss(x1, x2):
    shared = sqrt(2) * x1**2 + 2 * x1 * x2
    return (2 * sqrt(2) * x1 + x2) * 100, [
        (sqrt(2) * x1 + x2) / shared * 2 - 2,
        x2 / shared * 2 - 2,
        1 / (sqrt(2) * x2 + x1) * 2 - 2,
    ]


def townsend(x1, x2):
    t = math.atan2(x1, x2)
    edge = (2 * cos(t) - cos(2 * t) / 2 - cos(3 * t) / 4 - cos(4 * t) / 8) ** 2 + (2 * sin(t)) ** 2
    return -(cos((x1 - 0.1) * x2) ** 2) - x1 * sin(3 * x1 + x2), [x1**2 + x2**2 - edge]


def gramacy(x1, x2):
    return x1 + x2, [1.5 - x1 - 2 * x2 - 0.5 * sin(2 * pi * (x1**2 - 2 * x2)), x1**2 + x2**2 - 1.5]


def gardner1(x1, x2):
    return cos(2 * x1) * cos(x2) + sin(x1), [cos(x1) * cos(x2) - sin(x1) * sin(x2) - 0.5]


def gardner2(x1, x2):
    return sin(x1) + x2, [sin(x1) * sin(x2) + 0.95]


SOURCES = {
    "speed-reducer": speed_reducer,
    "welded-beam": welded_beam,
    "pressure-vessel": pressure_vessel,
    "tension-spring": tension_spring,
    "three-bar-truss": three_bar_truss,
    "townsend": townsend,
    "gramacy": gramacy,
    "gardner1": gardner1,
    "gardner2": gardner2,
}


def excesses(f, values):
    """Return by how much each constraint is missed, at most 0 where it is kept."""
    found = []
    for name, sign, limit in map(str.split, f.constraints):
        found.append((values[name] - float(limit)) * (1 if sign == "<=" else -1))
    return found


@pytest.mark.parametrize("permute", [None, 4])
@pytest.mark.parametrize("name", SOURCES)
def test_values_agree_with_the_source(name, permute):
    settings = {"continuous": True} if name == "pressure-vessel" else {}
    f = objectives.make(name, permute=permute, **settings)
    ((sought, _),) = f.objectives.items()
    back = slice(None) if f.order is None else np.argsort(f.order)
    for x in np.random.default_rng(0).uniform(f.space.low, f.space.high, (30, f.space.dim)):
        value, bounds = SOURCES[name](*x[back])
        found = f(x)
        assert found[sought] == pytest.approx(value, rel=1e-12)
        assert sorted(excesses(f, found)) == pytest.approx(sorted(bounds), rel=1e-9, abs=1e-9)


def test_the_vessel_rounds_its_sheets_in_cost_and_constraints_alike():
    stepped, smooth = objectives.make("pressure-vessel"), objectives.make("pressure-vessel", continuous=True)
    thin = [0.8125 - 0.03, 0.4375 + 0.03, 42.0, 176.0]
    assert stepped(thin) == smooth([0.8125, 0.4375, 42.0, 176.0])
    assert stepped(thin)["shell"] == pytest.approx(0.8125 - 0.0193 * 42.0)
    assert smooth(thin)["shell"] < stepped(thin)["shell"]


def test_divisors_of_zero_leave_all_numbers_finite():
    assert np.isfinite(list(objectives.make("three-bar-truss")([0.0, 0.0]).values())).all()
    assert np.isfinite(list(objectives.make("tension-spring")([0.3, 0.3, 5.0]).values())).all()
