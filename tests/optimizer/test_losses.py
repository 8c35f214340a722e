"""Ask and tell with constraints and several objectives."""

import itertools
import math

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from tests.extras import samplers

BOX = lamcts.Box(0, 1, dim=3)
KINDS = [
    {"constraints": ["stress <= 4"]},
    {"objectives": {"cost": "min", "range": "max"}},
    {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 4", "range >= 1"]},
]
SAMPLERS = samplers("auto", "turbo", "quadratic", "coordinate", "bo", "cma", "nevergrad:TwoPointsDE", "uniform")


def made(sampler="uniform", **settings):
    return lamcts.Optimizer(BOX, seed=1, sampler=sampler, **settings)


def value(point, opt):
    """Return what a point comes to, for the goals of an optimizer."""
    known = {"cost": float(np.square(point - 0.3).sum()), "range": float(point.sum()), "stress": float(10 * point[0])}
    known["value"] = known["cost"]
    return {name: known[name] for name in (*opt.goals.names, *opt.goals.quantities)}


def messy(trial, opt):
    """Return (value, constraints) of every kind: whole, failed (with constraints), checked, not measured, in part."""
    found, names = value(trial.point, opt), opt.goals.quantities
    held = {name: found[name] for name in names} or None
    return [
        (found, None),
        (ValueError("no"), held),
        (None, held),
        ({**found, **dict.fromkeys(names, math.nan)}, None),
        (found, None),
        (None, None),
        ({opt.goals.names[0]: found[opt.goals.names[0]]}, None),
    ][trial.id % 7]


def tell(opt, trials):
    for trial in trials:
        found, held = messy(trial, opt)
        opt.tell(trial, found, constraints=held)


@pytest.mark.parametrize(
    "settings", [*(pytest.param(kind, marks=pytest.mark.dear) for kind in KINDS[:2]), KINDS[2]], ids=str
)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_search_goes_on_bit_for_bit_after_a_restart_with_every_mix_of_results(sampler, settings, tmp_path):
    whole, halves = made(sampler, **settings), made(sampler, **settings)
    for opt in (whole, halves):
        for _ in range(8):
            tell(opt, opt.ask(3))
    halves.save(tmp_path / "half.db")
    later = lamcts.Optimizer.load(tmp_path / "half.db")
    assert later.goals == whole.goals
    for _ in range(3):
        ours, theirs = whole.ask(3), later.ask(3)
        assert [t.x.tolist() for t in ours] == [t.x.tolist() for t in theirs]
        tell(whole, ours), tell(later, theirs)
    assert np.array_equal(whole.seen.y, later.seen.y, equal_nan=True)


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_journal_holds_all_columns_and_a_resume_goes_on(settings, tmp_path):
    opt = made("auto", **settings)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        for _ in range(8):
            trials = opt.ask(3)
            journal.write(opt.delta(journal.mark))
            tell(opt, trials)
            journal.write(opt.delta(journal.mark))
    again = made("auto", **settings)
    with Journal.open(tmp_path / "run.db", again.fingerprint()) as journal:
        again.restore(journal.recorded().state)
    for name in ("x", "f", "g", "kind", "y"):
        assert np.array_equal(getattr(again.seen, name), getattr(opt.seen, name), equal_nan=True), name
    assert [t.x.tolist() for t in again.ask(2)] == [t.x.tolist() for t in opt.ask(2)]
    read = Journal.read(tmp_path / "run.db")
    assert [p.values for p in read.front] == [p.values for p in opt.front]
    assert [list(p.point) for p in read.front] == [list(p.point) for p in opt.front]
    if len(opt.goals.objectives) == 1:
        assert read.best[1] == opt.best.value and list(read.best[0]) == list(opt.best.point)
    with pytest.raises(lamcts.JournalError, match="is of another run"):
        Journal.open(tmp_path / "run.db", made("auto").fingerprint())


def test_the_best_is_the_best_feasible_and_before_there_is_one_the_least_infeasible():
    opt = made(constraints=["stress <= 4", "gap == 0 +- 0.1"])
    trials = opt.ask(4)
    opt.tell(trials[:2], [1.0, 2.0], constraints=[[6.0, 0.0], [5.0, 0.0]])
    assert opt.best.value == 2.0 and not opt.best.feasible and opt.best.violation == 1.0
    assert dict(opt.best.constraints) == {"stress": 5.0, "gap": 0.0}
    opt.tell(
        trials[2:],
        [{"value": 9.0}, {"value": 8.0, "stress": 4.0, "gap": 0.05}],
        constraints=[{"stress": 1.0, "gap": -0.1}, None],
    )
    assert opt.best.value == 8.0 and opt.best.feasible and opt.best.violation == 0.0


@pytest.mark.parametrize("value", [1.0, {"value": 1.0}, {"value": 1.0, "gap": 0.0}])
def test_a_value_without_a_constrained_quantity_is_refused_and_loses_nothing(value):
    opt = made(constraints=["stress <= 4", "gap == 0 +- 0.1"])
    (trial,) = opt.ask()
    tell = opt.tell if value == 1.0 else opt.tell_point  # a dict that leaves names out is for trials
    with pytest.raises(ValueError, match=r"got none for 'stress'; pass None or nan for a quantity that is not known"):
        tell(trial if value == 1.0 else trial.point, value)
    assert opt.pending == [trial] and not opt.incomplete
    opt.tell(trial, {"value": 1.0, "gap": 0.0, "stress": None})
    assert math.isnan(opt.best.constraints["stress"]) and opt.pending == []


@pytest.mark.parametrize("sampler", ["auto", "turbo", "cma", "gp_cma", "mixed_gp"])
def test_an_experiment_that_was_done_elsewhere_counts_there_and_closes_its_trial(sampler):
    if sampler == "cma":
        pytest.importorskip("cma", reason="cma is not installed: pip install '.[cma]'")
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0, sampler=sampler, n_init=4)
    for step in range(12):
        trials = opt.ask(2)
        actual = [0.1 + 0.05 * step, 0.5]
        opt.tell(trials[0], float(sum(actual)), seconds=3.0, metrics={"note": "moved"}, point=actual)
        opt.tell(trials[1], float(trials[1].point.sum()), point=trials[1].point)  # not elsewhere
        assert opt.seen.point(2 * step, opt.space).tolist() == actual and opt.seen.seconds[2 * step] == 3.0
        assert opt.metrics[2 * step] == {"note": "moved"} and opt.seen.trial[2 * step + 1] == trials[1].id
    assert opt.pending == []
    with pytest.raises(ValueError, match="is not pending"):
        opt.tell(trials[0], 1.0)


