"""Trials that report on their way are stopped once others are ahead of them, wherever they run, and told as that."""

import math
import re
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import descent, sphere

import lamcts
from lamcts import pruners
from lamcts.journal import Journal
from lamcts.models.predicted_rows import modelled
from lamcts.outcomes.constrained_rank import OK, PRUNED
from lamcts.pruners import Curves
from lamcts.study.reporting import Reporter
from lamcts.study.result import Result

BOX = lamcts.Box(-1, 1, dim=3)
MIXED = lamcts.Space([lamcts.Int(0, 9), lamcts.Choice(["a", "b", "c"]), lamcts.Float(0, 1)])
OPTIONS: dict[str, Any] = {"budget": 30, "n_init": 7, "seed": 0, "sampler": "uniform", "progress": False}


def mixed(point: Any, trial: Reporter) -> float:
    """`descent` on points of both spaces."""
    return descent(np.array([{"a": 0.0, "b": 0.5, "c": 1.0}.get(part, part) for part in point], float) / 3, trial)


def steps(result: Result) -> int:
    """Return how many steps all trials took."""
    return sum(map(len, result.history.reports.values()))


@pytest.mark.parametrize("pruner", ["median", "halving", pruners.Hyperband(most=9)])
def test_a_pruned_run_takes_fewer_steps_and_its_pruned_trials_are_no_failures(pruner: Any) -> None:
    result = lamcts.minimize(descent, BOX, pruner=pruner, **OPTIONS)
    history = result.history
    assert result.nfev == 30 and 5 <= result.pruned < 30 and steps(result) < 0.75 * 300
    assert np.array_equal(history.pruned, np.isnan(history.values)) and result.pruned == history.pruned.sum()
    assert not history.failed.any() and not history.messages and "failed" not in result.message
    assert result.fun == np.nanmin(history.values) and f"{result.pruned} pruned" in repr(history)


@pytest.mark.parametrize("pruner", ["median", pruners.Median(startup=8)])
def test_a_pruned_trial_is_told_with_the_final_loss_that_its_curve_predicts(pruner: str) -> None:
    study = lamcts.study.Study(descent, BOX, False, pruner=pruner, **OPTIONS)
    study.solve()
    seen = study.optimizer.seen
    pruned = np.flatnonzero(seen.kind == PRUNED)
    ends = np.array([sphere(point) for point in seen.x[pruned] * 2 - 1])
    found, sd = np.array([seen.predicted[row][0] for row in pruned]).T
    assert len(pruned) > 5 and np.corrcoef(found, ends)[0, 1] > 0.8 and (sd > 0).all()
    assert not set(pruned) & set(seen.good) and set(pruned) <= set(modelled(seen)) and np.isnan(seen.f[pruned]).all()
    assert not study.optimizer.pending and not study.optimizer.seen.unseen(seen.x).any()  # not proposed again


def test_maximising_prunes_what_minimising_the_negative_does() -> None:
    def climb(point: np.ndarray, trial: Reporter) -> float:
        for step in range(10):
            trial.report(step, -sphere(point) - 1.0 / (1 + step))
        return -sphere(point)

    low, high = (
        lamcts.minimize(descent, BOX, pruner="median", **OPTIONS),
        lamcts.maximize(climb, BOX, pruner="median", **OPTIONS),
    )
    assert low.history.x.tobytes() == high.history.x.tobytes() and low.fun == -high.fun
    assert low.history.kind.tolist() == high.history.kind.tolist()
    row = int(np.flatnonzero(high.history.pruned)[0])
    assert high.history.reports[row] == {step: -value for step, value in low.history.reports[row].items()}


@pytest.mark.parametrize(
    "where",
    [
        {"workers": 2},
        {"workers": "threads"},
        {"executor": lambda: ThreadPoolExecutor(2), "workers": 2},
        {"executor": lambda: ProcessPoolExecutor(2), "workers": 2},
    ],
    ids=["processes", "threads", "executor of threads", "executor of processes"],
)
def test_a_verdict_reaches_workers(where: dict[str, Any]) -> None:
    result = lamcts.minimize(descent, BOX, pruner="median", **{**OPTIONS, **where})
    assert result.nfev == 30 and 5 <= result.pruned < 30 and steps(result) < 0.75 * 300
    said = {row: one["message"] for row, one in enumerate(result.rows()) if result.history.pruned[row]}
    assert said == {row: f"pruned at step {max(result.history.reports[row])}" for row in said}


