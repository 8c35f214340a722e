"""The table of `digits4096`: as an objective, on a made-up one; made from rows; and the one that ships."""

import numpy as np
import pytest

from lamcts import objectives
from lamcts.neural.nas import Digits4096
from lamcts.neural.nas.published import EPOCHS, SHIPPED, digits4096

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


# The one that ships ---------------------------------------------------------------------------------------------------


def test_the_table_that_ships_is_whole_and_known():
    f = objectives.make("digits4096")
    assert len(f) == 4096 and np.isfinite(f.searched).all() and f.optimum == f.searched.max() > 90
    assert SHIPPED.stat().st_size < 300_000
    for epochs in EPOCHS:
        for point in list(f.cells())[::97]:
            values = [objectives.make("digits4096", epochs=epochs, training=run)(point) for run in range(3)]
            assert objectives.make("digits4096", epochs=epochs)(point) == pytest.approx(np.mean(values))
