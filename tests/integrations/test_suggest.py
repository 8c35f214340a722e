"""Points out, values in."""

import json

import numpy as np
import pytest

import lamcts
from lamcts.integrations.suggest import Suggester

SPACE = {"rate": lamcts.Float(1e-5, 1, log=True), "layers": lamcts.Int(1, 8)}


def loss(rate, layers):
    return (np.log10(rate) + 2) ** 2 + (layers - 3) ** 2


def test_it_is_the_optimizer_with_points_for_trials():
    search, optimizer = Suggester(SPACE, seed=0), lamcts.Optimizer(lamcts.Space(SPACE), seed=0)
    for _ in range(30):
        point, trial = search.suggest(), optimizer.ask()[0]
        assert point == trial.point
        search.observe(point, loss(**point))
        optimizer.tell(trial, loss(**trial.point))
    assert search.best == optimizer.best and search.best.point["layers"] == 3 and not search.pending


def test_lists_come_and_go_in_any_order_also_through_text():
    search = Suggester(SPACE, maximize=True, seed=0)
    points = search.suggest(4)
    assert len(points) == 4 == len(search.pending)
    again = [json.loads(json.dumps(point)) for point in reversed(points)]
    search.observe(again, [-loss(**point) for point in again])
    assert not search.pending and len(search.optimizer.seen) == 4
    search.observe(search.suggest(2), np.array([1.0, np.nan]))
    assert len(search.optimizer.failures) == 1 and search.best.value == 1.0


def test_points_of_others_and_lost_ones():
    search = Suggester(SPACE, seed=0)
    search.observe({"rate": 0.01, "layers": 3}, 0.0)
    assert search.best.point["layers"] == 3
    lost = search.suggest()
    search.forget(lost)
    assert not search.pending
    with pytest.raises(ValueError, match="forget: expected a point that was suggested"):
        search.forget(lost)


def test_several_objectives_are_dicts():
    search = Suggester(SPACE, objectives={"loss": "min", "layers": "min"}, constraints=["size <= 6"], seed=0)
    for _ in range(12):
        point = search.suggest()
        search.observe(point, {"loss": loss(**point), "layers": point["layers"]}, {"size": point["layers"]})
    assert len(search.optimizer.front) > 0 and len(search.optimizer.seen) == 12


@pytest.mark.parametrize(
    "space", [[(-1, 1), (0, 5)], np.array([[-1.0, 1.0], [0.0, 5.0]]), lamcts.Box([-1, 0], [1, 5])], ids=type
)
def test_bounds_make_a_box(space):
    point = Suggester(space, seed=0).suggest()
    assert isinstance(point, np.ndarray) and -1 <= point[0] <= 1 and 0 <= point[1] <= 5


def test_a_list_of_spaces_and_a_config_space_are_taken():
    assert isinstance(Suggester([lamcts.Float(0, 1), lamcts.Bool()], seed=0).suggest(), tuple)
    config = pytest.importorskip("ConfigSpace", reason="ConfigSpace is not installed: pip install ConfigSpace")
    assert Suggester(config.ConfigurationSpace({"x": (0.0, 1.0)}), seed=0).suggest().keys() == {"x"}


def test_a_file_goes_on_where_it_stopped(tmp_path):
    search = Suggester(SPACE, seed=0)
    for point in search.suggest(12):
        search.observe(point, loss(**point))
    out = search.suggest()
    search.save(tmp_path / "search")
    other = Suggester.load(tmp_path / "search")
    assert other.pending == [out]
    for one in (search, other):
        one.observe(out, 1.0)
    assert other.suggest(3) == search.suggest(3)
