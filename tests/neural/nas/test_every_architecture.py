"""What every space of architectures promises."""

import numpy as np
import pytest

from lamcts.neural.nas.cells import TransNas
from lamcts.neural.nas.digits import Digits4096
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench201 import NasBench201
from lamcts.neural.nas.nasbench_graph import FOR_PROTEINS, NasBenchGraph
from lamcts.neural.nas.tabled import NasBenchMacro

SPACES = [
    NasBench101(),
    NasBench101(vertices=6),
    NasBench201(),
    NasBenchMacro(),
    TransNas(),
    Digits4096(),
    NasBenchGraph(),
    NasBenchGraph(FOR_PROTEINS),
]
every = pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.name}-{int(space.space.size)}")


def drawn(space, n=40):
    """Return points of the space, those that are no network included."""
    return [space.space.decode(x) for x in space.space.sample(n, np.random.default_rng(3))]


@every
def test_a_text_is_read_as_the_point_that_wrote_it(space):
    for point in drawn(space):
        assert space.parse(space.text(point)) == point
        assert space.space.decode(space.space.encode(point)) == point


@every
def test_what_is_no_text_of_the_field_is_refused(space):
    for text in ("", "nothing", "[]", "{}", space.text(drawn(space)[0])[:-2]):
        with pytest.raises(ValueError, match="expected"):
            space.parse(text)


@every
def test_a_drawn_point_is_valid_and_draws_repeat(space):
    points = [space.random(np.random.default_rng(seed)) for seed in range(20)]
    assert all(space.invalid(point) is None for point in points)
    assert points == [space.random(np.random.default_rng(seed)) for seed in range(20)]
    assert len({space.text(point) for point in points}) > 15


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
        assert features.shape == (space.space.dim,) and features.min() >= 0 and features.max() <= 1
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
            assert graph.nodes[0] == "input" and graph.nodes[-1] == "output"
            assert all(0 <= i < j < len(graph.nodes) for i, j, _ in graph.edges)


@every
def test_a_point_of_another_space_is_refused_by_name(space):
    with pytest.raises(ValueError, match="expected exactly the names"):
        space.key({"lr": 0.1})
