"""A result comes back from its journal, and goes to tables, JSON and notebooks."""

import csv
import io
import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from evaluations import beam, sphere
from stroll import Stroll

import lamcts
from lamcts.errors import JournalError, MissingExtra
from lamcts.journal import Journal
from lamcts.optimizer.export import names_of, write_csv
from lamcts.spaces.serialization import from_signature

OPTIONS: dict[str, Any] = {"seed": 0, "sampler": "uniform", "progress": False}
PARTS: dict[str, Any] = {
    "rate": lamcts.Float(1e-5, 1e-1, log=True),
    "layers": lamcts.Int(1, 8),
    "act": lamcts.Choice(["relu", "<b>", None, 3]),
    "flag": lamcts.Bool(),
    "box": lamcts.Box(-1, 1, dim=2),
}
MIXED = lamcts.Space(PARTS)


def cost(point: dict[str, Any]) -> float | None:
    return None if point["layers"] == 3 else point["rate"] * point["layers"]


def same(a: Any, b: Any) -> bool:
    return json.dumps(a) == json.dumps(b)


def test_a_result_comes_back_from_its_journal_with_its_space(tmp_path: Any) -> None:
    ran = lamcts.minimize(cost, MIXED, budget=30, journal=tmp_path / "run.db", about={"who": "me"}, **OPTIONS)
    found = lamcts.load(tmp_path / "run.db")
    assert (found.space, found.status, found.about["who"]) == (MIXED, "loaded", "me") and "run.db" in found.message
    left = {"space", "about", "status", "message"}
    assert same({k: v for k, v in found.to_dict().items() if k not in left}, _without(ran.to_dict(), left))
    assert repr(list(found.history.points)) == repr(list(ran.history.points)) and found.history.messages
    assert repr(found.x) == repr(ran.x) and found.nfev == 30


