import numpy as np
import pytest

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import Journal

SPACE = {"t": lamcts.Float(20, 90), "base": lamcts.Choice(["NaOH", "KOH"]), "h": lamcts.Float(1, 10, step=0.5)}


def value(point):
    return {"yield": 80 - abs(point["t"] - 60) + (point.get("base") == "KOH"), "pH": point["t"] / 10}


def made(path, **more):
    return lamcts.Optimizer(SPACE, journal=path, objectives={"yield": "max"}, constraints=["pH <= 8"], **more)


def filled(path, n=12, **more):
    opt = made(path, **more)
    for _ in range(n):
        (trial,) = opt.ask()
        opt.tell(trial, value(trial.point))
    return opt


def test_the_same_line_reopens_a_journal_with_its_seed_and_what_is_pending(tmp_path):
    path = tmp_path / "lab.db"
    opt = made(path)
    trials = opt.ask(3)
    opt.tell(trials[:2], [value(trial.point) for trial in trials[:2]])
    again = made(path)
    assert (again.seed, len(again.seen), [trial.id for trial in again.pending]) == (opt.seed, 2, [2])
    assert again.pending[0].point == trials[2].point
    again.forget(again.pending[0])
    assert not made(path).pending


def test_a_reopened_run_goes_on_bit_for_bit(tmp_path):
    whole = filled(None, 20, seed=3)
    path = tmp_path / "lab.db"
    filled(path, 9, seed=3)
    part = filled(path, 11)
    assert np.array_equal(part.seen.x, whole.seen.x) and np.array_equal(part.seen.f, whole.seen.f)


def test_a_journal_without_its_line_is_loaded_and_goes_on(tmp_path):
    path = tmp_path / "lab.db"
    filled(path, 9, seed=3)
    opt = lamcts.Optimizer.load(path)
    (trial,) = opt.ask()
    assert trial.point == filled(None, 9, seed=3).ask()[0].point
    opt.tell(trial, value(trial.point))
    assert lamcts.load(path).nfev == 10


def test_a_run_of_minimize_is_gone_on_with_by_ask_and_tell_and_the_other_way(tmp_path):
    path = tmp_path / "run.db"
    lamcts.minimize(bowl, [(-1, 1)] * 2, budget=6, seed=0, journal=path)
    opt = lamcts.Optimizer.load(path)
    (trial,) = opt.ask()
    opt.tell(trial, bowl(trial.point))
    with pytest.raises(JournalError, match="x0 is"):
        lamcts.Optimizer([(-1, 1)] * 2, journal=path, x0=[0.5, 0.5])
    result = lamcts.minimize(bowl, [(-1, 1)] * 2, budget=9, journal=path)
    assert result.nfev == 9 and result.history.trial.tolist() == list(range(9))


def bowl(x):
    return float((x**2).sum())


def test_rules_that_a_journal_does_not_hold_are_asked_for(tmp_path):
    path, space = tmp_path / "lab.db", lamcts.Valid(lamcts.Box(0, 1, dim=2), lambda x: x[0] < x[1])
    opt = lamcts.Optimizer(space, journal=path, seed=0)
    opt.tell(opt.ask(2), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"space: expected the run's.*space=\.\.\."):
        lamcts.Optimizer.load(path)
    assert len(lamcts.Optimizer.load(path, space=space).seen) == 2


def test_another_writer_is_noticed_and_nothing_is_lost(tmp_path):
    path = tmp_path / "lab.db"
    first = filled(path, 2)
    second = made(path)
    second.tell(second.ask(), [value({"t": 30.0})])
    with pytest.raises(JournalError, match=r"another process wrote.*open it again"):
        first.ask()
    assert len(made(path).seen) == 3


def test_a_journal_that_a_run_holds_is_in_use(tmp_path):
    path, opt = tmp_path / "run.db", lamcts.Optimizer([(-1, 1)], seed=0)
    with Journal.open(path, opt.fingerprint()), pytest.raises(JournalError, match="in use"):
        lamcts.Optimizer([(-1, 1)], seed=0, journal=path)


def test_the_optimizer_has_the_rows_and_the_history_of_a_result(tmp_path):
    opt = filled(tmp_path / "lab.db")
    result = lamcts.load(tmp_path / "lab.db")
    assert str(opt.rows()) == str(result.rows())
    assert opt.history.best.tolist() == pytest.approx(result.history.best.tolist(), nan_ok=True)
    assert opt.best_predicted.mean == pytest.approx(result.best_predicted.mean)


def test_the_optimizer_has_a_table_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    opt = filled(None, 4)
    assert isinstance(opt.to_dataframe(), pandas.DataFrame) and len(opt.to_dataframe()) == 4


def test_a_corrected_value_replaces_the_former_which_stays_as_a_metric(tmp_path):
    path = tmp_path / "lab.db"
    opt = filled(path)
    former, pending = opt.rows()[4], opt.ask()[0]
    opt.correct(4, {"yield": 12.5, "pH": 7.0}, point={"t": 33.0, "base": "KOH", "h": 2.0})
    for run in (opt, made(path)):
        row = run.rows()[4]
        assert (row["yield"], row["t"], row["yield before correction"]) == (12.5, 33.0, former["yield"])
        assert [trial.id for trial in run.pending] == [pending.id]
    opt.tell(pending, value(pending.point))
    filled(path, 3)
    assert lamcts.load(path).nfev == 16


def test_a_failure_is_corrected_to_a_value_and_a_value_to_a_failure():
    opt = lamcts.Optimizer([(0, 1)], seed=0)
    opt.tell(opt.ask(3), [None, 2.0, 3.0])
    opt.correct(0, 0.5)
    assert opt.best.value == 0.5 and not opt.failures
    opt.correct(0, None)
    assert opt.best.value == 2.0 and opt.failures == {0: "no value"}


@pytest.mark.parametrize(
    ("trial", "given", "words"), [(7, 1.0, "number of a trial that was told"), (0, "x", "expected one number")]
)
def test_a_wrong_correction_changes_nothing(trial, given, words):
    opt = lamcts.Optimizer([(0, 1)], seed=0)
    opt.tell(opt.ask(2), [1.0, 2.0])
    with pytest.raises(ValueError, match=words):
        opt.correct(trial, given)
    assert opt.seen.f[:, 0].tolist() == [1.0, 2.0]


def test_an_experiment_done_elsewhere_keeps_the_number_of_its_trial():
    opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
    (trial,) = opt.ask()
    opt.tell(trial, 1.0, point=[0.25, 0.5])
    assert opt.rows()[0]["trial"] == trial.id and opt.rows()[0]["x1"] == 0.25 and not opt.pending


def test_a_journal_without_settings_is_no_optimizer(tmp_path):
    with Journal.open(tmp_path / "odd.db", {"space": None}):
        pass
    with pytest.raises(ValueError, match="which lacks its settings"):
        lamcts.Optimizer.load(tmp_path / "odd.db")


def test_a_failure_below_full_fidelity_is_corrected_to_a_value_that_is_not_compared_with_full_ones():
    opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}, seed=0)
    opt.tell_points([{"x": 0.5, "epochs": 1}, {"x": 0.2, "epochs": 9}], [None, 2.0])
    trials = opt.ask(1)
    opt.tell(trials, None)
    number = trials[0].id
    assert trials[0].point["epochs"] < 9
    opt.correct(number, -1.0)
    assert opt.best.value == 2.0 and opt.seen.kind.tolist()[-1] == 4
