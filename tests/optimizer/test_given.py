"""What a user hands over, wrong in every way that was met: each is refused with a word on what was expected."""

from fractions import Fraction

import numpy as np
import pytest

import lamcts
from lamcts.study.options import RunSettings

BOX = lamcts.Box(0, 1, dim=2)
TABLE = lamcts.Finite(np.array([[0.0, 1.0], [1.0, 0.0]]))


class Broken:
    """A value none of whose methods works."""

    def __array__(self, *args, **kwargs):
        raise KeyError("array")

    def __float__(self):
        raise ZeroDivisionError

    def __repr__(self):
        raise KeyError("repr")


class NoFloat:
    def __float__(self):
        raise KeyError("float")


@pytest.mark.parametrize("dim", ["x", "3", [], {}, np.nan, np.inf, 2.7, True, Fraction(10**400)])
def test_a_box_has_a_whole_number_of_coordinates(dim):
    with pytest.raises(
        ValueError, match=r"dim: expected a whole number, got .*; pass an int, the number of coordinates"
    ):
        lamcts.Box(0, 1, dim=dim)
    assert lamcts.Box(0, 1, dim=np.int64(3)) == lamcts.Box(0, 1, dim=3.0)


def pending(n=1):
    opt = lamcts.Optimizer(BOX, seed=0)
    return opt, opt.ask(n)


@pytest.mark.parametrize("trials", [5, None, 2.5])
def test_only_trials_are_told(trials):
    opt, _ = pending()
    with pytest.raises(ValueError, match=r"tell: expected trials that ask\(\) returned, got"):
        opt.tell(trials, 1.0)
    with pytest.raises(ValueError, match=r"tell_points: expected points, got"):
        opt.tell_points(trials, [1.0])


@pytest.mark.parametrize("seconds", ["abc", "1.5", 1j, Broken(), NoFloat(), [[1.0, 2.0]]])
def test_seconds_are_numbers(seconds):
    opt, trials = pending()
    with pytest.raises(ValueError, match="seconds: expected"):
        opt.tell(trials, 1.0, seconds=seconds)
    assert opt.pending == trials
    opt.tell(trials, 1.0, seconds=np.array(0.5))
    assert opt.seen.seconds.tolist() == [0.5]


@pytest.mark.parametrize("value", [Broken(), NoFloat(), [Broken()]])
def test_a_value_whose_own_methods_raise_is_no_number(value):
    opt, trials = pending()
    with pytest.raises(ValueError, match="expected"):
        opt.tell(trials, value)
    with pytest.raises(ValueError, match="expected"):
        opt.tell_point([0.5, 0.5], value)
    assert opt.pending == trials and len(opt.seen) == 0


@pytest.mark.parametrize("point", [Broken(), [Broken(), 1], [NoFloat(), 1]])
def test_a_point_whose_own_methods_raise_is_no_point(point):
    for space in (BOX, TABLE, lamcts.Float(0, 1), lamcts.Int(0, 3), lamcts.Choice(["a", "b"])):
        with pytest.raises(ValueError, match="expected"):
            space.encode(point)
    with pytest.raises(ValueError, match="expected"):
        lamcts.Box(point, 2.0)
    with pytest.raises(ValueError, match="expected"):
        lamcts.Finite(["a", "b"], features=point)
    with pytest.raises(ValueError, match="x0: expected"):
        lamcts.Optimizer(BOX, x0=point)


@pytest.mark.parametrize("number", [10**400, Fraction(10**400), [10**400, 0], [Fraction(10**400), 0]])
def test_a_number_beyond_all_floats_is_no_point(number):
    for space in (BOX, TABLE, lamcts.Finite([1, 2]), lamcts.Int(0, 3), lamcts.Float(0, 1)):
        with pytest.raises(ValueError, match="expected"):
            space.encode(number)


def test_tensors_with_a_gradient_are_points_bounds_and_features():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    low, high = torch.zeros(2, requires_grad=True), torch.ones(2, requires_grad=True)
    assert lamcts.Box(low, high) == BOX
    point = torch.tensor([0.25, 0.5], requires_grad=True)
    for given in (point, list(point)):
        assert BOX.encode(given).tolist() == [0.25, 0.5]
    assert BOX.encode_many([point, point]).shape == (2, 2)
    assert TABLE.encode(torch.tensor([1.0, 0.0], requires_grad=True)).tolist() == [1.0, 0.0]
    features = torch.tensor([[1.0], [3.0]], requires_grad=True)
    assert lamcts.Finite(["a", "b"], features).x.tolist() == [[0.0], [1.0]]
    opt = lamcts.Optimizer(BOX, x0=torch.stack([point, point / 2]), seed=0)
    assert opt.ask(2)[1].point.tolist() == [0.125, 0.25]
    opt.tell_points([point], [point.sum()])
    assert opt.best.value == 0.75
    with pytest.raises(ValueError, match="x0: expected an array of shape"):
        lamcts.Optimizer(BOX, x0=torch.tensor(1.0))
    assert lamcts.minimize(lambda x: x[0], [(low[0], high[0])], budget=2, seed=0).nfev == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"design": []}, r"design: expected one of sobol, lhs, uniform, got \[\]"),
        ({"design": Broken()}, "design: expected one of"),
        ({"x0": np.array(None)}, "x0: expected 2 numbers, got"),
        ({"n_init": Broken()}, "n_init: expected"),
        ({"seed": Broken()}, "seed: expected"),
        ({"sampler": Broken()}, "sampler: expected"),
    ],
)
def test_wrong_settings_are_refused_whatever_they_are(settings, message):
    with pytest.raises(ValueError, match=message):
        lamcts.Optimizer(BOX, **settings)


