"""Runs of a space with a fidelity: cost and budget, folders, resume, workers, and what results show."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.objectives import Command
from lamcts.report import LabelledRun
from lamcts.report.progress import proposers

EPOCHS = lamcts.Fidelity(1, 27)
SPACE = {"x": lamcts.Float(0, 1), "epochs": EPOCHS}
RESUMING = SPACE | {"epochs": lamcts.Fidelity(1, 27, resumes=True)}


def loss(point):
    return (point["x"] - 0.3) ** 2 + 1 / point["epochs"]


def counting(point, trial):
    """Train on from a checkpoint, and return the loss; `trained` is what this evaluation trained."""
    file = trial.folder / "epochs"
    before = int(file.read_text()) if file.exists() else 0
    file.write_text(str(point["epochs"]))
    return {"value": loss(point), "trained": point["epochs"] - before, "place": trial.folder.name}


def epochs_of(result):
    return [point["epochs"] for point in result.history.points]


def test_the_budget_is_the_cost_of_full_evaluations():
    result = lamcts.minimize(loss, SPACE, budget=5, seed=0)
    assert sum(epochs_of(result)) == round(result.cost * 27) <= 5 * 27
    assert result.nfev > 5 and result.status == "budget" and "5 full evaluations" in result.message


def test_a_budget_in_epochs_is_the_same_run():
    full = lamcts.minimize(loss, SPACE, budget=5, seed=0)
    epochs = lamcts.minimize(loss, SPACE, budget=5 * 27, budget_unit="epochs", seed=0)
    assert np.array_equal(full.history.x, epochs.history.x) and "135 epochs" in epochs.message


@pytest.mark.parametrize("budget", [2, 3, 7])
def test_the_best_is_always_a_full_evaluation(budget):
    result = lamcts.minimize(loss, SPACE, budget=budget, seed=1)
    assert result.x["epochs"] == 27 and result.fun == loss(result.x)
    assert result.history.partial.sum() == sum(epochs < 27 for epochs in epochs_of(result))


def test_a_budget_without_room_for_two_full_evaluations_is_refused():
    with pytest.raises(ValueError, match="two full evaluations, 2, or more, got 1"):
        lamcts.minimize(loss, SPACE, budget=1, seed=0)
    with pytest.raises(ValueError, match="two full evaluations, 54, or more, got 53"):
        lamcts.minimize(loss, SPACE, budget=53, budget_unit="epochs", seed=0)


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (SPACE, {"budget_unit": "steps"}, "the Fidelity, 'epochs'; got 'steps'"),
        ([(0, 1)], {"budget_unit": "epochs"}, "there is no Fidelity; got 'epochs'"),
        (SPACE, {"pruner": "median"}, "pruner: expected none with a Fidelity"),
        (SPACE, {"noisy": True}, "noisy: expected False with a Fidelity"),
        (SPACE, {"x0": {"x": 0.5, "epochs": 0}}, "expected a whole number in"),
        (SPACE, {"objectives": 5}, "Fidelity 'epochs': expected at most 4 objectives, got 5"),
    ],
)
def test_options_that_do_not_fit_are_refused(space, options, message):
    with pytest.raises(ValueError, match=message):
        lamcts.minimize(lambda point, trial: loss(point), space, budget=10, seed=0, **options)


def test_a_fixed_fidelity_is_a_run_without_one():
    result = lamcts.minimize(loss, SPACE, budget=14, fix={"epochs": 9}, seed=0)
    assert set(epochs_of(result)) == {9} and "cost" not in result


def test_maximize_finds_the_highest_at_full_fidelity():
    result = lamcts.maximize(lambda point: -loss(point), SPACE, budget=6, seed=0)
    assert result.x["epochs"] == 27 and abs(result.x["x"] - 0.3) < 0.2


def test_continued_trainings_cost_the_difference(tmp_path):
    result = lamcts.minimize(counting, RESUMING, budget=6, seed=0, journal=tmp_path / "run.db")
    trained = [row["trained"] for row in result.rows()]
    assert sum(trained) == pytest.approx(result.cost * 27) and sum(trained) < sum(epochs_of(result))
    places = {}
    for row in result.rows():
        assert places.setdefault(row["place"], row["x"]) == row["x"]
    assert {path.name for path in (tmp_path / "run.db.folders").iterdir()} == {*places}


def test_patience_is_the_cost_of_full_evaluations():
    calls = []

    def worse(point, trial):
        calls.append(point["epochs"])
        return counting(point, trial) | {"value": len(calls) * point["epochs"]}  # the first full one is the best

    result = lamcts.minimize(worse, RESUMING, budget=30, patience=2, seed=0)
    trained = [row["trained"] for row in result.rows()][calls.index(27) + 1 :]
    assert result.status == "patience" and len(trained) > 2
    assert sum(trained[:-1]) < 2 * 27 <= sum(trained)


def test_half_way_through_the_seconds_there_is_a_full_evaluation(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("lamcts.study.stopping.time.monotonic", lambda: next(clock))
    result = lamcts.minimize(loss, SPACE, budget=100, seconds=24, seed=0)
    first = epochs_of(result).index(27)
    assert result.status == "seconds" and result.x["epochs"] == 27 and first <= 8
    assert np.count_nonzero(~result.history.partial[: first + 1]) == 1


def test_a_report_names_the_evaluation_that_confirms(tmp_path):
    lamcts.minimize(loss, SPACE, budget=3, seed=0, journal=tmp_path / "run.db")
    found = dict(proposers(LabelledRun("run", Journal.read(tmp_path / "run.db"))))
    confirming = found["confirmation"]
    assert len(confirming) == 1 and confirming[0] == max(map(max, found.values()))
    assert max(found["initial design"]) < min(confirming)


def test_folders_without_a_journal_are_removed():
    seen = []
    lamcts.minimize(lambda p, trial: seen.append(trial.folder) or loss(p), SPACE, budget=4, seed=0)
    assert seen and not any(Path(folder).exists() or Path(folder).parent.exists() for folder in seen)


def test_a_run_without_a_fidelity_has_a_folder_for_each_point():
    def f(point, trial):
        trial.note(place=trial.folder.name)
        return point[0]

    rows = lamcts.minimize(f, [(0, 1)], budget=12, seed=0).rows()
    assert [row["place"] for row in rows] == [str(row["trial"]) for row in rows]


@pytest.mark.parametrize("stop", [3, 12, 20])
def test_a_stopped_run_goes_on_the_same(tmp_path, stop):
    whole = lamcts.minimize(counting, RESUMING, budget=6, seed=3, journal=tmp_path / "whole.db")
    options = {"budget": 6, "seed": 3, "journal": tmp_path / "stopped.db"}
    for i, _ in enumerate(lamcts.run(counting, RESUMING, **options), 1):
        if i == stop:
            break
    again = lamcts.minimize(counting, RESUMING, **options)
    assert np.array_equal(whole.history.x, again.history.x) and again.cost == whole.cost
    assert [row["place"] for row in whole.rows()] == [row["place"] for row in again.rows()]
    assert lamcts.load(tmp_path / "stopped.db").cost == whole.cost
    assert lamcts.load(tmp_path / "stopped.db").x == whole.x


def test_a_finished_run_is_not_gone_on_with(tmp_path):
    options = {"budget": 4, "seed": 0, "journal": tmp_path / "run.db"}
    first = lamcts.minimize(loss, SPACE, **options)
    again = lamcts.minimize(loss, SPACE, **options)
    assert len(again.history) == len(first.history)


@pytest.mark.parametrize("options", [{"workers": "threads"}, {"batch": 3}])
def test_workers_and_batches_keep_the_budget(options):
    result = lamcts.minimize(counting, RESUMING, budget=6, seed=0, **options)
    assert result.cost <= 6 and result.x["epochs"] == 27
    assert sum(row["trained"] for row in result.rows()) == pytest.approx(result.cost * 27)


def test_rows_have_the_fidelity_and_known_results_come_back(tmp_path):
    result = lamcts.minimize(loss, SPACE, budget=4, seed=0)
    rows = result.rows()
    with (tmp_path / "known.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    again = lamcts.minimize(loss, SPACE, budget=2, seed=1, known=str(tmp_path / "known.csv"))
    assert epochs_of(again)[: len(rows)] == epochs_of(result) and again.cost <= 2
    assert again.history.partial[: len(rows)].tolist() == result.history.partial.tolist()


def test_evaluations_say_their_cost_and_whether_they_are_partial():
    evaluations = list(lamcts.run(loss, SPACE, budget=4, seed=0))
    costs = np.cumsum([each.point["epochs"] for each in evaluations]) / 27
    assert np.allclose([each.cost for each in evaluations], costs)
    assert all(each.partial == (each.point["epochs"] < 27) for each in evaluations)
    first = next(i for i, each in enumerate(evaluations) if not each.partial)
    assert all(np.isnan(each.best) for each in evaluations[:first]) and not np.isnan(evaluations[first].best)


def test_the_best_curve_has_full_evaluations_alone():
    history = lamcts.minimize(loss, SPACE, budget=4, seed=0).history
    full = np.where(history.partial, np.inf, history.values)
    best = np.minimum.accumulate(full)
    assert np.array_equal(history.best, np.where(np.isinf(best), np.nan, best), equal_nan=True)


def test_a_program_gets_its_folder(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import pathlib, sys\n"
        "x, epochs, folder = float(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])\n"
        "before = len(list(folder.iterdir()))\n"
        "(folder / str(epochs)).touch()\n"
        "print((x - 0.3) ** 2 + 1 / epochs + 0 * before)\n"
    )
    f = Command([sys.executable, str(script), "{x}", "{epochs}", "{folder}"], lamcts.Space(RESUMING))
    result = lamcts.minimize(f, budget=2, seed=0, n_init=4, journal=tmp_path / "run.db")
    files = [path.name for path in (tmp_path / "run.db.folders").glob("*/*")]
    assert len(files) == result.nfev
    assert f({"x": 0.3, "epochs": 27}) == pytest.approx(1 / 27)


def test_a_folder_is_no_part_of_a_text_that_a_shell_reads():
    with pytest.raises(ValueError, match="'folder' where no shell reads it"):
        Command("sh -c 'train {x} {epochs} {folder}'", lamcts.Space(SPACE))


@pytest.mark.parametrize("seed", range(4))
def test_an_ended_run_that_is_opened_again_has_asked_as_often(seed, tmp_path):
    """The last ask may propose nothing that is affordable; it counts neither at once nor from the journal."""
    space = {"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(2, 54)}
    options = {"budget": 5, "batch": 4, "seed": seed, "sampler": "uniform", "journal": tmp_path / "run.db"}
    first = lamcts.minimize(lambda point: point["x"] + 1 / point["epochs"], space, **options)
    again = lamcts.minimize(lambda point: point["x"] + 1 / point["epochs"], space, **options)
    assert again.nit == first.nit and again.nfev == first.nfev
