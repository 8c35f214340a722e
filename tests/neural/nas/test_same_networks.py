"""Which points of the other spaces are the same network, on small cases worked out by hand."""

from itertools import product

import pytest

from lamcts.neural.nas.cells import NasBench201, TransNas
from lamcts.neural.nas.chains import NasBenchMacro
from lamcts.neural.nas.nasbench_graph import NasBenchGraph


def network(link, *ops):
    return {"link": link, **{f"op_{i + 1}": op for i, op in enumerate(ops)}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 3, 0, 0, 0, 1), (0, 0, 0, 3, 0, 0)),  # a skip, and a convolution behind it
        ((3, 0, 1, 0, 0, 2), (0, 3, 0, 0, 0, 2)),  # a skip in the middle
        ((2, 3, 0, 0, 1, 1), (3, 2, 0, 0, 1, 1)),  # the two inner nodes change places
        ((4, 4, 4, 0, 0, 0), (0, 0, 0, 0, 0, 0)),  # nothing reaches the output
        ((0, 0, 3, 2, 4, 0), (3, 0, 0, 2, 0, 0)),  # what comes from nothing is nothing
    ],
)
def test_cells_of_nasbench201_that_compute_the_same_share_a_key(one, other):
    space = NasBench201()
    assert space.key(space.point(one)) == space.key(space.point(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, 0, 0, 3, 0, 0), (0, 0, 0, 2, 0, 0)),
        ((3, 0, 0, 0, 1, 0), (3, 0, 0, 1, 1, 0)),  # a skip beside it
        ((1, 1, 0, 0, 1, 1), (1, 0, 0, 0, 1, 0)),  # twice the input
        ((2, 0, 3, 0, 0, 1), (3, 0, 2, 0, 0, 1)),  # the order of two operations
    ],
)
def test_cells_of_nasbench201_that_compute_something_else_do_not(one, other):
    space = NasBench201()
    assert space.key(space.point(one)) != space.key(space.point(other))


def test_nasbench201_has_4930_graphs():
    space = NasBench201()
    keys = {space.key(space.point(numbers)) for numbers in product(range(5), repeat=6)}
    assert len(keys) == 4930


def test_the_text_of_nasbench201_is_the_official_string():
    space = NasBench201()
    text = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|"
    assert space.numbers(space.parse(text)) == (4, 2, 1, 2, 1, 1)
    assert space.graphs(space.parse(text))["cell"].edges[:2] == [(0, 1, "avg_pool_3x3"), (0, 2, "nor_conv_1x1")]
    with pytest.raises(ValueError, match="expected a cell such as"):
        space.parse(text.replace("~2", "~1"))


def test_a_cell_of_transnas_loses_what_no_path_passes():
    space = TransNas()
    assert space.numbers(space.canonical(space.point((3, 2, 0, 1, 0, 0)))) == (0, 0, 0, 1, 0, 0)
    assert space.numbers(space.canonical(space.point((0, 0, 2, 0, 3, 1)))) == (0,) * 6
    kept = space.point((3, 0, 1, 0, 0, 2))
    assert space.canonical(kept) == kept
    assert len({space.code(space.point(numbers)) for numbers in product(range(4), repeat=6)}) == 2128


def test_an_identity_of_macro_moves_within_its_stage_alone():
    space = NasBenchMacro()
    same, other = space.parse("11201102"), space.parse("11210120")
    assert space.key(same) == space.key(other)
    assert space.key(space.parse("01111111")) != space.key(space.parse("10111111"))
    assert len({space.key(space.point(numbers)) for numbers in product(range(3), repeat=8)}) == 3969


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (network("0000", "fc", "gcn", "gat", "gin"), network("0000", "gat", "gcn", "gin", "fc")),
        (network("0012", "gcn", "gat", "fc", "gin"), network("0012", "gat", "gcn", "gin", "fc")),
        (network("0123", "gat", "skip", "gcn", "fc"), network("0123", "skip", "gat", "gcn", "fc")),
        (network("0123", "gat", "gcn", "fc", "skip"), network("0123", "skip", "gat", "gcn", "fc")),
        (network("0011", "gat", "skip", "gcn", "fc"), network("0122", "skip", "gat", "gcn", "fc")),
    ],
)
def test_networks_of_the_graph_benchmark_that_are_the_same_share_a_row(one, other):
    space = NasBenchGraph()
    assert space.code(one) == space.code(other) and space.canonical(one) == other


def test_a_skip_beside_layers_that_compute_is_a_layer_of_its_own():
    space = NasBenchGraph()
    beside = network("0111", "gat", "gcn", "fc", "skip")
    assert space.canonical(beside) == beside
    assert space.code(beside) == int(f"5{0}{1}{7}{8}")
    assert space.invalid(network("0012", *["skip"] * 4)) == "all four layers are skips"


def test_the_graph_benchmark_takes_known_operations_alone():
    with pytest.raises(ValueError, match="operations: expected some of gat"):
        NasBenchGraph(("gcn", "lstm"))
    with pytest.raises(ValueError, match="expected one of"):
        NasBenchGraph(("gcn", "fc")).parse('{"link": [0, 0, 1, 1], "ops": ["gat", "fc", "fc", "fc"]}')