@pytest.mark.parametrize(("value", "point"), [("text", [0.5, 0.5]), (1.0, [2.0, 0.5]), (1.0, "there")])
def test_a_wrong_point_or_value_elsewhere_leaves_the_trial_pending(value, point):
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0)
    trials = opt.ask(2)
    with pytest.raises(ValueError, match="expected"):
        opt.tell(trials[0], value, point=point)
    with pytest.raises(ValueError, match="point: expected a single trial with it, got 2"):
        opt.tell(trials, [1.0, 2.0], point=[0.5, 0.5])
    assert opt.pending == trials and not len(opt.seen)


def test_several_objectives_have_a_front_and_no_best():
    opt = made(objectives={"cost": "min", "range": "max"}, reference={"cost": 10, "range": 0})
    trials = opt.ask(4)
    opt.tell(trials, [(1.0, 1.0), (2.0, 5.0), (3.0, 4.0), (1.0, 0.5)])
    assert [(p.values, p.trial) for p in opt.front] == [
        ({"cost": 1.0, "range": 1.0}, 0),
        ({"cost": 2.0, "range": 5.0}, 1),
    ]
    assert opt.front.hypervolume() == pytest.approx(9 * 1 + 8 * 4)
    with pytest.raises(RuntimeError, match="`front` has the evaluations that none is better than"):
        _ = opt.best


def test_the_front_is_what_brute_force_says_on_random_sets_with_ties():
    rng = np.random.default_rng(0)
    for _ in range(300):
        opt = lamcts.Optimizer(BOX, seed=0, sampler="uniform", objectives=2, constraints=1, n_init=1)
        n = int(rng.integers(1, 12))
        f, g = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(-1, 2, (n, 1)).astype(float)
        opt.tell_points(rng.random((n, 3)), list(f), list(g))
        kept = [i for i in range(n) if g[i, 0] <= 0]
        beaten = {i for i, j in itertools.permutations(kept, 2) if all(f[j] <= f[i]) and any(f[j] < f[i])}
        assert opt.seen.front.tolist() == [i for i in kept if i not in beaten]


