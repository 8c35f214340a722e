"""Lower bounds next to exact misses of an LRU cache: no program loads less, and where the paper's sums go too far."""

import math
from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement_bound import Tiles, log_extents
from lamcts.movement.costs.terms import terms_of

NESTS = 200
DEFAULT = (2, 9)  # sizes of loops


def random_nest(rng: np.random.Generator) -> costs.Nest:
    """Return one or two random statements, with triangular ranges, sums, factors, and arrays that they share."""
    while True:
        names = list("ijk"[: rng.integers(1, 4)])
        sizes = {f"N{depth}": int(rng.integers(*DEFAULT)) for depth in range(len(names))}
        text = "; ".join(random_statement(rng, names) for _ in range(rng.integers(1, 3)))
        try:
            nest = costs.nest(text, **{name: size for name, size in sizes.items() if name in text})
            nest.lower_bound(10**6)
            return nest
        except ValueError:
            continue  # such as a loop variable that no access uses


def random_statement(rng: np.random.Generator, names: list[str]) -> str:
    """Return the text of a random statement."""
    ranges = [f"N{depth}" for depth in range(len(names))]
    for depth in range(1, len(names)):
        if rng.random() < 0.3:
            ranges[depth] = f"{names[depth - 1]}+1" if rng.random() < 0.5 else f"{names[depth - 1]}..N{depth}"
    loops = " ".join(f"for {name} in {ends}:" for name, ends in zip(names, ranges, strict=True))
    reads = [random_access(rng, names) for _ in range(rng.integers(1, 4))]
    return f"{loops} {random_access(rng, names)} {rng.choice(['+=', '='])} {' * '.join(reads)}"


def random_access(rng: np.random.Generator, names: list[str]) -> str:
    """Return the text of a random access; its array has the number of indices in its name."""
    chosen = rng.permutation(names)[: rng.integers(1, len(names) + 1)]
    forms = rng.choice(["{}", "{}+1", "2*{}", "{}+{}"], len(chosen), p=[0.6, 0.15, 0.1, 0.15])
    indices = [str(form).format(name, rng.choice(names)) for form, name in zip(forms, chosen, strict=True)]
    return f"{rng.choice(list('ABCD'))}{len(chosen)}[{','.join(indices)}]"


def smallest(nest: costs.Nest) -> int:
    """Return the least memory that the bound takes."""
    return max(len({(a.array, a.indices) for a in statement.accesses}) for statement in nest.statements)


def test_no_random_nest_loads_less_than_the_bound() -> None:
    rng = np.random.default_rng(32)
    shares = []
    for _ in range(NESTS):
        nest = random_nest(rng)
        memory = smallest(nest) + int(rng.integers(0, 30))
        bound, misses = nest.lower_bound(memory), nest.reuse_distances().misses(memory)
        assert bound.loads <= misses * (1 + 1e-9), (nest.text, nest.sizes, memory)
        shares.append(bound.loads / misses)
    assert np.median(shares) > 0.5  # the bound is not trivial


def test_no_order_and_no_tiling_of_random_statements_loads_less() -> None:
    rng = np.random.default_rng(33)
    compared = 0
    for _ in range(60):
        nest = random_nest(rng)
        memory = smallest(nest) + int(rng.integers(0, 12))
        bound = nest.lower_bound(memory)
        for program in variants(nest):
            assert bound.loads <= program.reuse_distances().misses(memory) * (1 + 1e-9), (nest.text, nest.sizes, memory)
            compared += 1
    assert compared > 100


def variants(nest: costs.Nest) -> Iterator[Program]:
    """Yield the tilings and orders of a nest that are possible."""
    names = nest.statements[0].names
    for order, size in product(permutations(names), (1, 2, 4)):
        try:
            yield nest.tiled(order, **dict.fromkeys(names, size))
        except ValueError:
            continue  # the loops of several statements, and ranges that depend on each other, keep their order


