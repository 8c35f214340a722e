import json
import os
import sys

import pytest

from lamcts import Angle, Bool, Box, Choice, Fidelity, Float, Int, Space
from lamcts.cli.parameters import member_of, space_of


@pytest.mark.parametrize(
    ("written", "space"),
    [
        ("0:1", Float(0, 1)),
        ("0:1:step=0.25", Float(0, 1, step=0.25)),
        ("-5:1e3", Float(-5, 1000)),
        ("1e-5:1e-1:log", Float(1e-5, 1e-1, log=True)),
        ("1:8:int", Int(1, 8)),
        ("24:120:int:step=24", Int(24, 120, step=24)),
        ("24:120:step=24:int", Int(24, 120, step=24)),
        ("1:1e6:int:log", Int(1, 1_000_000, log=True)),
        ("1:1024:log:int", Int(1, 1024, log=True)),
        ("1:81:fidelity", Fidelity(1, 81)),
        ("1:81:fidelity:resumes", Fidelity(1, 81, resumes=True)),
        ("relu, gelu", Choice(("relu", "gelu"))),
        ("16,32,64:ordered", Choice((16, 32, 64), ordered=True)),
        ("1,2.5", Choice((1, 2.5))),
        ("1,two", Choice(("1", "two"))),
        (",--fast", Choice(("", "--fast"))),
        (" bool ", Bool()),
        ("360:angle", Angle(360)),
    ],
)
def test_a_range_is_read_as_it_is_written(written, space):
    assert member_of(written) == space


def test_parameters_come_from_options_and_files_in_order(tmp_path):
    (tmp_path / "space.toml").write_text('lr = "1e-5:1e-1:log"\nact = ["relu", false, 3]\n')
    (tmp_path / "space.json").write_text(json.dumps({"lr": "1e-5:1e-1:log", "act": ["relu", False, 3]}))
    expected = Space(
        {"lr": Float(1e-5, 1e-1, log=True), "act": Choice(("relu", False, 3)), "layers": Int(1, 8), "on": Bool()}
    )
    for name in ("space.toml", "space.json"):
        assert space_of(["layers=1:8:int", "on=bool"], str(tmp_path / name)) == expected
    assert space_of([], None) is None


def test_names_may_have_blanks_and_any_letters():
    assert space_of(["learning rate=0:1", "größe = 1:8:int"], None).names == ("learning rate", "größe")


def test_a_table_in_a_file_says_where_a_parameter_is_active(tmp_path):
    (tmp_path / "space.toml").write_text(
        'solver = ["sgd", "adam"]\nmomentum = {range = "0:0.9", when = {solver = "sgd"}}\n'
        'kind = {range = ["a", "b"], when = {solver = ["sgd", "adam"], momentum = 1}}\n'
    )
    with pytest.raises(ValueError, match="'kind': when: expected a parameter with single values, got 'momentum'"):
        space_of([], str(tmp_path / "space.toml"))
    table = {"range": ["a", "b"], "when": {"n": [1, 2]}}
    (tmp_path / "space.json").write_text(json.dumps({"n": "0:3:int", "kind": table}))
    expected = Space({"n": Int(0, 3), "kind": Choice(("a", "b"), when={"n": [1, 2]})})
    assert space_of([], str(tmp_path / "space.json")) == expected
    for written in ({"range": "0:1"}, {"range": "0:1", "when": {"n": 1}, "unless": 3}, {"range": "0:1", "when": 3}):
        (tmp_path / "space.json").write_text(json.dumps({"n": "0:3:int", "x": written}))
        with pytest.raises(ValueError, match=r"'x': (expected a table with 'range' and 'when'|when: expected values)"):
            space_of([], str(tmp_path / "space.json"))


def test_bounds_with_a_dimension_are_a_box():
    assert space_of([], "-5:10", 20) == Box(-5, 10, dim=20)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["lr"], r"NAME=RANGE, such as lr=1e-5:1e-1:log, got 'lr'"),
        (["lr=0.1"], "'lr': expected LOW:HIGH.*write constants out"),
        (["lr=0:x"], "expected a number, .*got 'x'"),
        (["lr=0:1:step=x"], "expected a number, .*got 'x'"),
        (["lr=0:1:lag"], "LOW:HIGH:log, LOW:HIGH:int, .* got '0:1:lag'"),
        (["n=0:8:int:step=2:step=4"], "settings of int: low, high, log, step, got '0:8:int:step=2:step=4'"),
        (["n=1:8:int:log:step=2"], "'n': expected no step where log=True"),
        (["tour=700000000:permutation"], "'tour': expected at most 500 items, got 700000000; search for priorities"),
        (["pick=700000000:subset=3"], "at most 100000 items, got 700000000; choose among groups"),
        (["mix=700000000:simplex"], "at most 100000 items, got 700000000; group the ingredients"),
        (["lr=0:1:log"], "'lr': expected 0 < low where log=True"),
        (["lr=0:1:log:log"], "got '0:1:log:log'"),
        (["n=0:9:fidelity"], "1 <= low < high, got low=0"),
        (["n=1:8.5:int"], "a whole number, got 8.5"),
        (["lr=1:0"], "swap the bounds"),
        (["pick=12:subset="], "expected a number, or options A,B,C, got ''"),
        (["act=a,a"], "distinct values"),
        (["turn=1:2:angle"], "settings of angle: period, got"),
        (["turn=-1:angle"], "'turn': period: expected a number above 0"),
        (["act=0:1,log"], "options without ':'"),
        (["act=relu,"], "'act': expected an option after the last comma, got 'relu,'"),
        (["act=a,:ordered"], "after the last comma"),
        (["=0:1"], "the name of a parameter"),
        (["a\tb=0:1"], "the name of a parameter"),
        (["a=0:1", "a=0:2"], "'a' twice"),
    ],
)
def test_a_range_that_cannot_be_read_says_why(params, message):
    with pytest.raises(ValueError, match=message):
        space_of(params, None)


