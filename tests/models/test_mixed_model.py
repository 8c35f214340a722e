"""The process that follows a discrete search: its rows, its refits, what fails, and what a point is worth."""

import json
from typing import Any

import numpy as np
import pytest
from kernel_cases import SPACES, SpaceModel, slope_of

from lamcts.models.acquisition import log_expected_improvement
from lamcts.models.local import ModelState
from lamcts.models.output_transforms import half_rank
from lamcts.models.posterior import Posterior
from lamcts.models.success import Success
from lamcts.models.surrogate import MIN_SUCCESS, MIN_VARIANCE, Surrogate
from lamcts.outcomes.constrained_rank import PRUNED
from lamcts.outcomes.observations import Observations
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.spaces import Choice, Float, Int, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

RNG = np.random.default_rng
WORDS = Space([Choice(list("abcd")) for _ in range(5)])


def add(seen: Observations, space: Space, n: int, seed: int = 0, failing: bool = False) -> None:
    """Add `n` rows; where `failing`, those whose first parameter takes its first option fail."""
    x = space.sample(n, np.random.default_rng(seed))
    y = np.square(x - 0.3).sum(1)
    if failing:
        y[x[:, 0] > 0] = np.nan
    seen.append(x, y, np.full(n, np.nan), np.full(n, -1), np.full(n, -1))


def modelled(
    space: Space, n: int, failing: bool = False, state: ModelState | None = None
) -> tuple[Observations, SpaceModel, Surrogate]:
    seen = Observations(space.dim)
    add(seen, space, n, failing=failing)
    model = SpaceModel(seen, Parameters(space), state or ModelState())
    assert seen.best is not None
    return seen, model, model.update(seen.best, RNG(0))


@pytest.mark.parametrize("name", list(SPACES))
def test_it_is_the_process_over_the_warped_losses_of_all_rows(name: str) -> None:
    seen, model, surrogate = modelled(SPACES[name], 15)
    inputs = model.coding(model.parameters.codes(seen.x))
    assert model.state.columns["loss", 0, 0] is not None
    anew = Posterior.of(inputs, half_rank(seen.y)[:, None], model.state.columns["loss", 0, 0])
    assert np.array_equal(surrogate.model.parts[0].expect(inputs), anew.expect(inputs))
    best = float(anew.fitted().min())
    assert surrogate.front.min() == best and surrogate.success is None
    mean, variance = (own[:, 0] for own in anew.moments(inputs))
    expected = log_expected_improvement(mean, np.sqrt(np.maximum(variance, MIN_VARIANCE)), best)
    assert np.allclose(surrogate.value(inputs), expected)


@pytest.mark.parametrize(("beside", "noise"), [(Float(0, 1), 1e-4), (Int(0, 9), 1e-3), (Choice(list("abcd")), 1e-3)])
def test_less_noise_is_expected_where_rows_may_close_in_on_a_real_number(beside: Any, noise: float) -> None:
    _, model, _ = modelled(Space([*[Choice(list("abcd"))] * 3, beside]), 1)
    assert np.log(model.state.columns["loss", 0, 0].noise) == pytest.approx(
        np.log(noise), abs=0.1
    )  # one row says next to nothing


@pytest.mark.parametrize("n", [1, 2])
def test_one_row_is_enough(n: int) -> None:
    _, model, surrogate = modelled(WORDS, n)
    inputs = model.coding(model.parameters.draw(20, np.random.default_rng(1)))
    assert np.isfinite(surrogate.value(inputs)).all()


@pytest.mark.parametrize("failing", [False, True])
def test_a_restored_model_goes_on_bit_for_bit(failing: bool) -> None:
    for n in (3, 20, 45):
        seen, model, surrogate = modelled(WORDS, n, failing)
        saved = json.dumps(to_json(model.state))
        state = from_json(ModelState, json.loads(saved))
        copy = SpaceModel(seen, Parameters(WORDS), state)
        assert json.dumps(to_json(copy.state)) == saved
        at = model.coding(model.parameters.draw(30, np.random.default_rng(1)))
        assert seen.best is not None
        assert np.array_equal(copy.update(seen.best, RNG(0)).value(at), surrogate.value(at))
        for more in range(3):
            add(seen, WORDS, 1, seed=n + more, failing=failing)
            assert np.array_equal(copy.update(seen.best, RNG(0)).value(at), model.update(seen.best, RNG(0)).value(at))
        assert to_json(copy.state) == to_json(model.state)


@pytest.mark.parametrize(("n", "every"), [(20, 2), (60, 5), (130, 10), (300, 25)])
def test_a_refit_is_due_after_so_many_new_rows(n: int, every: int) -> None:
    seen, model, _ = modelled(WORDS, n)
    assert seen.best is not None
    before = model.state.columns["loss", 0, 0]
    for more in range(1, every + 1):
        add(seen, WORDS, 1, seed=more)
        model.update(seen.best, RNG(0))
        assert (model.state.columns["loss", 0, 0] is before) == (more < every)
    assert model.state.fitted == n + every


