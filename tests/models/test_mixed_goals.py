"""What a point is worth where there are constraints or several objectives, over discrete parameters."""

import numpy as np
import pytest
from kernel_cases import SpaceModel

import lamcts
from lamcts.models.local import ModelState
from lamcts.models.output_transforms import plain
from lamcts.models.surrogate import least_gain
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.observations import Observations
from lamcts.spaces.parameters import Parameters

RNG = np.random.default_rng
MIXED = lamcts.Space(
    {**{f"c{i}": lamcts.Choice(list("abcd")) for i in range(4)}, "x": lamcts.Float(0, 1), "k": lamcts.Int(1, 9)}
)


def test_a_column_of_few_values_gains_from_half_a_step_on():
    assert least_gain(np.array([0.0, 0.2, 1.0, 1.0, 0.2, 0.0])) == pytest.approx(0.1)
    assert least_gain(np.array([0.0, 0.2, 1.0])) == 0.0
    assert least_gain(np.zeros(4)) == 0.0


LETTERS = lamcts.Space([lamcts.Choice(list("abcde")) for _ in range(6)])


def traded(n):
    """Return a model of a sum that is heavy in few words against a product with a long tail; and what it has seen."""
    parameters, rng = Parameters(LETTERS), np.random.default_rng(0)
    seen = Observations(LETTERS.dim, losses=2)
    x = np.unique(LETTERS.sample(n, rng), axis=0)
    z = parameters.codes(x)
    cost = (z == 3).sum(1) * 10.0 + (z == 1).sum(1)
    error = np.exp(np.abs(z - 3).sum(1) / 2)
    f = np.stack([error, cost], axis=1)
    seen.append(x, f, np.full(len(x), np.nan), np.arange(len(x)), np.full(len(x), -1))
    return SpaceModel(seen, parameters, ModelState()), seen, parameters


def test_each_objective_is_in_the_units_that_foretell_it():
    model, seen, parameters = traded(120)
    surrogate = model.update(int(seen.front[0]), RNG(0))
    assert model.state.units == [0, 1]
    assert np.array_equal(surrogate.model.parts[1].z[:, 0], plain(seen.f[:, 1]))
    others = parameters.draw(300, np.random.default_rng(1))
    cost = (others == 3).sum(1) * 10.0 + (others == 1).sum(1)
    mean = surrogate.model.parts[1].expect(model.coding(others))[:, 0]
    assert np.corrcoef(mean, cost)[0, 1] > 0.999  # all its weights are small together: a sum


def test_points_that_are_level_with_the_front_are_worth_less_than_points_beyond_it():
    model, seen, _ = traded(120)
    surrogate = model.update(int(seen.front[0]), RNG(0))
    step = np.diff(np.unique(surrogate.model.parts[1].z)).min()
    front = surrogate.front[non_dominated(surrogate.front)]
    assert surrogate.gain.cells.upper[1:, 1].max() == pytest.approx(front[:, 1].max() - step / 2)


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
    return SpaceModel(seen, parameters, ModelState()), seen, parameters


def test_points_that_break_a_constraint_are_worth_less_and_slopes_are_those_of_the_value():
    model, seen, parameters = columns()
    surrogate = model.update(int(seen.good[0]), RNG(0))
    z = parameters.codes(seen.x[:1]).repeat(2, axis=0)
    z[:, 5], z[:, 0] = [0.1, 0.95], 1
    kept, broken = surrogate.value(model.coding(z))
    assert kept > broken + 1
    value, slope = surrogate.slopes(model.coding(z))
    assert value == pytest.approx([kept, broken])
    moved = model.coding(z)
    moved.numbers[:, 0] += 1e-4
    assert (surrogate.value(moved) - value) / 1e-4 == pytest.approx(slope[:, 0], rel=0.05, abs=1e-3)


def test_before_anything_is_feasible_a_point_is_worth_what_it_violates_less():
    model, seen, parameters = columns()
    never = Observations(MIXED.dim, losses=2, constraints=1)
    g = np.abs(parameters.codes(seen.x)[:, [5]]) + 0.1
    never.append(seen.x, np.ones((len(g), 2)), np.full(len(g), np.nan), seen.trial, seen.source, g)
    surrogate = SpaceModel(never, parameters, ModelState()).update(0, RNG(0))
    z = parameters.codes(seen.x[:1]).repeat(2, axis=0)
    z[:, 5] = [0.0, 0.9]
    low, high = surrogate.value(model.coding(z))
    assert not len(surrogate.front) and low > high


@pytest.mark.parametrize("goals", [{"objectives": 2, "constraints": 1}, {"constraints": 1}], ids=str)
def test_where_checks_alone_are_known_the_search_looks_for_what_is_kept(goals):
    opt = lamcts.Optimizer(LETTERS, seed=1, sampler="mixed_gp", **goals)
    for _ in range(15):
        trials = opt.ask(2)
        none = (None,) * goals.get("objectives", 1)
        opt.tell(trials, [(*none, 1.0 + sum(letter != "c" for letter in t.point)) for t in trials])
    last = [sum(letter != "c" for letter in t.point) for t in trials]
    assert max(last) <= 2


def test_a_point_that_is_out_is_believed_and_worth_little_again():
    model, seen, parameters = columns(c=0)
    surrogate = model.update(int(seen.good[0]), RNG(0))
    z = parameters.draw(200, np.random.default_rng(5))
    value = surrogate.value(model.coding(z))
    best = model.coding(z[[int(value.argmax())]])
    again = surrogate.fantasize(best)
    assert again.value(best)[0] < value.max() - 1
    assert len(again.front) >= 1


def test_a_constraint_that_was_never_broken_changes_nothing():
    model, seen, parameters = columns(c=0)
    more = Observations(MIXED.dim, losses=2, constraints=1)
    n = len(seen)
    more.append(seen.x, seen.f, seen.seconds, seen.trial, seen.source, np.full((n, 1), -1.0), seen.kind)
    other = SpaceModel(more, parameters, ModelState())
    z = model.coding(parameters.draw(50, np.random.default_rng(5)))
    assert np.array_equal(model.update(0, RNG(0)).value(z), other.update(0, RNG(0)).value(z))


@pytest.mark.parametrize(
    "settings", [{"objectives": 2}, {"constraints": 1}, {"objectives": 2, "constraints": 1}], ids=str
)
@pytest.mark.parametrize("sampler", ["mixed_gp", "mutate", "hillclimb", pytest.param("auto", marks=pytest.mark.dear)])
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
    elif sampler in ("mixed_gp", "auto"):
        assert opt.front.hypervolume([12, 12]) > chance.front.hypervolume([12, 12])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_constraint_that_all_rows_break_alike_leads_nowhere_and_harms_nothing():
    opt = lamcts.Optimizer(MIXED, seed=0, n_init=3, constraints=["a <= 0", "b <= 0.1"])
    for _ in range(8):
        trials = opt.ask(2)
        opt.tell(trials, [(1.0, 0.7, 0.1 + 0.2)] * 2)
    assert len(opt.seen) == 16 and not opt.best.feasible
