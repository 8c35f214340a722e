from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.nas import fewshot, fewshot_search
from benchmarks.nas.fewshot import SPACE
from benchmarks.nas.fewshot_search import Asked, Case, found, paid_by

CONV, MEAN, SKIP = (0, 0, 0, 3, 0, 0), (0, 0, 0, 2, 0, 0), (0, 0, 0, 1, 0, 0)
TABLE = {CONV: (90.0, 92.0, 94.0), MEAN: (80.0, 82.0, 84.0), SKIP: (60.0, 62.0, 64.0)}


def test_networks_of_a_table_that_is_not_complete_are_those_with_all_seeds(tmp_path):
    file = tmp_path / "digits.csv"
    file.write_text("cell,seed,val3,test3,val12,test12\n000300,0,180,1,360,1\n000300,2,180,1,324,1\n000200,0,9,1,9,1\n")
    assert fewshot.rows_of(file) == {}
    with file.open("a") as more:
        more.write("000300,1,90,1,288,1\n")
    assert fewshot.rows_of(file) == {CONV: (100.0, 80.0, 90.0)}
    assert fewshot.rows_of(file, epochs=3) == {CONV: (50.0, 25.0, 50.0)}


def test_networks_are_sampled_alike_each_time():
    assert fewshot.sample(TABLE, 2) == fewshot.sample(TABLE, 2) and len(fewshot.sample(TABLE, 2)) == 2
    assert fewshot.sample(TABLE, 0) == TABLE


def test_the_ceiling_is_what_one_training_says_of_the_others():
    assert float(fewshot.ceiling(TABLE)) == 1.0
    other = {CONV: (1.0, 3.0, 3.0), MEAN: (2.0, 1.0, 1.0)}
    assert float(fewshot.ceiling(other)) == pytest.approx(1 / 3, abs=1e-3)  # the first disagrees with the others' mean


@pytest.mark.parametrize(("splits", "trainings"), [(0, 20), (1, 24), (2, 40), (3, 104)])
def test_direct_training_has_the_steps_of_the_supernets_and_of_their_ten(splits, trainings):
    assert paid_by(splits) == trainings
    supernets = sum(4**depth for depth in range(splits + 1)) - 1
    assert 0 <= 34 * (120 + 12 * supernets) + 10 * 408 - 408 * trainings < 408


def test_regret_is_of_the_best_that_is_trained_and_points_of_one_network_are_asked_for_once():
    told = {CONV: 0.1, MEAN: 0.3, SKIP: 0.2}
    heard = []

    def evaluator(point):
        heard.append(point)
        return told[SPACE.numbers(SPACE.canonical(point))]

    asked = Asked(evaluator)
    for numbers in (MEAN, SKIP, CONV, (3, 0, 0, 2, 0, 0)):  # the last is MEAN with an edge that leads nowhere
        asked(SPACE.point(numbers))
    assert len(heard) == 3 and asked.calls == 4
    few = Case("one", "random", 0, 4, 40, 3)
    row = found(few, asked, 1000, TABLE)
    assert (row["regret_1"], row["regret_3"]) == ("10.000", "0.000")
    assert (row["steps_1"], row["steps_10"]) == (1000 + 408, 1000 + 4080)
    direct = found(few._replace(arm="direct-12"), asked, 0, TABLE)
    assert direct["steps_1"] == direct["steps_10"] == 4 * 408 and direct["regret_10"] == "10.000"
    assert found(few._replace(arm="direct-3"), asked, 0, TABLE)["steps_3"] == 4 * 102 + 3 * 408
    assert fewshot_search.COLUMNS[: len(Case._fields)] == Case._fields


def test_supernets_are_searched_by_loss_and_a_network_is_looked_up_once_for_all_methods(monkeypatch):
    heard = []

    @dataclass(frozen=True)
    class Objective:
        metric: str = "accuracy"

        def __call__(self, point):
            heard.append(self.metric)
            return -0.5

    few = SimpleNamespace(objective=Objective(), steps=7)
    monkeypatch.setattr(fewshot, "fitted", lambda case, keep: few)
    evaluator, steps = fewshot_search.evaluator_of(Case("one", "random", 0, 4, 40, 3), {}, None)
    assert (
        steps == 7 and [evaluator(SPACE.point(numbers)) for numbers in (MEAN, MEAN, (3, 0, 0, 2, 0, 0))] == [-0.5] * 3
    )
    assert heard == ["loss"]


def test_pairs_of_networks_are_told_apart_by_whether_one_sub_supernet_has_both():
    truth, leaf = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1])
    told = fewshot.taus(np.array([2.0, 1.0, 4.0, 3.0]), truth, leaf, "_loss")  # leaves in order, networks in none
    assert {name: float(value) for name, value in told.items()} == {
        "tau_loss": pytest.approx(1 / 3, abs=1e-4),
        "within_loss": -1,
        "between_loss": 1,
    }
    assert fewshot.taus(truth, truth, np.zeros(4), "")["between"] == "nan"


def test_the_table_that_ships_is_looked_up_training_by_training():
    table = fewshot.shipped()
    assert len(table) == 2128 and all(len(values) == 3 for values in table.values())
    assert max(np.mean(values) for values in table.values()) == pytest.approx(99.07, abs=0.01)


@pytest.mark.dear
def test_arms_of_one_way_share_their_trainings(tmp_path):
    pytest.importorskip("torch")
    first = fewshot.fitted(fewshot.Case("one", 0, 1, 0, 0), tmp_path)
    again = fewshot.fitted(fewshot.Case("random-1", 0, 1, 0, 0), tmp_path)
    files = sorted(file.name for file in (tmp_path / "random-1-0").iterdir())
    assert files == ["supernet-0.npz", "supernet-1.npz", "supernet-2.npz", "supernet-3.npz", "supernet.npz"]
    assert again.steps == 5 * first.steps and again.seconds > first.seconds > 0


def test_a_leaf_has_the_mean_that_its_networks_have_one_level_up_and_its_own_order():
    scores = np.array([[1.0, 3.0, 5.0, 7.0], [20.0, 10.0, 0.0, 4.0], [0.0, 0.0, 0.0, 9.0]])
    leaves = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    one_down = np.array([7.0, -3.0, 4.0, 8.0])  # means 2 and 6 in place of 15 and 2
    assert fewshot.levelled(scores[:1], leaves[:1]).tolist() == scores[0].tolist()
    assert fewshot.levelled(scores[:2], leaves[:2]).tolist() == ((scores[0] + one_down) / 2).tolist()
    alone = fewshot.levelled(scores, leaves)  # a leaf of one network says nothing of its own
    assert alone == pytest.approx((scores[0] + 2 * one_down) / 3)


def test_the_way_to_an_arm_goes_by_the_arms_above_it():
    assert fewshot.way_to("gradient-4") == ["one", "gradient-2", "gradient-4"]
    assert [fewshot.way_to(arm) for arm in ("one", "long-2", "halves-1")] == [["one"], ["long-2"], ["one", "halves-1"]]