@pytest.mark.parametrize("order", ["ijk", "ikj", "kij"])
@pytest.mark.parametrize("memory", [3, 20, 100])
def test_no_tiling_of_a_matrix_product_loads_less(order: str, memory: int) -> None:
    nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=16)
    bound = nest.lower_bound(memory)
    for size in (1, 2, 4, 8):
        misses = nest.tiled(order, **dict.fromkeys("ijk", size)).reuse_distances().misses(memory)
        assert bound.loads <= misses


def test_the_best_tiling_of_a_matrix_product_is_near_the_bound() -> None:
    nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=48)
    assert round(nest.lower_bound(192).loads) == 15_963
    assert nest.tiled(i=12, j=12, k=1).reuse_distances().misses(192) == 20_736  # 1.30 times the bound


@pytest.mark.parametrize("n", [20, 40])
def test_the_pebble_bound_of_lu_holds_in_a_memory_of_all_elements(n: int) -> None:
    """Section 6 of the paper gives 7/6 N^2 at M = N^2, where N^2 words are loaded: its columns may just be computed."""
    nest = costs.nest(costs.kernels.KERNELS["lu"].text, N=n)
    bound, misses = nest.lower_bound(n * n), nest.reuse_distances().misses(n * n)
    assert misses == n * n and max(bound.daap, bound.loads) <= misses


def test_results_that_another_statement_may_just_have_computed_count_once() -> None:
    """Section 4.2 of the paper sums 3 N loads; the results of the first statement stay in a memory of N words."""
    nest = costs.nest("for i in N: C[i] += C[i]*C[i]; for i in N: B[i] += C[i]", N=20)
    bound, misses = nest.lower_bound(100), nest.reuse_distances().misses(100)
    assert (bound.daap, bound.loads, misses) == (40, 40, 40)


def test_a_hexagonal_tile_of_a_convolution_holds_more_iterations_than_any_box() -> None:
    """|A+B| >= |A|+|B|-1 holds for boxes; another shape has up to 4/3 of their iterations, and the bound allows it."""
    n = 400
    i, y = np.meshgrid(np.arange(n), np.arange(n))
    inside = (i + y >= n // 2) & (i + y < n // 2 + n)
    words = sum(len(np.unique(index[inside])) for index in (i, y, i + y))
    nest = costs.nest("for i in N, y in K: O[i] += I[i+y]*W[y]", N=10**6, K=10**6)
    statement = nest.statements[0]
    terms = list(terms_of(statement))
    box = Tiles(terms, statement.names, np.ones(3), log_extents(statement, nest.sizes)).largest(math.log(words))
    assert inside.sum() / math.exp(box.sum()) == pytest.approx(4 / 3, rel=1e-2)
    memory = words / 2  # iterations of a phase of words - memory loads
    assert nest.lower_bound(round(memory)).main.intensity >= inside.sum() / (words - memory)


@pytest.mark.parametrize("read", ["I[i+j]", "I[i-j]", "I[2*i+j]"])
def test_an_index_that_is_a_sum_does_not_determine_its_variables(read: str) -> None:
    """All iterations of one diagonal read one element: as many loads as elements, whatever N is."""
    n = 300
    bound = costs.nest(f"for i,j in N: s[0] += {read}", N=n).lower_bound(10)
    assert bound.daap <= 3 * n and bound.loads <= 3 * n


def test_a_triangular_block_beats_the_intensity_that_counts_a_symmetric_product_twice() -> None:
    """C[i,j] += A[i,k]*A[j,k] for j < i, k outermost: sqrt(M/2) iterations a load, not sqrt(M)/2 at most."""
    nest = costs.nest("for k in K: for i in N: for j in i: C[i,j] += A[i,k]*A[j,k]", K=400, N=24)
    memory = 24 * 23 // 2 + 2 * 24  # all of C, and two columns of A
    misses = nest.reuse_distances().misses(memory)
    bound = nest.lower_bound(memory)
    apart = 2 * bound.main.iterations / math.sqrt(memory)  # with A[i,k] and A[j,k] counted apart
    assert apart > 1.2 * misses
    assert bound.clashes and bound.loads <= misses and bound.daap <= misses
