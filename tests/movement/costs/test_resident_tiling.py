"""Tilings by the model of residence: they fit, they are near the best, and they need a loop to tile."""

import itertools

import pytest

from lamcts.movement import costs


def best(nest: costs.Nest, memory: int) -> int:
    """Return the least misses of all tilings."""
    extents = nest.tiled().tiles
    sizes = itertools.product(*(range(1, extent + 1) for extent in extents.values()))
    tilings = itertools.product(itertools.permutations(extents), sizes)
    found = (nest.tiled(order, **dict(zip(extents, tile, strict=True))) for order, tile in tilings)
    return min(tiling.reuse_distances().misses(memory) for tiling in found)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("nest", "memory"),
    [
        (costs.kernels.make("matmul", N=6), 16),
        (costs.kernels.make("matvec", N=16), 12),
        (costs.kernels.make("conv2d", N=6, k=2), 12),
    ],
    ids=["matmul", "matvec", "conv2d"],
)
def test_the_model_is_within_a_tenth_of_the_best_of_all_tilings(nest: costs.Nest, memory: int) -> None:
    assert costs.resident_tiling(nest, memory).reuse_distances().misses(memory) <= 1.1 * best(nest, memory)


def test_a_product_at_the_specified_memory_has_the_tiling_of_the_specification() -> None:
    tiling = costs.resident_tiling(costs.kernels.make("matmul", N=48), 192)
    assert sorted(tiling.tiles.values()) == [1, 12, 12]
    assert tiling.reuse_distances().misses(192) == 20_736


def test_a_larger_memory_never_misses_more() -> None:
    nest = costs.kernels.make("mttkrp", N=12, R=8)
    misses = [costs.resident_tiling(nest, m).reuse_distances().misses(m) for m in (24, 64, 160, 400)]
    assert misses == sorted(misses, reverse=True)
    assert misses[-1] >= nest.lower_bound(400).loads


def test_long_loops_and_nests_of_several_statements() -> None:
    long = costs.resident_tiling(costs.kernels.make("matmul", N=4000), "256KiB")
    assert 1 in long.tiles.values() and max(long.tiles.values()) < 400  # sizes are sampled, misses are not measured
    lu = costs.resident_tiling(costs.kernels.make("lu", N=24), 64)
    assert set(lu.tiles) == {"i", "j"}
    assert lu.reuse_distances().misses(64) <= lu.nest.reuse_distances().misses(64)


def test_a_nest_without_a_loop_to_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="ranges do not depend on each other"):
        costs.resident_tiling(costs.nest("for i in N: s[i] = a[i]; t[i] = s[i]", N=4), 16)
