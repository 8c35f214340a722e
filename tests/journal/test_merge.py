"""Several journals merged into one: nothing that was measured is lost, and a run goes on from there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import said

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import merge
from lamcts.study.reporting import Reporter

SPACE = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["a", "b"])})
HOW: dict[str, Any] = {"sampler": "uniform", "pruner": "median", "about": {"objective": "measured"}}


def measured(point: dict[str, Any], trial: Reporter) -> object:
    trial.note(device="cpu")
    if point["lr"] > 0.9:
        raise RuntimeError("too high")
    for step in range(3):
        trial.report(step, point["lr"] + 1 / (step + 1))
    return {"value": (point["lr"], 0.1), "epochs": 3}


def runs(folder: Path, seeds: int = 2, budget: int = 14) -> list[Path]:
    paths = [folder / f"{seed}.db" for seed in range(seeds)]
    for seed, path in enumerate(paths):
        lamcts.minimize(measured, SPACE, budget=budget, seed=seed, journal=path, objectives=["value"], **HOW)
    return paths


def rows_without_trials(path: Path) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name != "trial"} for row in lamcts.load(path).rows()]


def test_evaluations_keep_all_that_was_measured(tmp_path: Path) -> None:
    paths = runs(tmp_path)
    made = merge(paths, tmp_path / "all.db")
    expected = [row for path in paths for row in rows_without_trials(path)]
    np.testing.assert_equal(rows_without_trials(tmp_path / "all.db"), expected)
    assert any(row["message"] == "RuntimeError: too high" for row in expected) and {"sem", "epochs"} < {*expected[0]}
    assert any((row["message"] or "").startswith("pruned") for row in expected)
    assert sorted(made.trial) == list(range(28)) and made.core is not None and made.core.trials == 28
    whole = lamcts.load(tmp_path / "all.db")
    offset = 0
    for path in paths:
        one = lamcts.load(path)
        for row in range(len(one.history)):
            assert whole.history.reports_of(offset + row) == one.history.reports_of(row)
        offset += len(one.history)
    assert whole.fun == min(lamcts.load(path).fun for path in paths) and made.about["merged"] == [*map(str, paths)]


def test_a_run_resumes_and_knows_all_evaluations(tmp_path: Path) -> None:
    merge(runs(tmp_path), tmp_path / "all.db")
    how = HOW | {"objectives": ["value"], "journal": tmp_path / "all.db"}
    result = lamcts.minimize(measured, SPACE, budget=30, **how)  # the seed is that of the first
    assert (result.nfev, result.seed, result.status) == (30, 0, "budget")
    assert len({row["trial"] for row in result.rows()}) == 30
    again = lamcts.minimize(measured, SPACE, budget=4, seed=5, known=lamcts.load(tmp_path / "all.db"), **HOW)
    assert again.nfev == 4 and len(again.history) > 20


def test_a_search_on_reals_resumes_from_the_evaluations_of_both(tmp_path: Path) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for seed, path in enumerate(paths):
        lamcts.minimize(lambda x: float((x**2).sum()), [(-1, 2)] * 2, budget=15, seed=seed, journal=path)
    best = min(lamcts.load(path).fun for path in paths)
    merge(paths, tmp_path / "c.db")
    result = lamcts.minimize(lambda x: float((x**2).sum()), [(-1, 2)] * 2, budget=45, journal=tmp_path / "c.db")
    assert result.nfev == 45 and result.fun < best


def test_what_both_know_is_kept_once(tmp_path: Path) -> None:
    (first,) = runs(tmp_path, seeds=1)
    second = tmp_path / "second.db"
    known = lamcts.load(first)
    lamcts.minimize(measured, SPACE, budget=3, seed=9, known=known, journal=second, objectives=["value"], **HOW)
    for order in ([first, second], [second, first]):
        made = merge(order, tmp_path / f"{order[0].stem}-first.db")
        assert made.n == 14 + 3 and (made.trial >= 0).all()


def test_one_kind_of_evaluations(tmp_path: Path) -> None:
    paths = runs(tmp_path)
    made = merge(paths, tmp_path / "failed.db", only="failed")
    assert 0 < made.n < 28 and {*made.failures.values()} == {"RuntimeError: too high"} and not made.reports
    with pytest.raises(ValueError, match="only: expected ok, failed, checked, pruned, partial or feasible, got 'good'"):
        merge(paths, tmp_path / "good.db", only="good")
    with pytest.raises(JournalError, match="expected evaluations of the kind 'checked', got none in "):
        merge(paths, tmp_path / "checked.db", only="checked")
    assert not (tmp_path / "checked.db").exists()


def test_re_evaluations_are_rows_of_the_merged_run(tmp_path: Path) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for seed, path in enumerate(paths):
        lamcts.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=20, noisy=True, seed=seed, journal=path)
    merge(paths, tmp_path / "c.db")
    again = [int(lamcts.load(path).history.again.sum()) for path in (*paths, tmp_path / "c.db")]
    assert again[0] + again[1] == again[2] > 1


def test_other_spaces_and_goals_are_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.db" for i in range(3)]
    lamcts.minimize(lambda x: x[0], [(0, 1)], budget=5, seed=0, journal=paths[0])
    lamcts.minimize(lambda x: x[0], [(0, 2)], budget=5, seed=0, journal=paths[1])
    lamcts.maximize(lambda x: x[0], [(0, 1)], budget=5, seed=0, journal=paths[2])
    into = tmp_path / "all.db"
    with pytest.raises(JournalError, match=r"expected runs of one space and the same goals, got space\.\w+ .*2.*1\.db"):
        merge(paths[:2], into)
    with pytest.raises(JournalError, match=r"got maximize True in .*2\.db and False in .*0\.db"):
        merge([paths[0], paths[2]], into)
    assert not into.exists()
    with pytest.raises(JournalError, match=r"expected a new file, got .*1\.db, which exists; give another path"):
        merge(paths[:1], paths[1])


def test_functions_of_other_names_are_a_warning(tmp_path: Path) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for name, path in zip("ab", paths, strict=True):
        lamcts.minimize(lambda x: x[0], [(0, 1)], budget=5, seed=0, journal=path, about={"objective": name})
    with pytest.warns(RuntimeWarning, match=r"b\.db holds values of 'b', .*a\.db those of 'a'"):
        merge(paths, tmp_path / "c.db")


def test_the_command_line_writes_one_journal(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    runs(tmp_path)
    code, out, err = said(capsys, "export", "0.db", "1.db", "--journal", "all.db")
    assert (code, out, err) == (0, "all.db: 28 evaluations of 2 runs\n", "")
    assert said(capsys, "export", "0.db", "--journal", "ok.db", "--only", "ok")[0] == 0
    assert said(capsys, "export", "0.db", "--journal", "ok.db") == (
        2,
        "",
        "lamcts export: merge: expected a new file, got ok.db, which exists; give another path\n",
    )
    code, _, err = said(capsys, "export", "0.db", "1.db", "--optuna", "sqlite:///x.db")
    assert code == 2 and "--optuna: expected one run with all its evaluations" in err
    assert said(capsys, "export", "0.db")[0] == 2