def test_no_start_at_all_is_none():
    assert lamcts.Optimizer(BOX, x0=[], seed=0).fingerprint() == lamcts.Optimizer(BOX, seed=0).fingerprint()


@pytest.mark.parametrize("name", ["batch", "workers", "patience", "seconds", "target", "noisy"])
def test_wrong_options_are_refused_whatever_they_are(name):
    with pytest.raises(ValueError, match=f"{name}: expected"):
        RunSettings.of({"budget": 5, name: Broken()})


@pytest.mark.parametrize("sampler", ["turbo", "mixed_gp", "gp_cma"])
def test_values_near_the_largest_float_lead_where_small_ones_do(sampler):
    seen = []
    for scale in (1.0, 2.0**1023):
        opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=4), sampler=sampler, seed=0, n_init=10)
        while len(opt.seen) < 60:
            trials = opt.ask(5)
            opt.tell(trials, [scale * (1.8 + 0.1 * float(np.mean((t.point - 0.3) ** 2))) for t in trials])
        seen.append(opt.seen.x)
    assert np.array_equal(*seen)


def test_turbo_moves_to_a_row_that_is_better_by_more_than_a_float_can_hold():
    adopted = []
    for scale in (1.0, 2.0**1023):
        opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), sampler="turbo", seed=0, n_init=10)
        while len(opt.seen) < 40:
            trials = opt.ask(5)
            opt.tell(trials, [scale * (1.5 + 0.4 * float(np.mean((t.point - 0.3) ** 2))) for t in trials])
        opt.tell_point([0.9, 0.9], -1.9 * scale)
        (search,) = opt._searches.live.values()
        session = search.session
        session.recenter(40)
        adopted.append(session.incumbent)
    assert adopted == [40, 40]


def test_points_and_trials_of_others_are_told_apart_from_those_told_already():
    opt, (trial,) = pending()
    with pytest.raises(
        ValueError, match=r"expected a Trial that ask\(\) returned, got float64; tell_point takes points"
    ):
        opt.tell(trial.point, 1.0)
    opt.tell(trial, 1.0)
    with pytest.raises(ValueError, match="told or forgotten already"):
        opt.tell(trial, 1.0)
    with pytest.raises(ValueError, match="comes from another optimizer"):
        opt.tell(lamcts.Optimizer(BOX, seed=1, x0=BOX.high).ask(1), 1.0)


def test_a_dict_without_named_objectives_says_how_to_name_them():
    with pytest.raises(ValueError, match=r"objectives=\['loss'\] or --objective loss"):
        lamcts.minimize(lambda point: {"loss": 1.0}, BOX, budget=2, seed=0)
    with pytest.raises(ValueError, match=r"got none for 'value'; got 'loss'; if 'loss' is.*say objectives=\['loss'\]"):
        lamcts.minimize(lambda point: {"loss": 1.0, "a": 2.0}, BOX, budget=2, seed=0, constraints=["a <= 3"])


@pytest.mark.parametrize("words", ["b < = 3", "b <> 3", "b >== 3"])
def test_a_relation_that_is_none_is_refused(words):
    with pytest.raises(ValueError, match="expected 'name <= number'"):
        lamcts.Optimizer(BOX, constraints=[words])


def test_what_was_never_measured_is_said_of_a_run_and_no_violation_is_made_up():
    goals = {"objectives": ["weight"], "constraints": ["stress <= 3"]}
    result = lamcts.minimize(lambda point: {"weight": 1.0, "stress": None}, BOX, budget=3, seed=0, **goals)
    assert result.message.endswith("no feasible point was found; not measured there: stress <= 3")
    opt = lamcts.Optimizer(BOX, seed=0, **goals)
    opt.tell(opt.ask(1), [1.0], constraints={"stress": np.nan})
    assert np.isnan(opt.best.violation) and not opt.best.feasible


@pytest.mark.parametrize("kind", [lamcts.Float, lamcts.Int])
def test_log_is_true_or_false(kind):
    with pytest.raises(ValueError, match="log: expected True or False, got 'log'"):
        kind(1, 8, "log")
    assert kind(1, 8, np.True_).log is True


def test_progress_is_a_stream_or_none():
    with pytest.raises(ValueError, match="progress: expected True, False, None or a stream, got 'yes'"):
        lamcts.minimize(lambda point: 1.0, BOX, budget=2, seed=0, progress="yes")
    with pytest.raises(ValueError, match=r"workers: expected a whole number of at least 1, -1 .* got 0"):
        lamcts.minimize(lambda point: 1.0, BOX, budget=2, seed=0, workers=0)
