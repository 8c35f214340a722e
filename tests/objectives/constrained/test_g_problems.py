"""The G problems against values of another library, and what their names and tolerances say."""

import numpy as np
import pytest

from lamcts import objectives

# value, and what bounds it in rising order, at the places of `place`: pymoo 0.6.2, by its own formulas
PYMOO = {
    "g1": (-164.88828, [11.952, 15.094, 47.096, 54.002, 64.988, 90.24, 91.91, 101.952, 140.916]),
    "g3": (-30.5350501119, [2.90874]),
    "g4": (-26792.0565534, [-94.25006186, -18.80646976, -3.193322351, -1.806677649, -1.193530243, 2.250061855]),
    "g5": (4901.75205734, [-254.4252346, -0.9702, -0.1298, 145.9309036, 147.9043375]),
    "g6": (532880.919359, [-10313.6761, 10251.4861]),
    "g7": (1614.1024, [-7.56, -6, 47.24, 97.9744, 173.8992, 233.692, 278.5072, 1654.1808]),
    "g8": (-0.000856113522483, [4.8100465, 31.87439511]),
    "g9": (1030236.42402, [-238.336, -89.1824, 296.2544, 27266.75267]),
    "g10": (20109, [-1265200.388, -2.4454, 0.7429, 0.7476, 73911.16, 2194564.68]),
    "g11": (0.068176, [0.9084]),
    "g12": (-0.73372, [0.8055]),
    "g13": (33.8165266352, [3.767972, 12.09798519, 20.85435392]),
    "g18": (
        7.96,
        [
            -20.0608,
            -13.3136,
            6.3392,
            17.8704,
            33.9648,
            38.4384,
            42.9552,
            43.5568,
            46.4256,
            67.2112,
            75.8032,
            199.6272,
            199.6272,
        ],
    ),
    "g19": (13980.473592, [-1817.588, -774.25, -721.3368, 287.2224, 331.0136]),
    "g24": (-5.062, [0.00010718, 3.77911036]),
}


def place(f):
    share = np.mod(0.37 + 0.618 * np.arange(f.space.dim), 1)  # every coordinate elsewhere
    return f.space.low + share * (f.space.high - f.space.low)


@pytest.mark.parametrize("name", PYMOO)
def test_values_are_those_of_another_library(name):
    f = objectives.make(name)
    found = f(place(f))
    value, bounded = PYMOO[name]
    assert found.pop("value") == pytest.approx(value, rel=1e-10)
    free = sorted(v for key, v in found.items() if key.startswith("g"))
    equal = sorted(v for key, v in found.items() if key.startswith("h"))
    if len(equal) != len(found):
        assert sorted(free + equal) == pytest.approx(bounded, rel=1e-8)
    else:  # an equality has no sign
        assert sorted(map(abs, equal)) == pytest.approx(sorted(map(abs, bounded)), rel=1e-8)


def test_equalities_have_the_tolerance_of_the_report_and_others_none():
    assert objectives.make("g5").constraints == (
        "g1 <= 0",
        "g2 <= 0",
        "h1 == 0 +- 0.0001",
        "h2 == 0 +- 0.0001",
        "h3 == 0 +- 0.0001",
    )
    assert objectives.make("g11").constraints == ("h1 == 0 +- 0.0001",)


def test_keane_is_the_second_of_them():
    f = objectives.make("keane", dim=20)
    x = place(f)
    bump = abs(sum(np.cos(x) ** 4) - 2 * np.prod(np.cos(x) ** 2)) / np.sqrt(
        sum((i + 1) * v**2 for i, v in enumerate(x))
    )
    assert f(x) == pytest.approx({"value": -bump, "product": np.prod(x), "sum": sum(x)})
    assert f.constraints == ("product >= 0.75", "sum <= 150")
    assert f.optimum == pytest.approx(-0.80361910412559, rel=1e-9)  # Liang et al. 2006
    assert objectives.make("keane", dim=10).optimum == pytest.approx(-0.7473, abs=1e-4)  # the literature
    assert objectives.make("keane").optimum < -0.82188 < -0.818056222  # which BoTorch has as the best
    assert objectives.make("keane", dim=5).optimum is None


def test_keane_has_a_value_at_the_origin():
    assert np.isfinite(list(objectives.make("keane", dim=3)(np.zeros(3)).values())).all()
