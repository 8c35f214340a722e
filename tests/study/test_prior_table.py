"""PriorObservation results from a CSV file: what may stand in it, and how mistakes in it are told."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import beam, sphere
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stroll import Stroll

import lamcts
from lamcts.optimizer.export import names_of, write_csv

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False}
PARTS: dict[str, Any] = {
    "lr": lamcts.Float(0, 1),
    "act": lamcts.Choice(["relu", "1", 2, None, "", "true", "a,b"]),
    "flag": lamcts.Bool(),
    "trial": lamcts.Int(1, 9),
    "size": lamcts.Choice([[32, 32], [64]]),
    "box": lamcts.Box(-1, 1, dim=2),
}
SPACE = lamcts.Space(PARTS)


def cost(point: dict[str, Any]) -> float | None:
    return None if point["trial"] == 3 else float(point["lr"] + point["trial"])


def told(text: str, tmp_path: Path, space: Any = BOX, f: Any = sphere, **goals: Any) -> Any:
    (tmp_path / "old.csv").write_text(text, encoding="utf-8")
    return lamcts.minimize(f, space, budget=1, known=tmp_path / "old.csv", **goals, **OPTIONS).history


def written(result: Any) -> str:
    rows = result.rows()
    write_csv(rows, names_of(rows), file := io.StringIO())
    return file.getvalue()


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def test_what_a_run_writes_another_one_knows(tmp_path: Path) -> None:
    ran = lamcts.minimize(cost, SPACE, budget=25, **OPTIONS)
    history = told(written(ran), tmp_path, SPACE, cost)
    assert np.allclose(history.x[:25], ran.history.x, rtol=0, atol=1e-12) and same(
        history.values[:25], ran.history.values
    )
    assert ran.history.failed.any() and (history.trial[:25] == -1).all()


def test_columns_of_constraints_and_objectives_come_back(tmp_path: Path) -> None:
    goals: dict[str, Any] = {"objectives": {"cost": "min", "range": "max"}}
    goals["constraints"] = ["stress <= 5", "stress >= -9", "cost <= 3"]
    ran = lamcts.minimize(beam, BOX, budget=12, **goals, **OPTIONS)
    history = told(written(ran), tmp_path, BOX, beam, **goals)
    assert same(history.values[:12], ran.history.values)
    assert np.allclose(history.constraints[:12], ran.history.constraints)
    plain = told("stress,x1,x2,range,cost\n2,0.1,0.2,0.3,0.05\n7,.7,.1,,\n", tmp_path, BOX, beam, **goals)
    assert plain.values[0].tolist() == [0.05, 0.3] and plain.constraints[0].tolist() == [-3.0, -11.0, 3.0 * 0 - 2.95]
    assert plain.checked[:2].tolist() == [False, True]


def test_objectives_with_the_names_of_other_columns_come_back(tmp_path: Path) -> None:
    goals: dict[str, Any] = {"objectives": {"seconds": "min", "message": "max", "trial": "min"}}
    goals["constraints"] = ["seconds <= 0.5"]

    def named(point: Any) -> dict[str, float]:
        return {"seconds": float(point[0]), "message": float(point[1]), "trial": float(point.sum())}

    ran = lamcts.minimize(named, BOX, budget=8, **goals, **OPTIONS)
    names = ["value.seconds", "value.message", "value.trial"]
    assert [[row[name] for name in names] for row in ran.rows()] == ran.history.values.tolist()
    assert ran.rows()[0]["trial"] == 0 and ran.rows()[0]["message"] == ""
    history = told(written(ran), tmp_path, BOX, named, **goals)
    assert same(history.values[:8], ran.history.values)


def test_metrics_and_standard_errors_come_back(tmp_path: Path) -> None:
    def measured(point: Any, trial: Any) -> Any:
        trial.note(seconds=3, device="cpu", ok=True, trial="again", none=None)
        return None if point[0] > 0.5 else (float(point[0]), 0.25)

    ran = lamcts.minimize(measured, BOX, budget=12, **OPTIONS)
    history = told(written(ran), tmp_path)
    assert history.failed[:12].any() and all(history.metrics[i] == ran.history.metrics[i] for i in range(12))
    assert history.sems == ran.history.sems and len(history.sems) == 12 - ran.history.failed.sum()
    again = lamcts.minimize(sphere, BOX, budget=1, known=ran, **OPTIONS).history
    assert again.metrics == ran.history.metrics and again.sems == ran.history.sems


def test_errors_of_several_objectives_have_columns_of_their_own_and_lists_are_texts(tmp_path: Path) -> None:
    text = 'x1,x2,cost,mass,sem,sem.mass,sizes,\n0,1,2,3,9,0.5,"[1, 2]",7\n1,1,,,,,,\n'
    history = told(text, tmp_path, f=lambda x: (1.0, 2.0), objectives=["cost", "mass"])
    assert same(history.sems[0], [np.nan, 0.5]) and history.metrics == {0: {"sizes": "[1, 2]"}}


def test_a_parameter_or_an_objective_may_have_the_name_of_the_errors(tmp_path: Path) -> None:
    space = lamcts.Space({"sem": lamcts.Float(-1, 1)})
    history = told("sem,value\n-0.5,2\n", tmp_path, space, lambda point: 0.0)
    assert history.points[0] == {"sem": -0.5} and not history.sems
    history = told("point.sem,value,sem\n-0.5,2,0.1\n", tmp_path, space, lambda point: 0.0)
    assert history.points[0] == {"sem": -0.5} and history.sems[0] == (0.1,)
    history = told("x1,x2,sem\n0,1,-2\n", tmp_path, f=lambda x: {"sem": 1.0}, objectives=["sem"])
    assert history.values[0] == -2 and not history.sems


def test_related_results_may_have_errors_and_metrics(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("x1,x2,value,sem,note\n" + "".join(f"0.{i},0.2,{i},0.1,a\n" for i in range(9)))
    result = lamcts.minimize(sphere, BOX, budget=12, known=tmp_path / "old.csv", related=True, seed=0, progress=False)
    assert len(result.history) == 12


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_spreadsheets_file_will_do(separator: str, tmp_path: Path) -> None:
    lines = ["\ufeffx1,x2,value,note", " 0.1 ,0.2,5e-1,by hand", "", "0.3,0.4,,crashed", "0.5,0,nan,"]
    history = told("\r\n".join(lines).replace(",", separator), tmp_path)
    assert np.allclose(list(history.points[:3]), [[0.1, 0.2], [0.3, 0.4], [0.5, 0]])
    assert same(history.values[:3], [0.5, np.nan, np.nan]) and [*history.messages] == [1, 2]


MIXED = lamcts.Space(
    {"lr": lamcts.Float(0, 1), "n": lamcts.Int(1, 9), "on": lamcts.Bool(), "kind": lamcts.Choice(["a", "NA", 0.5])}
)


@pytest.mark.parametrize(
    "text",
    [
        "lr;n;on;kind;value\n0,1;2;1;0,5;3,5\n,25;3;0;a;NA\n",  # a spreadsheet with decimal commas
        "sep=;\r\nlr;n;on;kind;value;\r\n0.1;2;TRUE;0.5;3.5;\r\n2.5e-1;3;False;a;;\r\n;;;;;\r\n",
        "lr\tn\ton\tkind\tvalue\r0,1\t2\tTRUE\t0,5\t3,5\r2,5E-01\t3\tFALSE\ta\tn/a\r",
        '"","lr","n","on","kind","value"\n"1",0.1,2,TRUE,0.5,3.5\n"2",0.25,3,FALSE,"a",NA\n',  # write.csv of R
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tables_of_spreadsheets_and_programs_say_the_same(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes(text.encode(encoding))
    study = lamcts.study.Study(cost, MIXED, False, 1, known=tmp_path / "old.csv", **OPTIONS)
    assert [(one.point, one.value) for one in study.known] == [
        ({"lr": 0.1, "n": 2, "on": True, "kind": 0.5}, 3.5),
        ({"lr": 0.25, "n": 3, "on": False, "kind": "a"}, None),
    ]


def test_what_is_an_option_is_no_missing_cell_no_number_and_no_boolean(tmp_path: Path) -> None:
    space = lamcts.Space({"a": lamcts.Choice(["NA", "0,5", "T", "1", True, None])})
    history = told("a;value\nNA;1\n0,5;1\nT;1\n1;1\ntrue;1\nnone;1\n", tmp_path, space, lambda point: 0.0)
    assert [point["a"] for point in history.points[:6]] == ["NA", "0,5", "T", "1", True, None]


def test_many_columns_are_read_in_time_that_grows_with_them(tmp_path: Path) -> None:
    names = ",".join(f" c{i}" for i in range(20_000))  # before: 5 seconds of counting names
    assert told(f"{names},x1,x2,value\n{'1,' * 20_000}0,1,2\n", tmp_path).values[0] == 2
    with pytest.raises(ValueError, match="expected each column once, got ' c7' twice"):
        told(f"{names}, c7,x1,x2,value\n", tmp_path)


def test_a_table_without_rows_is_warned_of_and_its_names_are_checked(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"known: .*old.csv has no evaluation: 0 rows were read") as warned:
        (tmp_path / "old.csv").write_text("x1,x2,value\n")
        lamcts.minimize(sphere, BOX, budget=1, known=tmp_path / "old.csv", **OPTIONS)
    assert warned[0].filename == __file__


def test_points_that_are_one_thing_or_come_from_a_table_have_their_columns(tmp_path: Path) -> None:
    assert list(told("point,value\n4,2\n", tmp_path, lamcts.Int(1, 9), float).points[:1]) == [4]
    pairs = lamcts.Space([lamcts.Int(0, 9), lamcts.Choice(["a", "b"])])
    assert list(told("x2,x1,value\nb,4,2\n", tmp_path, pairs, lambda p: p[0]).points[:1]) == [(4, "b")]
    table = lamcts.Finite([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], features=[[0], [1]])
    assert list(told("a,b,value\n2,y,2\n", tmp_path, table, lambda p: p["a"]).points[:1]) == [{"a": 2, "b": "y"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line of names in .*old.csv, got an empty file"),
        ("# nothing yet\n", "expected a column 'x1', got # nothing yet; known=pandas.read_csv"),
        ("hello world\n", "known: .*old.csv: expected a column 'x1', got hello world"),
        (
            '{"runs": [{"x1": 0}]}',
            r"expected a CSV file .*, got .*old.csv, a JSON file; write its results as CSV, or as",
        ),
        ("x1,x2,value\n1,0,0,1\n", "line 2: expected 3 cells, one a column, got 4; put cells that contain ',' in"),
        ("x1;x2;value\n0,5;0;1\n0.5;0;1\n", "expected one decimal sign .*, got '0,5' in .*line 2 and '0.5' in .*3"),
        ("x1;x2;value\n0,5;0;1.234,5\n", "column 'value': expected a number, got '1.234,5'; write a number alone"),
        ('x1,x2,value\n"0,5",0,1\n', "line 2, column 'x1': value: expected a number, got '0,5'"),
        (
            "x1,x2,value\n0,0,85%\n",
            "expected a number, got '85%'; write a number alone, without a unit, a percent sign",
        ),
        ("x1,x2,value\n0,None,1\n", "old.csv, line 2, column 'x2': expected a value, got an empty cell"),
        ("x1,x2,loss\n0,0,1\n", "known: .*old.csv: expected a column 'value', got x1, x2, loss"),
        ("# two runs\nx1,x2,value\n0,0,1\n", "line 2: expected 1 cells, one a column, got 3; .*pandas.read_csv"),
        ("x1,value\n0,1\n", "expected a column 'x2', got x1, value"),
        ("x1,x2,x2,value\n0,0,0,1\n", "old.csv, line 1: expected each column once, got 'x2' twice"),
        ("x1,x2,value\n0,0,1\n0,1\n", "old.csv, line 3: expected 3 cells, one a column, got 2"),
        ("x1,x2,value\n0,0,1\n\n0,9,1\n", r"old.csv, line 4, column 'x2': .*in \[-1.0, 1.0\], got 9"),
        ("x1,x2,value\n0,zero,1\n", "old.csv, line 2, column 'x2': value: expected a number, got 'zero'"),
        ("x1,x2,value\n0,,1\n", "old.csv, line 2, column 'x2': expected a value, got an empty cell"),
        ("x1,x2,value\n0,0,good\n", "old.csv, line 2, column 'value': expected a number, got 'good'"),
        ('x1,x2,value\n0,0,"1\n2"\n', "old.csv, line 3, column 'value': expected a number"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_column(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        told(text, tmp_path)


def test_other_mistakes_are_told_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2, column 'act': .*got 7"):
        told('lr,act,flag,point.trial,size,box,value\n0,7,true,1,[64],"[0,0]",1\n', tmp_path, SPACE, cost)
    small = lamcts.Space({"lr": lamcts.Float(0, 1), "n": lamcts.Int(1, 3)})
    with pytest.raises(ValueError, match=r"known: .*line 3: .*without \['lr'\]"):
        told("lr,n,value\n0,1,1\n,1,1\n", tmp_path, small, cost)
    with pytest.raises(ValueError, match="expected a column 'stress'"):
        told("x1,x2,cost\n0,0,1\n", tmp_path, BOX, beam, objectives=["cost"], constraints=["stress <= 5"])
    (tmp_path / "latin.csv").write_bytes(b"x1,x2,value,gr\xf6\xdfe\n0,0,1,\n")
    with pytest.raises(ValueError, match=r"known: the file .*latin.csv cannot be read: expected text in UTF-8"):
        lamcts.minimize(sphere, BOX, budget=1, known=tmp_path / "latin.csv", **OPTIONS)
    with pytest.raises(FileNotFoundError):
        lamcts.minimize(sphere, BOX, budget=1, known=tmp_path / "none.csv", **OPTIONS)


@pytest.mark.filterwarnings("ignore:known. .* has no evaluation:RuntimeWarning")
@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=60) | st.text(alphabet='x12,value\n"0.;[]{}-e', max_size=60).map("x1,x2,value\n{}".format))
def test_any_text_is_taken_or_refused_in_words(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("known") / "old.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        lamcts.study.Study(sphere, BOX, False, 1, known=path, **OPTIONS)
    except ValueError as error:
        assert "known: " in str(error)


LABELS = st.text(alphabet="ab 1,;\"'\n\té=.", min_size=1, max_size=5) | st.sampled_from(
    ["trial", "value", "message", "seconds", "point.trial", "point.point.trial", "x1", "point", "c <= 1"]
)
OPTIONS_OF_ALL_KINDS = st.lists(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4) | LABELS,
    min_size=1,
    max_size=4,
)


@st.composite
def spaces(draw: Any) -> Any:
    """Draw spaces with names and options of all kinds; a journal's table tells apart what their texts tell apart."""
    names = draw(st.lists(LABELS, min_size=1, max_size=4, unique=True))
    members: dict[str, Any] = {}
    for name in names:
        kind = draw(st.sampled_from(["float", "int", "bool", "choice"]))
        if kind == "choice":
            options = draw(OPTIONS_OF_ALL_KINDS)
            texts = {_text(option): option for option in options}
            members[name] = lamcts.Choice([*texts.values()])
        else:
            members[name] = {"float": lamcts.Float(-1e-3, 7.5), "int": lamcts.Int(-5, 10**6), "bool": lamcts.Bool()}[
                kind
            ]
    return lamcts.Space(members)


