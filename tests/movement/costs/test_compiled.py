"""C programs of loop nests: they compute what the nest says, and their errors name the cure."""

import shutil
import subprocess

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.compiled import c_source
from lamcts.movement.costs.program import Program

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, such as gcc")
PRODUCT = "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"


def checksum(program: Program, folder) -> float:
    (folder / "nest.c").write_text(c_source(program, repeats=1))
    subprocess.run(["cc", "-O1", "-o", folder / "nest", folder / "nest.c", "-lm"], check=True)
    return float(subprocess.run([folder / "nest"], check=True, capture_output=True, text=True).stdout.split()[1])


def filled(words: int) -> np.ndarray:
    """Return the numbers that the program fills an array with."""
    state, found = 1, []
    for _ in range(words):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(1.0 + (state >> 11) / 2**53)
    return np.array(found)


@needs_compiler
def test_a_product_is_what_numpy_computes(tmp_path) -> None:
    array = filled(49).reshape(7, 7)
    assert checksum(costs.nest(PRODUCT, N=7), tmp_path) == pytest.approx((array + array @ array).sum(), rel=1e-5)


@needs_compiler
def test_tiles_that_do_not_divide_the_range_change_nothing(tmp_path) -> None:
    nest = costs.nest(PRODUCT, N=7)
    assert checksum(nest.tiled("kji", i=2, j=3, k=5), tmp_path) == pytest.approx(checksum(nest, tmp_path), rel=1e-5)


@needs_compiler
def test_an_lu_factorisation_is_that_of_its_steps(tmp_path) -> None:
    a = filled(36).reshape(6, 6)
    for k in range(6):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    assert checksum(costs.kernels.make("lu", N=6), tmp_path) == pytest.approx(a.sum(), rel=1e-4)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "sizes"), [("lu", {"N": 9}), ("trisolve", {"N": 8, "R": 5}), ("attention", {"H": 2, "L": 6, "D": 4})]
)
def test_tilings_of_several_statements_compute_the_same(name: str, sizes: dict[str, int], tmp_path) -> None:
    nest = costs.kernels.make(name, **sizes)
    tiles = {loop: 2 + i for i, loop in enumerate(nest.tiled().tiles)}
    order = tuple(reversed(tiles))
    assert checksum(nest.tiled(order, **tiles), tmp_path) == pytest.approx(checksum(nest, tmp_path), rel=1e-4)


@needs_compiler
def test_functions_and_constants_are_those_of_c(tmp_path) -> None:
    b = filled(5)
    nest = costs.nest("for i in N: a[i] = max(sqrt(b[i]), -b[i]) ** 2 + 3*alpha", N=5)
    assert checksum(nest, tmp_path) == pytest.approx((b + 4.5).sum(), rel=1e-5)


@needs_compiler
def test_seconds_are_those_that_the_program_prints() -> None:
    assert costs.seconds(costs.nest(PRODUCT, N=160), repeats=3) > 0


def test_a_missing_compiler_is_named() -> None:
    with pytest.raises(RuntimeError, match="found no 'no-such-compiler'; install gcc"):
        costs.seconds(costs.nest(PRODUCT, N=4), compiler="no-such-compiler")


@needs_compiler
def test_the_message_of_a_compiler_that_fails_is_shown() -> None:
    with pytest.raises(RuntimeError, match=r"compiler: expected exit status 0, got 1: .*no-such-flag"):
        costs.seconds(costs.nest(PRODUCT, N=4), flags=["-no-such-flag"])


def test_a_formula_that_is_not_in_c_is_refused() -> None:
    with pytest.raises(ValueError, match="expected sums, products and functions"):
        c_source(costs.nest("for i in N: a[i] = zeta(b[i])", N=4))
