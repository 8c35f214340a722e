"""Known results from studies of Optuna, DataFrames, journals, and several sources at once."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stroll import Stroll

import lamcts
from lamcts.study import Study

OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False}
SPACE = lamcts.Space(
    {
        "lr": lamcts.Float(1e-5, 1, log=True),
        "kind": lamcts.Choice(["a", "b", None]),
        "n": lamcts.Int(1, 9),
        "flag": lamcts.Bool(),
        "m": lamcts.Int(1, 4, when={"kind": "a"}),
    }
)


def optuna_study(n: int = 14, direction: str = "minimize") -> Any:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def f(trial: Any) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1, log=True)
        kind = trial.suggest_categorical("kind", ["a", "b", None])
        if trial.number == 3:
            raise RuntimeError("before it has all parameters")
        n = trial.suggest_int("n", 1, 9)
        trial.suggest_categorical("flag", [True, False])
        if kind == "a":
            trial.suggest_int("m", 1, 4)
        if trial.number == 2:
            raise optuna.TrialPruned
        return math.nan if trial.number == 4 else float(lr + n)

    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(f, n, catch=(RuntimeError,))
    study.ask()  # one that runs
    return study


def known(source: Any, space: Any = SPACE, maximize: bool = False, **more: Any) -> list[Any]:
    return Study(lambda point: 0.0, space, maximize, 3, known=source, **more, **OPTIONS).known


def pairs(source: Any) -> list[Any]:
    return [(one.point, one.value) for one in known(source)]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::optuna._experimental.ExperimentalWarning")
def test_a_study_its_table_and_its_csv_file_say_the_same(tmp_path: Path) -> None:
    study = optuna_study()
    trials = [
        trial for trial in study.trials if trial.number not in (2, 3, 14)
    ]  # not the pruned, short and running one
    expected = [(trial.params, None if trial.number == 4 else trial.value) for trial in trials]
    table = study.trials_dataframe()
    table.to_csv(tmp_path / "trials.csv")
    frames = (table, study.trials_dataframe(multi_index=True))
    for source in (study, *frames, tmp_path / "trials.csv", str(tmp_path / "trials.csv")):
        with pytest.warns(RuntimeWarning, match="1 of 14 rows of .* were pruned and have no intermediate values"):
            assert pairs(source) == expected
    assert {point["kind"] for point, _ in expected} == {"a", "b", None}


def test_a_study_of_several_objectives_brings_its_values_in_order(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x1", 0, 1), 2.0), 3)
    goals = {"objectives": {"cost": "min", "range": "max"}}
    space = lamcts.Box(0, 1, dim=1)
    found = [one.value for one in known(study, space, **goals)]
    assert found == [{"cost": trial.values[0], "range": 2.0} for trial in study.trials]
    assert [one.value for one in known(study.trials_dataframe(), space, **goals)] == found
    with pytest.raises(
        ValueError, match="directions of this run, minimize, got an Optuna study with minimize, maximize"
    ):
        known(study, space)


def test_another_direction_and_a_value_outside_the_space_are_refused() -> None:
    study = optuna_study(2)
    with pytest.raises(ValueError, match="directions of this run, maximize, got an Optuna study with minimize; pass"):
        known(study, maximize=True)
    with pytest.raises(ValueError, match="directions of this run, maximize, got a run with minimize"):
        known(lamcts.minimize(lambda point: 0.0, SPACE, budget=2, **OPTIONS), maximize=True)
    small = lamcts.Space({"lr": lamcts.Float(1e-9, 1e-8), "n": lamcts.Int(1, 9)})
    with pytest.raises(ValueError, match=r"known: trial 0: parameter 'lr': expected a number in \[1e-09, 1e-08\], got"):
        known(study, small)
    with pytest.raises(ValueError, match="known: row 0, column 'lr': expected a number in"):
        known(study.trials_dataframe(), small)
    with pytest.raises(ValueError, match="known: the DataFrame: expected a column 'rate', got"):
        known(study.trials_dataframe(), {"rate": lamcts.Float(0, 1)})


def test_a_table_of_a_user_has_columns_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"x1": [1, 2], "x2": [0.5, 1.5], "value": [3.0, None], "note": [[1], {}]}, index=["p", "q"]
    )
    found = known(table, [(0, 2)] * 2)
    assert [one.point for one in found] == [[1, 0.5], [2, 1.5]] and [one.value for one in found] == [3.0, None]
    assert [one.where for one in found] == ["row p", "row q"]


def test_a_table_of_float32_has_the_points_of_the_space() -> None:
    pandas = pytest.importorskip("pandas")
    space = {"a": lamcts.Float(0, 0.3), "b": lamcts.Choice([0.1, 0.7]), "c": lamcts.Float(0, 70, step=0.1)}
    table = pandas.DataFrame({"a": [0.3, 0.15], "b": [0.7, 0.1], "c": [0.7, 69.7], "value": [1, 2]}, dtype="float32")
    found = lamcts.minimize(lambda p: 3.0, space, budget=1, known=table, **OPTIONS)
    assert [tuple(point.values()) for point in found.history.points][:1] == [(0.3, 0.7, 0.7)]
    assert found.history.points[1] == {"a": pytest.approx(0.15), "b": 0.1, "c": 69.7}


def test_the_table_of_a_run_comes_back() -> None:
    pytest.importorskip("pandas")
    ran = lamcts.minimize(lambda point: point["lr"] + point["n"], SPACE, budget=12, **OPTIONS)
    for one, point, value in zip(known(ran.to_dataframe()), ran.history.points, ran.history.values, strict=True):
        assert one.value == value and (SPACE.encode(one.point) == SPACE.encode(point)).all()


def test_a_journal_of_options_and_tables_that_no_file_holds_is_a_source_where_the_space_is(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    same = lamcts.Choice([math.sin, math.cos, (math.sin, 2)])
    table = lamcts.Finite(["p", "q", "r"], features=[[1], [2], [4]])
    space = lamcts.Space({"f": same, "row": table, "x": lamcts.Float(0, 1)})
    ran = lamcts.minimize(lambda p: p["x"], space, budget=6, journal=tmp_path / "run.db", **OPTIONS)
    points = [*ran.history.points]
    for source in (tmp_path / "run.db", ran.to_dataframe()):
        again = lamcts.minimize(lambda p: 1.0, space, budget=1, known=source, **OPTIONS)
        assert [*again.history.points][:6] == points and len(again.history) == 7
    with pytest.warns(RuntimeWarning, match="results have other values than fix="):
        again = lamcts.minimize(lambda p: 1.0, space, budget=1, known=tmp_path / "run.db", fix={"row": "q"}, **OPTIONS)
    assert [*again.history.points][:-1] == [point for point in points if point["row"] == "q"]
    fewer, wider = ({"f": choice, "x": space.members[2]} for choice in (same, lamcts.Choice([abs, *same.options])))
    lamcts.minimize(lambda p: p["x"], fewer, budget=3, journal=tmp_path / "fewer.db", **OPTIONS)
    again = lamcts.minimize(lambda p: 1.0, wider, budget=1, known=tmp_path / "fewer.db", **OPTIONS)
    assert {point["f"] for point in again.history.points[:3]} <= {*same.options} and len(again.history) == 4
    with pytest.raises(ValueError, match=r"space: expected that of the run in .*run.db, got another one"):
        lamcts.minimize(lambda p: 1.0, wider, budget=1, known=tmp_path / "run.db", **OPTIONS)


def test_a_journal_and_its_folder_are_sources_and_several_sources_make_one_list(tmp_path: Path) -> None:
    ran = lamcts.minimize(lambda point: point["lr"], SPACE, budget=5, journal=tmp_path / "journal.db", **OPTIONS)
    (tmp_path / "old.csv").write_text("lr,kind,n,flag,m,value\n0.1,b,3,true,,7\n")
    pair = ({"lr": 0.2, "kind": None, "n": 2, "flag": False}, 1.0)
    values = [*ran.history.values.tolist()]
    assert [one.value for one in known(tmp_path / "journal.db")] == values == [one.value for one in known(tmp_path)]
    several = known([pair, tmp_path / "old.csv", ran, pair, str(tmp_path)])
    assert [one.value for one in several] == [7.0, *values, *values, 1.0, 1.0]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"expected a CSV file or a journal, got the folder .*empty, which has none"):
        known(tmp_path / "empty")


def test_trials_of_optuna_are_read_as_their_study_is() -> None:
    study = optuna_study(2)
    assert pairs(study.trials) == pairs(study)
    pair = ({"lr": 0.2, "kind": None, "n": 2, "flag": False}, 1.0)
    assert pairs([pair, *study.trials]) == [*pairs(study), pair]
    with pytest.warns(RuntimeWarning, match="known: the study has no evaluation: 0 rows were read"):
        assert pairs(optuna_study(0)) == []


@pytest.mark.filterwarnings("ignore::optuna._experimental.ExperimentalWarning")
def test_a_storage_of_optuna_is_answered_by_the_call_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna = pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    log = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend("study.log"))
    optuna.create_study(storage=log).add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(ValueError, match=r"known: expected .* known=optuna\.load_study") as refused:
        known("study.log")
    call = str(refused.value).partition("known=")[2].partition(" reads its only study")[0]
    assert len(eval(call).trials) == 1
    optuna.create_study(storage="sqlite:///study.db")
    with pytest.raises(lamcts.JournalError, match="is not a lamcts journal but an SQLite storage of Optuna"):
        lamcts.load("study.db")


@pytest.mark.parametrize(
    ("name", "content", "cure"),
    [
        ("t.csv.gz", b"\x1f\x8b\x08", r"unpack it; known=pandas\.read_csv\('t\.csv\.gz'\)"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"known=pandas\.read_excel\('t\.xls'\)"),
        ("t.bin", b"\0\1\2", r"write its results as CSV, or as pairs \[\(point, value\), \.\.\.\]"),
    ],
)
def test_another_file_is_answered_by_what_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, cure: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(
        ValueError,
        match=f"known: expected a CSV file .*, a journal, or a storage of Optuna, .*{cure}",
    ):
        known(name)


def test_a_journal_is_read_with_the_space_of_the_call(tmp_path: Path) -> None:
    space = lamcts.Space({"act": lamcts.Choice([math.sin, math.cos]), "x": lamcts.Float(0, 1)})
    ran = lamcts.minimize(lambda p: p["act"](p["x"]), space, budget=5, journal=tmp_path / "run.db", **OPTIONS)
    assert [one.point for one in known(tmp_path / "run.db", space)] == list(ran.history.points)


def test_two_columns_of_one_name_are_refused_in_a_dataframe() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0.1, 1.0, 2.0]], columns=["x1", "value", "value"])
    with pytest.raises(ValueError, match="known: the DataFrame: expected each column once, got 'value' twice"):
        known(table, lamcts.Box(0, 1, dim=1))


def test_lists_of_pairs_are_sources_of_their_own_and_pairs_stay_pairs() -> None:
    box, goals = lamcts.Box(0, 1, dim=2), {"objectives": ["a", "b"]}
    first, second = [((0.1, 0.2), 1.0), ((0.3, 0.4), 2.0)], [([0.5, 0.6], 3.0)]
    study = Study(lambda x: 0.0, box, False, 3, known=[first, second], related=True, **OPTIONS)
    assert [[one.value for one in task] for task in study.related] == [[1.0, 2.0], [3.0]]
    assert [one.value for one in known([first, second], box)] == [1.0, 2.0, 3.0]
    with pytest.warns(RuntimeWarning, match="known: 1 of 2 results have other values than fix="):
        assert [one.value for one in known([first], box, fix={0: 0.3})] == [2.0]
    for pair in (((0.1, 0.2), (1.0, 2.0)), [[0.1, 0.2], [1.0, 2.0]]):
        assert [one.value for one in known([pair], box, **goals)] == [pair[1]]
    with pytest.raises(ValueError, match=r"known: number 0: coordinate 1: expected a number in \[0.0, 1.0\], got 7"):
        known([([0.1, 7], [1.0, 2.0])], box, **goals)


def test_related_results_are_none_of_this_task_and_a_resumed_run_ends_alike(tmp_path: Path) -> None:
    def f(point: Any) -> float:
        return float((point["lr"] - 0.3) ** 2 + point["n"])

    source = lamcts.minimize(f, SPACE, budget=20, **OPTIONS)
    given: dict[str, Any] = {"known": source, "related": True, "seed": 1, "n_init": 6, "progress": False}
    whole = lamcts.minimize(f, SPACE, budget=16, **given)
    assert (whole.history.trial >= 0).all() and len(whole.history) == 16
    best = [i for i, point in enumerate(whole.history.points) if (SPACE.encode(point) == SPACE.encode(source.x)).all()]
    assert len(best) == 1 and best[0] >= 6
    for budget in (5, 11, 16):
        part = lamcts.minimize(f, SPACE, budget=budget, journal=tmp_path / "run.db", **given)
    assert part.history.x.tobytes() == whole.history.x.tobytes()
    with pytest.raises(lamcts.JournalError, match="related"):
        lamcts.minimize(f, SPACE, budget=18, journal=tmp_path / "run.db", **given | {"known": [source, source]})
    with pytest.raises(ValueError, match="related: expected known results, got none; pass known=RESULTS"):
        lamcts.minimize(f, SPACE, budget=18, related=True)
    with pytest.raises(ValueError, match="known: number 0: parameter 'lr': expected a number"):
        lamcts.minimize(f, SPACE, budget=18, known=[({"lr": 7}, 1.0)], related=True)


def test_results_of_failures_alone_change_nothing() -> None:
    options: dict[str, Any] = {"budget": 12, "seed": 0, "progress": False}
    space = lamcts.Box(0, 1, dim=2)
    without = lamcts.minimize(lambda x: x[0], space, **options)
    given = lamcts.minimize(lambda x: x[0], space, known=[([0.1, 0.2], None)], related=True, **options)
    assert np.array_equal(without.history.x, given.history.x)
