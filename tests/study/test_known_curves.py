"""Known results with intermediate values: pruned trials of Optuna, of journals and of results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.study import Study

optuna = pytest.importorskip("optuna")

SPACE = {"lr": lamcts.Float(1e-4, 1, log=True), "n": lamcts.Int(1, 8)}
OPTIONS: dict[str, Any] = {"seed": 0, "progress": False}
STEPS = 8
ADDRESS = "sqlite:///study.db"


def value(point: dict[str, Any], step: int) -> float:
    return float(abs(np.log10(point["lr"]) + 2) + 0.1 * abs(point["n"] - 3) + 1 / (step + 1))


def objective(point: dict[str, Any], trial: Any) -> float:
    for step in range(STEPS):
        trial.report(step, value(point, step))
    return value(point, STEPS)


def study_of(n: int = 16, storage: str | None = None, name: str | None = None, sign: int = 1) -> Any:
    """Return a study whose trials stop at step 2 where they are above 1.2, but for the first three."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def f(trial: Any) -> float:
        point = {"lr": trial.suggest_float("lr", 1e-4, 1, log=True), "n": trial.suggest_int("n", 1, 8)}
        for step in range(STEPS):
            trial.report(sign * value(point, step), step)
            if trial.number > 2 and step == 2 and value(point, step) > 1.2:
                raise optuna.TrialPruned
        return sign * value(point, STEPS)

    direction = "minimize" if sign == 1 else "maximize"
    made = optuna.create_study(
        direction=direction, storage=storage, study_name=name, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    made.optimize(f, n)
    return made


@pytest.mark.parametrize("sign", [1, -1])
def test_pruned_trials_of_a_study_are_pruned_rows_with_their_curves_and_predictions(sign: int) -> None:
    study = study_of(sign=sign)
    pruned = [trial.state.name == "PRUNED" for trial in study.trials]
    run = Study(lambda point: 0.0, SPACE, sign < 0, 1, known=study, **OPTIONS)
    result = run.solve()
    assert 3 < sum(pruned) < 13 and result.history.pruned[:16].tolist() == pruned and result.nfev == 1
    assert [result.history.reports[row] for row in range(16)] == [trial.intermediate_values for trial in study.trials]
    assert {*run.optimizer.seen.predicted} == {*np.flatnonzero(pruned)}
    ends = [run.optimizer.seen.predicted[row][0][0] for row in np.flatnonzero(pruned)]
    true = [value(trial.params, STEPS) for trial in study.trials if trial.state.name == "PRUNED"]
    assert np.corrcoef(ends, true)[0, 1] > 0.9


def test_a_run_with_known_curves_resumes_bit_for_bit(tmp_path: Path) -> None:
    study, options = study_of(), {"pruner": "median", **OPTIONS}
    points = []
    for name, budgets in (("whole.db", (8,)), ("parts.db", (2, 5, 8))):
        for budget in budgets:
            found = lamcts.minimize(objective, SPACE, budget=budget, known=study, journal=tmp_path / name, **options)
        points.append([*found.history.points])
    assert points[0] == points[1] and len(points[0]) == 24 and found.pruned > int(found.history.pruned[:16].sum())
    loaded = lamcts.load(tmp_path / "parts.db").history
    assert loaded.reports == found.history.reports and loaded.messages == found.history.messages


def test_a_pruner_judges_the_first_trial_by_known_curves() -> None:
    bad = {"lr": 1.0, "n": 8}
    for known, pruned in ((study_of(), True), (None, False)):
        result = lamcts.minimize(objective, SPACE, budget=1, x0=bad, known=known, pruner="median", **OPTIONS)
        assert bool(result.history.pruned[-1]) is pruned


def test_an_address_names_the_study_of_a_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(given: str) -> Any:
        return Study(lambda point: 0.0, SPACE, False, 1, known=given, **OPTIONS).known

    monkeypatch.chdir(tmp_path)
    one = study_of(6, ADDRESS, "one")
    for given in (ADDRESS, "study.db", Path("study.db"), f"{ADDRESS}#one"):
        assert [result.point for result in known(given)] == [trial.params for trial in one.trials]
    study_of(3, ADDRESS, "two")
    assert len(known(f"{ADDRESS}#two")) == 3
    several = r"known: expected one study in sqlite:///study\.db, got 'one', 'two'; write sqlite:///study\.db#one"
    with pytest.raises(ValueError, match=several):
        known(ADDRESS)
    with pytest.raises(ValueError, match=r"expected the study 'three' in .*, got 'one', 'two'; write .*#one"):
        known(f"{ADDRESS}#three")
    with pytest.raises(ValueError, match=r"expected a storage of Optuna, such as .*, got 'nothing://x' \("):
        known("nothing://x")


def test_an_address_neither_makes_a_file_nor_changes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        lamcts.minimize(objective, SPACE, budget=1, known=ADDRESS, **OPTIONS)
    assert not [*tmp_path.iterdir()]
    lamcts.minimize(objective, SPACE, budget=2, journal="run.db", **OPTIONS)
    before = Path("run.db").read_bytes()
    with pytest.raises(
        ValueError, match=r"expected a storage of Optuna at sqlite:///run\.db, got .*; pass the path alone"
    ):
        lamcts.minimize(objective, SPACE, budget=1, known="sqlite:///run.db", **OPTIONS)
    assert Path("run.db").read_bytes() == before


def test_related_tasks_leave_pruned_trials_out() -> None:
    study = study_of()
    (task,) = Study(objective, SPACE, False, 3, known=study, related=True, **OPTIONS).related
    assert len(task) == sum(trial.state.name == "COMPLETE" for trial in study.trials)


def test_known_pruned_points_of_an_optimizer_replace_no_points_of_the_design() -> None:
    pruned = [({"lr": 10.0 ** (-0.1 * i), "n": 8}, lamcts.Pruned()) for i in range(10)]
    opts = [lamcts.Optimizer(SPACE, seed=0, n_init=6) for _ in range(2)]
    opts[1].tell_points(*zip(*pruned, strict=True))
    assert [trial.point for trial in opts[0].ask(6)] == [trial.point for trial in opts[1].ask(6)]
