"""What the spaces of architectures promise that come without a table of trained networks."""

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
    Layerwise,
    NasNet,
    RandomGraphs,
)

SPACES = [NasNet(), DartsCells(), EfficientNet(), AccelNasBench(), EnasCell(), EnasCell(nodes=1), ConvNet()]
SPACES += [Layerwise(layers=3), RandomGraphs(stages=2, nodes=9)]
each = pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.name}-{space.space.dim}")
drawn = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32).map(np.random.default_rng)


@each
@drawn
@given(rng=seeds)
def test_a_text_is_read_as_the_point_it_came_from(space, rng):
    point = space.random(rng)
    assert space.parse(space.text(point)) == point
    assert space.parse(f"  {space.text(point)}\n") == point


@each
@drawn
@given(rng=seeds)
def test_the_canonical_point_is_valid_and_stands_for_itself(space, rng):
    point = space.random(rng)
    first = space.canonical(point)
    assert space.invalid(first) is None and space.canonical(first) == first
    assert space.key(first) == space.key(point) is not None
    np.testing.assert_array_equal(space.features(first), space.features(point))


@each
@drawn
@given(rng=seeds)
def test_features_tell_networks_apart_and_lie_in_the_cube(space, rng):
    one, two = space.random(rng), space.random(rng)
    a, b = space.features(one), space.features(two)
    assert (a == b).all() == (space.key(one) == space.key(two))
    assert a.shape == b.shape and a.min() >= 0 and a.max() <= 1


@each
def test_neighbours_are_valid_and_differ_in_one_parameter(space):
    point = space.random(np.random.default_rng(3))
    near = list(space.neighbours(point))
    assert len({json.dumps(other) for other in near}) == len(near) > 0
    for other in near:
        assert space.invalid(other) is None
        assert sum(other[name] != point[name] for name in point) == 1


@each
def test_points_and_keys_are_json_and_the_same_seed_draws_the_same_point(space):
    one, two = (space.random(np.random.default_rng(5)) for _ in range(2))
    assert one == two == json.loads(json.dumps(one))
    assert isinstance(space.key(one), str)


@each
def test_a_text_that_is_no_network_is_refused_with_what_was_expected(space):
    for text in ("", "nonsense", "3", space.text(space.random(np.random.default_rng(0))) + " 7 7"):
        if text == "3" and space.name == "enas-cell":
            continue  # which is a cell of one node
        with pytest.raises(ValueError, match="expected"):
            space.parse(text)


@each
def test_graphs_run_from_earlier_nodes_to_later_ones_and_reach_the_output(space):
    graphs = space.graphs(space.random(np.random.default_rng(1)))
    for graph in graphs.values():
        last = len(graph.nodes) - 1
        assert all(0 <= i < j <= last for i, j, _ in graph.edges)
        ahead = {i for i, _, _ in graph.edges}
        assert set(range(1 + (space.name == "nasnet"), last)) <= ahead  # nothing but the output is a dead end


@each
def test_a_network_of_another_space_is_refused(space):
    with pytest.raises(ValueError, match="expected"):
        space.space.encode({"layer": 1})
