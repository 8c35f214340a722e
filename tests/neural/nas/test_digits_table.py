"""The table of `digits4096`: as an objective, on a made-up one; made from rows; and the one that ships."""

import numpy as np
import pytest

from benchmarks.harness.sheet import Sheet
from benchmarks.neural.nas import digits_table
from lamcts import objectives, testing
from lamcts.neural.nas import Digits4096, formats
from lamcts.neural.nas.cells import reachable
from lamcts.neural.nas.published import EPOCHS, SHIPPED, digits4096
from lamcts.neural.nas.tradeoffs import digits4096_cost
from tests.neural.nas import made_up

SPACE = Digits4096()


@pytest.fixture
def make(tables):
    return lambda **settings: digits4096(table=tables, **settings)


def test_a_call_gives_the_mean_of_the_runs_in_per_cent(make):
    f, point = make(), SPACE.point((3, 3, 3, 3, 3, 3))  # the last row: 255 and 256 and 257 are right of 320, and 50
    assert f(point) == pytest.approx(100 * (256 + 50) / 320) and f.optimum == f(point) and f.best() in f.cells()
    assert f.report(point) == {
        "test_accuracy_percent": pytest.approx(100 * (255 + 50) / 400),
        "val_accuracy_percent": f(point),
    }
    assert f.cost(point) == {"params": 194 + 6 * 592, "flops": 4095}
    assert f.maximize and f.name == "digits4096" and len(f) == 4096


def test_settings_choose_the_training_and_what_is_searched(make):
    point = SPACE.point((0, 0, 1, 0, 0, 0))  # row 64: 4 are right and the number of the seed
    assert [make(training=run)(point) for run in range(3)] == pytest.approx(
        [100 * (54 + run) / 320 for run in range(3)]
    )
    assert make(epochs=3)(point) == pytest.approx(100 * 5 / 320)
    assert make(epochs=3, guide="test", training=2)(point) == pytest.approx(100 * 5 / 400)
    prints = [make(**settings).fingerprint() for settings in ({}, {"training": 0}, {"epochs": 3}, {"guide": "test"})]
    assert len({str(each) for each in prints}) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 6}, "epochs: expected one of 3, 12, got '6'"),
        ({"guide": "valid"}, "guide: expected one of val, test, got 'valid'"),
        ({"training": 3}, "training: expected one of 0, 1, 2, got '3'"),
    ],
)
def test_settings_that_the_table_lacks_are_refused(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


def test_the_whole_table_keeps_the_contract_of_objectives(make):
    testing.check_objective(make())
    testing.check_objective(make(keyed=True))


def test_a_table_of_other_operations_is_refused(tmp_path):
    arrays = made_up.digits4096() | {"op_names": np.array(["none", "skip", "conv1x1", "conv3x3"])}
    with pytest.raises(ValueError, match="op_names: expected none, skip_connect, avg_pool_3x3, nor_conv_3x3, got"):
        digits4096(table=made_up.write(tmp_path, formats.DIGITS4096, arrays))


@pytest.mark.parametrize("against", ["params", "flops"])
def test_accuracy_and_cost_are_those_of_the_table(against, tables, make):
    f, plain = digits4096_cost(against, epochs=3, table=tables), make(epochs=3)
    point = SPACE.point((3, 1, 2, 3, 0, 1))
    assert f(point) == {"accuracy_percent": plain(point), against: plain.cost(point)[against]}
    assert f.objectives == {"accuracy_percent": "max", against: "min"} and f.hypervolume > 0


# How it is made -------------------------------------------------------------------------------------------------------


@pytest.fixture
def sheet(tmp_path):
    return Sheet(tmp_path / "rows.csv", digits_table.KEY, digits_table.COLUMNS)


def row(cell, seed):
    """Return a made-up row: what is right names the cell and the seed."""
    number = 80 * seed + sum(cell)
    return {"cell": digits_table.name(cell), "seed": seed, "val3": number, "test3": 1, "val12": number + 1, "test12": 2}


def test_a_table_is_packed_once_all_rows_are_there(sheet, tmp_path, monkeypatch):
    monkeypatch.setattr(digits_table, "cost", lambda cell: (cell.count(3), reachable(cell).count(3)))
    rows = [row(*run) for run in digits_table.runs()]
    lines = [digits_table.COLUMNS, *(each.values() for each in rows[1:])]
    sheet.path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    with pytest.raises(SystemExit, match="1 are missing: run without --pack first"):
        digits_table.pack(sheet, tmp_path / formats.DIGITS4096.file)
    sheet.append(rows[0])
    digits_table.pack(sheet, tmp_path / formats.DIGITS4096.file)
    f = digits4096(table=tmp_path, training=2)
    dead, live = (3, 2, 0, 3, 0, 0), (0, 0, 0, 3, 0, 0)
    assert f(SPACE.point(dead)) == f(SPACE.point(live)) == pytest.approx(100 * row(live, 2)["val12"] / 360)
    assert f.cost(SPACE.point(dead)) == {"params": 2, "flops": 1}


def test_what_has_a_row_is_not_trained_again(sheet, monkeypatch):
    seen = []
    monkeypatch.setattr(
        digits_table, "trained", lambda group, epochs: seen.append(group) or [row(*run) for run in group]
    )
    wanted = digits_table.runs()[:7]
    digits_table.fill(sheet, wanted[:3], at_once=2, minutes=1)
    digits_table.fill(sheet, wanted, at_once=2, minutes=1)
    assert sorted(run for group in seen for run in group) == wanted and len(sheet.rows()) == 7
    digits_table.fill(sheet, digits_table.runs()[:9], at_once=2, minutes=-1)
    assert len(sheet.rows()) == 7


# The one that ships ---------------------------------------------------------------------------------------------------


def test_the_table_that_ships_is_whole_and_known():
    f = objectives.make("digits4096")
    assert len(f) == 4096 and np.isfinite(f.searched).all() and f.optimum == f.searched.max() > 90
    assert SHIPPED.stat().st_size < 300_000
    for epochs in EPOCHS:
        for point in list(f.cells())[::97]:
            values = [objectives.make("digits4096", epochs=epochs, training=run)(point) for run in range(3)]
            assert objectives.make("digits4096", epochs=epochs)(point) == pytest.approx(np.mean(values))
