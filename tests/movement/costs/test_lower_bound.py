"""I/O lower bounds: the numbers of the papers, and closed forms against the numerical optimum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lamcts.movement import costs
from lamcts.movement.costs.statement_bound import Tiles, log_extents
from lamcts.movement.costs.terms import terms_of

MATMUL = "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"
SHARED = "for i,j,k in N: D[i,j,k] = A[i,k]*B[k,j]; E[i,j,k] = C[i,k]*B[k,j]"
COMPUTED = "for i,j in N: A[i,j] = exp(i*j); for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"
LU = "for k in N: for i in k+1..N: A[i,k] = A[i,k]/A[k,k]; for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]"
CHOLESKY = "for k in N: for i in k+1..N: for j in k+1..i: L[i,j] -= L[i,k]*L[j,k]"
SOLVE = "for i in N: for k in i: for j in R: X[i,j] -= L[i,k]*X[k,j]"
MTTKRP = "for i,j,k,r in N: A[i,r] += X[i,j,k]*B[j,r]*C[k,r]"
CONTRACTION = "for a,b,c,d in N: T[a,b,c] += A[a,b,d]*B[d,c]"
LAYER = "for f in F, c in C, i,j in H, y,x in k: O[f,i,j] += I[c,i+y,j+x]*W[f,c,y,x]"


def exactly(value: float) -> object:
    """Return `value` to twelve digits, for comparisons."""
    return pytest.approx(value, rel=1e-12, abs=0)


def test_the_matrix_product_loads_two_n_cubed_over_sqrt_m() -> None:
    bound = costs.nest(MATMUL, N=2000).lower_bound(memory=1024)
    assert bound.formula == "2 N^3 / sqrt(M)"
    assert bound.loads == bound.daap == exactly(2 * 2000**3 / 32)
    assert bound.main.sigma == Fraction(3, 2)
    assert bound.main.boundary == exactly(3 * 1024) and bound.main.intensity == exactly(16)
    assert bound.main.tile == {name: pytest.approx(32, rel=1e-9) for name in "ijk"}


def test_the_matrix_vector_product_uses_each_element_of_the_matrix_once() -> None:
    bound = costs.nest("for i,j in N: y[i] += A[i,j]*x[j]", N=500).lower_bound(memory=100)
    assert (bound.main.sigma, bound.main.intensity, bound.formula) == (1, 1, "N^2")
    assert bound.main.boundary == math.inf and not bound.main.tile
    assert bound.daap == 500**2 and bound.loads == 500**2 + 2 * 500  # and both vectors once


def test_statements_that_share_an_input_save_its_loads() -> None:
    bound = costs.nest(SHARED, N=10_000).lower_bound(memory=1024)
    alone = bound.statements[0]
    assert (alone.sigma, alone.formula) == (2, "N^3 / M")
    assert alone.boundary == exactly(2 * 1024) and alone.intensity == exactly(1024)
    assert {name: round(extent, 6) for name, extent in alone.tile.items()} == {"i": 1024, "j": 1024, "k": 1}
    assert bound.reuse == {"B": exactly(10_000**3 / 1024)}
    assert bound.formula == "N^3 / M" and bound.daap == exactly(10_000**3 / 1024)


def test_results_that_cost_no_loads_are_left_out_of_the_next_statement() -> None:
    bound = costs.nest(COMPUTED, N=10_000).lower_bound(memory=1024)
    assert bound.statements[0].intensity == math.inf and bound.statements[0].loads == 0
    assert bound.formula == "N^3 / M" and bound.daap == exactly(10_000**3 / 1024)
    assert bound.loads == exactly(2 * 10_000**3 / 32)  # without computing an element twice


def test_lu_has_the_bound_of_its_trailing_update() -> None:
    n, memory = 1000, 256
    bound = costs.nest(LU, N=n).lower_bound(memory)
    column, update = bound.statements
    assert (column.sigma, column.intensity, column.formula) == (1, 1, "1/2 N^2 - 1/2 N")
    assert column.loads == n * (n - 1) / 2
    assert update.sigma == Fraction(3, 2) and update.intensity == exactly(math.sqrt(memory) / 2)
    assert update.iterations == n * (n - 1) * (2 * n - 1) // 6
    assert bound.formula == "(2/3 N^3 - N^2 + 1/3 N) / sqrt(M)"  # the columns may just have been updated
    assert bound.daap == exactly((2 * n**3 / 3 - n**2 + n / 3) / 16)


def test_accesses_to_one_array_that_share_no_elements_add_up() -> None:
    """A[i,k] and A[k,j] of LU lie below and above the diagonal; A[i,j] may be either: C = 1/2, not 3^(-3/2)."""
    update = costs.nest("for k in N: for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]", N=3000).lower_bound(64)
    intensity = 0.5 * (3 * 64) ** 1.5 / (2 * 64)
    assert update.loads == exactly(update.main.iterations / intensity)
    assert not update.main.strict and update.loads < update.daap


def test_processors_share_the_iterations() -> None:
    nest = costs.nest(LU, N=1000)
    one, many = nest.lower_bound(256), nest.lower_bound(256, processors=64)
    assert many.daap == exactly(one.daap / 64) and many.loads == exactly(one.loads / 64)
    assert many.formula == f"({one.formula}) / P"


@pytest.mark.parametrize(
    ("text", "sizes", "sigma", "words", "formula"),
    [
        (MTTKRP, {"N": 500}, Fraction(5, 3), 2.5, "3 N^4 / M^(2/3)"),
        (CONTRACTION, {"N": 500}, Fraction(3, 2), 3, "2 N^4 / sqrt(M)"),
        (CHOLESKY, {"N": 2000}, Fraction(3, 2), 3, "(1/3 N^3 - N^2 + 2/3 N) / sqrt(M)"),
        (SOLVE, {"N": 2000, "R": 900}, Fraction(3, 2), 3, "(N^2 R - N R) / sqrt(M)"),
        ("for i,j,k in M: C[i,j] += A[i,k]*B[k,j]", {"M": 500}, Fraction(3, 2), 3, "2 M^3 / sqrt(memory)"),
    ],
)
def test_closed_forms_have_rational_exponents_and_constants(
    text: str, sizes: dict[str, int], sigma: Fraction, words: float, formula: str
) -> None:
    bound = costs.nest(text, **sizes).lower_bound(memory=729)
    assert (bound.main.sigma, bound.formula) == (sigma, formula)
    assert bound.main.boundary == exactly(words * 729)


@pytest.mark.parametrize(("text", "intensity"), [("C[i,j] = A[i,j]*b[j]", 1), ("C[i,j] = a[i,j]*b[i,j]", 0.5)])
def test_elements_that_are_used_once_bound_the_intensity(text: str, intensity: float) -> None:
    """Fig. 2 of the paper, Lemma 6: u elements used once bound the intensity by 1 / u."""
    bound = costs.nest(f"for i,j in N: {text}", N=300).lower_bound(memory=50)
    assert bound.main.sigma == 1 and bound.main.intensity == exactly(intensity)


@pytest.mark.parametrize("text", [MATMUL, SHARED, MTTKRP, CONTRACTION, CHOLESKY])
@pytest.mark.parametrize("memory", [100, 5000])
def test_the_closed_form_is_the_numerical_optimum_to_six_digits(text: str, memory: int) -> None:
    nest = costs.nest(text, N=100_000)
    bound = nest.lower_bound(memory).statements[0]
    terms = list(terms_of(bound.statement))
    tiles = Tiles(terms, bound.statement.names, np.ones(len(terms)), log_extents(bound.statement, nest.sizes))

    def intensity(log_words: float) -> float:
        return float(math.exp(tiles.largest(log_words).sum()) / (math.exp(log_words) - memory))

    found = minimize_scalar(
        intensity, bounds=(math.log(memory) + 0.1, math.log(memory) + 4), method="bounded", options={"xatol": 1e-6}
    )
    assert bound.intensity == pytest.approx(found.fun, rel=1e-6)
    assert bound.boundary == pytest.approx(math.exp(found.x), rel=1e-3)


@pytest.mark.parametrize("memory", [48, 128])
def test_a_convolution_layer_has_the_bound_of_chen_et_al(memory: int) -> None:
    """2 iterations / sqrt(k^2 M): each element of the image is read by k^2 elements of the filter."""
    bound = costs.nest(LAYER, F=8, C=4, H=12, k=3).lower_bound(memory)
    assert bound.daap == bound.loads == pytest.approx(2 * bound.main.iterations / math.sqrt(9 * memory), rel=1e-9)


def test_a_long_signal_has_the_mean_of_three_pairs_of_indices() -> None:
    """Two of i, y and i + y determine the third: I Y <= (words of all three)^(2/3), with X0 = 4 M."""
    bound = costs.nest("for i in N, y in K: O[i] += I[i+y]*W[y]", N=10**7, K=10**6).lower_bound(memory=10_000)
    assert bound.main.intensity == pytest.approx((2 * 10_000 / 3) ** 2 / 10_000, rel=0.05)
    assert 10_000 / 4 <= bound.main.intensity <= 10_000 / 2  # a box, and two accesses alone


def test_short_loops_cap_the_tile_and_raise_the_bound() -> None:
    text = "for i in I, j,k in N: C[i,j] += A[i,k]*B[k,j]"
    free, short, shorter = (costs.nest(text, I=size, N=500).lower_bound(1024) for size in (500, 20, 4))
    assert short.main.tile["i"] == pytest.approx(20) and short.formula == ""
    assert short.daap / 20 > 1.05 * free.daap / 500
    assert shorter.daap == pytest.approx(500**2, rel=0.02) and shorter.daap > 500**2  # each element of B once, and C


def test_a_cap_that_the_tile_just_reaches_changes_nothing() -> None:
    text = "for i in I, j,k in N: C[i,j] += A[i,k]*B[k,j]"
    exact, near = (costs.nest(text, I=size, N=500).lower_bound(1024) for size in (32, 31))
    assert exact.formula == "2 I N^2 / sqrt(M)" and near.formula == ""
    assert near.daap / 31 == pytest.approx(exact.daap / 32, rel=1e-3) and near.daap / 31 > exact.daap / 32


def test_all_elements_are_loaded_at_least_once() -> None:
    assert costs.nest(MATMUL, N=10).lower_bound(memory=10**6).loads == 300


def test_accesses_that_may_read_one_element_count_once() -> None:
    square = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*A[k,j]", N=300).lower_bound(64)
    assert square.clashes == ("A[i,k] and A[k,j] may read one element, so they count once",)
    assert square.formula == "N^3 / sqrt(M)"
    sums = costs.nest("for i in N: b[i] = a[i]+a[i+1]+a[i+2]", N=300).lower_bound(64)
    assert len(sums.clashes) == 3 and sums.formula == "N"


def test_a_range_from_k_breaks_the_disjoint_access_property_and_one_from_k_plus_1_does_not() -> None:
    """Section 2.2: i from k would not be a valid program."""
    update = "for k in N: for i,j in {}..N: A[i,j] -= A[i,k]*A[k,j]"
    assert not costs.nest(update.format("k+1"), N=50).lower_bound(64).clashes
    assert len(costs.nest(update.format("k"), N=50).lower_bound(64).clashes) == 3


def test_a_memory_below_the_elements_of_an_iteration_is_refused() -> None:
    nest = costs.nest(MATMUL, N=10)
    with pytest.raises(ValueError, match=r"memory: expected at least 3 words, one for each .*, got 2; memory=3"):
        nest.lower_bound(2)
    with pytest.raises(ValueError, match="memory: expected a whole number of at least 1, got 0"):
        nest.lower_bound(0)
    with pytest.raises(ValueError, match="processors: expected a whole number of at least 1, got 0"):
        nest.lower_bound(64, processors=0)


def test_reads_of_own_results_a_step_away_have_no_bound_of_the_pebble_game() -> None:
    """A schedule with i outside loads each A[0,i] and B[i] once, whatever T is (the paper's dominator has a hole)."""
    growing = costs.nest("for t in T: for i in N: A[t+1,i] = A[t,i]*B[i]", N=200, T=100)
    found = growing.lower_bound(16)
    assert found.formula == "" and found.produced == ("A[t+1,i]",) and found.daap <= 2 * 200
    stencil = costs.nest("for t in T: for i in 1..N-1: A[t+1,i] = A[t,i-1]+A[t,i]+A[t,i+1]", N=200, T=100)
    assert stencil.lower_bound(400).daap == 0 and stencil.lower_bound(400).formula == ""


@pytest.mark.parametrize("kernel", ["matmul", "lu", "cholesky"])
def test_updates_and_reads_of_other_rows_keep_their_formula(kernel: str) -> None:
    nest = costs.kernels.make(kernel, N=200)
    assert nest.lower_bound(1024).produced == ()


def test_an_array_of_products_is_loaded_less_than_the_cache_misses() -> None:
    """Seed 003, 4.2: the schedule of the text attains N^3 / M, while a cache that allocates on writes misses more."""
    nest = costs.nest("for i,k in N: A[i,k] = 1; for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=100_000)
    found = nest.lower_bound(1000)
    assert found.formula == "N^3 / M" and found.loads > 60 * 1e15 / 1000
