"""Objectives on small made-up tables: values, failures, settings, keys."""

import math
import pickle

import numpy as np
import pytest

import lamcts
from lamcts import objectives, testing
from lamcts.neural.nas import TableObjective, formats
from lamcts.neural.nas.nasbench101 import OPERATIONS
from lamcts.spaces import Canonical
from tests.neural.nas import made_up

NAMES = [name for name, row in objectives.names().items() if row.makes(TableObjective)]


@pytest.fixture
def make(tables):
    return lambda name, **settings: objectives.make(name, table=tables, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_found_by_its_point_and_the_best_is_the_optimum(name, make):
    f = make(name)
    points = list(f.cells())
    found = [f(point) for point in points[:: max(1, len(points) // 300)]]
    assert found == [float(f.searched[row]) for row in range(0, len(f), max(1, len(f) // 300))]
    assert f.optimum == f(f.best()) == np.nanmax(f.searched)
    assert f.maximize and all(type(value) is float for value in found)


@pytest.mark.parametrize("name", ["nasbench101", "transnas", "nasbench-graph"])
def test_rows_of_a_table_with_one_row_a_network_have_keys_of_their_own(name, make):
    f = make(name)
    keys = [f.architectures.key(point) for point in f.cells()]
    assert None not in keys and len(set(keys)) == len(f)


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_made_by_pickle_scores_the_same(name, make):
    f = make(name)
    point = f.best()
    copy = pickle.loads(pickle.dumps(f))
    assert copy(point) == f(point) and copy.fingerprint() == f.fingerprint() and copy.space == f.space
    assert copy.cell(3) == f.cell(3)


@pytest.mark.parametrize("name", ["nasbench201", "nasbench-macro", "digits4096"])
def test_a_whole_table_keeps_the_contract_of_objectives(name, make):
    testing.check_objective(make(name))
    testing.check_objective(make(name, keyed=True))


def test_cells_of_the_table_keep_the_contract_where_invalid_ones_have_no_key(make):
    testing.check_objective(make("nasbench101", vertices=4))


def test_a_setting_that_the_table_lacks_is_refused(make):
    with pytest.raises(ValueError, match="guide: expected 'test', or 'val'"):
        make("nasbench101", guide="val")
    with pytest.raises(ValueError, match="dataset: expected one of cifar10, cifar100, ImageNet16-120, got 'cifar'"):
        make("nasbench201", dataset="cifar")
    with pytest.raises(ValueError, match="guide: expected values of 'val' for cifar100"):
        make("nasbench201", dataset="cifar100", guide="val")
    with pytest.raises(ValueError, match="guide: expected one of valid, test"):
        make("nasbench-graph", guide="val")
    with pytest.raises(ValueError, match="dataset: expected one of cora, arxiv, got 'proteins'"):
        make("nasbench-graph", dataset="proteins")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("nasbench101", {"guide": "valid"}, "guide: expected one of test, val, got 'valid'"),
        ("nasbench101", {"vertices": 9}, "vertices: expected a whole number from 2 to 7, got 9"),
        ("nasbench201", {"dataset": "mnist"}, "dataset: expected one of cifar10, .*, ImageNet16-120, got 'mnist'"),
        ("nasbench201", {"guide": "train"}, "guide: expected one of test, val, val12, test12, got 'train'"),
        ("nats-size", {"guide": "val200"}, "guide: expected one of test, val, test12, val12, got 'val200'"),
        ("nasbench-graph", {"dataset": "mnist"}, "dataset: expected one of cora, .*, proteins, got 'mnist'"),
        ("nasbench-graph", {"guide": "val"}, "guide: expected one of valid, test, got 'val'"),
    ],
)
def test_a_wrong_setting_is_told_to_who_has_no_table_too(name, settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        objectives.make(name, table=tmp_path / "nowhere.npz", **settings)


def test_nasbench201_searches_one_value_and_reports_another(make):
    plain, guided = make("nasbench201"), make("nasbench201", guide="val")
    assert plain.optimum == 90 and guided.optimum == 89
    assert guided.report(guided.best()) == {"test_accuracy_percent": 89.0}
    assert guided.report(plain.best()) == {"test_accuracy_percent": 90.0} == plain.report(plain.best())
    assert make("nasbench201", guide="val12").optimum == 81
    assert make("nasbench201", dataset="ImageNet16-120").optimum == 40


def test_nasbench201_knows_second_values_with_their_units(make):
    f = make("nasbench201")
    odd, even = f.cost(f.cell(1)), f.cost(f.cell(2))
    assert odd["edgetpu_latency_ms"] == 1.5 and math.isnan(even["edgetpu_latency_ms"])
    assert odd["eyeriss_arithmetic_intensity"] == 1.5
    assert (odd["params"], even["params"]) == (1.0, 2.0) and odd["mflops"] == pytest.approx(1 / 15624)
    assert "mflops" not in make("nasbench201", dataset="cifar100").cost(f.cell(1))


def test_nasbench201_takes_latencies_and_robustness_from_files_of_their_own(make, tmp_path):
    ops = made_up.nasbench201()["ops"]
    devices = {"devices": np.array(["pixel2", "fpga"]), "latency_ms": np.outer(np.arange(len(ops)), [1.0, 2.0])}
    attacks = {"ops": ops, "attacks": np.array(["fgsm@Linf_eps-1.0"]), "robust_acc_x10": np.arange(len(ops))[:, None]}
    made_up.write(tmp_path, formats.LATENCY201, devices)
    made_up.write(tmp_path, formats.ROBUSTNESS201, attacks)
    f = make("nasbench201", latency=tmp_path, robustness=tmp_path)
    also = f.cost(f.cell(5))
    assert (also["pixel2_measured_ms"], also["fpga_measured_ms"], also["fgsm@Linf_eps-1.0_percent"]) == (5, 10, 0.5)
    made_up.write(tmp_path, formats.ROBUSTNESS201, attacks | {"ops": ops[::-1]})
    with pytest.raises(ValueError, match="robustness: expected the cells of the table in the same order"):
        make("nasbench201", robustness=tmp_path)
    made_up.write(tmp_path, formats.LATENCY201, {name: values[:2] for name, values in devices.items()})
    with pytest.raises(ValueError, match="latency: expected the 15625 rows"):
        make("nasbench201", latency=tmp_path)


def test_macro_reports_the_three_runs_and_searches_their_mean(make):
    f = make("nasbench-macro")
    assert f.report(f.best()) == {
        "test_accuracy_percent": 90.0,
        "run_1_percent": 89.0,
        "run_2_percent": 90.0,
        "run_3_percent": 91.0,
    }
    assert f.cost(f.best()) == {"params": 6560.0}


def test_the_graph_benchmark_guides_by_validation_and_reports_both(make):
    guided, tested = make("nasbench-graph"), make("nasbench-graph", guide="test")
    assert guided.optimum == pytest.approx(80) and tested.optimum == pytest.approx(50)
    report = guided.report(guided.best())
    assert report == pytest.approx({"valid_performance_percent": 80, "test_performance_percent": 20})
    assert guided.cost(guided.best()) == pytest.approx({"latency_s": 0.008, "mparams": 0.8})
    assert make("nasbench-graph", dataset="arxiv").optimum == pytest.approx(72)


def test_a_point_without_a_value_fails_with_the_reason(make):
    cells = make("nasbench101", vertices=4, keyed=False)
    full = {
        **dict.fromkeys(cells.architectures.edges, False),
        **dict.fromkeys(cells.architectures.inner, OPERATIONS[0]),
    }
    with pytest.raises(RuntimeError, match="nasbench101-4: no valid network: no path leads from the input"):
        cells(full)
    graph = make("nasbench-graph")
    point = {"link": "0123", **dict.fromkeys(graph.architectures.layers, "gat")}
    with pytest.raises(RuntimeError, match="no row in the table for"):
        graph(point)
    assert "no row" in graph.failure(point) and graph.failure(graph.best()) is None
    guided = make("nasbench201", dataset="ImageNet16-120", guide="val")
    assert guided.failure(guided.cell(2)) == "row 2 of the table has no value"


def test_a_run_goes_on_after_failures_and_keeps_their_reasons(make):
    f = make("nasbench101", vertices=4, keyed=False)
    result = lamcts.maximize(f, f.space, budget=20, seed=1)
    reasons = set(result.history.messages.values())
    assert reasons and all("no valid network: no path leads" in reason for reason in reasons)
    assert 60 < result.fun <= f.optimum


def test_keys_are_a_setting(make):
    assert isinstance(make("nasbench101").space, Canonical) and isinstance(
        make("nasbench-macro", keyed=True).space, Canonical
    )
    assert not isinstance(make("nasbench101", keyed=False).space, Canonical)
    assert not isinstance(make("nasbench201").space, Canonical)


def test_fingerprints_tell_tables_and_settings_apart(make, tmp_path):
    arrays = made_up.macro()
    same = made_up.write(tmp_path, formats.MACRO, {name: values[::-1] for name, values in arrays.items()})
    assert objectives.make("nasbench-macro", table=same).fingerprint() == make("nasbench-macro").fingerprint()
    other = made_up.write(tmp_path, formats.MACRO, arrays | {"test_acc": arrays["test_acc"] + 1})
    assert objectives.make("nasbench-macro", table=other).fingerprint() != make("nasbench-macro").fingerprint()
    prints = [
        make("nasbench201", dataset=d, guide=g).fingerprint()
        for d, g in (("cifar10", "test"), ("cifar10", "val"), ("cifar100", "test"))
    ]
    assert len({repr(one) for one in prints}) == 3
    assert [(one["dataset"], one["guide"]) for one in prints][1:] == [("cifar10", "val"), ("cifar100", "test")]
