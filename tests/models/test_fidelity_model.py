"""The model of full values from cheaper ones."""

import math

import numpy as np
import pytest

import lamcts
from lamcts.models.fidelity_model import FidelityModel, LogGap
from lamcts.spaces import Parameters

SQUARE = Parameters(lamcts.Box(0, 1, dim=2))
AT = np.array([0.25, 0.5, 0.75, 1.0])


def curves(n=12, noise=0.02, seed=0):
    """Return points [4 n, 2], positions and losses of curves that fall to the sum of their coordinates."""
    rng = np.random.default_rng(seed)
    x, at = np.repeat(rng.random((n, 2)), len(AT), axis=0), np.tile(AT, n)
    return x, at, x.sum(1) + 1 / (1 + 3 * at) + noise * rng.normal(size=len(at))


def test_full_values_of_new_points_and_of_curves_that_were_stopped_are_predicted():
    x, at, y = curves(noise=1e-3)
    stopped = np.flatnonzero((x == x[-1]).all(1))[1:]
    kept = np.delete(np.arange(len(x)), stopped)
    model = FidelityModel(SQUARE, x[kept], at[kept], y[kept])
    asked = np.array([[0.5, 0.5], x[-1]])
    mean, sd = model.losses(*model.full(asked))
    np.testing.assert_allclose(mean, asked.sum(1) + 0.25, atol=0.05)
    assert (sd > 0).all() and sd[1] < sd[0] + 0.05


def test_what_a_new_configuration_has_reported_moves_its_prediction_as_a_row_of_the_model_does():
    x, at, y = curves()
    hyper = FidelityModel(SQUARE, x, at, y).hyper
    new, so_far = np.array([0.9, 0.1]), np.array([1.9, 1.6])
    model = FidelityModel(SQUARE, x, at, y, hyper)
    with_it = FidelityModel(SQUARE, np.vstack([x, new, new]), np.append(at, AT[:2]), np.append(y, so_far), hyper)
    alone, told = model.losses(*model.full(new[None]))[0][0], model.losses(*model.end(new, AT[:2], so_far))[0]
    inside = with_it.losses(*with_it.full(new[None]))[0][0]
    assert alone < told and abs(told - inside) < 0.2 * (told - alone)


def test_deviations_are_scaled_by_errors_of_configurations_that_are_left_out():
    x, at, y = curves(noise=0.3, seed=2)
    model = FidelityModel(SQUARE, x, at, y)
    process, squares = model._process, []
    kernel = process.kernel.matrix + process.noise * np.eye(len(x))
    z = (process.z - process.mean)[:, 0]
    for owner in np.unique(process.inputs.numbers[:, :2], axis=0):
        own = np.flatnonzero((process.inputs.numbers[:, :2] == owner).all(1))
        others, errors = np.setdiff1d(np.arange(len(x)), own), []
        for known in range(1, len(own)):
            rows = np.concatenate([others, own[:known]])
            gain = np.linalg.solve(kernel[np.ix_(rows, rows)], kernel[rows, own[-1]])
            variance = kernel[own[-1], own[-1]] - gain @ kernel[rows, own[-1]]
            errors.append((z[own[-1]] - gain @ z[rows]) ** 2 / (variance * process.signal[0]))
        squares.append(np.mean(errors))
    assert model.inflation == pytest.approx(max(1.0, math.sqrt((sum(squares) + 2) / (len(squares) + 2))), rel=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e290])
def test_losses_of_any_size_come_back_from_the_units_of_the_model(scale):
    ends = np.array([3.0, 1.0, 2.0, 8.0]) * scale
    units = LogGap.of(ends)
    assert (np.diff(units.down(np.sort(ends))) > 0).all()
    np.testing.assert_allclose(units.up(units.down(ends)), ends, rtol=1e-9)
    assert np.isfinite(units.down(np.array([-1e3 * scale, 1e10 * scale]))).all()


@pytest.mark.parametrize(
    "losses",
    [np.zeros(8), np.tile([2.0, 1.0], 4), np.repeat([1.0, 1e12], 4), np.arange(8) * 1e-300],
    ids=["equal", "no difference of configurations", "far apart", "tiny"],
)
def test_losses_that_say_little_are_no_error(losses):
    x, at = np.repeat(np.linspace(0, 1, 4), 2)[:, None] * np.ones(2), np.tile([0.5, 1.0], 4)
    model = FidelityModel(SQUARE, x, at, losses)
    for found in (model.full(x[:3]), model.end(np.array([0.3, 0.9]), np.array([0.1, 0.5]), losses[:2])):
        mean, sd = model.losses(*found)
        assert np.isfinite(mean).all() and np.isfinite(sd).all() and (np.asarray(sd) >= 0).all()


def test_a_single_configuration_is_a_model():
    model = FidelityModel(SQUARE, np.array([[0.5, 0.5]]), np.array([1.0]), np.array([2.0]))
    mean, sd = model.losses(*model.full(np.array([[0.5, 0.5], [0.1, 0.1]])))
    assert abs(mean[0] - 2.0) < 1e-6 and np.isfinite(sd).all()
