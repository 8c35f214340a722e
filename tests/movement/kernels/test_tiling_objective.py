"""Tilings as an objective: exact misses, and the optimum by enumeration."""

import itertools

import pytest

import lamcts
from lamcts import objectives
from lamcts.movement import costs


def optimum(f) -> float:
    """Return the least misses of all orders and tile sizes."""
    extents = f.nest.tiled().tiles
    orders = itertools.permutations(extents)
    tiles = itertools.product(*(range(1, extent + 1) for extent in extents.values()))
    points = itertools.product(orders, tiles)
    names = [f"tile_{name}" for name in extents]
    return min(f({"order": order, **dict(zip(names, sizes, strict=True))}) for order, sizes in points)


def test_a_point_is_a_tiling_and_its_value_the_misses_of_it() -> None:
    f = objectives.make("tiling", nest="matmul", size=48, memory=192)
    point = {"order": ("i", "j", "k"), "tile_i": 12, "tile_j": 12, "tile_k": 1}
    assert f(point) == 20_736  # systems with M = 192: 1.30 times the bound
    assert f(point) == costs.kernels.make("matmul", N=48).tiled(i=12, j=12, k=1).reuse_distances().misses(192)
    assert f.cost(point)["misses_words"] == 20_736
    assert 1.25 < f.cost(point)["misses_per_bound"] < 1.35


@pytest.mark.dear
def test_a_search_reaches_the_optimum_of_a_small_product() -> None:
    f = objectives.make("tiling", size=6, memory=12)
    best = optimum(f)
    found = [lamcts.minimize(f, f.space, budget=60, seed=seed).fun for seed in range(3)]
    assert f.bound <= best
    assert sorted(found)[1] == best  # two of three seeds


def test_points_that_execute_in_the_same_order_count_as_one() -> None:
    f = objectives.make("tiling", size=8, memory=24)
    untiled = {"tile_i": 8, "tile_j": 1, "tile_k": 4}
    keys = {order: f.key({"order": tuple(order), **untiled}) for order in ("ijk", "jik", "ikj", "kij")}
    assert keys["ijk"] == keys["jik"] != keys["ikj"]  # one tile of i, one point of j
    traces = {order: f.tiling({"order": tuple(order), **untiled}).addresses().tolist() for order in keys}
    for one, two in itertools.product(keys, keys):
        assert (keys[one] == keys[two]) == (traces[one] == traces[two])


def test_a_loop_of_one_iteration_has_no_tile() -> None:
    f = objectives.make("tiling", nest="conv_layer", sizes={"F": 4, "C": 1, "N": 6, "k": 1})
    assert "tile_c" not in f.space.inner.names
    assert "tile_f" in f.space.inner.names
    assert f(f.space.decode(f.space.encode({"order": tuple("fcijyx"), "tile_f": 2, "tile_i": 3, "tile_j": 3}))) > 0


@pytest.mark.parametrize(("nest", "loops"), [("lu", "ij"), ("attention", "ijt"), ("grouped_attention", "ijt")])
def test_factorisations_and_attention_are_tiled_inside_their_shared_loops(nest: str, loops: str) -> None:
    sizes = {"lu": {"N": 12}}.get(nest, {"L": 8, "D": 4})
    f = objectives.make("tiling", nest=nest, sizes=sizes, memory=32)
    assert set(f.space.inner.names) == {"order", *(f"tile_{loop}" for loop in loops)}
    result = lamcts.minimize(f, f.space, budget=30, seed=0)
    assert f.bound <= result.fun <= f.nest.reuse_distances().misses(32)


def test_lines_count_lines() -> None:
    f = objectives.make("tiling", size=16, memory=64, line=64)
    point = {"order": ("i", "k", "j"), "tile_i": 16, "tile_j": 16, "tile_k": 16}
    assert set(f.cost(point)) == {"misses_lines", "misses_per_bound", "dmd_sqrt_words"}
    assert f(point) < objectives.make("tiling", size=16, memory=64)(point)


def test_a_nest_of_your_own_is_a_text() -> None:
    f = objectives.make("tiling", nest="for i,j in N: y[i] += A[i,j]*x[j]", size=12, memory="1KiB")
    assert f.memory == 128
    assert f({"order": ("i", "j"), "tile_i": 12, "tile_j": 12}) == 12 * 12 + 24


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nest": "for i in N: a[0] = a[0] + b[i]", "sizes": {"N": 1}}, "expected a loop of two iterations"),
        ({"nest": "matmull"}, "expected one of matmul"),
        ({"size": 2000}, "use smaller sizes"),
        ({"memory": "lots"}, "expected words such as 4096"),
        ({"measure": "seconds"}, "'--measure' was removed: misses are exact"),
        ({"nest": "for i,j in N: y[i] += A[i,j]*x[j]"}, "N: expected a size"),
    ],
)
def test_bad_settings_are_refused(settings, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        objectives.make("tiling", **settings)