def test_what_looks_like_failures_is_worth_less_and_the_rest_as_much_as_before() -> None:
    _, model, surrogate = modelled(WORDS, 40, failing=True)
    assert surrogate.success is not None
    z = np.unique(model.parameters.draw(200, np.random.default_rng(1)), axis=0)
    inputs, fails = model.coding(z), z[:, 0] == 0
    without = Surrogate(surrogate.model, surrogate.front, np.inf).value(inputs)
    price = surrogate.value(inputs) - without
    assert np.median(price[fails]) < np.log(0.4)
    assert np.median(price[~fails]) > np.log(0.8)
    assert price.max() <= 0.0
    assert price.min() >= np.log(MIN_SUCCESS) - 1e-12


def test_failures_are_no_losses_to_the_process() -> None:
    seen, model, surrogate = modelled(WORDS, 40, failing=True)
    assert len(surrogate.model.parts[0].z) == len(seen.good) < 40
    assert surrogate.success is not None
    chance = surrogate.success.chance(model.coding(model.parameters.codes(seen.x)))
    failed = np.isnan(seen.y)
    assert chance[failed].max() < chance[~failed].min()


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("name", ["mixed", "numbers", "switched"])
def test_slopes_are_those_of_finite_differences(name: str, failing: bool) -> None:
    _, model, surrogate = modelled(SPACES[name], 15)
    if failing:
        z = model.parameters.draw(12, np.random.default_rng(2))
        success = Success(model.coding(z), np.arange(12) % 3 > 0, surrogate.model.parts[0].hyper)
        surrogate = Surrogate(surrogate.model, surrogate.front, np.inf, success)
    at = model.coding(model.parameters.draw(6, np.random.default_rng(1)))
    value, slope = surrogate.slopes(at)
    assert np.allclose(value, surrogate.value(at))
    for k in range(len(at)):

        def along(numbers: Floats, k: int = k) -> float:
            return float(surrogate.slopes(at.at(np.array([k])).with_numbers(numbers[None]))[0][0])

        assert np.allclose(slope_of(along, at.numbers[k]), slope[k], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("failing", [False, True])
def test_believed_points_are_worth_little_and_their_neighbours_less(failing: bool) -> None:
    _, model, surrogate = modelled(WORDS, 25, failing)
    z = model.parameters.draw(200, np.random.default_rng(1))
    inputs = model.coding(z)
    before = surrogate.value(inputs)
    top = z[[int(before.argmax())]]
    new = surrogate.fantasize(model.coding(top))
    assert new.value(model.coding(top))[0] < before.max() - 1.0
    assert new.front.min() <= surrogate.front.min()
    assert (new.value(inputs) <= before + 1e-6).all()
    assert new.success is surrogate.success


def test_what_fails_is_learned_from_both_kinds_where_there_are_more_rows_than_a_fit_takes() -> None:
    space = Space({f"c{i}": Choice(["a", "b", "c", "d"]) for i in range(6)})
    parameters, rng = Parameters(space), np.random.default_rng(0)
    x = space.sample(400, rng)
    z = parameters.codes(x)
    bad = z[:, 0] < 3
    seen = Observations(space.dim)
    y = np.where(bad, np.nan, z.sum(1))
    seen.append(x, y, np.full(400, np.nan), np.full(400, -1), np.full(400, -1))
    model = SpaceModel(seen, parameters, ModelState())
    success = model.update(int(seen.best or 0), RNG(0)).success
    assert success is not None
    weights = success.hyper.weights
    assert weights[0] > np.e * weights[1:].max()


def test_pruned_rows_are_modelled_as_predicted_and_are_never_the_best() -> None:
    seen, model, _ = modelled(WORDS, 30)
    x = WORDS.sample(12, np.random.default_rng(7))
    x = x[seen.unseen(x)]
    nowhere, k = np.full(len(x), np.nan), len(x)
    rows = seen.append(x, nowhere, nowhere, np.full(k, -1), np.full(k, -1), kind=np.full(k, PRUNED))
    model.state.fitted = len(seen)  # no refit is due
    inputs = model.coding(Parameters(WORDS).codes(x))
    worst, best = float(seen.y[seen.good].max()), float(seen.y[seen.good].min())
    found = {}
    for loss in (worst + 1.0, best - 1.0):
        seen.predicted |= {int(row): ((loss, 1e-3),) for row in rows}
        found[loss] = model.update(int(seen.best or 0), RNG(0))
    high, low = (found[loss].model.parts[0].expect(inputs) for loss in found)
    assert (high > low).all()
    assert seen.best not in rows and not seen.feasible[rows].any()
