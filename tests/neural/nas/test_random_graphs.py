"""Random graphs as a space of networks: what each generator promises."""

import numpy as np
import pytest

from lamcts.neural.nas import RandomGraphs
from lamcts.neural.nas.random_graphs import NAMES, barabasi_albert, erdos_renyi, watts_strogatz

N = 32


def draw(generator, *settings, seed=0):
    return generator(N, *settings, np.random.default_rng(seed))


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_gives_a_graph_without_cycles_and_repeats_it(name):
    space = RandomGraphs(stages=1, nodes=9)
    point = space.parse(f"{name}:5")
    edges = space.edges(point, 0)
    assert edges == space.edges(point, 0) and len(set(edges)) == len(edges)
    assert all(0 <= i < j < 9 for i, j in edges)


def test_edges_of_erdos_renyi_have_their_probability():
    counts = [len(draw(erdos_renyi, 0.2, seed=seed)) for seed in range(40)]
    assert np.mean(counts) == pytest.approx(0.2 * N * (N - 1) / 2, rel=0.05)
    assert len(draw(erdos_renyi, 1.0)) == N * (N - 1) // 2 and draw(erdos_renyi, 0.0) == []


def test_new_nodes_of_barabasi_albert_have_their_edges_and_prefer_nodes_with_many():
    edges = draw(barabasi_albert, 5)
    assert len(edges) == 5 * (N - 5) == len(set(edges))
    assert all(sum(j == node for _, j in edges) == 5 for node in range(5, N))
    largest = [np.bincount(np.ravel(draw(barabasi_albert, 1, seed=seed))).max() for seed in range(100)]
    rng = np.random.default_rng(0)  # the same, independent of degrees
    uniform = [np.bincount([x for j in range(1, N) for x in (rng.integers(j), j)]).max() for _ in range(100)]
    assert np.mean(largest) > 1.4 * np.mean(uniform)


def test_watts_strogatz_keeps_the_number_of_edges_and_rewires_its_share():
    ring = draw(watts_strogatz, 4, 0.0)
    assert len(ring) == 2 * N and all(j - i in (1, 2, N - 1, N - 2) for i, j in ring)
    kept = [len(set(ring) & set(draw(watts_strogatz, 4, 0.25, seed=seed))) / len(ring) for seed in range(40)]
    assert np.mean(kept) == pytest.approx(0.75, abs=0.03)
    assert len(set(draw(watts_strogatz, 4, 1.0))) == 2 * N


def test_stages_and_seeds_have_graphs_of_their_own():
    space = RandomGraphs(stages=2, nodes=12)
    point = space.parse("er-0.4:1 er-0.4:1")
    other = space.parse("er-0.4:2 er-0.4:1")
    assert space.edges(point, 0) != space.edges(point, 1) == space.edges(other, 1)
    assert space.edges(point, 0) != space.edges(other, 0)
    with pytest.raises(ValueError, match="nodes"):
        RandomGraphs(nodes=8)
    with pytest.raises(ValueError, match=r"expected 2 stages <graph>:<seed>, graphs er-0\.1"):
        space.parse("er-0.3:1 er-0.4:1")
