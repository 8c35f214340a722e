"""Tables with two objectives: the same values as the table's own, its whole front, failures."""

import json
import pickle

import numpy as np
import pytest

from lamcts import objectives, testing
from lamcts.neural.nas import TableTradeOff, formats
from tests.neural.nas import made_up

NAMES = [name for name, row in objectives.names().items() if row.makes(TableTradeOff)]


@pytest.fixture
def make(tables):
    return lambda name, **settings: objectives.make(name, table=tables, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_accuracy_and_cost_are_those_of_the_table(name, make):
    f = make(name)
    plain = make(name.removesuffix("-cost"))
    assert f.name == name and f.space == plain.space and f.objectives == {"accuracy_percent": "max", f.cost: "min"}
    for point in [plain.cell(row) for row in range(0, len(plain), max(1, len(plain) // 50))]:
        assert f(point) == {"accuracy_percent": plain(point), f.cost: plain.cost(point)[f.cost]}


@pytest.mark.parametrize("name", ["nasbench201-cost", "nasbench-macro-cost"])
def test_a_trade_off_keeps_the_contract_of_objectives(name, make):
    testing.check_objective(make(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_the_same_and_another_cost_is_not(name, make):
    f = make(name)
    copy = pickle.loads(pickle.dumps(f))
    assert copy.fingerprint() == f.fingerprint() == json.loads(json.dumps(f.fingerprint()))
    assert copy.hypervolume == f.hypervolume > 0
    assert make("nasbench201-cost", against="mflops").fingerprint() != make("nasbench201-cost").fingerprint()


@pytest.mark.parametrize("name", NAMES)
def test_the_hypervolume_is_the_area_that_the_table_dominates(name, make):
    f = make(name)
    x, y = f.objective.searched, np.asarray(f.objective.others[f.cost], float)
    low, high = f.reference["accuracy_percent"], f.reference[f.cost]
    assert low == np.nanmin(x) and high == np.nanmax(y)
    rng = np.random.default_rng(0)
    spots = np.column_stack([rng.uniform(low, np.nanmax(x), 4000), rng.uniform(np.nanmin(y), high, 4000)])
    share = np.mean([((x >= a) & (y <= b)).any() for a, b in spots])
    box = (np.nanmax(x) - low) * (high - np.nanmin(y))
    assert f.hypervolume == pytest.approx(share * box, abs=0.05 * box)


def test_networks_on_the_front_are_kept_by_hand(make, tables):
    class Small:
        name, maximize, others = "small", True, {"size": np.array([1.0, 2.0, 3.0, np.nan])}
        searched = np.array([10.0, 30.0, 20.0, 99.0])

    f = TableTradeOff(Small(), "size", "small-cost")
    assert f.reference == {"accuracy_percent": 10.0, "size": 3.0}
    assert f.hypervolume == (3 - 2) * (30 - 10)  # the first is no better than the reference, the third is dominated


def test_a_network_without_a_cost_fails(make):
    f = make("nasbench201-cost", against="edgetpu_latency_ms")  # every other one has none
    with pytest.raises(RuntimeError, match="the edgetpu_latency_ms of this point is unknown"):
        f(f.objective.cell(0))
    assert f(f.objective.cell(1))["edgetpu_latency_ms"] == 1.5


def test_a_cost_that_the_table_lacks_is_refused(make):
    with pytest.raises(ValueError, match=r"a cost that nasbench201 has \(params, mflops, .*got 'latency'"):
        make("nasbench201-cost", against="latency")


def test_the_published_table_has_a_front_from_small_to_accurate():
    f = objectives.make("nasbench201-cost", table=made_up.real(formats.NASBENCH201))
    best = f(f.objective.best())
    assert best["accuracy_percent"] == pytest.approx(94.37, abs=0.01)  # the best mean of CIFAR-10
    assert 0.8 < f.hypervolume / ((94.37 - 10) * f.reference["params"]) < 1