def test_files_that_cannot_be_read_say_why(tmp_path):
    for name, text, message in [
        ("bad.json", "{", "expected JSON"),
        ("bad.toml", "= 3", "expected TOML"),
        ("list.json", "[1]", "NAME: RANGE pairs"),
        ("deep.json", "[" * 100_000, "expected JSON"),
        ("deep.toml", "x = " + "[" * 100_000, "expected TOML"),
        ("nested.json", '{"a": ' + "[" * 700 + "1, 2" + "]" * 700 + "}", "'a': expected options that are texts"),
        (
            "table.json",
            '{"a": {"range": {"range": "0:1", "when": {}}, "when": {}}}',
            "'a': expected text such as '0:1' or",
        ),
        (
            "when.json",
            '{"a": {"range": "0:1", "when": {"n": [' + "[" * 700 + "]" * 700 + "]}}}",
            "'a': expected options",
        ),
        ("twice.json", '{"lr": "0:1", "lr": "0:2"}', "expected each name once, got 'lr' twice"),
        (
            "latin.json",
            b'{"gr\xf6\xdfe": "0:1"}',
            "--space: the file .*latin.json cannot be read: expected text in UTF-8",
        ),
        ("number.json", '{"lr": 3}', "'lr': expected text such as '0:1' or a list of options, got 3"),
    ]:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match=message):
            space_of([], str(tmp_path / name))
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ValueError, match=r"--space: the file .*pipe.json cannot be opened: it is a pipe"):
        space_of([], str(tmp_path / "pipe.json"))
    with pytest.raises(FileNotFoundError):
        space_of([], "nowhere.toml")


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"params": [{"name": "lr", "min": 0, "max": 1}]}, "'params': expected options that are texts, .* got {'name'"),
        (
            {"bounds": [[0, 1], [0, 5]]},
            r"'bounds': expected options .* got \[0, 1\]; write NAME = \"LOW:HIGH\" or NAME",
        ),
        (
            {"lr": {"_type": "uniform", "_value": [0, 1]}},
            r"'lr': expected a table with .* got one with \['_type', '_val",
        ),
        (
            {"lr": {"name": "FloatDistribution", "attributes": {"low": 0}}},
            "'range' and 'when', got one with .* programs",
        ),
        (
            {"hyperparameters": [{"name": "lr", "type": "unheard of"}]},
            "--space: expected a file that ConfigSpace wrote",
        ),
    ],
)
def test_a_file_of_another_program_is_refused_with_the_form_of_ours(tmp_path, held, message):
    if "hyperparameters" in held:
        pytest.importorskip("ConfigSpace")
    (tmp_path / "space.json").write_text(json.dumps(held))
    with pytest.raises(ValueError, match=message):
        space_of([], str(tmp_path / "space.json"))


def test_a_file_of_configspace_is_its_space(tmp_path, monkeypatch):
    library = pytest.importorskip("ConfigSpace")
    library.ConfigurationSpace({"lr": (0.0, 1.0), "act": ["a", "b"]}).to_json(tmp_path / "space.json")
    path = str(tmp_path / "space.json")
    assert space_of([], path) == Space({"act": Choice(("a", "b")), "lr": Float(0, 1)})
    with pytest.raises(ValueError, match="--param: expected none next to a file of ConfigSpace, got some"):
        space_of(["x=0:1"], path)
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    with pytest.raises(ValueError, match="--space: reading a file of ConfigSpace needs it: pip install ConfigSpace"):
        space_of([], path)


def test_bounds_and_dimensions_belong_together():
    for params, space, dim, message in [
        ([], "-5:10", None, "add --dim 20"),
        ([], "file.yaml", 3, r"a \.json or \.toml file, FILE\.py:NAME, or LOW:HIGH"),
        (["a=0:1"], None, 3, "expected only with --space=LOW:HIGH"),
        (["a=0:1"], "0:1", 3, "use one or the other"),
    ]:
        with pytest.raises(ValueError, match=message):
            space_of(params, space, dim)