def _without(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def test_columns_and_re_evaluations_come_back_too(tmp_path: Any) -> None:
    goals = {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 5"], "reference": [3, 0]}
    box, path = lamcts.Box(0, 1, dim=2), tmp_path / "run.db"
    ran, found = lamcts.minimize(beam, box, budget=20, journal=path, **goals, **OPTIONS), lamcts.load(path)
    assert found.front.rows() == ran.front.rows() and found.front.reference == {"cost": 3.0, "range": 0.0}
    assert (found.fun, found.feasible, found.row) == (ran.fun, ran.feasible, ran.row)
    path = tmp_path / "noisy.db"
    ran = lamcts.minimize(sphere, box, budget=20, noisy=True, journal=path, **OPTIONS)
    found = lamcts.load(path)
    assert (found.fun, found.nfev, len(found.candidates)) == (ran.fun, 20, len(ran.candidates))


def test_keys_and_rules_are_left_out_and_the_folder_of_a_run_will_do(tmp_path: Any) -> None:
    lamcts.minimize(
        sphere, lamcts.Box(-1, 1, dim=2), valid=lambda p: p[0] > 0, budget=5, journal=tmp_path / "journal.db", **OPTIONS
    )
    found = lamcts.load(tmp_path)
    assert found.space == lamcts.Box(-1, 1, dim=2) and all(point[0] > 0 for point in found.history.points)


def test_a_space_that_no_journal_holds_has_to_be_given(tmp_path: Any) -> None:
    space = lamcts.Finite([(1, 2), (3, 4), (5, 6)])
    ran = lamcts.minimize(sum, space, budget=3, journal=tmp_path / "run.db", **OPTIONS)
    with pytest.raises(ValueError, match=r"the journal .*run.db does not hold it \(a finite\): pass load\(path, space"):
        lamcts.load(tmp_path / "run.db")
    assert lamcts.load(tmp_path / "run.db", space=space).x == ran.x
    with pytest.raises(ValueError, match=r"space: expected that of the run in .*run.db, got another one"):
        lamcts.load(tmp_path / "run.db", space=lamcts.Finite([(1, 2), (3, 4)]))
    with pytest.raises(JournalError, match="there is no journal at"):
        lamcts.load(tmp_path / "other.db")


def test_options_of_any_kind_come_back_or_are_shown_by_their_labels(tmp_path: Any) -> None:
    space = lamcts.Space({"sizes": lamcts.Choice([(8,), (8, 4)]), "f": lamcts.Choice([math.sin, math.cos])})
    path, ran = tmp_path / "run.db", None
    for budget in (3, 5):  # the second call resumes
        ran = lamcts.minimize(
            lambda p: p["f"](len(p["sizes"])), space, budget=budget, repeat=True, journal=path, **OPTIONS
        )
    assert ran is not None and ran.x in lamcts.load(path, space=space).history.points
    labels = [{"sizes": point["sizes"], "f": f"math.{point['f'].__name__}"} for point in ran.history.points]
    assert [*lamcts.load(path).history.points] == labels
    assert Journal.read(path).leaders[-1][1] == {"sizes": [*ran.x["sizes"]], "f": f"math.{ran.x['f'].__name__}"}


def test_the_space_of_a_run_with_rules_may_be_given_without_them(tmp_path: Any) -> None:
    space, path = lamcts.Finite([(1, 2), (3, 4), (5, 6)]), tmp_path / "run.db"
    lamcts.minimize(sum, space, valid=lambda point: point[0] > 1, budget=2, journal=path, **OPTIONS)
    assert lamcts.load(path, space=space).fun == 7


def test_a_space_is_recalled_only_where_its_points_are_the_same_again() -> None:
    for space in (MIXED, *PARTS.values(), lamcts.Space([lamcts.Int(0, 3), lamcts.Space({"a": lamcts.Bool()})])):
        assert from_signature(json.loads(json.dumps(space.signature()))) == space
    for other in (
        None,
        "product",
        {},
        {"kind": "box"},
        {"kind": "float", "low": 1, "high": 0, "log": False},
        {"kind": 3},
    ):
        assert from_signature(other) is None


def test_rows_say_everything_and_name_no_column_twice() -> None:
    space = lamcts.Space({"trial": lamcts.Int(1, 3), "message": lamcts.Choice(["a", "b"])})
    result = lamcts.minimize(lambda p: None if p["trial"] == 2 else p["trial"], space, budget=5, **OPTIONS)
    first, *_ = rows = result.history.rows()
    assert names_of(rows) == ["trial", "value", "point.trial", "point.message", "seconds", "message"]
    assert first["point.trial"] == result.history.points[0]["trial"]
    assert [row["message"] for row in rows] == [result.history.messages.get(i, "") for i in range(5)]


def test_a_dict_of_a_result_is_json_without_nan() -> None:
    result = lamcts.minimize(lambda p: None, lamcts.Box(0, 1, dim=2), budget=3, **OPTIONS)
    held = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert held["fun"] is None and held["x"] is None and len(held["history"]) == 3
    assert held["history"][0]["value"] is None and held["history"][0]["message"] == "no value"


def test_a_dataframe_has_a_row_an_evaluation() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    result = lamcts.minimize(sphere, lamcts.Box(0, 1, dim=2), budget=4, **OPTIONS)
    table = result.to_dataframe()
    assert isinstance(table, pandas.DataFrame) and list(table) == ["trial", "value", "x1", "x2", "seconds", "message"]
    assert np.array_equal(table["value"], result.history.values) and table["value"].dtype == float


def test_without_pandas_a_dataframe_says_which_extra_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = lamcts.minimize(sphere, lamcts.Box(0, 1, dim=2), budget=2, **OPTIONS)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"'pandas', which is not installed: pip install '\.\[pandas\]'"):
        result.to_dataframe()


def test_a_notebook_gets_a_small_table_that_no_value_can_break() -> None:
    space = lamcts.Space({"a": lamcts.Choice(["<script>alert(1)</script>", "x" * 5000])})
    result = lamcts.minimize(lambda p: len(p["a"]), space, budget=2, **OPTIONS)
    shown = result._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and len(shown) < 3000 and "nfev" in shown


def test_a_table_in_text_keeps_every_digit() -> None:
    result = lamcts.minimize(cost, MIXED, budget=12, **{**OPTIONS, "sampler": Stroll()})
    rows = result.history.rows()
    write_csv(rows, names_of(rows), file := io.StringIO())
    read = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [row["rate"] for row in read] == [repr(point["rate"]) for point in result.history.points]
    assert {row["act"] for row in read} <= {"relu", "<b>", "null", "3"} and read[0]["box"].startswith("[")
    assert [row["value"] == "" for row in read] == result.history.failed.tolist()


@pytest.mark.parametrize("reference", [5, "ab", [1], [1, "b"], [math.nan, 1], [10**400, 1], [True, None], {"a": 1}])
def test_a_run_may_say_anything_of_itself(reference: Any, tmp_path: Any) -> None:
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0, sampler="uniform", objectives=["a", "b"])
    with Journal.open(tmp_path / "run.db", opt.fingerprint(), {"reference": reference, "budget": [1]}) as journal:
        opt.tell(opt.ask(2), [[1.0, 2.0], [2.0, 1.0]])
        journal.write(opt.delta(journal.mark))
    found = lamcts.load(tmp_path / "run.db")
    assert len(found.front) == 2 and (found.front.reference or {}).keys() == {"a", "b"}
    json.dumps(found.to_dict(), allow_nan=False)