class Faulty:
    """A rule that fails at the third step of later trials."""

    def prune(self, number: int, curves: Curves) -> bool:
        return number > 5 and [1, 1][len(curves.losses[number]) - 1] < 0


def stubborn(point: np.ndarray, trial: Reporter) -> float:
    """`descent`, whatever a report raises."""
    with suppress(Exception):
        return descent(point, trial)
    return sphere(point)


@pytest.mark.parametrize("f", [descent, stubborn])
@pytest.mark.parametrize("where", [{}, {"workers": 2}, {"workers": "threads"}], ids=["serial", "processes", "threads"])
def test_a_rule_that_fails_ends_the_run_and_fails_no_trial(tmp_path: Path, where: dict[str, Any], f: Any) -> None:
    path = tmp_path / "run.db"
    says = r"pruner: expected .*Faulty.* to return .*, got IndexError: list index out of range for trial \d at step 2"
    with pytest.raises(RuntimeError, match=says):
        lamcts.minimize(f, BOX, pruner=Faulty(), journal=path, **{**OPTIONS, **where})
    assert 3 <= Journal.read(path).n <= 6 and not lamcts.load(path).history.failed.any()
    result = lamcts.minimize(f, BOX, pruner="median", journal=path, **OPTIONS)
    assert result.nfev == 30 and not result.history.failed.any()


def test_reports_of_a_trial_in_flight_count_before_it_has_ended() -> None:
    heard: list[list[int]] = []

    class Listening:
        def prune(self, number: int, curves: Curves) -> bool:
            heard.append([*curves.losses])
            return False

    both = threading.Barrier(2, timeout=300)

    def together(point: np.ndarray, trial: Reporter) -> float:
        both.wait()
        trial.report(0, 1.0)
        both.wait()  # neither has ended before both have reported
        trial.report(1, 1.0)
        return 1.0

    where = {"executor": ThreadPoolExecutor, "workers": 2, "budget": 2}
    lamcts.minimize(together, BOX, pruner=Listening(), **{**OPTIONS, **where})
    assert [len(known) for known in heard] == [1, 2, 2, 2]


def test_a_run_that_was_stopped_goes_on_with_the_curves_of_its_journal(tmp_path: Path) -> None:
    path, whole = tmp_path / "run.db", lamcts.minimize(descent, BOX, pruner="median", **OPTIONS)
    lamcts.minimize(descent, BOX, pruner="median", journal=path, **{**OPTIONS, "budget": 13})
    result = lamcts.minimize(descent, BOX, pruner="median", journal=path, **OPTIONS)
    assert result.history.x.tobytes() == whole.history.x.tobytes() and result.pruned == whole.pruned > 5
    assert result.history.reports == whole.history.reports == lamcts.load(path).history.reports
    record = Journal.read(path)
    assert [*record.predicted] == np.flatnonzero(whole.history.pruned).tolist()
    loaded = lamcts.load(path)
    assert loaded.pruned == whole.pruned and repr(loaded.rows()) == repr(result.rows())


@pytest.mark.parametrize("sampler", ["auto", "turbo", "bo"])
@pytest.mark.parametrize("space", [BOX, MIXED], ids=["real", "mixed"])
def test_a_run_goes_on_bit_for_bit_beside_pruned_rows(tmp_path: Path, space: Any, sampler: str) -> None:
    rule = pruners.Median(startup=3)
    options: dict[str, Any] = {"seed": 3, "n_init": 6, "progress": False, "pruner": rule, "sampler": sampler}
    whole = lamcts.minimize(mixed, space, budget=18, **options)
    for budget in (11, 14, 18):
        result = lamcts.minimize(mixed, space, budget=budget, journal=tmp_path / "run.db", **options)
    assert result.history.x.tobytes() == whole.history.x.tobytes() and whole.history.pruned.any()


