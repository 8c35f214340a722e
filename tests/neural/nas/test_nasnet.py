import os
from itertools import product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest

from lamcts.neural.nas import NasNet

DATA = Path(os.environ.get("LAMCTS_DATA", Path(__file__).parents[4] / "shared" / "data"))
SPACE = NasNet()


@pytest.fixture(scope="module")
def masks():
    """The networks that a published search of this space evaluated, one a row, [3776, 160]."""
    path = DATA / "lanas_traces.npz"
    if not path.exists():
        pytest.skip(f"no data: {path.name} is not there")
    with np.load(path) as table:
        return table["supernet_onehot"]


def drawn(seed):
    return SPACE.random(np.random.default_rng(seed))


def test_the_space_has_as_many_points_as_the_thesis_counts():
    assert [len(pairs) for pairs in NasNet.pairs] == [3, 6, 10, 15, 21]
    assert prod(map(len, NasNet.pairs)) == 56_700
    assert SPACE.space.size == pytest.approx((56_700 * 4**10) ** 2, rel=1e-12)
    assert f"{SPACE.space.size:.1e}" == "3.5e+21"


@pytest.mark.parametrize("i", range(5))
def test_a_node_has_as_many_kinds_as_masks_have_pairs_of_ones(i):
    point = drawn(0)
    keys = []
    for connect, one, two in product(range(len(NasNet.pairs[i])), NasNet.operations, NasNet.operations):
        change = {f"normal_connect{i}": connect, f"normal_layer{2 * i}": one, f"normal_layer{2 * i + 1}": two}
        keys.append(SPACE.key(point | change))
    assert keys.count(None) == 4 * (i + 2)  # the same operation twice on one input
    assert len(set(keys) - {None}) == comb(4 * (i + 2), 2)


def test_all_networks_of_the_published_search_come_back_from_their_masks(masks):
    keys = set()
    for row in masks:
        point = SPACE.from_masks(row)
        assert SPACE.canonical(point) == point and SPACE.invalid(point) is None
        np.testing.assert_array_equal(SPACE.masks(point).ravel(), row)
        np.testing.assert_array_equal(SPACE.features(point), row)
        keys.add(SPACE.key(point))
    assert len(masks) == len(keys) == 3776


def test_a_point_comes_back_from_its_masks_in_canonical_form():
    points = [drawn(seed) for seed in range(40)]
    assert all(SPACE.from_masks(SPACE.masks(point)) == SPACE.canonical(point) for point in points)
    assert any(SPACE.canonical(point) != point for point in points)


def test_two_operations_on_one_input_may_change_places():
    point = drawn(1) | {"reduction_connect1": 0, "reduction_layer2": "sep_conv_5x5", "reduction_layer3": "skip_connect"}
    other = point | {"reduction_layer2": "skip_connect", "reduction_layer3": "sep_conv_5x5"}
    assert SPACE.key(point) == SPACE.key(other) is not None
    assert SPACE.canonical(point)["reduction_layer2"] == "skip_connect"
    apart = point | {"reduction_connect1": 1}  # on different inputs they are different networks
    assert SPACE.key(apart) != SPACE.key(other | {"reduction_connect1": 1})


def test_the_same_operation_twice_on_one_input_is_no_network():
    point = drawn(1) | {"normal_connect0": 2, "normal_layer0": "skip_connect", "normal_layer1": "skip_connect"}
    assert SPACE.invalid(point) == "normal node 0: skip_connect twice on input 1"
    assert SPACE.key(point) is None


def test_masks_are_laid_out_node_by_node_and_input_by_input():
    point = drawn(2) | {"normal_connect4": 20, "normal_layer8": "max_pool_3x3", "normal_layer9": "sep_conv_5x5"}
    mask = SPACE.masks(point)[0]
    assert mask.shape == (20, 4) and mask.dtype == np.uint8
    np.testing.assert_array_equal(mask[-1], [1, 0, 0, 1])  # pair 20 of the last node is (5, 5)
    np.testing.assert_array_equal(np.add.reduceat(mask.sum(1), [0, 2, 5, 9, 14]), [2] * 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda masks: masks[:1], r"expected masks \[2, 20, 4\]"),
        (lambda masks: masks * 2, "of 0 and 1"),
        (lambda masks: masks * (np.arange(2) == 0)[:, None, None], "reduction node 0: expected two ones .* got 0"),
        (lambda masks: np.ones_like(masks), "normal node 0: expected two ones .* got 8"),
    ],
)
def test_masks_of_no_network_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        SPACE.from_masks(change(SPACE.masks(drawn(0))))


def test_a_genotype_is_read_whatever_the_order_of_a_nodes_edges():
    edges = [("sep_conv_3x3", 1), ("skip_connect", 0)] * 5
    text = f"Genotype(normal={edges}, normal_concat=range(2, 7), reduce={edges}, reduce_concat=[2])"
    point = SPACE.parse(text)
    assert SPACE.edges(point, "normal") == [[("skip_connect", 0), ("sep_conv_3x3", 1)]] * 5
    assert "normal_concat=[2, 3, 4, 5, 6]" in SPACE.text(point)


@pytest.mark.parametrize(
    "edges",
    [
        [("sep_conv_3x3", 1), ("skip_connect", 2)] * 5,  # node 0 takes itself
        [("sep_conv_7x7", 1), ("skip_connect", 0)] * 5,
        [("sep_conv_3x3", 1), ("skip_connect", 0)] * 4,
        [("sep_conv_3x3", 1), ("skip_connect", 0)] * 6,
        [("sep_conv_3x3", 1)] * 9,
    ],
)
def test_a_genotype_of_no_cell_is_refused(edges):
    with pytest.raises(ValueError, match="with 10 edges a cell"):
        SPACE.parse(f"Genotype(normal={edges}, reduce={edges})")


def test_a_cells_graph_puts_out_what_no_node_takes():
    edges = [("sep_conv_3x3", 0), ("skip_connect", 1)] * 4 + [("sep_conv_5x5", 2), ("max_pool_3x3", 2)]
    graph = SPACE.graphs(SPACE.parse(f"Genotype(normal={edges}, reduce={edges})"))["reduction"]
    assert len(graph.nodes) == 8 and len(graph.edges) == 14
    assert [(i, label) for i, j, label in graph.edges if j == 7] == [(3, ""), (4, ""), (5, ""), (6, "")]
    assert {(2, 6, "sep_conv_5x5"), (2, 6, "max_pool_3x3")} <= set(graph.edges)
