"""Address traces and tilings against loops in plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.movement import costs
from lamcts.movement.costs import reuse, trace
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.trace import Layout

PRODUCT = "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"
NESTS = {
    PRODUCT: {"N": 5},
    "for k in N: for i in k+1..N: A[i,k] = A[i,k]/A[k,k]; for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]": {"N": 7},
    "for i in N: for j in i..i+3: a[i+j] = b[2*i-j]; c[i] = a[i]; for i in N: d[i] = 1": {"N": 6},
    "for i in N: for j in i: for k in j..i: a[k] += b[i,j]; for j in N: c[i,j] = a[j]; d[i] = c[i,i]": {"N": 6},
    "s[0] = 1; for i in 3..N: a[i-3] = s[0]": {"N": 5},
    "for i in 5..N: a[i] = b[i]": {"N": 3},
}


def run(body, values, places):
    """Yield the addresses of one execution, a statement at a time."""
    for item in body:
        if isinstance(item, Statement):
            yield from (places.address(access).value(values) for access in item.accesses)
        else:
            start, stop = trace.ends(item.loop, values)
            for value in range(start, stop):
                yield from run(item.body, {**values, item.loop.name: value}, places)


def expected(program, line_words=1):
    places = Layout.of(program.statements, program.sizes, line_words)
    return [int(address) for address in run(program.body, program.sizes, places)]


@pytest.mark.parametrize("piece", [1, 5, 20, 100, 2**18])
@pytest.mark.parametrize("text", NESTS)
def test_the_trace_is_in_program_order(text, piece, monkeypatch):
    monkeypatch.setattr(trace, "PIECE", piece)
    nest = costs.nest(text, **NESTS[text])
    assert nest.addresses().tolist() == expected(nest)
    assert nest.accesses() == len(expected(nest))


def test_an_access_has_the_address_of_row_major_arrays_one_after_the_other():
    nest = costs.nest("for i in 2: for j in 3: C[j,i] += A[i,j]")
    # A is 2 x 3 from 0, C is 3 x 2 from 6; each iteration reads A and C, and writes C
    assert nest.addresses().tolist() == [0, 6, 6, 1, 8, 8, 2, 10, 10, 3, 7, 7, 4, 9, 9, 5, 11, 11]


def test_arrays_begin_at_lines():
    nest = costs.nest("for i in N: b[i] = a[i]", N=5)
    assert nest.addresses(line=32).tolist() == [0, 2, 0, 2, 0, 2, 0, 2, 1, 3]
    assert nest.addresses().tolist() == [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]


def test_indices_may_be_negative():
    nest = costs.nest("for i,j in N: a[i-j] = b[2-2*i]", N=3)
    found = nest.addresses().reshape(-1, 2)
    assert found[:, 0].tolist() == [4, 4, 4, 2, 2, 2, 0, 0, 0]
    assert (found[:, 1] - 5).tolist() == [2, 1, 0, 3, 2, 1, 4, 3, 2]


def test_arrays_in_registers_are_left_out():
    product = costs.nest(PRODUCT, N=4)
    whole = product.addresses().reshape(-1, 4)
    assert product.addresses(registers="C").tolist() == whole[:, :2].ravel().tolist()
    assert product.accesses(registers=["A", "C"]) == 64
    with pytest.raises(ValueError, match="registers: expected arrays of A, B, C, got 'D'"):
        product.addresses(registers="D")


def test_a_trace_that_is_too_long_is_an_error_that_names_the_cure(monkeypatch):
    product = costs.nest(PRODUCT, N=2000)
    for measure in (product.addresses, lambda: product.reuse_distances(steady=False)):
        with pytest.raises(ValueError, match=r"expected at most 200,000,000, got 32,000,000,000; use sample=0.01"):
            measure()
    monkeypatch.setattr(reuse, "LIMIT", 100)
    with pytest.raises(ValueError, match="accesses: expected at most 100"):
        costs.nest(PRODUCT, N=10).reuse_distances()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="accesses: expected at most"):  # at once: nothing is enumerated
        costs.kernels.make("lu", N=30_000).reuse_distances()
    monkeypatch.setattr(trace, "MOST", 2**10)
    with pytest.raises(ValueError, match="arrays: expected at most"):
        costs.nest(PRODUCT, N=19).addresses()


def iterations(tiling):
    """Return the iterations of a tiling of PRODUCT in order, from the addresses of A and B."""
    a, b = tiling.addresses(registers="C").reshape(-1, 2).T
    n = tiling.sizes["N"]
    return [(i, j, k) for i, k, j in zip(a // n, a % n, (b - n * n) % n, strict=True)]


@given(
    tiles=st.dictionaries(st.sampled_from("ijk"), st.integers(1, 7)),
    order=st.permutations("ijk"),
)
@settings(max_examples=40, deadline=None)
def test_a_tiling_visits_every_iteration_once_tile_by_tile(tiles, order):
    tiling = costs.nest(PRODUCT, N=7).tiled(order=order, **tiles)
    found = iterations(tiling)
    assert sorted(found) == list(itertools.product(range(7), repeat=3))
    place = ["ijk".index(name) for name in order]
    size = [tiles.get(name, 7) for name in order]

    def key(point):
        return [point[p] // s for p, s in zip(place, size, strict=True)], [point[p] for p in place]

    assert found == sorted(found, key=key)


def test_a_tiling_of_one_tile_is_the_reordered_nest():
    product = costs.nest(PRODUCT, N=6)
    assert product.tiled(order="kij").addresses().tolist() == expected(
        costs.nest("for k,i,j in N: C[i,j] += A[i,k]*B[k,j]", N=6)
    )
    assert product.tiled().addresses().tolist() == product.addresses().tolist() == expected(product)
    shifted = costs.nest("for i,j in 2..N: a[i,j] = b[j,i]", N=9)
    assert sorted(shifted.tiled(i=3, j=2).addresses().tolist()) == sorted(shifted.addresses().tolist())


def test_misses_of_tilings_of_a_product_are_those_of_the_specification():
    product = costs.nest(PRODUCT, N=48)
    assert product.tiled(i=12, j=12, k=1).reuse_distances().misses(192) == 20_736
    assert product.tiled(i=8, j=4, k=1).reuse_distances().misses(192) == 43_776


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        ({"l": 2}, "tiled: expected loops of i, j, k, got 'l'"),
        ({"i": 0}, "i: expected a whole number of at least 1, got 0"),
        ({"i": 2.5}, "i: expected a whole number of at least 1"),
        ({"i": 7}, "i: expected a tile of 1 to 6 iterations, got 7"),
        ({"order": "ij"}, "order: expected each of i, j, k once, got 'ij'"),
        ({"order": ["i", "j", 3]}, "order: expected each of i, j, k once"),
    ],
)
def test_tiles_out_of_range_are_errors(tile, message):
    with pytest.raises(ValueError, match=message):
        costs.nest(PRODUCT, N=6).tiled(**tile)


@pytest.mark.parametrize(
    ("name", "tiles"), [("lu", {"i": 3, "j": 5}), ("trisolve", {"k": 2, "j": 4}), ("attention", {})]
)
def test_shared_loops_stay_outside_the_tiles(name, tiles):
    sizes = {"attention": {"H": 2, "L": 5, "D": 3}}.get(name, {"N": 9})
    nest = costs.kernels.make(name, **sizes)
    tiles = tiles or {"i": 2, "j": 3, "t": 2}
    tiling = nest.tiled(**tiles)
    assert tuple(tiling.tiles) == tuple(tiles) or name == "trisolve"
    assert sorted(tiling.addresses().tolist()) == sorted(nest.addresses().tolist())
    assert tiling.addresses().tolist() != nest.addresses().tolist()
    exact, whole = tiling.reuse_distances(), tiling.reuse_distances(steady=False)
    assert [exact.misses(m) for m in (0, 4, 16, 64)] == [whole.misses(m) for m in (0, 4, 16, 64)]


def test_an_lu_factorisation_is_tiled_step_by_step():
    nest = costs.kernels.make("lu", N=7)
    assert set(nest.tiled().tiles) == {"i", "j"}
    with pytest.raises(ValueError, match="tiled: expected loops of i, j, got 'k'"):
        nest.tiled(k=2)


def test_a_loop_whose_range_depends_on_another_keeps_it_outside():
    nest = costs.nest("for i in N: for j in i..N: a[j] += b[i,j]", N=5)
    assert nest.tiled(j=2).tiles == {"j": 2}
    assert sorted(nest.tiled(j=2).addresses().tolist()) == sorted(nest.addresses().tolist())
    with pytest.raises(ValueError, match="tiled: expected loops of j, got 'i'"):
        nest.tiled(i=2)


def test_a_tiling_describes_itself():
    assert str(costs.nest(PRODUCT, N=8).tiled(j=4, order="jik")) == f"{PRODUCT} in tiles of j=4, i=8, k=8"


def test_a_nest_without_accesses_to_memory_has_no_distances():
    nest = costs.nest("for i in 5..N: a[i] = b[i]", N=3)
    assert nest.reuse_distances().accesses == 0 and nest.addresses().dtype == np.int32