def test_a_run_goes_on_bit_for_bit_where_the_model_leaves_trials_out(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("lamcts.pruners.forecast.MAX_TRIALS", 6)
    options: dict[str, Any] = {"seed": 3, "n_init": 6, "progress": False, "pruner": pruners.Median(startup=3)}
    found = []
    for path, budgets in (("whole.db", [22]), ("parts.db", [15, 22])):
        for budget in budgets:
            study = lamcts.study.Study(
                descent, BOX, False, sampler="bo", budget=budget, journal=tmp_path / path, **options
            )
            study.solve()
        found.append((study.optimizer.seen.predicted, study.optimizer.seen.x.tobytes()))
    assert found[0] == found[1] and len(found[0][0]) > 2


def test_rows_say_where_a_trial_was_pruned_and_known_results_keep_its_curve(tmp_path: Path) -> None:
    result = lamcts.minimize(descent, BOX, pruner="median", **OPTIONS)
    said = [row["message"] for row in result.rows() if row["message"]]
    assert len(said) == result.pruned and all(re.fullmatch(r"pruned at step \d", text) for text in said)
    again = lamcts.minimize(descent, BOX, known=result, **{**OPTIONS, "budget": 1})
    assert (again.history.pruned[:30] == result.history.pruned).all() and not again.history.failed.any()
    assert {row: curve for row, curve in again.history.reports.items() if row < 30} == result.history.reports
    assert [row["message"] for row in again.rows()[:30]] == [row["message"] for row in result.rows()]


def test_pruned_trials_do_not_make_a_run_give_up_and_the_progress_counts_them(capsys: Any) -> None:
    def hopeless(point: np.ndarray, trial: Reporter) -> float:
        raise lamcts.Pruned

    result = lamcts.minimize(hopeless, BOX, give_up=3, **{**OPTIONS, "budget": 5, "progress": True})
    assert (result.nfev, result.pruned, result.status, result.x) == (5, 5, "budget", None)
    assert "5 pruned" in capsys.readouterr().err


def test_a_trial_pruned_in_the_words_of_optuna_is_pruned() -> None:
    class TrialPruned(Exception):
        pass

    def by_hand(point: np.ndarray, trial: Reporter) -> float:
        trial.report(0, sphere(point))
        if sphere(point) > 1.0:
            raise TrialPruned
        return sphere(point)

    history = lamcts.minimize(by_hand, BOX, **OPTIONS).history
    assert 0 < history.pruned.sum() < 30 and not history.failed.any()


def test_without_a_pruner_nothing_is_stopped_and_reports_are_kept() -> None:
    result = lamcts.minimize(descent, BOX, **OPTIONS)
    plain = lamcts.minimize(sphere, BOX, **OPTIONS)
    assert steps(result) == 300 and result.pruned == 0 and result.history.x.tobytes() == plain.history.x.tobytes()


def test_a_report_of_zero_has_no_sign_whichever_way_the_search_goes(tmp_path: Path) -> None:
    def value(point: Any, report: Any) -> float:
        report(1, 0.0)
        report(2, -0.0)
        return 0.0

    for number, (search, goals) in enumerate(
        [(lamcts.maximize, {}), (lamcts.minimize, {}), (lamcts.maximize, {"objectives": ["a", "b"]})]
    ):
        several = bool(goals)

        def f(point: Any, report: Any, several: bool = several) -> Any:
            found = value(point, (lambda step, own: report(step, (own, own))) if several else report)
            return (found, found) if several else found

        journal = tmp_path / f"run{number}.db"
        result = search(f, [(0, 1)], budget=3, seed=0, journal=str(journal), **goals)
        again = lamcts.load(str(journal))
        assert repr(again.history.curves) == repr(result.history.curves)
        assert "-0.0" not in repr(result.history.reports) + repr(again.history.reports)


def test_constraints_are_kept_beside_pruning() -> None:
    def bounded(point: np.ndarray, trial: Reporter) -> dict[str, float]:
        return {"loss": descent(point, trial), "mass": float(point[0])}

    result = lamcts.minimize(bounded, BOX, pruner="median", objectives=["loss"], constraints=["mass <= 0.5"], **OPTIONS)
    assert result.pruned > 3 and result.feasible and not (result.history.pruned & result.history.feasible).any()


@pytest.mark.parametrize(
    ("f", "options", "says"),
    [
        (sphere, {"pruner": "median"}, r"pruner: expected a function that reports on its way"),
        (descent, {"pruner": "medium"}, r"pruner: expected 'halving', 'hyperband', 'median', 'model'"),
        (descent, {"pruner": "model"}, "expected 'model' for several objectives alone, got one: use 'hyperband'"),
        (descent, {"pruner": pruners.Model()}, "got one: use 'hyperband'"),
        (descent, {"pruner": "median", "vectorized": True}, r"pruner: expected none with vectorized"),
        (descent, {"vectorized": True}, r"vectorized: expected False with a parameter trial"),
    ],
)
def test_what_cannot_be_pruned_is_refused(f: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        lamcts.minimize(f, BOX, **{**OPTIONS, **options})


def test_an_optimizer_is_told_of_a_pruned_trial_and_goes_on_from_its_state() -> None:
    opt, other = (lamcts.Optimizer(BOX, seed=0, maximize=True) for _ in range(2))
    first, second, third = opt.ask(3)
    opt.tell([first, second], [0.5, lamcts.Pruned(value=0.4, sem=0.1)])
    opt.tell(third, lamcts.Pruned())
    assert (
        opt.seen.kind.tolist() == [OK, PRUNED, PRUNED]
        and opt.seen.predicted == {1: ((-0.4, 0.1),)}
        and not opt.failures
    )
    other.load_state_dict(opt.state_dict())
    assert other.seen.kind.tolist() == [OK, PRUNED, PRUNED] and other.seen.predicted == {1: ((-0.4, 0.1),)}
    assert [trial.x.tolist() for trial in other.ask(9)] == [trial.x.tolist() for trial in opt.ask(9)]
    with pytest.raises(ValueError, match="not pending"):
        opt.tell(second, 0.4)  # it is settled
    several = lamcts.Optimizer(BOX, seed=0, objectives=2)
    several.tell(several.ask(2), [[1.0, 2.0], lamcts.Pruned(value=[3.0, 4.0], sem=[0.1, 0.2])])
    assert several.seen.predicted == {1: ((3.0, 0.1), (4.0, 0.2))}
    several.tell(several.ask(), [lamcts.Pruned(value={"f2": 4.0, "f1": 3.0}, sem={"f1": 0.1, "f2": None})])
    assert repr(several.seen.predicted[2]) == "((3.0, 0.1), (4.0, nan))"
    for words, says in (
        ({"value": 1.0}, "value of a pruned trial: expected 2 numbers"),
        ({"value": {"f1": 1.0}}, "value of a pruned trial: expected a number for each of f1, f2, got none for 'f2'"),
        ({"value": [1.0, 2.0], "sem": [0.1]}, "sem of a pruned trial: expected 2 numbers"),
    ):
        with pytest.raises(ValueError, match=says):
            several.tell(several.ask(), [lamcts.Pruned(**words)])


def test_a_nan_is_the_worst_report() -> None:
    def diverging(point: np.ndarray, trial: Reporter) -> float:
        trial.report(0, math.nan if point[0] < 0 else 1.0)
        return sphere(point)

    result = lamcts.minimize(diverging, BOX, pruner=pruners.Median(startup=2), **OPTIONS)
    pruned = np.array([point[0] < 0 for point in result.history.points])
    assert result.pruned > 5 and not (result.history.pruned & ~pruned).any()
    assert all(math.isnan(result.history.reports[row][0]) for row in np.flatnonzero(result.history.pruned))


def test_points_that_are_evaluated_again_are_not_stopped() -> None:
    result = lamcts.minimize(descent, BOX, pruner="median", noisy=True, **OPTIONS)
    assert result.pruned > 5 and len(result.candidates) > 0 and result.nfev == 30
    assert 0 < sum(each.repeats for each in result.candidates) <= 3