def _text(option: Any) -> str:
    text = str(option).strip().lower().replace("none", "null")
    try:
        return str(float(text) + 0.0)  # -0.0 is 0
    except (ValueError, OverflowError):
        return text


@settings(max_examples=300, deadline=None)
@given(space=spaces(), seed=st.integers(0, 99))
@example(space=lamcts.Space({";;;\n": lamcts.Int(-5, 10**6)}), seed=0)
@example(space=lamcts.Space({";;;;;": lamcts.Int(-5, 10**6)}), seed=0)
@example(space=lamcts.Space({"1": lamcts.Choice(["\0"])}), seed=0)
def test_points_of_any_space_come_back_from_their_table(space: Any, seed: int, tmp_path_factory: Any) -> None:
    points = [space.decode(x) for x in space.sample(4, np.random.default_rng(seed))]
    known = [(point, float(i)) for i, point in enumerate(points)]
    ran = lamcts.minimize(lambda p: 1.0, space, budget=1, known=known, repeat=True, **OPTIONS)
    path = tmp_path_factory.mktemp("known") / "old.csv"
    path.write_bytes(written(ran).encode())
    again = lamcts.study.Study(lambda p: 1.0, space, False, 1, known=path, **OPTIONS)
    expected = space.encode_many(list(ran.history.points))
    assert np.allclose(space.encode_many([one.point for one in again.known]), expected, rtol=0, atol=1e-12)


def test_comments_and_letters_for_true_and_false_are_for_pandas(tmp_path: Path) -> None:
    space = lamcts.Space({"lr": lamcts.Float(0, 1), "on": lamcts.Bool()})
    with pytest.raises(ValueError, match="line 2, column 'on': expected True or False, got 'T'"):
        told("lr,on,value\n0.1,T,1\n", tmp_path, space, lambda point: 0.0)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    text = io.StringIO("# two runs\nlr,on,value\n0.1,T,1\n0.2,F,2\n")
    table = pandas.read_csv(text, comment="#", true_values=["T"], false_values=["F"])
    history = lamcts.minimize(lambda point: 0.0, space, budget=1, known=table, **OPTIONS).history
    assert [point["on"] for point in history.points[:2]] == [True, False]
