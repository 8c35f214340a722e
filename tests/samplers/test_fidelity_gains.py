"""What an evaluation at a fidelity is expected to gain."""

from dataclasses import replace

import numpy as np
import pytest

import lamcts
from lamcts.models.acquisition import expected_improvement
from lamcts.models.local import ModelState
from lamcts.outcomes.constrained_rank import FAILED, OK, PARTIAL
from lamcts.outcomes.hypervolume import hypervolume
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.scalarisation import reference_of
from lamcts.samplers import fidelities
from lamcts.samplers.fidelities import REVEALED_GAIN, Configurations, foreseen
from lamcts.spaces.fidelity import FidelityAxis

AXIS = FidelityAxis.of(
    lamcts.Space({"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 27)})
)


def evaluated(losses, constraints=0, n=12, failing=False):
    """Return `n` configurations at all levels with their values; `failing` where x is above 0.6."""
    rng = np.random.default_rng(0)
    own, levels = rng.random((n, 2)), AXIS.fidelity.levels
    x = AXIS.at(np.repeat(own, len(levels), axis=0), np.tile(levels, n))
    at = x[:, AXIS.column]
    short = 1 / (1 + 3 * at) + 0.02 * rng.normal(size=len(x))
    f = np.column_stack([x[:, :2].sum(1) + short, np.square(x[:, :2] - 0.7).sum(1) + 0.3 * short])[:, :losses]
    g = np.column_stack([f[:, 0] - np.median(f[:, 0])] * constraints) if constraints else np.empty((len(x), 0))
    seen = Observations(3, losses=losses, constraints=constraints)
    none, kind = np.full(len(x), -1), np.where(at < 1, PARTIAL, OK)
    if failing:
        f[x[:, 0] > 0.6], kind[x[:, 0] > 0.6] = np.nan, FAILED
    seen.append(x, f, np.full(len(x), np.nan), none, none, g, kind)
    known = Configurations(AXIS, seen)
    known.update(seen)
    return known, known.surrogate(ModelState(), rng)


@pytest.mark.parametrize("constraints", [0, 1])
def test_what_an_evaluation_gains_is_the_mean_volume_that_its_outcomes_add_to_the_predicted_front(constraints):
    known, surrogate = evaluated(2, constraints)
    rng, (_, predicted) = np.random.default_rng(0), known.predicted(surrogate)
    front = int(predicted.front[0])
    own, levels = np.array([front, 3, -1]), np.full(3, 9)
    x = np.vstack([known.x[own[:2]], [[0.1, 0.9]]])
    gains = known.gains(surrogate, predicted, x, levels, own)
    means, changes = foreseen(surrogate.model, known._inputs(AXIS.at(x, levels)))
    assert changes.min() > 0 and gains.max() > 0
    for owner, mean, change, gain in zip(own, means, changes, gains, strict=True):
        rest = predicted.f[predicted.feasible & (np.arange(len(predicted)) != owner)]
        reference = reference_of(rest[[not dominated_by(rest, row) for row in rest]])

        def volume(columns, rest=rest, reference=reference):
            f = np.vstack([rest, columns[:2]]) if (columns[2:] <= 0).all() else rest
            return hypervolume(f, reference)

        drawn = [volume(mean + change * rng.standard_normal(len(mean))) for _ in range(4000)]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert abs(max(np.mean(drawn) - volume(mean), 0.0) - gain) < 4 * error + 1e-6


def dominated_by(rows, row):
    return ((rows <= row).all(1) & (rows < row).any(1)).any()


def test_with_one_loss_an_evaluation_gains_what_the_least_prediction_is_expected_to_fall():
    known, surrogate = evaluated(1)
    _, predicted = known.predicted(surrogate)
    best, second = np.argsort(predicted.y)[:2]
    mean, change = foreseen(surrogate.model, known._inputs(AXIS.at(known.x[[best]], 3)))
    fall = expected_improvement(mean[:, 0], change[:, 0], predicted.y[second]) - (predicted.y[second] - mean[:, 0])
    gain = known.gains(surrogate, predicted, known.x[[best]], np.array([3]), np.array([best]))
    np.testing.assert_allclose(gain, fall + REVEALED_GAIN * change[:, 0], rtol=1e-4, atol=1e-6)


def test_the_change_by_an_evaluation_is_what_the_posterior_with_it_has_less():
    known, surrogate = evaluated(1)
    (part,) = surrogate.model.parts
    x = np.array([[0.3, 0.6]])
    _, change = foreseen(surrogate.model, known._inputs(AXIS.at(x, 9)))
    full = known._inputs(AXIS.at(x, 27))
    before, after = (own.moments(full)[1] for own in (part, part.fantasize(known._inputs(AXIS.at(x, 9)))))
    np.testing.assert_allclose(change**2, before - after, rtol=1e-6)


def test_a_higher_fidelity_says_more_about_the_full_value():
    known, surrogate = evaluated(1)
    levels = AXIS.fidelity.levels
    x = np.tile([[0.3, 0.6]], (len(levels), 1))
    _, change = foreseen(surrogate.model, known._inputs(AXIS.at(x, levels)))
    assert (np.diff(change[:, 0]) > 0).all()


def test_the_gain_is_multiplied_by_the_chance_of_success():
    known, surrogate = evaluated(1, failing=True)
    _, predicted = known.predicted(surrogate)
    x, levels, own = np.array([[0.1, 0.1], [0.95, 0.1]]), np.full(2, 9), np.full(2, -1)
    chance = surrogate.success.chance(known._inputs(AXIS.at(x, levels)))
    alone = known.gains(replace(surrogate, success=None), predicted, x, levels, own)
    assert chance[1] < 0.5 < chance[0]
    np.testing.assert_allclose(known.gains(surrogate, predicted, x, levels, own), chance * alone)


def test_a_constraint_that_no_row_violates_and_a_loss_that_never_differs_change_nothing():
    known, _ = evaluated(1)
    other = Observations(3, losses=2, constraints=1)
    own, n = known.evaluations, len(known.evaluations)
    f, none = np.column_stack([own.f, np.full(n, 3.0)]), np.full(n, -1)
    other.append(own.x, f, np.full(n, np.nan), none, none, np.full((n, 1), -1.0), np.zeros(n, np.int64))
    more = Configurations(AXIS, other)
    more.update(other)
    _, predicted = more.predicted(more.surrogate(ModelState(), np.random.default_rng(0)))
    assert predicted.g.shape[1] == 0 and np.ptp(predicted.f[:, 1]) < 1e-9
    assert predicted.front.tolist() == [int(np.argmin(predicted.f[:, 0]))]


def test_configurations_drawn_at_random_are_candidates(monkeypatch):
    opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}, seed=0)
    for _ in range(12):
        (trial,) = opt.ask()
        opt.tell(trial, (trial.point["x"] - 0.2) ** 2 + 0.1 / trial.point["epochs"])
    monkeypatch.setattr(fidelities, "draw_unseen", lambda space, seen, n, rng: np.linspace(0.9, 0.987, n)[:, None])
    monkeypatch.setattr(Configurations, "gains", lambda self, surrogate, seen, x, *_: np.arange(len(x)) == len(x) - 1)
    assert opt.ask()[0].point["x"] == pytest.approx(0.987)
