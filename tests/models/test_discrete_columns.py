"""What a point is worth where there are constraints or several objectives, over discrete parameters."""

import numpy as np
import pytest

import lamcts
from lamcts.models.discrete import DiscreteModelState
from lamcts.models.discrete_columns import DiscreteColumns, expected_hypervolume
from lamcts.models.hamming_fit import HammingPrior
from lamcts.observations import Observations
from lamcts.outcomes.hypervolume import default_reference, improvement
from lamcts.outcomes.standing import CHECKED, FAILED, OK
from lamcts.spaces.parameters import Parameters

MIXED = lamcts.Space(
    {**{f"c{i}": lamcts.Choice(list("abcd")) for i in range(4)}, "x": lamcts.Float(0, 1), "k": lamcts.Int(1, 9)}
)


@pytest.mark.parametrize("m", [2, 3])
def test_the_expected_gain_in_hypervolume_is_the_mean_over_draws(m):
    rng = np.random.default_rng(0)
    front, mean, sd = rng.random((6, m)), rng.random((5, m)) - 0.2, 0.05 + 0.4 * rng.random((5, m))
    draws = mean[:, None] + sd[:, None] * rng.standard_normal((5, 200_000, m))
    reference = default_reference(front)
    expected = [improvement(own, front, reference).mean() for own in draws]
    assert expected_hypervolume(mean, sd, front, reference) == pytest.approx(expected, rel=0.02)


def columns(n=40, seed=0, c=2, m=2):
    """Return a model of rows with every kind of result, and what it has seen."""
    rng = np.random.default_rng(seed)
    parameters = Parameters(MIXED)
    seen = Observations(MIXED.dim, losses=m, constraints=c)
    x = MIXED.sample(n, rng)
    z = parameters.codes(x)
    f = np.stack([z[:, :4].sum(1) + z[:, 4], 12 - z[:, :4].sum(1) + z[:, 5]], axis=1)[:, :m]
    g = np.stack([z[:, 5] - 0.6, z[:, 0] - 2.5], axis=1)[:, :c]
    kind = rng.choice([OK, FAILED, CHECKED], n, p=[0.8, 0.1, 0.1])
    f[kind != OK], g[kind == FAILED] = np.nan, np.nan
    seen.append(x, f, np.full(n, np.nan), np.arange(n), np.full(n, -1), g, kind)
    return DiscreteColumns(seen, parameters, HammingPrior(), DiscreteModelState()), seen, parameters


def test_points_that_break_a_constraint_are_worth_less_and_slopes_are_those_of_the_value():
    model, seen, parameters = columns()
    surrogate = model.update(int(seen.good[0]))
    z = parameters.codes(seen.x[:1]).repeat(2, axis=0)
    z[:, 5], z[:, 0] = [0.1, 0.95], 1
    kept, broken = surrogate.value(model.coding(z))
    assert kept > broken + 1
    value, slope = surrogate.slope(model.coding(z))
    moved = model.coding(z)
    moved.numbers[:, 0] += 1e-4
    assert (-surrogate.value(moved) - value) / 1e-4 == pytest.approx(slope[:, 0], rel=0.05, abs=1e-3)


def test_before_anything_is_feasible_the_chance_of_it_is_the_worth():
    model, seen, parameters = columns()
    never = Observations(MIXED.dim, losses=2, constraints=1)
    g = np.abs(parameters.codes(seen.x)[:, [5]]) + 0.1
    never.append(seen.x, np.ones((len(g), 2)), np.full(len(g), np.nan), seen.trial, seen.source, g)
    surrogate = DiscreteColumns(never, parameters, HammingPrior(), DiscreteModelState()).update(0)
    z = parameters.codes(seen.x[:1]).repeat(2, axis=0)
    z[:, 5] = [0.0, 0.9]
    low, high = surrogate.value(model.coding(z))
    assert not len(surrogate.front) and low > high


def test_a_point_that_is_out_is_believed_and_worth_little_again():
    model, seen, parameters = columns(c=0)
    surrogate = model.update(int(seen.good[0]))
    z = parameters.draw(200, np.random.default_rng(5))
    value = surrogate.value(model.coding(z))
    best = model.coding(z[[int(value.argmax())]])
    again = surrogate.believing(best)
    assert again.value(best)[0] < value.max() - 1
    assert len(again.front) >= 1


def test_a_constraint_that_was_never_broken_changes_nothing():
    model, seen, parameters = columns(c=0)
    more = Observations(MIXED.dim, losses=2, constraints=1)
    n = len(seen)
    more.append(seen.x, seen.f, seen.seconds, seen.trial, seen.source, np.full((n, 1), -1.0), seen.kind)
    other = DiscreteColumns(more, parameters, HammingPrior(), DiscreteModelState())
    z = model.coding(parameters.draw(50, np.random.default_rng(5)))
    assert np.array_equal(model.update(0).value(z), other.update(0).value(z))


@pytest.mark.parametrize(
    "settings", [{"objectives": 2}, {"constraints": 1}, {"objectives": 2, "constraints": 1}], ids=str
)
@pytest.mark.parametrize("sampler", ["exchange", "mutate", "hillclimb", "auto"])
def test_searches_over_discrete_parameters_go_on_bit_for_bit_and_beat_chance(sampler, settings):
    def value(point):
        a = sum((ord(point[f"c{i}"]) - 97 - i % 4) ** 2 for i in range(4))
        f = (a + 3 * (point["x"] - 0.4) ** 2, 10 - a + point["k"])[: settings.get("objectives", 1)]
        return (*f, point["k"] - 4.5)[: len(f) + settings.get("constraints", 0)]

    def made(name):
        return lamcts.Optimizer(MIXED, seed=2, sampler=name, **settings)

    def step(opt):
        trials = opt.ask(2)
        opt.tell(trials, [value(t.point) if t.id % 7 else None for t in trials])
        return [t.x.tolist() for t in trials]

    opt, chance = made(sampler), made("uniform")
    for _ in range(20):
        step(opt), step(chance)
    later = made(sampler)
    later.load_state_dict(opt.state_dict())
    assert [step(opt) for _ in range(5)] == [step(later) for _ in range(5)]
    [step(chance) for _ in range(5)]
    if len(opt.goals.names) == 1:
        assert opt.best.feasible and opt.best.value <= chance.best.value
    elif sampler in ("exchange", "auto"):
        assert opt.front.hypervolume([12, 12]) > chance.front.hypervolume([12, 12])
