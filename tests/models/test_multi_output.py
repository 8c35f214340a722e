"""Several columns over the same rows, with one factor; and several processes side by side."""

import numpy as np
import pytest

from lamcts.models.coding import Inputs
from lamcts.models.fit import Loss
from lamcts.models.kernel import Hyper
from lamcts.models.multi_output import MAX_BOX_LENGTH, MultiOutput
from lamcts.models.posterior import Posterior
from lamcts.models.posterior_paths import PosteriorPaths
from lamcts.models.priors import REAL_PRIOR

X = np.random.default_rng(0).random((30, 3))
Z = np.column_stack([np.sin(3 * X).sum(1), X[:, 0] - 0.4, X[:, 1] ** 2 - 0.3])
AT = np.random.default_rng(1).random((5, 3))
ROWS, POINTS = Inputs.of(X), Inputs.of(AT)
HYPER = Hyper(np.array([0.8, 0.5, 1.0]), 1e-3)


def test_the_shared_loss_falls_as_its_slope_says() -> None:
    loss = Loss(ROWS, Z, REAL_PRIOR.of(0, 3))
    theta = np.array([-0.2, 0.1, 0.3, -4.0])
    _, slope = loss(theta)
    for i, step in enumerate(1e-5 * np.eye(4)):
        assert (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5 == pytest.approx(slope[i], rel=1e-5)


def test_draws_fall_as_their_slopes_say_and_pass_near_the_rows() -> None:
    paths = PosteriorPaths(Posterior.of(ROWS, Z[:, :1], HYPER), 2, np.random.default_rng(2))
    values, gradient = paths.slopes(AT[:2])
    assert np.allclose(np.diagonal(paths(AT[:2])), values, atol=1e-4)
    for j in range(3):
        step = 1e-2 * np.eye(3)[j]
        change = np.diagonal(paths(AT[:2] + step) - paths(AT[:2] - step)) / 2e-2  # [k]
        assert np.abs(gradient[:, j] - change).max() < 0.05 * np.abs(gradient).max()
    assert np.abs(paths(X) - Z[:, :1]).max() < 0.3


def test_processes_side_by_side_are_those_alone_and_their_lengths_shape_one_box() -> None:
    parts = [Posterior.of(ROWS, Z[:, [j]], Hyper(np.full(3, length), 1e-3)) for j, length in enumerate((0.5, 0.8, 9.0))]
    model = MultiOutput(parts, 1)
    assert np.array_equal(model.expect(POINTS), np.hstack([part.expect(POINTS) for part in parts]))
    assert model.lengths == pytest.approx(np.full(3, (0.5 * 0.8 * MAX_BOX_LENGTH) ** (1 / 3)))
    assert np.array_equal(MultiOutput(parts[2:], 1).lengths, parts[2].hyper.lengths)
