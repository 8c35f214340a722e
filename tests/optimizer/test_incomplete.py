"""Results of which some columns come later: the trial stays pending, and models of the other columns use them."""

import json
import math

import numpy as np
import pytest

import lamcts
from lamcts.models.coding import Coding
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.output_transforms import plain
from lamcts.models.predicted_rows import KnownColumns
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from lamcts.spaces.parameters import Parameters

BOX = lamcts.Box(0, 1, dim=2)
TWO = {"objectives": {"cost": "min", "mass": "max"}}
BOUND = {"objectives": ["cost"], "constraints": ["purity >= 0.9"]}


def made(**settings):
    return lamcts.Optimizer(BOX, seed=2, **settings)


def value(point):
    x, y = (float(each) for each in point)
    return {"cost": x**2 + y, "mass": 3 - y, "purity": 1 - 0.3 * x}


def told(opt, n=8):
    """Tell whole results of `n` trials."""
    names = (*opt.goals.names, *opt.goals.quantities)
    for trial in opt.ask(n):
        opt.tell(trial, {name: value(trial.point)[name] for name in names})
    return opt


@pytest.mark.parametrize(
    ("goals", "first", "rest"),
    [
        (TWO, {"cost": 1.5}, {"mass": 2.0}),
        (BOUND, {"purity": 0.95}, {"cost": 1.5}),
        (BOUND, {"cost": 1.5}, {"purity": 1}),
    ],
)
def test_what_is_told_in_part_waits_for_the_rest_and_is_no_row_until_then(goals, first, rest):
    opt = told(made(**goals))
    (trial,) = opt.ask()
    before = repr(opt.rows())
    opt.tell(trial, first, metrics={"note": "cloudy"}, seconds=3.0)
    assert repr(opt.rows()) == before and opt.pending == [trial] and not opt.failures
    assert opt.incomplete[trial.id].values == first
    opt.tell(trial, rest)
    assert not opt.pending and not opt.incomplete and opt.seen.kind[-1] == OK
    last = opt.rows()[-1]
    assert {name: last[name] for name in first | rest} == first | rest
    assert last["note"] == "cloudy" and last["seconds"] == 3.0


def test_a_later_value_replaces_one_that_was_told_in_part_and_its_error_is_kept():
    opt = made(**TWO, constraints=["purity >= 0.9"])
    (trial,) = opt.ask()
    opt.tell(trial, {"cost": (1.0, 0.1)})
    opt.tell(trial, {"purity": 0.95})
    opt.tell(trial, {"purity": 0.97})
    assert opt.incomplete[trial.id].values == {"cost": (1.0, 0.1), "purity": 0.97}
    opt.tell(trial, {"mass": 2.0})
    row = opt.rows()[0]
    assert (row["cost"], row["sem.cost"], row["mass"], row["purity"]) == (1.0, 0.1, 2.0, 0.97)


@pytest.mark.parametrize("lost", [None, math.nan, RuntimeError("spilt"), {"mass": None}])
def test_an_objective_that_will_never_be_known_is_a_failure_that_keeps_the_rest(lost):
    opt = made(**TWO, constraints=["purity >= 0.9"])
    (trial,) = opt.ask()
    opt.tell(trial, {"cost": 6.5, "purity": 0.95})
    opt.tell(trial, lost)
    assert not opt.incomplete and opt.seen.kind.tolist() == [FAILED]
    assert (opt.rows()[0]["cost"], opt.rows()[0]["purity"]) == (6.5, 0.95)


def test_a_constraint_that_will_never_be_known_is_no_failure():
    opt = made(**BOUND)
    a, b = opt.ask(2)
    opt.tell([a, b], [{"cost": 1.0}, {"cost": 2.0}])
    opt.tell([a, b], [None, {"purity": None}])
    assert opt.seen.kind.tolist() == [OK, OK] and not opt.seen.feasible.any() and np.isnan(opt.seen.g).all()


def test_a_constraint_alone_is_pending_by_name_and_a_check_with_none():
    opt = made(**BOUND)
    a, b = opt.ask(2)
    opt.tell(a, {"purity": 0.5})
    opt.tell(b, None, constraints={"purity": 0.5})
    assert opt.pending == [a] and opt.seen.kind.tolist() == [CHECKED]
    opt.tell(a, 3.5)  # the one number that is still to be told
    assert opt.rows()[1]["cost"] == 3.5 and opt.rows()[1]["purity"] == 0.5


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"cost": 1.0, "mss": 2.0}, "got none for 'mass'; did you mean 'mass' by 'mss'"),
        ((1.0,), "expected 2 numbers"),
        ({"cost": "x"}, "expected a number for 'cost'"),
    ],
)
def test_a_name_with_a_slip_leaves_nothing_out(told, words):
    opt = made(**TWO)
    (trial,) = opt.ask()
    with pytest.raises(ValueError, match=words):
        opt.tell(trial, told)
    assert not opt.incomplete


def test_a_function_of_a_run_has_to_return_all_names():
    with pytest.raises(ValueError, match="expected a number for each of cost, mass, got none for 'mass'"):
        lamcts.minimize(lambda point: {"cost": 1.0}, BOX, budget=3, seed=0, **TWO)


def test_a_trial_with_values_is_not_forgotten():
    opt = made(**TWO)
    (trial,) = opt.ask()
    opt.tell(trial, {"cost": 1.0})
    with pytest.raises(ValueError, match="whose cost is known; tell None"):
        opt.forget(trial)
    assert opt.pending == [trial]


