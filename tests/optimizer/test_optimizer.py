"""The loop: what is asked, what may be told, and what each wrong call says."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import lamcts
import lamcts.objectives

SPACES = {
    "box": lambda: lamcts.Box(-5, 10, dim=3),
    "mixed": lambda: lamcts.Space(
        {
            "lr": lamcts.Float(1e-5, 1e-1, log=True),
            "layers": lamcts.Int(1, 8),
            "act": lamcts.Choice(["relu", "gelu", "tanh"]),
        }
    ),
    "finite": lambda: lamcts.Finite([[i / 7, j / 5] for i in range(8) for j in range(6)]),
}


def value(point):
    """A smooth function of any of the points above."""
    if isinstance(point, dict):
        return (math.log10(point["lr"]) + 3) ** 2 + (point["layers"] - 3) ** 2 + len(point["act"])
    return float(np.sum((np.asarray(point, float) - 0.3) ** 2))


def drive(opt, evaluations, batch=4):
    """Ask and tell until `evaluations` are in."""
    while len(opt.seen) < evaluations:
        trials = opt.ask(min(batch, evaluations - len(opt.seen)))
        opt.tell(trials, [value(t.point) for t in trials])
    return opt


def as_json(state):
    """Return a state after a journey through JSON text."""
    return json.loads(json.dumps(state, default=lambda a: a.tolist()))


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("sampler", ["turbo", "uniform"])
def test_points_are_never_proposed_twice(kind, sampler):
    opt = drive(lamcts.Optimizer(SPACES[kind](), sampler=sampler, seed=1), 40)
    assert len({x.tobytes() for x in opt.seen.x}) == 40


def test_a_large_batch_is_distinct_before_anything_is_told():
    trials = lamcts.Optimizer(SPACES["box"](), seed=0, n_init=8).ask(64)
    assert len({t.x.tobytes() for t in trials}) == 64
    assert [t.id for t in trials] == list(range(64))


def test_an_attribute_of_a_trial_is_refused_on_the_list_that_ask_returns():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0)
    with pytest.raises(AttributeError, match=r"ask: expected 'point' of a trial, got the list .*\[trial\] = opt.ask"):
        opt.ask().point  # noqa: B018
    trials = opt.ask(2)
    assert pickle.loads(pickle.dumps(trials)) == copy.deepcopy(trials) == list(trials) and len(np.array(trials)) == 2


def test_one_seed_gives_one_run():
    runs = [drive(lamcts.Optimizer(SPACES["box"](), seed=seed), 30).seen.x for seed in (3, 3, 4)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("stop", [3, 13, 29])
def test_a_loaded_state_goes_on_bit_for_bit(kind, stop):
    opt = drive(lamcts.Optimizer(SPACES[kind](), seed=2, n_init=10), stop, batch=3)
    opt.ask(2)  # still out
    state = as_json(opt.state_dict())
    twin = lamcts.Optimizer(SPACES[kind](), seed=2, n_init=10)
    twin.load_state_dict(state)
    for one in (opt, twin):
        for trial in one.pending:
            one.tell(trial, value(trial.point))
        drive(one, 36, batch=3)
    assert np.array_equal(opt.seen.x, twin.seen.x)
    assert np.array_equal(opt.seen.y, twin.seen.y)
    assert as_json(opt.state_dict()) == as_json(twin.state_dict())


def test_a_state_of_other_settings_is_refused_by_name():
    state = lamcts.Optimizer(SPACES["box"](), seed=2).state_dict()
    with pytest.raises(ValueError, match="seed differs"):
        lamcts.Optimizer(SPACES["box"](), seed=3).load_state_dict(state)
    with pytest.raises(ValueError, match=r"space\.kind differs"):
        lamcts.Optimizer(SPACES["mixed"](), seed=2).load_state_dict(state)
    used = lamcts.Optimizer(SPACES["box"](), seed=2)
    used.ask()
    with pytest.raises(RuntimeError, match="fresh optimizer"):
        used.load_state_dict(state)


def test_a_finite_space_is_handed_out_whole_then_exhausted():
    opt = lamcts.Optimizer(SPACES["finite"](), seed=0)
    drive(opt, 44)
    assert len(opt.ask(10)) == 4
    with pytest.raises(lamcts.Exhausted, match="all 48 points"):
        opt.ask()
    assert len({x.tobytes() for x in np.vstack([opt.seen.x, opt.seen.pending_x()])}) == 48


def test_repeats_are_proposed_only_where_allowed():
    opt = lamcts.Optimizer(lamcts.Finite([[0.0], [0.5], [1.0]]), seed=0, repeat=True)
    drive(opt, 12)
    assert len(opt.seen) == 12


@pytest.mark.parametrize("failure", [None, math.nan, math.inf, -math.inf, RuntimeError("boom"), np.float32("nan")])
def test_a_failure_is_recorded_and_never_the_best(failure):
    opt = lamcts.Optimizer(SPACES["box"](), seed=0)
    first, second = opt.ask(2)
    opt.tell([first, second], [failure, 7.0])
    assert opt.best.value == 7.0
    assert list(opt.failures) == [0]
    assert opt.pending == []
    assert len(opt.seen) == 2
    assert len(drive(opt, 30).seen.good) == 29


def test_a_run_of_nothing_but_failures_goes_on():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0, n_init=4)
    for _ in range(8):
        trials = opt.ask(3)
        opt.tell(trials, [None] * 3)
    with pytest.raises(RuntimeError, match="no evaluation has succeeded"):
        _ = opt.best


def test_a_late_worker_may_mend_a_failure_once_but_not_the_reverse():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0)
    a, b = opt.ask(2)
    opt.tell([a, b], [None, 1.0])
    with pytest.raises(ValueError, match="told as failed already"):
        opt.tell(a, None)
    opt.tell(a, 0.5)
    assert opt.best.value == 0.5
    with pytest.raises(ValueError, match="not pending"):
        opt.tell(a, 0.4)
    with pytest.raises(ValueError, match="not pending"):
        opt.tell(b, None)


def test_tell_is_atomic():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0)
    a, b = opt.ask(2)
    for trials, values in [([a, b], [1.0, "high"]), ([a, a], [1.0, 2.0]), ([a, b], [1.0]), ([a, 3], [1.0, 2.0])]:
        with pytest.raises(ValueError, match="expected"):
            opt.tell(trials, values)
        assert len(opt.seen) == 0
        assert len(opt.pending) == 2


def tensor(values):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    return torch.tensor(values)


@pytest.mark.parametrize("coat", [list, tuple, np.array, iter, tensor])
def test_values_come_in_any_row_of_numbers(coat):
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0)
    opt.tell(opt.ask(3), coat([1.0, 2.0, 3.0]))
    assert opt.seen.y.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="values: expected 2, one for each trial, got 3"):
        opt.tell(opt.ask(2), coat([1.0, 2.0, 3.0]))


def test_results_may_come_in_any_order_or_never():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0, n_init=6)
    trials = opt.ask(20)
    rng = np.random.default_rng(0)
    for i in rng.permutation(20)[:15]:
        opt.tell(trials[i], value(trials[i].point))
    opt.forget(opt.pending[0])
    assert len(opt.pending) == 4
    assert len(drive(opt, 40).seen) == 40


def test_a_point_nobody_asked_for_counts_towards_the_design():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0, n_init=10)
    points = np.random.default_rng(1).uniform(-5, 10, (20, 3))
    opt.tell_points(points, [value(p) for p in points])
    trial = opt.ask()[0]
    assert trial.session >= 0
    assert opt.best.value == min(value(p) for p in points)


def test_telling_many_points_closes_the_pending_ones_among_them():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0, n_init=4)
    trials = opt.ask(20)
    opt.tell_points([t.point.copy() for t in trials[5:]] + [[9.0, 9.0, 9.0]], list(range(16)))
    assert [t.id for t in opt.pending] == [0, 1, 2, 3, 4]
    assert opt.seen.trial.tolist() == [*range(5, 20), -1]


def test_telling_the_point_of_a_pending_trial_closes_it():
    opt = lamcts.Optimizer(SPACES["mixed"](), seed=0)
    a, b = opt.ask(2)
    opt.tell_point(a.point, 3.0)
    assert opt.pending == [b]
    assert opt.seen.trial.tolist() == [a.id]


def test_maximize_turns_the_sign_once():
    low, high = (lamcts.Optimizer(SPACES["box"](), maximize=m, seed=0) for m in (False, True))
    for opt, sign in ((low, 1.0), (high, -1.0)):
        while len(opt.seen) < 30:
            trials = opt.ask(5)
            opt.tell(trials, [sign * value(t.point) for t in trials])
    assert np.array_equal(low.seen.x, high.seen.x)
    assert high.best.value == -low.best.value


@pytest.mark.parametrize("power", [-40, 7, 300])
def test_scaling_by_a_power_of_two_changes_no_proposal(power):
    runs = []
    for scale, side in ((1.0, 1.0), (2.0**power, 2.0**3)):
        opt = lamcts.Optimizer(lamcts.Box(-5 * side, 10 * side, dim=4), seed=0, n_init=8)
        while len(opt.seen) < 60:
            trials = opt.ask(4)
            opt.tell(trials, [scale * value(t.point / side) for t in trials])
        runs.append(opt.seen.x)
    assert np.array_equal(*runs)


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e300, -1e300, 1e-300, 5e-324])
@pytest.mark.parametrize("dim", [1, 30])
def test_degenerate_values_never_raise(constant, dim):
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=dim), seed=0, n_init=10)
    for _ in range(16):
        trials = opt.ask(5)
        opt.tell(trials, [constant] * 5)
    for _ in range(4):
        trials = opt.ask(5)
        opt.tell(trials, [constant, -constant, 1e300, -1e300, 1e-300])


def test_x0_comes_first():
    opt = lamcts.Optimizer(SPACES["box"](), seed=0, x0=[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    assert [t.point.tolist() for t in opt.ask(2)] == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": "turbbo"}, "did you mean 'turbo'"),
        ({"sampler": 3}, r"sampler: expected a name such as 'turbo' or a Sampler such as Turbo\(\), got 3"),
        ({"sampler": lamcts.samplers.Turbo}, "got the class Turbo"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"n_init": 2.5}, "n_init: expected a whole number"),
        ({"design": "halton"}, "design: expected one of"),
        ({"x0": [99.0, 0.0, 0.0]}, "x0"),
    ],
)
def test_wrong_settings_say_what_was_expected(arguments, message):
    with pytest.raises(ValueError, match=message):
        lamcts.Optimizer(SPACES["box"](), **arguments)


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_asking_for_no_whole_number_is_an_error(n):
    with pytest.raises(ValueError, match="ask: expected"):
        lamcts.Optimizer(SPACES["box"](), seed=0).ask(n)


def test_the_default_beats_uniform_draws_on_a_shifted_bowl():
    space = lamcts.Box(-1, 1, dim=6)
    best = {}
    for sampler in ("auto", "uniform"):
        opt = lamcts.Optimizer(space, sampler=sampler, seed=0)
        while len(opt.seen) < 120:
            trials = opt.ask(5)
            opt.tell(trials, [float(np.sum((t.point - 0.3) ** 2)) for t in trials])
        best[sampler] = opt.best.value
    assert best["auto"] < 0.05 * best["uniform"]


def test_a_search_that_has_converged_starts_afresh_in_the_whole_space():
    opt = lamcts.Optimizer(lamcts.Box(-1, 1, dim=2), sampler=lamcts.samplers.Turbo(length_min=0.4), seed=0, n_init=10)
    while opt.seen.source.max(initial=-1) < 1 or np.count_nonzero(opt.seen.source == 1) < 4:
        trial = opt.ask()[0]
        opt.tell(trial, float(np.sum((trial.point - 0.3) ** 2)))
    last = opt.seen.x[opt.seen.source == 0][-4:]
    fresh = opt.seen.x[opt.seen.source == 1][:4]  # 2 d points to begin with
    assert np.ptp(fresh, axis=0).min() > 0.3 > np.ptp(last, axis=0).max()


@pytest.mark.parametrize(
    "space",
    [[(-1, 2), (0, 5)], np.array([[-1.0, 2.0], [0.0, 5.0]]), {"a": lamcts.Float(-1, 2), "b": lamcts.Int(0, 5)}],
    ids=["pairs", "array", "dict"],
)
def test_the_space_may_be_what_minimize_takes(space):
    opt = lamcts.Optimizer(space, seed=0, x0=[0.5, 3.0] if not isinstance(space, dict) else {"a": 0.5, "b": 3})
    made = lamcts.Space(space) if isinstance(space, dict) else lamcts.Box([-1, 0], [2, 5])
    assert opt.space.signature() == made.signature()
    first, *others = opt.ask(3)
    assert np.allclose(list(first.point.values() if isinstance(space, dict) else first.point), [0.5, 3])
    opt.tell([first, *others], [0.0, 1.0, 2.0])
    assert opt.best.trial == first.id


def test_a_starting_point_in_place_of_the_space_is_answered():
    with pytest.raises(ValueError, match=r"space: expected .* pairs .*; a starting point is given by name: x0="):
        lamcts.Optimizer([0.5, 0.5])
    with pytest.raises(ValueError, match=r"space: expected a lamcts space such as Box.*, got NoneType"):
        lamcts.Optimizer(None)
