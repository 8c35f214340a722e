import pickle

import numpy as np
import pytest

from lamcts import objectives
from lamcts.objectives.control import rover as module
from lamcts.objectives.control.rover import CENTRES

# Values of the authors' own code, its input noise switched off, at default_rng(0).random((300, 60))[:50].
# fmt: off
GOLDEN = [  # of zi-w/Ensemble-Bayesian-Optimization, commit 4e6f9ed
    -19.792781839544794, -20.487665343256133, -8.424172242068659, -18.92462462128581, -26.12206633750521,
    -27.2102594095416, -8.628723735503138, -20.046195720203983, -21.216233426567175, -17.48056946344633,
    -20.91578486630543, -12.518024126663935, -29.052482238753484, -17.182705419989937, -17.92760270215759,
    -25.233940207508788, -24.29530887170364, -18.922890374918822, -13.510357595918975, -17.676962149611796,
    -13.404970629722595, -25.65447596777686, -13.579058139065303, -25.81122406006173, -12.73723150394629,
    -13.25744605483068, -20.295842161581966, -22.767659763270117, -18.72254466042279, -18.50048363082569,
    -13.458939591812843, -11.382989785400259, -22.155181633926688, -25.139213283827758, -14.567818545968862,
    -11.090312436387759, -17.276381497273064, -19.365905708601858, -28.398488989377185, -16.77868842174115,
    -9.106639311551401, -17.33887814747901, -33.71893990890144, -10.24076430073673, -22.341938689389863,
    -11.918826212649048, -20.267055069208915, -14.895589702910534, -17.81385432890667, -20.182940380466874,
]
# fmt: on
POINTS = np.random.default_rng(0).random((300, 60))
STRAIGHT = np.repeat((np.linspace(0.05, 0.95, 30) + 0.1) / 1.2, 2)
ZIGZAG = np.tile([0.0, 0.0, 1.0, 1.0], 15)  # corner to corner: no points lie further from a cubic


@pytest.fixture
def rover():
    return objectives.make("rover")


def test_the_values_are_those_of_the_original(rover):
    np.testing.assert_allclose([rover(u) for u in POINTS[:50]], GOLDEN, rtol=0, atol=1e-9)


def test_random_points_and_the_straight_line_score_as_measured_on_the_original(rover):
    values = rover.many(POINTS)
    assert values.mean() == pytest.approx(-18.822020343997334, abs=1e-9)
    assert values.max() == pytest.approx(-8.424172242068659, abs=1e-9)
    assert rover(STRAIGHT) == pytest.approx(-2.5041866411706497, abs=1e-9)
    assert rover(ZIGZAG) == pytest.approx(-11.882603355579171, abs=1e-9)
    assert values.max() < rover.ceiling == 5


@pytest.mark.parametrize("u", [*POINTS[:5], STRAIGHT, ZIGZAG])
def test_the_path_is_the_smoothing_spline_of_fitpack(rover, u):
    from scipy.interpolate import splev, splprep

    spline, _ = splprep((-0.1 + 1.2 * u).reshape(-1, 2).T, k=3)
    np.testing.assert_allclose(rover.path(u), np.transpose(splev(np.linspace(0, 1, 1000), spline)), atol=1e-10)


def test_many_values_are_the_values_one_by_one(rover):
    rows = POINTS[: 2 * module.ROWS + 3]
    np.testing.assert_allclose(rover.many(rows), [rover(u) for u in rows], rtol=0, atol=1e-12)
    assert rover.many(np.empty((0, 60))).shape == (0,)


def test_obstacles_have_their_lower_edges_and_lack_their_upper_ones():
    low, high = np.array(CENTRES) - 0.025, np.array(CENTRES) + 0.025
    along = np.concatenate([[0, 1, 0.5, np.nextafter(1, 0), -0.05, 1.05], low[:9].ravel(), high[:9].ravel()])
    places = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)  # [n, 2], most of them on edges
    places = np.concatenate([places, np.random.default_rng(1).uniform(-0.1, 1.1, (2000, 2))])
    in_a_box = ((low <= places[:, None]) & (places[:, None] < high)).all(axis=2).any(axis=1)
    outside = ~((places >= 0) & (places < 1)).all(axis=1)
    blocked = module._blocked(places[None])[0]
    np.testing.assert_array_equal(blocked, in_a_box | outside)
    assert 0.1 < blocked.mean() < 0.9 and len(CENTRES) == 113


def test_points_that_coincide_make_a_path_of_no_length(rover):
    assert rover(np.full(60, 0.5)) == pytest.approx(5 - 10 * 4 * 0.45)  # the middle misses both ends by 0.45 each way
    for u in (np.concatenate([np.full(58, 0.5), [0.2, 0.7]]), np.round(POINTS[6])):
        path = rover.path(u)  # FITPACK refuses two neighbours that coincide
        assert -0.4 < path.min() < path.max() < 1.4


def test_noise_follows_the_seed_and_is_as_large_as_measured(rover):
    noisy = objectives.make("rover", noise=1e-4)
    values = [noisy(POINTS[0], seed=seed) for seed in range(60)]
    assert noisy(POINTS[0], seed=3) == values[3]
    assert noisy(POINTS[0]) != noisy(POINTS[0])
    assert 0.003 < np.std(values) < 0.1
    assert np.mean(values) == pytest.approx(rover(POINTS[0]), abs=0.05)
    assert rover(POINTS[0], seed=1) == rover(POINTS[0], seed=2)


def test_the_rover_is_the_same_after_pickling(rover):
    assert pickle.loads(pickle.dumps(rover))(POINTS[1]) == rover(POINTS[1])


@pytest.mark.parametrize("point", [np.zeros(59), np.zeros((2, 60)), np.full(60, np.nan)])
def test_a_wrong_point_is_refused(rover, point):
    with pytest.raises(ValueError, match="60 finite numbers"):
        rover(point)


@pytest.mark.parametrize("noise", [-1, np.nan, np.inf])
def test_a_wrong_noise_is_refused(noise):
    with pytest.raises(ValueError, match="standard deviation"):
        objectives.make("rover", noise=noise)
