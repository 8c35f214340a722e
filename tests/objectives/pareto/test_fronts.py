"""The largest hypervolumes: curves of known fronts, integrated again, and points that must not go beyond."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts import objectives

NODES = 100_001  # of a curve


def staircase(front, reference):
    """Return the points [n, 2] that no other dominates, within the reference, by rising first objective."""
    front = front[(front < reference).all(1)]
    front = front[np.lexsort((front[:, 1], front[:, 0]))]
    least = np.minimum.accumulate(front[:, 1])
    return front[np.r_[True, front[1:, 1] < least[:-1]]]


def hypervolume(front, reference):
    """Return the area that points [n, 2] dominate: a lower bound for the curve that they lie on."""
    front = staircase(front, reference)
    return float(((np.r_[front[1:, 0], reference[0]] - front[:, 0]) * (reference[1] - front[:, 1])).sum())


def line(start, end):
    return np.linspace(0, 1, NODES)[:, None] * np.subtract(end, start) + start


def kept(f, x):
    """Return which points keep all constraints, but for rounding."""
    values = f.many(x)
    found = np.ones(len(x), bool)
    for name, sign, limit in map(str.split, f.constraints):
        away = (values[name] - float(limit)) * (1 if sign == "<=" else -1)
        found &= away <= 1e-12 * max(1, abs(float(limit)))
    return found


def values(f, x):
    """Return the objectives [n, m] of the points that keep the constraints."""
    found = f.many(x)
    return np.stack([found[name] for name in f.objectives], axis=1)[kept(f, x)]


def limits(f):
    return np.array([f.reference[name] for name in f.objectives])


def on_the_front(name, first):
    """Return points whose parameters of distance are where they have to be, [n, dim]."""
    f = objectives.make(name, dim=4)
    at = 0.5 if name.endswith("2") and "dtlz" in name else 0.0
    return f, np.column_stack([first, *[np.full(len(first), at)] * 3])


def of_srn():
    top, x1 = math.sqrt(225 - 2.5**2), np.linspace(-6, -2.5, NODES)
    edge = [line((1.1, 3.7), (-2.5, 2.5)), line((-2.5, 2.5), (-2.5, top)), np.stack([x1, np.sqrt(225 - x1**2)], 1)]
    return objectives.make("srn"), np.vstack(edge)


def of_bnh():
    x1 = np.linspace(0, 5, NODES)
    return objectives.make("bnh"), np.stack([x1, np.minimum(x1, 3)], 1)


def of_tnk():
    angle = np.linspace(0, np.pi / 2, NODES)
    radius = np.sqrt(1 + 0.1 * np.cos(16 * angle)) + 1e-12
    return objectives.make("tnk"), np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1)


def of_osy():
    """Deb 2001, section 8.3.4: five pieces, on which other constraints hold with equality."""
    first = 4.0 + 1e-9  # where the second piece ends
    pieces = [line((5, 1, 1, 0, 5, 0), (5, 1, 5, 0, 5, 0)), line((5, 1, 1, 0, 1, 0), (5, 1, 5, 0, 1, 0))]
    pieces += [line((first, (first - 2) / 3, 1, 0, 1, 0), (5, 1, 1, 0, 1, 0))]
    pieces += [line((0, 2, 1, 0, 1, 0), (0, 2, 3.7320508, 0, 1, 0)), line((0, 2, 1, 0, 1, 0), (1, 1, 1, 0, 1, 0))]
    return objectives.make("osy"), np.vstack(pieces)


CURVES = {name: lambda name=name: on_the_front(name, np.linspace(0, 1, NODES)) for name in ("zdt1", "zdt2", "zdt3")}
CURVES |= {
    name: lambda name=name: on_the_front(name, np.linspace(0, 1, NODES)) for name in ("dtlz2", "c2-dtlz2", "dtlz7")
}
CURVES |= {"bnh": of_bnh, "srn": of_srn, "tnk": of_tnk, "osy": of_osy}


@pytest.mark.parametrize("name", CURVES)
def test_the_largest_hypervolume_is_that_of_the_front(name):
    f, x = CURVES[name]()
    assert kept(f, x).any()
    assert hypervolume(values(f, x), limits(f)) == pytest.approx(f.hypervolume, rel=5e-5)


@pytest.mark.parametrize("name", ["bnh", "srn", "tnk", "branin-currin", "branin-currin-constrained"])
def test_a_grid_finds_nearly_as_much_and_no_more(name):
    f = objectives.make(name)
    sides = [np.linspace(low, high, 1001) for low, high in zip(f.space.low, f.space.high, strict=True)]
    x = np.stack(np.meshgrid(*sides), -1).reshape(-1, 2)
    assert 0.99 * f.hypervolume < hypervolume(values(f, x), limits(f)) < f.hypervolume


def test_hypervolumes_with_a_closed_form_have_it():
    assert objectives.make("zdt1").hypervolume == pytest.approx(121 - 1 / 3)  # less the integral of 1 - sqrt(t)
    assert objectives.make("zdt2").hypervolume == pytest.approx(121 - 2 / 3)
    assert objectives.make("dtlz2").hypervolume == pytest.approx(1.21 - math.pi / 4)
    assert objectives.make("dtlz2", objective_count=3).hypervolume == pytest.approx(1.331 - math.pi / 6)
    assert objectives.make("dtlz2", objective_count=4).hypervolume == pytest.approx(1.1**4 - math.pi**2 / 32)
    assert objectives.make("dtlz1").hypervolume == pytest.approx(400**2 - 1 / 8, rel=1e-12)
    assert objectives.make("dtlz1", objective_count=3).hypervolume == pytest.approx(400**3 - 1 / 48, rel=1e-12)


def test_the_arcs_of_c2_dtlz2_have_a_closed_form():
    """By the angle from the second axis: an end, a gap, the middle, a gap, an end."""
    end, half = 2 * math.asin(0.2 / 2), 2 * math.asin(0.2 * math.sqrt(2) / 2)  # a chord is 2 sin of half its angle
    arcs = [(0, end), (math.pi / 4 - half, math.pi / 4 + half), (math.pi / 2 - end, math.pi / 2)]

    def under(angle):  # the integral of (1.1 - cos) d(sin)
        return 1.1 * math.sin(angle) - angle / 2 - math.sin(2 * angle) / 4

    area = sum(under(last) - under(first) for first, last in arcs) + 0.1 * 1.1
    for (_, last), (first, _) in itertools.pairwise(arcs):
        area += (math.sin(first) - math.sin(last)) * (1.1 - math.cos(last))
    assert objectives.make("c2-dtlz2").hypervolume == pytest.approx(area, rel=1e-7)
    assert objectives.make("c2-dtlz2", objective_count=3).hypervolume is None


def test_descents_to_the_least_cost_of_a_beam_find_nearly_all_of_its_front():
    f = objectives.make("welded-beam-deflection")
    low, width = f.space.low, f.space.high - f.space.low
    found, start = [], (np.array([0.5, 6.0, 9.0, 0.5]) - low) / width
    for most in np.geomspace(0.015, 4.3905e-4, 30):

        def slack(u, most=most):
            q = f(low + np.clip(u, 0, 1) * width)
            strength = [1 - q["shear"] / 13600, 1 - q["bending"] / 30000, q["buckling"] / 6000 - 1]
            return np.array([*strength, -q["overhang"], math.log(most / q["deflection"])])

        def cost(u):
            return f(low + np.clip(u, 0, 1) * width)["cost"]

        ended = minimize(cost, start, bounds=[(0, 1)] * 4, constraints={"type": "ineq", "fun": slack}, method="SLSQP")
        if slack(ended.x).min() > -1e-8:
            start = ended.x
            q = f(low + start * width)
            found.append([q["cost"], q["deflection"]])
    assert 0.98 * f.hypervolume < hypervolume(np.array(found), limits(f)) < f.hypervolume
