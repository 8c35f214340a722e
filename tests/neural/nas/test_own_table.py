"""A CSV file of the user's own is an objective, and what is wrong with it is told by line and column."""

import pickle

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from lamcts.neural.nas import own_table
from lamcts.neural.searches import lanas

SMALL = """width,op,accuracy,latency_ms,note
8,conv,91.5,1.5,first
16,conv,93,3,
8,pool,,1,it diverged
32,none,90,2,
"""
NETWORK = ["width", "op"]


@pytest.fixture
def path(tmp_path):
    return write(tmp_path, SMALL)


def write(folder, text):
    (folder / "my.csv").write_text(text)
    return folder / "my.csv"


def test_networks_without_a_row_are_never_proposed_and_those_without_a_value_fail(path):
    f = own_table(path, ["-accuracy"], NETWORK)
    result = lamcts.maximize(f, budget=20, seed=0)
    assert len(result.history) == 4 and (result.fun, result.x) == (93, {"width": 16, "op": "conv"})
    assert int(result.history.failed.sum()) == 1 and f.optimum == 93 and f.best() == result.x
    assert f.cost(result.x) == {"latency_ms": 3}
    with pytest.raises(RuntimeError, match="no row for it"):
        f({"width": 32, "op": "conv"})


def test_columns_of_numbers_are_ordered_and_others_are_not(path):
    space = own_table(path, ["-accuracy"], NETWORK).space
    assert space.encode({"width": 16, "op": "none"})[0] == 0.5 and space.dim == 1 + 3


def test_a_loss_is_minimised_and_the_front_is_that_of_the_table(path):
    f = own_table(path, ["latency_ms"], NETWORK)
    result = lamcts.minimize(f, budget=10, seed=0)
    assert result.fun == f.optimum == 1 and not f.maximize
    assert lamcts.minimize(f, budget=10, seed=0, fix={"op": "conv"}).fun == 1.5
    assert len(lamcts.minimize(f, budget=10, seed=0, fix={"width": 8}).history) == 2
    several = own_table(path, ["accuracy"], ["width", "op", "latency_ms"])
    with pytest.raises(ValueError, match="fix: expected values that a row of the table has, got others"):
        lamcts.minimize(several, budget=3, fix={"width": 32, "op": "conv"})


def test_a_pattern_leaves_the_objectives_out(path):
    f = own_table(path, ["-accuracy"], ["*[!e]"], "latency_ms")  # all but the note
    assert f.space.inner.names == ("width", "op")


@pytest.mark.parametrize(("value", "cost", "sense"), [("-accuracy", "latency_ms", 1), ("latency_ms", "accuracy", -1)])
def test_the_hypervolume_is_that_of_all_rows_for_either_direction(path, value, cost, sense):
    f = own_table(path, [value], NETWORK, cost)
    result = lamcts.minimize(f, budget=10, seed=0)
    assert f.objectives == {value.strip("-"): "max" if sense > 0 else "min", cost: "min"}
    assert result.front.hypervolume([f.reference[name] for name in f.objectives]) == pytest.approx(f.hypervolume)
    assert f.hypervolume > 0


def test_a_table_of_few_of_many_combinations_is_searched_by_its_rows(tmp_path):
    rng = np.random.default_rng(0)
    ops = np.unique(rng.integers(0, 6, (300, 12)), axis=0)
    lines = [",".join([*(f"o{i}" for i in row), str(-float(((row - 2) ** 2).sum()))]) for row in ops]
    names = ",".join([*(f"op{i}" for i in range(12)), "score"])
    f = own_table(write(tmp_path, "\n".join([names, *lines])), ["-score"], ["op*"])
    assert len(f) == f.space.size == len(ops) and len(f.space.rows()) == len(ops)
    for settings in ({}, lanas.improved()):
        result = lamcts.maximize(f, budget=40, seed=0, **settings)
        assert len(result.history) == 40 and not result.history.failed.any()


def test_it_pickles_for_workers_and_another_table_is_another_run(path, tmp_path):
    f = own_table(path, ["-accuracy"], NETWORK)
    assert pickle.loads(pickle.dumps(f))(f.best()) == 93
    lamcts.maximize(f, budget=2, seed=0, journal=tmp_path / "run.db")
    changed = own_table(write(tmp_path, SMALL.replace("91.5", "91.6")), ["-accuracy"], NETWORK)
    with pytest.raises(lamcts.JournalError, match="values"):
        lamcts.maximize(changed, budget=3, seed=0, journal=tmp_path / "run.db")
    words = {"objectives": ["-accuracy"], "parameters": ["w*", "op"]}
    assert changed.fingerprint() == objectives.make(f"nas-table:{path}", **words).fingerprint()


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (
            SMALL,
            {"objectives": ["-acuracy"]},
            "my.csv: expected a column 'acuracy', got width, .*; did you mean 'accuracy'",
        ),
        (
            SMALL,
            {"objectives": ["accuracy", "width"]},
            "objectives: expected a column, NAME or -NAME, got accuracy, width",
        ),
        (SMALL, {"parameters": []}, "parameters: expected columns of my.csv out of width, op, .*, got none"),
        (SMALL, {"parameters": ["widht"]}, "my.csv: expected a column 'widht', got .*; did you mean 'width'"),
        (SMALL, {"parameters": ["*"]}, "line 3, column 'note': expected a value, got an empty cell; write none"),
        (SMALL, {"against": "ms"}, "my.csv: expected a column 'ms', got"),
        (
            SMALL,
            {"parameters": ["op"]},
            "my.csv, line 3: expected one row for each point, got that of .*line 2 again; drop",
        ),
        (SMALL, {"objectives": ["note"]}, "line 2, column 'note': expected a number, got 'first'"),
        (SMALL.replace("conv,93", ",93"), {}, "line 3, column 'op': expected a value, got an empty cell; write none"),
        (SMALL.replace("93,3", "93"), {}, "line 3: expected 5 cells, one a column, got 4; put cells .* in quotes$"),
        (SMALL.replace("91.5,", ",").replace("93", "").replace("90", ""), {}, "got none that is finite"),
        (SMALL.split("\n")[0], {}, "my.csv, column 'width': expected a value, got an empty cell"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_column(tmp_path, text, words, message):
    words = {"objectives": ["-accuracy"], "parameters": NETWORK} | words
    with pytest.raises(ValueError, match=message):
        own_table(write(tmp_path, text), **words)
