"""The published tables, where they are at hand: published figures, and that every network finds its row."""

from itertools import product

import numpy as np
import pytest

from lamcts import objectives
from lamcts.neural.nas import formats
from lamcts.neural.nas.nasbench101 import graph_hash
from lamcts.neural.nas.nasbench_graph import FOR_PROTEINS, LINKS
from lamcts.neural.nas.nasbench_graph import OPERATIONS as LAYER_OPERATIONS
from tests.neural.nas.made_up import real


def made(name, form, **settings):
    return objectives.make(name, table=real(form), **settings)


def test_nasbench101_has_the_published_optimum():
    f = made("nasbench101", formats.NASBENCH101)
    assert len(f) == 423_624
    assert f.optimum == pytest.approx(94.31757, abs=1e-5)
    assert f.architectures.key(f.best()) == "02e5a0247bbdcf2860b7e96f74961594"
    assert f.cost(f.best()) == {"trainable_params": 32_426_634.0}
    assert f.architectures.key(f.cell(0)) == "00005c142e6f48ac74fdcf73e3439874"
    assert f(f.cell(0)) == pytest.approx(92.0606, abs=1e-3) and f.cost(f.cell(0)) == {"trainable_params": 8_555_530.0}
    assert int((f.searched > 94).sum()) == 52


def test_nasbench101_knows_the_cells_of_the_papers_by_their_parameters():
    f = made("nasbench101", formats.NASBENCH101)
    text = (
        '{"matrix": [[0,1,1,1,0,1,0],[0,0,0,0,0,0,1],[0,0,0,0,0,0,1],[0,0,0,0,1,0,0],[0,0,0,0,0,0,1],[0,0,0,0,0,0,1],'
        '[0,0,0,0,0,0,0]], "ops": ["input", "conv1x1-bn-relu", "conv3x3-bn-relu", "conv3x3-bn-relu", "conv3x3-bn-relu",'
        ' "maxpool3x3", "output"]}'
    )
    inception = f.architectures.parse(text)
    assert f.cost(inception) == {"trainable_params": 2_694_282.0} and f(inception) == pytest.approx(93.086, abs=1e-3)


def test_hashes_of_random_rows_of_nasbench101_are_those_of_the_table():
    f = made("nasbench101", formats.NASBENCH101)
    for row in np.random.default_rng(0).integers(len(f), size=400):
        point = f.cell(int(row))
        cell = f.architectures.cell(point)
        assert int(graph_hash(cell)[:16], 16) == int(f.codes[row]) and f.row(point) == row
        assert f.row(f.architectures.canonical(point)) == row


@pytest.mark.dear
def test_all_hashes_of_nasbench101_are_those_of_the_table():
    f = made("nasbench101", formats.NASBENCH101)
    assert all(f.row(point) == row for row, point in enumerate(f.cells()))


def test_every_valid_cell_of_nasbench101_has_a_row():
    f = made("nasbench101", formats.NASBENCH101)
    rng = np.random.default_rng(1)
    points = [f.architectures.random(rng) for _ in range(200)]
    assert all(f.failure(point) is None for point in points)
    assert all(f.failure(near) is None for near in f.architectures.neighbours(points[0]))


def test_nasbench101_of_six_vertices_has_the_rows_of_smaller_cells():
    f = made("nasbench101", formats.NASBENCH101, vertices=6)
    assert len(f) == 423_624 - 359_082
    rng = np.random.default_rng(2)
    assert all(f.failure(f.architectures.random(rng)) is None for _ in range(100))


@pytest.mark.parametrize(
    ("dataset", "best"), [("cifar10", 94.3733), ("cifar100", 73.5133), ("ImageNet16-120", 47.3111)]
)
def test_nasbench201_has_the_published_optima(dataset, best):
    f = made("nasbench201", formats.NASBENCH201, dataset=dataset)
    assert f.optimum == pytest.approx(best, abs=1e-4) and len(f) == 15_625
    assert f.report(f.best())["test_accuracy_percent"] == f.optimum