def test_a_check_without_a_run_teaches_the_constraints_and_may_be_run_later():
    opt = made(constraints=["stress <= 4"])
    a, b, c = opt.ask(3)
    opt.tell([a, b], None, constraints=[[5.0], [3.0]])
    assert opt.seen.kind.tolist() == [CHECKED, CHECKED] and opt.seen.good.tolist() == [0]
    assert not opt.failures and opt.seen.g[:, 0].tolist() == [1.0, -1.0]
    opt.tell(b, 2.5, constraints=[3.0])
    assert opt.best.value == 2.5 and opt.best.trial == b.id
    with pytest.raises(ValueError, match="was told or forgotten already"):
        opt.tell(b, 2.5)
    opt.tell(c, None)
    assert opt.seen.kind[-1] == FAILED and opt.failures == {3: "no value"}


def test_a_failure_keeps_the_constraints_that_are_known():
    opt = made(objectives=2, constraints=["stress <= 4", "mass <= 1"])
    opt.tell(opt.ask(), [RuntimeError("lost")], constraints=[{"stress": 5.0}])
    assert opt.seen.kind.tolist() == [FAILED] and opt.failures == {0: "RuntimeError: lost"}
    assert np.array_equal(opt.seen.g, [[1.0, np.nan]], equal_nan=True)


MISSING = (None, math.nan, math.inf, np.float32("nan"), np.ma.masked)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("how", ["tell", "tell_points", "elsewhere", "correct"])
def test_a_missing_objective_is_a_failure_whose_measured_part_is_kept_everywhere(how, missing, tmp_path):
    opt = made(objectives={"cost": "min", "range": "max"}, constraints=["stress <= 4"], journal=tmp_path / "run.db")
    told = {"cost": missing, "range": lamcts.Measured(6.5, 0.25), "stress": None}
    (trial,) = opt.ask()
    if how == "tell":
        opt.tell([trial], [told])
    elif how == "tell_points":
        opt.tell_points([trial.point], [(missing, (6.5, 0.25), None)])
    elif how == "elsewhere":
        opt.tell(trial, told, point=trial.point / 2)
    else:
        opt.tell(trial, (1.0, 2.0, 3.0))
        opt.correct(0, told)
    opt.save(tmp_path / "saved.db")
    for one in (opt, lamcts.Optimizer.load(tmp_path / "saved.db"), lamcts.load(tmp_path / "run.db")):
        row = one.rows()[0]
        assert math.isnan(row["cost"]) and math.isnan(row["stress"]) and math.isnan(row["sem.cost"])
        assert (row["range"], row["sem.range"]) == (6.5, 0.25) and row["message"].startswith("cost is ")
        assert one.history.failed.all() and one.history.failures == {"no number": [0]} and not len(one.front)


@pytest.mark.parametrize("sampler", [*SAMPLERS, "mixed_gp", "la_mcts", "la_mcts:turbo"])
@pytest.mark.parametrize("c", [0, pytest.param(1, marks=pytest.mark.dear)])
def test_what_was_measured_of_a_failed_evaluation_changes_no_proposal(sampler, c):
    runs = []
    for kept in (True, False):
        opt = made(sampler, objectives=2, constraints=c)
        while len(opt.seen) < 30:
            for trial in opt.ask(3):
                a, b = float(np.square(trial.point - 0.3).sum()), float(np.square(trial.point - 0.7).sum())
                failed = trial.id % 4 == 1
                value = (math.nan if failed and not kept else a - 50.0 * failed, None if failed else b)
                opt.tell(trial, value if kept or not failed else math.nan, constraints=[[trial.point[0] - 0.5][:c]][:c])
        runs.append(opt.seen)
    assert np.isfinite(runs[0].f).any(1).all() and not np.isfinite(runs[1].f).any(1).all()
    assert np.array_equal(runs[0].x, runs[1].x) and np.array_equal(runs[0].y, runs[1].y, equal_nan=True)