@pytest.mark.parametrize("goals", [TWO, BOUND, TWO | {"constraints": ["purity >= 0.9", "purity <= 2"]}], ids=str)
def test_a_killed_run_goes_on_bit_for_bit_with_results_told_in_part(goals, tmp_path):
    path = tmp_path / "run.db"
    whole, first = told(made(**goals)), told(made(**goals, journal=path))
    for opt in (whole, first):
        for trial in opt.ask(3):
            opt.tell(trial, {"cost": (value(trial.point)["cost"], 0.1)}, metrics={"note": "a"})
    del first, opt  # no save: as after a kill
    later = lamcts.Optimizer.load(path)
    copy = made(**goals)
    copy.load_state_dict(json.loads(json.dumps(whole.state_dict())))
    assert repr(later.incomplete) == repr(whole.incomplete) == repr(copy.incomplete) and len(later.incomplete) == 3
    for _ in range(2):
        ours, theirs, others = (opt.ask(2) for opt in (whole, later, copy))
        assert [t.x.tolist() for t in ours] == [t.x.tolist() for t in theirs] == [t.x.tolist() for t in others]
        for opt, trials in ((whole, ours), (later, theirs), (copy, others)):
            opt.tell(trials[0], {"cost": 0.5})
            number = min(opt.incomplete)
            trial = next(each for each in opt.pending if each.id == number)
            opt.tell(trial, {name: each for name, each in value(trial.point).items() if name in rest(opt)})
    assert repr(later.rows()) == repr(whole.rows()) == repr(copy.rows())
    assert repr(later.incomplete) == repr(whole.incomplete) == repr(copy.incomplete)


def rest(opt):
    return [name for name in (*opt.goals.names, *opt.goals.quantities) if name != "cost"]


def test_a_correction_of_another_row_leaves_what_was_told_in_part(tmp_path):
    opt = told(made(**TWO, journal=tmp_path / "run.db"))
    (trial,) = opt.ask()
    opt.tell(trial, {"cost": 1.0})
    opt.correct(0, {"cost": 9.0, "mass": 1.0})
    assert opt.incomplete[trial.id].values == {"cost": 1.0} and opt.rows()[0]["cost"] == 9.0
    del opt
    later = lamcts.Optimizer.load(tmp_path / "run.db")
    later.tell(later.pending[0], {"mass": 2.0})
    assert later.rows()[-1]["cost"] == 1.0 and later.rows()[0]["cost"] == 9.0


@pytest.mark.parametrize(
    "damage", [{"7": {}}, {"x": {}}, [1], {"8": {"values": {"mss": 1.0}, "metrics": {}, "seconds": None}}]
)
def test_a_state_with_results_in_part_of_no_pending_trial_is_refused(damage):
    opt = told(made(**TWO))
    opt.ask()
    state = opt.state_dict()
    state["core"]["incomplete"] = damage
    with pytest.raises(ValueError, match="state: expected"):
        made(**TWO).load_state_dict(state)


def model_of(opt):
    """Return the surrogate of all columns of an optimizer, as `MixedGp` makes it."""
    parameters = Parameters(opt.space)
    model = LocalModel(opt.seen, Coding(parameters).inputs, KernelPrior.of_space(parameters), ModelState(), plain)
    return model.update(0, np.random.default_rng(0))


def test_models_of_the_known_columns_use_the_values_and_the_others_do_not():
    opt = told(made(**TWO, constraints=["purity >= 0.9"]), 9)
    rows = [part.z.shape[0] for part in model_of(opt).model.parts]
    assert rows == [9, 9, 9]
    a, b = opt.ask(2)
    opt.tell(a, {"cost": 50.0})
    opt.tell(b, {"purity": 0.1, "mass": 2.0})
    surrogate = model_of(opt)
    assert [part.z.shape[0] for part in surrogate.model.parts] == [10, 10, 10] and len(surrogate.front) <= 9
    known = KnownColumns.of(opt.seen)
    assert np.array_equal(known.f, [[50.0, np.nan], [np.nan, -2.0]], equal_nan=True)
    assert np.array_equal(known.x, [a.x, b.x]) and np.array_equal(opt.seen.pending_x(), [a.x, b.x])  # fantasies, too


@pytest.mark.parametrize("goals", [TWO, BOUND | {"sampler": "bo"}, BOUND | {"sampler": "mixed_gp"}], ids=str)
def test_a_value_that_was_told_in_part_changes_the_next_points(goals):
    runs = []
    for cost in (None, 0.0, 9.0):
        opt = told(made(**goals), 10)
        (trial,) = opt.ask()
        if cost is not None:
            opt.tell(trial, {"cost": cost})
        runs.append([each.x.tolist() for each in opt.ask(2)])
    assert runs[0] != runs[1] != runs[2] != runs[0]


def test_predictions_use_what_is_known():
    opt = told(made(**TWO), 10)
    (trial,) = opt.ask()
    before = opt.predict([trial.point])
    opt.tell(trial, {"cost": 40.0})
    after = opt.predict([trial.point])
    assert after.mean[0, 0] > before.mean[0, 0] + 10 and after.mean[0, 1] == before.mean[0, 1]
    opt.tell(trial, {"cost": 0.0})
    assert opt.predict([trial.point]).mean[0, 0] < 10