def test_nasbench201_has_the_published_cells():
    f = made("nasbench201", formats.NASBENCH201)
    best = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
    assert f.architectures.text(f.best()) == best
    first = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|"
    assert f.row(f.architectures.parse(first)) == 0 and f.architectures.text(f.cell(0)) == first
    also = f.cost(f.cell(0))
    expected = {
        "edgegpu_latency_ms": 5.8074,
        "edgegpu_energy_mj": 24.2266,
        "raspi4_latency_ms": 10.482,
        "params": 129_306,
    }
    assert {name: also[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_nasbench201_by_validation_finds_the_published_value():
    f = made("nasbench201", formats.NASBENCH201, guide="val")
    assert f.optimum == pytest.approx(91.57, abs=1e-3) and f.report(f.best())["test_accuracy_percent"] < 94.3733
    partial = made("nasbench201", formats.NASBENCH201, dataset="ImageNet16-120", guide="val")
    assert int(np.isfinite(partial.searched).sum()) == 9_445


def test_cells_of_nasbench201_with_one_topology_have_one_key():
    f = made("nasbench201", formats.NASBENCH201)
    with np.load(real(formats.NASBENCH201)) as table:
        topologies = table["topology_id"].tolist()
    keys = [f.architectures.key(point) for point in f.cells()]
    assert len(set(zip(topologies, keys, strict=True))) == len(set(topologies)) == 6_466
    assert len(set(keys)) == 4_930


def test_latencies_and_robustness_agree_with_the_table():
    latency, robustness = real(formats.LATENCY201), real(formats.ROBUSTNESS201)
    f = made("nasbench201", formats.NASBENCH201, latency=latency, robustness=robustness)
    also = f.cost(f.cell(7))
    assert sum(name.endswith("_measured_ms") for name in also) == 27
    assert sum(name.endswith("_percent") for name in also) == 32
    assert also["raspi4_measured_ms"] == pytest.approx(also["raspi4_latency_ms"], abs=1e-5)


def test_macro_has_the_published_optimum_and_rows_of_the_same_network_are_equal():
    f = made("nasbench-macro", formats.MACRO)
    assert f.optimum == pytest.approx(93.13, abs=0.005) and f.architectures.text(f.best()) == "22212202"
    assert np.min(f.searched) == pytest.approx(45.36, abs=0.005)
    assert all(f(point) == f(f.architectures.canonical(point)) for point in f.cells())


def test_every_cell_of_transnas_has_a_row():
    f = made("transnas", formats.TRANSNAS)
    assert f.optimum == pytest.approx(54.94, abs=0.005)
    rows = {f.row(f.architectures.point(numbers)) for numbers in product(range(4), repeat=6)}
    assert len(rows) == len(f) == 2_128


@pytest.mark.parametrize(
    ("dataset", "operations", "step"), [("cora", LAYER_OPERATIONS, 23), ("proteins", FOR_PROTEINS, 3)]
)
def test_every_network_of_the_graph_benchmark_has_a_row(dataset, operations, step):
    f = made("nasbench-graph", formats.GRAPH, dataset=dataset)
    names = f.architectures.layers
    points = [
        {"link": link, **dict(zip(names, ops, strict=True))}
        for link in LINKS
        for ops in list(product(operations, repeat=4))[::step]
    ]
    assert all(f.failure(point) is None for point in points if f.architectures.invalid(point) is None)
    assert all(f.row(f.cell(row)) == row for row in range(0, len(f), 17))


@pytest.mark.parametrize(
    ("dataset", "best"), [("cora", 83.13), ("citeseer", 71.57), ("pubmed", 78.60), ("arxiv", 72.39)]
)
def test_the_graph_benchmark_has_the_published_optima(dataset, best):
    f = made("nasbench-graph", formats.GRAPH, dataset=dataset, guide="test")
    assert len(f) == 26_206 and f.optimum == pytest.approx(best, abs=0.006)