@pytest.mark.parametrize(
    ("told", "held", "expected"),
    [
        ([1.0], [[1.0]], "values: expected 2 numbers for cost, range .or 3, with stress., got 1"),
        ([(1.0, 2.0, 3.0, 4.0)], None, "got 4"),
        ([{"cost": 1.0, "rnge": 2.0}], None, "got none for 'range'; did you mean 'range' by 'rnge'"),
        ([(1.0, 2.0)], [{"strss": 1.0}], "constraints: unknown name 'strss'; did you mean 'stress'"),
        ([(1.0, 2.0)], [[1.0, 2.0]], "constraints: expected 1 numbers for stress, got 2"),
        ([(1.0, "x")], None, "expected a number for 'range', got 'x'"),
        ([(1.0, 2.0)], [["a"]], "constraints: expected a number for 'stress', got 'a'"),
        ([(1.0, 2.0), (3.0, 4.0)], None, "values: expected 1, one for each trial, got 2"),
    ],
)
def test_a_wrong_number_or_name_is_an_error_and_loses_nothing(told, held, expected):
    opt = made(objectives={"cost": "min", "range": "max"}, constraints=["stress <= 4"])
    trials = opt.ask(1)
    with pytest.raises(ValueError, match=expected):
        opt.tell(trials, told, constraints=held)
    assert not len(opt.seen) and opt.pending == trials
    opt.tell(trials, [(1.0, 2.0, 3.0)])
    assert opt.seen.kind.tolist() == [OK] and opt.seen.g.tolist() == [[-1.0]]


def test_constraints_told_where_none_were_named_are_refused():
    opt = made()
    with pytest.raises(ValueError, match="constraints: expected none, since this optimizer was given none"):
        opt.tell(opt.ask(), [1.0], constraints=[[2.0]])


@pytest.mark.parametrize(
    "one", [(1.0, 2.0), [(1.0, 2.0)], np.array([1.0, 2.0]), {"f1": 1.0, "f2": 2.0}, [{"f2": 2.0, "f1": 1.0}]]
)
def test_a_single_trial_takes_its_numbers_with_or_without_a_list_round_them(one):
    opt = made(objectives=2)
    opt.tell(opt.ask()[0], one)
    assert opt.seen.f.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("told", ["infeasible", "failed", "equal", "one never measured"])
def test_a_search_goes_on_where_nothing_is_feasible_all_fails_or_all_is_equal(sampler, told):
    opt = made(sampler, objectives=2, constraints=2)
    for _ in range(8):
        trials = opt.ask(3)
        rows = {
            "infeasible": [(*t.point[:2], 1 + t.point[2], 2.0) for t in trials],
            "failed": [ValueError("no")] * 3,
            "equal": [(1.0, 1.0, 0.0, 0.0)] * 3,
            "one never measured": [(*t.point[:2], t.point[2] - 0.5, math.nan) for t in trials],
        }[told]
        opt.tell(trials, rows)
    assert len(opt.seen) == 24 and (len(opt.front) > 0) == (told == "equal")


def test_with_one_objective_and_no_constraint_a_dict_of_it_is_taken_too():
    opt = made()
    opt.tell(opt.ask(), [{"value": 2.5}])
    assert opt.best[1:] == (2.5, 0, True, 0.0, {})


def test_an_equal_point_with_equal_values_is_on_the_front_once() -> None:
    space = lamcts.Canonical(
        lamcts.Space({"n": lamcts.Int(0, 3), "unused": lamcts.Int(0, 9)}), lambda point: point["n"], name="n"
    )
    opt = lamcts.Optimizer(space, seed=0, objectives=2, repeat=True)
    opt.tell_point({"n": 1, "unused": 4}, [1.0, 2.0])
    opt.tell_point({"n": 1, "unused": 5}, [1.0, 2.0])
    opt.tell_point({"n": 1, "unused": 5}, [2.0, 1.0])
    opt.tell_point({"n": 2, "unused": 5}, [1.0, 2.0])
    found = [(each.point["n"], each.point["unused"], *each.values.values()) for each in opt.front]
    assert sorted(found) == [(1, 4, 1.0, 2.0), (1, 5, 2.0, 1.0), (2, 5, 1.0, 2.0)]
    assert len(opt.seen.front) == 4
