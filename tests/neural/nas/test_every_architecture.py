"""What every space of architectures promises."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.neural.nas import (
    AccelNasBench,
    ConvNet,
    DartsCells,
    EfficientNet,
    EnasCell,
    IoCell,
    Layerwise,
    NasNet,
    RandomGraphs,
)
from lamcts.neural.nas.cells import Digits4096, NasBench201, TransNas
from lamcts.neural.nas.chains import NasBenchMacro
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench_graph import FOR_PROTEINS, NasBenchGraph

WITH_TABLES = [
    NasBench101(),
    NasBench101(vertices=6),
    NasBench201(),
    NasBenchMacro(),
    TransNas(),
    Digits4096(),
    NasBenchGraph(),
    NasBenchGraph(FOR_PROTEINS),
]
WITHOUT_TABLES = [NasNet(), DartsCells(), EfficientNet(), AccelNasBench(), EnasCell(), EnasCell(nodes=1), ConvNet()]
WITHOUT_TABLES += [Layerwise(layers=3), RandomGraphs(stages=2, nodes=9), IoCell(), IoCell(nodes=3)]


def each_of(spaces):
    return pytest.mark.parametrize("space", spaces, ids=lambda space: f"{space.name}-{int(space.space.size)}")


every, each = each_of([*WITH_TABLES, *WITHOUT_TABLES]), each_of(WITHOUT_TABLES)


def drawn(space, n=40):
    """Return points of the space, those that are no network included."""
    return [space.space.decode(x) for x in space.space.sample(n, np.random.default_rng(3))]


@every
def test_a_text_is_read_as_the_point_that_wrote_it(space):
    for point in drawn(space):
        assert space.parse(space.text(point)) == point == space.parse(f"  {space.text(point)}\n")
        assert space.space.decode(space.space.encode(point)) == point


@every
def test_what_is_no_text_of_the_field_is_refused(space):
    text = space.text(drawn(space)[0])
    for wrong in ("", "nothing", "[]", "{}", text[:-2] if space in WITH_TABLES else text + " 7 7"):
        with pytest.raises(ValueError, match="expected"):
            space.parse(wrong)


@every
def test_a_drawn_point_is_valid_and_draws_repeat(space):
    points = [space.random(np.random.default_rng(seed)) for seed in range(20)]
    assert all(space.invalid(point) is None for point in points)
    assert points == [space.random(np.random.default_rng(seed)) for seed in range(20)]
    assert len({space.text(point) for point in points}) > min(15, space.space.size / 2)
    assert points[0] == json.loads(json.dumps(points[0])) and isinstance(space.key(points[0]), str)


@every
def test_the_canonical_point_is_the_same_network_and_canonical_itself(space):
    for point in drawn(space):
        if space.invalid(point) is None:
            there = space.canonical(point)
            assert space.key(there) == space.key(point)
            assert space.canonical(there) == there and space.invalid(there) is None
        else:
            assert space.key(point) is None


@every
def test_features_are_numbers_of_the_cube_that_equal_networks_share(space):
    for seed in range(20):
        point = space.random(np.random.default_rng(seed))
        features = space.features(point)
        assert features.shape in ((space.space.dim,), (160,)) and features.min() >= 0 and features.max() <= 1
        np.testing.assert_array_equal(features, space.features(space.canonical(point)))


@every
def test_neighbours_are_the_valid_points_that_differ_in_one_parameter(space):
    point = space.random(np.random.default_rng(5))
    near = list(space.neighbours(point))
    assert all(space.invalid(other) is None for other in near)
    assert all(sum(other[name] != point[name] for name in point) == 1 for other in near)
    texts = {space.text(other) for other in near}
    assert len(texts) == len(near)
    for name, member in zip(space.space.names, space.space.members, strict=True):
        for x in member.rows():
            other = {**point, name: member.decode(x)}
            assert (space.text(other) in texts) == (other != point and space.invalid(other) is None)


@every
def test_a_picture_has_edges_between_its_nodes_only(space):
    for seed in range(20):
        for graph in space.graphs(space.random(np.random.default_rng(seed))).values():
            assert space in WITHOUT_TABLES or (graph.nodes[0], graph.nodes[-1]) == ("input", "output")
            assert all(0 <= i < j < len(graph.nodes) for i, j, _ in graph.edges)


@every
def test_a_point_of_another_space_is_refused_by_name(space):
    with pytest.raises(ValueError, match="expected exactly the names"):
        (space.key if space in WITH_TABLES else space.space.encode)({"lr": 0.1})


@each
@settings(max_examples=25, deadline=None, derandomize=True)
@given(rng=st.integers(0, 2**32).map(np.random.default_rng))
def test_features_tell_networks_without_a_table_apart(space, rng):
    one, two = space.random(rng), space.random(rng)
    assert (space.features(one) == space.features(two)).all() == (space.key(one) == space.key(two))


@each
def test_nothing_but_the_output_is_a_dead_end(space):
    for graph in space.graphs(space.random(np.random.default_rng(1))).values():
        ahead = {i for i, _, _ in graph.edges}
        first = graph.inputs if space.name in ("nasnet", "io-cell") else 1  # which may not read both inputs
        assert set(range(first, len(graph.nodes) - 1)) <= ahead
