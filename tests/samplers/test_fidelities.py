"""The choice of fidelities: cheap first looks, promotions, and what is never proposed."""

import contextlib
import warnings

import numpy as np
import pytest

import lamcts
from lamcts.samplers.default import with_fidelity
from lamcts.samplers.fidelities import MultiFidelity
from lamcts.spaces.fidelity import FidelityAxis

SPACE = {"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 27)}


def loss(point):
    return (point["x"] - 0.3) ** 2 + (point["y"] - 0.6) ** 2 + (1 + point["x"]) / point["epochs"]


def told(n, f=loss, space=SPACE, **options):
    opt = lamcts.Optimizer(space, seed=0, **options)
    for _ in range(n):
        (trial,) = opt.ask()
        opt.tell(trial, f(trial.point))
    return opt


def key(point):
    return tuple(value for name, value in point.items() if name != "epochs")


def test_the_design_is_at_the_least_fidelity_and_levels_rise_from_there():
    opt = told(40)
    points = [opt.seen.point(row, opt.space) for row in range(40)]
    assert {point["epochs"] for point in points[: opt.n_init]} == {1}
    assert {point["epochs"] for point in points} == {1, 3, 9, 27}
    reached = {}
    for point in points:
        assert point["epochs"] > reached.get(key(point), 0)
        reached[key(point)] = point["epochs"]


def test_the_best_is_at_full_fidelity():
    opt = told(40)
    values = {row: opt.seen.point(row, opt.space)["epochs"] for row in range(40)}
    assert opt.best.point["epochs"] == 27
    assert sorted(opt.seen.good.tolist()) == [row for row, epochs in values.items() if epochs == 27]


def test_cheap_evaluations_are_no_best():
    with pytest.raises(RuntimeError):
        _ = told(3).best


def test_a_batch_has_each_configuration_once():
    opt = told(20)
    trials = opt.ask(6)
    assert len({key(trial.point) for trial in trials}) == 6
    more = opt.ask(4)
    assert not {key(trial.point) for trial in trials} & {key(trial.point) for trial in more}


@pytest.mark.dear
def test_a_configuration_that_failed_is_not_proposed_again():
    opt = told(60, lambda point: None if point["x"] > 0.5 else loss(point))
    points = [opt.seen.point(row, opt.space) for row in range(60)]
    failed = [key(point) for point in points if point["x"] > 0.5]
    assert len(failed) == len(set(failed)) > 0


def test_a_configuration_that_was_pruned_is_not_proposed_again():
    small = {"n": lamcts.Int(0, 4), "epochs": lamcts.Fidelity(1, 3)}
    for space, n in ((small, 40), (SPACE, 25)):
        opt, points = lamcts.Optimizer(space, seed=2), []
        with contextlib.suppress(lamcts.Exhausted):
            while len(points) < n:
                (trial,) = opt.ask()
                points.append((*key(trial.point), trial.point["epochs"]))
                opt.tell(trial, lamcts.Pruned() if len(points) % 3 == 0 else sum(points[-1]))
        pruned = [point[:-1] for point in points[2::3]]
        assert len(points) == len({*points}) and len(pruned) == len({*pruned}) > 0
        assert not [point for i, point in enumerate(points) if point[:-1] in pruned[: i // 3]]


def test_configurations_are_compared_as_values():
    space = {"x": lamcts.Float(1 - 2**-50, 1), "epochs": lamcts.Fidelity(1, 9)}
    opt, points = lamcts.Optimizer(space, seed=0), []
    with contextlib.suppress(lamcts.Exhausted):
        while True:
            trials = opt.ask(2)
            points += [tuple(trial.point.values()) for trial in trials]
            opt.tell(trials[0], trials[0].point["x"] + 1 / trials[0].point["epochs"])
    assert len(points) == len({*points}) >= 9
    axis = FidelityAxis.of(lamcts.Space(space))
    x = np.array([[0.5, 0.0], [0.5 + 2**-53, 1.0], [0.9, 0.0]])
    one, same, other = axis.owners(x)
    assert one == same != other


def test_a_finite_space_ends_once_all_configurations_are_full():
    space = {"n": lamcts.Int(0, 4), "epochs": lamcts.Fidelity(1, 3)}
    opt = lamcts.Optimizer(space, seed=0)
    with pytest.raises(lamcts.Exhausted):
        for _ in range(30):
            (trial,) = opt.ask()
            opt.tell(trial, trial.point["n"] + 1 / trial.point["epochs"])
    assert opt.best.point == {"n": 0, "epochs": 3} and len(opt.seen) <= 10
    assert opt.confirm() == []


def test_the_confirmation_is_the_best_prediction_at_full_fidelity():
    opt = told(12)
    (trial,) = opt.confirm()
    assert trial.point["epochs"] == 27
    cheap = [opt.seen.point(row, opt.space) for row in range(12)]
    assert key(trial.point) in {key(point) for point in cheap}
    assert lamcts.Optimizer([(0, 1)], seed=0).confirm() == []


def test_the_search_ends_near_the_optimum():
    assert loss(told(80).best.point) < loss({"x": 0.3, "y": 0.6, "epochs": 27}) + 0.02


@pytest.mark.parametrize("sampler", ["uniform", "bo", "turbo", lamcts.samplers.MixedGp(n_start=5)])
def test_other_samplers_propose_configurations(sampler):
    opt = told(25, sampler=sampler)
    assert isinstance(opt.sampler, MultiFidelity) and len(opt.seen) == 25


def test_a_value_at_an_unknown_level_counts():
    opt = told(10)
    opt.tell_point({"x": 0.3, "y": 0.6, "epochs": 20}, 0.1)
    opt.tell_point({"x": 0.31, "y": 0.6, "epochs": 27}, 0.05)
    assert opt.best.value == 0.05
    assert opt.ask()[0].point["epochs"] in (1, 3, 9, 27)


def test_an_objective_that_ignores_its_fidelity_is_warned_of_once():
    with pytest.warns(UserWarning, match="do not depend on the fidelity 'epochs'") as caught:
        told(40, lambda point: (point["x"] - 0.3) ** 2)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(40)


def test_a_space_without_a_fidelity_keeps_its_sampler():
    uniform = lamcts.samplers.Uniform()
    assert with_fidelity(uniform, lamcts.Space([lamcts.Bool()])) is uniform
    with pytest.raises(ValueError, match="expected a space with a Fidelity"):
        lamcts.Optimizer([(0, 1)], sampler=MultiFidelity(lamcts.samplers.Uniform()), n_init=0, seed=0).ask()


def two(point):
    return loss(point), (point["x"] - 0.8) ** 2 + (point["y"] - 0.2) ** 2 + 1 / point["epochs"]


def bounded(point):
    return loss(point), 0.5 - point["x"] + 0.1 / point["epochs"]


COLUMNS = {
    "two": (two, {"objectives": 2}),
    "bounded": (bounded, {"constraints": 1}),
    "two bounded": (lambda point: (*two(point), bounded(point)[1]), {"objectives": 2, "constraints": 1}),
    "three": (lambda point: (*two(point), point["x"] + point["y"]), {"objectives": 3}),
}


@pytest.mark.parametrize("f, options", COLUMNS.values(), ids=COLUMNS)
def test_levels_rise_with_several_columns_too(f, options):
    opt = told(40, f, **options)
    points, reached = [opt.seen.point(row, opt.space) for row in range(40)], {}
    assert {1, 3, 27} <= {point["epochs"] for point in points} <= {1, 3, 9, 27}
    for point in points:
        assert point["epochs"] > reached.get(key(point), 0)
        reached[key(point)] = point["epochs"]
    front = opt.seen.front
    assert len(front) and {points[row]["epochs"] for row in front.tolist()} == {27}
    assert (opt.seen.g[front] <= 0).all()


@pytest.mark.parametrize("f, options", COLUMNS.values(), ids=COLUMNS)
def test_a_saved_optimizer_of_several_columns_goes_on_the_same(f, options):
    opt, other = told(25, f, **options), lamcts.Optimizer(SPACE, seed=0, **options)
    other.load_state_dict(opt.state_dict())
    for _ in range(3):
        (mine,), (same,) = opt.ask(), other.ask()
        assert np.array_equal(mine.x, same.x)
        opt.tell(mine, f(mine.point))
        other.tell(same, f(same.point))


def test_a_constraint_is_kept_at_full_fidelity_although_cheap_values_violate_it():
    run = lamcts.minimize(bounded, SPACE, budget=15, constraints=1, seed=0, progress=False)
    assert run.x["epochs"] == 27 and 0.5 < run.x["x"] < 0.55 and abs(run.x["y"] - 0.6) < 0.1


def test_a_front_takes_several_full_evaluations():
    run = lamcts.minimize(two, SPACE, budget=15, objectives=2, seed=0, progress=False)
    assert len(run.front) >= 4 and all(row.point["epochs"] == 27 for row in run.front)


def test_a_configuration_that_breaks_a_checked_constraint_is_evaluated_no_more():
    held = {"type": "ineq", "fun": lambda x: 1.0 - x["x"] - x["y"]}
    given = []

    def f(point):
        given.append(point)
        return loss(point)

    run = lamcts.minimize(f, SPACE, budget=8, constraints=[held], check_first=True, seed=0, progress=False)
    assert len(run.history) > len(given) and all(point["x"] + point["y"] <= 1 for point in given)
    broken = [key(point) for point in run.history.points if point["x"] + point["y"] > 1]
    assert len(broken) == len({*broken}) > 0


def test_more_objectives_than_volumes_are_taken_of_are_refused():
    with pytest.raises(ValueError, match="expected at most 4 objectives, got 5: f1, f2, f3, f4, f5; fix the fidelity"):
        lamcts.Optimizer(SPACE, objectives=5)


@pytest.mark.parametrize("n", [5, 13, 30])
def test_a_saved_optimizer_goes_on_the_same(n):
    opt, other = told(n), lamcts.Optimizer(SPACE, seed=0)
    other.load_state_dict(opt.state_dict())
    for _ in range(6):
        ours, theirs = opt.ask(2), other.ask(2)
        for one, same in zip(ours, theirs, strict=True):
            assert np.array_equal(one.x, same.x)
            opt.tell(one, loss(one.point))
            other.tell(same, loss(same.point))


def test_one_configuration_at_all_cheaper_fidelities_is_enough_to_go_on():
    opt = lamcts.Optimizer(SPACE, seed=0, n_init=1)
    point = {"x": 0.2, "y": 0.2}
    opt.tell_points([point | {"epochs": epochs} for epochs in (1, 2, 3, 9)], [4.0, 3.0, 2.0, 1.0])
    assert 1 <= opt.ask()[0].point["epochs"] <= 27


def test_each_configuration_is_one_however_many_there_are(monkeypatch):
    """Of each fidelity only the best are predicted; the others stay open and are not proposed again as new ones."""
    monkeypatch.setattr("lamcts.samplers.fidelities.MAX_ROWS", 5)
    space = {"a": lamcts.Int(0, 5), "b": lamcts.Int(0, 5), "epochs": lamcts.Fidelity(1, 9)}
    opt = lamcts.Optimizer(space, seed=0)
    with contextlib.suppress(lamcts.Exhausted):
        for _ in range(200):
            (trial,) = opt.ask()
            opt.tell(trial, trial.point["a"] + abs(trial.point["b"] - 2) + 1 / trial.point["epochs"])
    points = [tuple(opt.seen.point(row, opt.space).values()) for row in range(len(opt.seen))]
    assert len(set(points)) == len(points)
    assert len({point[:2] for point in points}) == len({point[:2] for point in points if point[2] == 9}) == 36


def test_a_configuration_whose_constraints_alone_are_known_at_the_highest_fidelity_waits_for_its_losses():
    space = {"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 2, resumes=True)}
    opt = lamcts.Optimizer(space, seed=0, n_init=2, objectives=["a", "b"], constraints=["g <= 1"])
    checked = []
    for _ in range(16):
        (trial,) = opt.ask()
        if trial.point["epochs"] == 2 and len(checked) < 3:
            opt.tell(trial, None, constraints={"g": 0.0})
            checked.append(trial)
        else:
            x, epochs = trial.point.values()
            opt.tell(trial, {"a": x + 1 / epochs, "b": epochs - x, "g": 0.0})
    assert checked and len({x.tobytes() for x in opt.seen.x}) == len(opt.seen)
    opt.tell(checked[0], {"a": 0.5, "b": 0.5, "g": 0.0})
    assert len(opt.seen) == 17


@pytest.mark.parametrize(("epochs", "best"), [(1, False), (27, True)])
def test_a_failure_that_is_corrected_is_the_best_at_full_fidelity_alone(epochs, best):
    opt = lamcts.Optimizer(SPACE, seed=0)
    (trial,) = opt.ask()
    opt.tell(trial, None)
    opt.correct(trial.id, 1.0, point={"x": 0.5, "y": 0.5, "epochs": epochs})
    assert opt.history.partial.tolist() == [not best] and (opt.seen.best is not None) == best
    opt.correct(trial.id, 2.0, point={"x": 0.5, "y": 0.5, "epochs": 28 - epochs})
    assert (opt.seen.best is not None) != best


def test_a_space_that_has_ended_says_so_after_a_restart_too(tmp_path):
    space = {"x": lamcts.Choice(["a", "b"]), "epochs": lamcts.Fidelity(1, 2, resumes=True)}
    opt = lamcts.Optimizer(space, seed=0, n_init=1)
    for _ in range(4):
        (trial,) = opt.ask()
        opt.tell(trial, len(opt.seen) / trial.point["epochs"])
    opt.save(tmp_path / "opt.db")
    with pytest.raises(lamcts.Exhausted, match="every configuration"):
        lamcts.Optimizer.load(tmp_path / "opt.db").ask()
