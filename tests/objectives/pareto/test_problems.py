"""Problems of several objectives, against the formulas as their sources write them; what a shift moves."""

import math
from math import cos, exp, pi, sin, sqrt

import numpy as np
import pytest

from lamcts import objectives


def branin_currin(a, b):
    x, y = 15 * a - 5, 15 * b
    branin = (y - 5.1 / (4 * pi**2) * x**2 + 5 / pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10
    top, bottom = 2300 * a**3 + 1900 * a**2 + 2092 * a + 60, 100 * a**3 + 500 * a**2 + 4 * a + 20
    disc = (x - 2.5) ** 2 + (y - 7.5) ** 2 - 50
    return [branin, (1 - exp(-1 / (2 * b))) * top / bottom], [disc]


def zdt(wave):
    def formula(*x):
        g = 1 + 9 / (len(x) - 1) * sum(x[1:])
        return [x[0], g * wave(x[0], g)], []

    return formula


def dtlz1(*x):  # three objectives
    g = 100 * (len(x) - 2 + sum((v - 0.5) ** 2 - cos(20 * pi * (v - 0.5)) for v in x[2:]))
    return [(1 + g) / 2 * f for f in (x[0] * x[1], x[0] * (1 - x[1]), 1 - x[0])], []


def dtlz2(*x):
    g, (s, t) = sum((v - 0.5) ** 2 for v in x[2:]), (x[0] * pi / 2, x[1] * pi / 2)
    return [(1 + g) * f for f in (cos(s) * cos(t), cos(s) * sin(t), sin(s))], []


def dtlz7(*x):
    g = 1 + 9 / (len(x) - 2) * sum(x[2:])
    h = 3 - sum(v / (1 + g) * (1 + sin(3 * pi * v)) for v in x[:2])
    return [x[0], x[1], (1 + g) * h], []


def c2_dtlz2(*x):
    f, _ = dtlz2(*x)
    ends = [sum(v**2 - 0.04 for j, v in enumerate(f) if j != i) + (f[i] - 1) ** 2 for i in range(3)]
    return f, [min(*ends, sum((v - 1 / sqrt(3)) ** 2 - 0.04 for v in f))]


def bnh(x, y):
    return [4 * x**2 + 4 * y**2, (x - 5) ** 2 + (y - 5) ** 2], [
        (x - 5) ** 2 + y**2 - 25,
        7.7 - (x - 8) ** 2 - (y + 3) ** 2,
    ]


def srn(x, y):
    return [2 + (x - 2) ** 2 + (y - 1) ** 2, 9 * x - (y - 1) ** 2], [x**2 + y**2 - 225, x - 3 * y + 10]


def tnk(x, y):
    wave = 1 + 0.1 * cos(16 * math.atan(x / y)) - x**2 - y**2
    return [x, y], [wave, (x - 0.5) ** 2 + (y - 0.5) ** 2 - 0.5]


def osy(a, b, c, d, e, f):
    first = -(25 * (a - 2) ** 2 + (b - 2) ** 2 + (c - 1) ** 2 + (d - 4) ** 2 + (e - 1) ** 2)
    bounds = [2 - a - b, a + b - 6, b - a - 2, a - 3 * b - 2, (c - 3) ** 2 + d - 4, 4 - (e - 3) ** 2 - f]
    return [first, a**2 + b**2 + c**2 + d**2 + e**2 + f**2], bounds


def welded_beam(h, ell, t, b):  # Deb 2000, as in Deb 2001
    reach = sqrt(0.25 * (ell**2 + (h + t) ** 2))
    first = 6000 / (sqrt(2) * h * ell)
    second = 6000 * (14 + 0.5 * ell) * reach / (2 * (sqrt(0.5) * h * ell * (ell**2 / 12 + 0.25 * (h + t) ** 2)))
    tau = sqrt(first**2 + second**2 + ell * first * second / reach)
    load = 64746.022 * (1 - 0.0282346 * t) * t * b**3
    bounds = [tau - 13600, 504000 / (t**2 * b) - 30000, 6000 - load, h - b]
    return [1.10471 * h**2 * ell + 0.04811 * t * b * (14 + ell), 2.1952 / (t**3 * b)], bounds


SOURCES = {
    "branin-currin-constrained": branin_currin,
    "zdt1": zdt(lambda f, g: 1 - sqrt(f / g)),
    "zdt2": zdt(lambda f, g: 1 - (f / g) ** 2),
    "zdt3": zdt(lambda f, g: 1 - sqrt(f / g) - f / g * sin(10 * pi * f)),
    "dtlz1": dtlz1,
    "dtlz2": dtlz2,
    "dtlz7": dtlz7,
    "c2-dtlz2": c2_dtlz2,
    "bnh": bnh,
    "srn": srn,
    "tnk": tnk,
    "osy": osy,
    "welded-beam-deflection": welded_beam,
}


def make(name, **settings):
    sizes = {"dim": 6, "objective_count": 3} if "dtlz" in name else {"dim": 6} if "zdt" in name else {}
    return objectives.make(name, **sizes, **settings)


def drawn(f, n, seed=0):
    return np.random.default_rng(seed).uniform(f.space.low, f.space.high, (n, f.space.dim))


def excesses(f, values):
    """Return by how much each constraint is missed, at most 0 where it is kept."""
    parts = (text.split() for text in f.constraints)
    return [(values[name] - float(limit)) * (1 if sign == "<=" else -1) for name, sign, limit in parts]


@pytest.mark.parametrize("name", SOURCES)
def test_values_agree_with_the_source(name):
    f = make(name)
    for x in drawn(f, 40):
        values, bounds = SOURCES[name](*x)
        found = f(x)
        assert [found[key] for key in f.objectives] == pytest.approx(values, rel=1e-10)
        assert sorted(excesses(f, found)) == pytest.approx(sorted(bounds), rel=1e-9, abs=1e-9)


def test_the_disc_of_branin_and_currin_is_all_that_the_constraint_adds():
    plain, within = objectives.make("branin-currin"), objectives.make("branin-currin-constrained")
    x = drawn(plain, 10)
    assert {**plain.many(x), "distance": 0}.keys() == within.many(x).keys()
    np.testing.assert_array_equal(plain.many(x)["branin"], within.many(x)["branin"])
    assert plain([0.5, 0.0])["currin"] == pytest.approx(plain([0.5, 1e-9])["currin"])  # its limit


# BoTorch 0.18, at the places of `place`
BOTORCH = {
    "branin-currin": [111.429661601, 5.06130501126],
    "penicillin": [10.1188042584, 45.3580106744, 314.0],  # the yield there has a minus
    "vehicle-safety": [1684.54099442, 8.2365120832, 0.1401750272],
    "car-side-impact": [31.24127368, 4.076580512, 11.7866080992, 0.076580512],
}


def place(f):
    share = np.mod(0.37 + 0.618 * np.arange(f.space.dim), 1)  # every coordinate elsewhere
    return f.space.low + share * (f.space.high - f.space.low)


@pytest.mark.parametrize("name", BOTORCH)
def test_values_are_those_of_another_library(name):
    f = objectives.make(name)
    assert list(f(place(f)).values()) == pytest.approx(BOTORCH[name], rel=1e-10)


def test_the_loads_of_a_crash_are_constraints_or_one_objective():
    summed, bounded = objectives.make("car-side-impact"), objectives.make("car-side-impact", constrained=True)
    assert len(bounded.constraints) == 10 and summed.constraints == () and bounded.hypervolume is None
    for x in drawn(summed, 20):
        assert summed(x)["excess"] == pytest.approx(sum(max(0, e) for e in excesses(bounded, bounded(x))), abs=1e-12)


@pytest.mark.parametrize("name", ["zdt1", "zdt2", "zdt3", "dtlz1", "dtlz2", "dtlz7", "c2-dtlz2"])
def test_a_shift_moves_where_the_front_lies_and_nothing_else(name):
    plain = make(name, shift=None)
    k = plain.space.dim - len(plain.objectives) + 1
    usual = np.full(k, 0.5 if "dtlz" in name and name != "dtlz7" else 0.0)
    places = np.random.default_rng(3).uniform(0.2, 0.8, k)
    moved, again = make(name, shift=3), make(name, shift=places)
    for first in drawn(plain, 10)[:, :-k]:
        at_front, moved_front = plain(np.r_[first, usual]), moved(np.r_[first, places])
        assert moved_front == at_front == again(np.r_[first, places])
        worse = moved(np.r_[first, np.clip(places + 0.1, 0, 1)])
        assert max(worse[key] - moved_front[key] for key in plain.objectives) > 1e-3
    assert moved.hypervolume == plain.hypervolume and moved.fingerprint() == again.fingerprint()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("zdt1", {"dim": 1}, "dim of at least 2"),
        ("zdt2", {"dim": 3, "shift": [0.5]}, "2 places"),
        ("zdt3", {"shift": -1}, "shift: expected a whole number"),
        ("dtlz2", {"dim": 2, "objective_count": 3}, "as many parameters"),
        ("dtlz7", {"dim": 4, "shift": [0.5, 2.0, 0.5]}, r"in \[0, 1\]"),
        ("g1", {"permute": 1.5}, "permute: expected a whole number"),
        ("keane", {"dim": 1}, "at least 2"),
    ],
)
def test_wrong_settings_say_what_was_expected(name, settings, message):
    with pytest.raises(ValueError, match=message):
        objectives.make(name, **settings)


def test_a_fermenter_ends_when_its_tank_is_full():
    f = objectives.make("penicillin")
    small = f([60, 10, 298, 10, 0.5, 600, 6])
    large = f([119, 10, 298, 10, 0.5, 600, 6])
    assert 1 < large["hours"] < small["hours"] < 2500
    assert f.many([[60, 10, 298, 10, 0.5, 600, 6], [119, 10, 298, 10, 0.5, 600, 6]])["hours"].tolist() == [
        small["hours"],
        large["hours"],
    ]
