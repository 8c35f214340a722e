"""Several columns over the same rows, with one factor."""

import json

import numpy as np
import pytest

from lamcts.models import local
from lamcts.models.coding import Inputs
from lamcts.models.fit import Loss
from lamcts.models.kernel import Hyper
from lamcts.models.local import LocalModel, ModelState, grouped
from lamcts.models.multi_output import MultiOutput, MultiOutputPaths
from lamcts.models.output_transforms import ColumnUnits
from lamcts.models.posterior import Posterior
from lamcts.models.posterior_paths import PosteriorPaths
from lamcts.models.priors import LENGTH_LOCATION, local_prior
from lamcts.outcomes.observations import Observations
from lamcts.samplers.parts.record import from_json, to_json

X = np.random.default_rng(0).random((30, 3))
Z = np.column_stack([np.sin(3 * X).sum(1), X[:, 0] - 0.4, X[:, 1] ** 2 - 0.3])
AT = np.random.default_rng(1).random((5, 3))
ROWS, POINTS = Inputs.of(X), Inputs.of(AT)
HYPER = Hyper(np.array([0.8, 0.5, 1.0]), 1e-3)


def test_what_is_not_known_of_a_row_is_taken_as_the_others_lead_one_to_expect() -> None:
    z = Z - Z.mean(0)
    lacking = z.copy()
    lacking[7, 0] = np.nan
    completed = Posterior(ROWS, lacking, HYPER).z
    others = np.delete(np.arange(30), 7)
    alone = Posterior(ROWS.at(others), z[others, :1], HYPER)
    weights = alone.unwhiten(alone.whiten(z[others, :1]))  # about a mean of 0
    assert completed[7, 0] == pytest.approx((alone.kernel(ROWS.at(np.array([7]))) @ weights)[0, 0])
    assert np.array_equal(np.delete(completed, 7, 0), z[others])


def test_a_column_that_is_never_known_says_nothing() -> None:
    never = np.column_stack([Z, np.full(len(Z), np.nan)])
    found = Posterior(ROWS, never, HYPER).expect(POINTS)
    assert np.allclose(found[:, :3], Posterior(ROWS, Z, HYPER).expect(POINTS)) and not found[:, 3].any()


def test_the_shared_loss_falls_as_its_slope_says() -> None:
    loss = Loss(ROWS, Z, local_prior(3))
    theta = np.array([-0.2, 0.1, 0.3, -4.0])
    _, slope = loss(theta)
    for i, step in enumerate(1e-5 * np.eye(4)):
        assert (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5 == pytest.approx(slope[i], rel=1e-5)


def test_draws_fall_as_their_slopes_say_and_pass_near_the_rows() -> None:
    paths = PosteriorPaths(Posterior(ROWS, Z, HYPER), 2, np.random.default_rng(2))
    values, gradient = paths.slopes(AT[:2])
    assert np.allclose(paths(AT[:2])[[0, 1], [0, 1]], values, atol=1e-4)
    for j in range(3):
        step = 1e-2 * np.eye(3)[j]
        change = (paths(AT[:2] + step) - paths(AT[:2] - step))[[0, 1], [0, 1]] / 2e-2  # [k, q]
        assert np.abs(gradient[:, :, j] - change).max() < 0.05 * np.abs(gradient).max()
    assert np.abs(paths(X) - Z[:, None]).max() < 0.3


@pytest.mark.parametrize(("losses", "order"), [(1, [0, 2, 1]), (3, [2, 0, 1])])
def test_draws_do_not_depend_on_the_order_of_the_columns(losses: int, order: list[int]) -> None:
    groups = [
        MultiOutput([Posterior(ROWS, own, HYPER) for own in grouped(z, losses)], losses) for z in (Z, Z[:, order])
    ]
    drawn, again = (MultiOutputPaths(own, 2, np.random.default_rng(2))(AT) for own in groups)
    assert np.allclose(drawn[:, :, order], again, atol=1e-4)


def test_units_keep_the_sign_and_do_not_see_powers_of_two() -> None:
    f, g = Z[:, :1], np.column_stack([Z[:, 1:], -1 - X[:, :1]])
    units, other = ColumnUnits.of(f, g), ColumnUnits.of(8 * f, g / 16)
    assert list(units.violations) == [0, 1]  # the third is never broken
    assert np.array_equal(units.down(f, g), other.down(8 * f, g / 16))
    assert np.array_equal(np.sign(units.down(f, g)[:, 1:]), np.sign(g[:, :2]))


def test_an_infinite_excess_is_a_large_one() -> None:
    g = np.where(Z[:, 1:] > 0.2, np.inf, Z[:, 1:])
    assert np.isfinite(ColumnUnits.of(Z[:, :1], g).down(Z[:, :1], g)).all()


def test_a_restored_model_of_columns_goes_on_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, rng = Observations(3, losses=2, constraints=2), np.random.default_rng(3)
    monkeypatch.setattr(local, "limits", lambda dim: (40, 20))
    model = LocalModel(seen, LENGTH_LOCATION, ModelState())
    for step in range(40):
        _add(seen, 1 if step else 12, 0.9 if step < 20 else 0.5, rng)
        expected = model.update(seen.x[-1]).expect(POINTS)
        saved = json.loads(json.dumps(to_json(model.state)))
        copy = LocalModel(seen, LENGTH_LOCATION, from_json(ModelState, saved))
        assert np.array_equal(copy.update(seen.x[-1]).expect(POINTS), expected)


def _add(seen: Observations, k: int, bound: float, rng: np.random.Generator) -> None:
    """Add rows of two losses and two constraints, some of which were not measured."""
    x = rng.random((k, 3))
    f = np.column_stack([(x**2).sum(1), ((x - 1) ** 2).sum(1)])
    f[rng.random(k) < 0.2] = np.nan
    g = np.column_stack([x[:, 0] - bound, np.where(rng.random(k) < 0.3, np.nan, x[:, 1] - 0.5)])
    none = np.full(k, -1)
    seen.append(x, f, np.full(k, np.nan), none, none, g, np.where(np.isnan(f).any(1), 2, 0))
