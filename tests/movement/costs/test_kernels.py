"""The table of kernels, and three of them against pycachesim."""

import importlib

import numpy as np
import pytest

from lamcts.movement.costs.kernels import KERNELS, make, names


@pytest.mark.parametrize("name", names())
def test_a_kernel_has_its_default_sizes_and_others(name):
    kernel = make(name)
    assert 10_000 < kernel.accesses() < 10**6
    smaller = {size: min(value, 8) for size, value in KERNELS[name].sizes.items()}
    assert make(name, **smaller).accesses() < kernel.accesses()


def test_unknown_names_and_sizes_are_errors():
    with pytest.raises(ValueError, match=r"kernel: expected one of matmul, matvec, .* got 'matmull'"):
        make("matmull")
    with pytest.raises(ValueError, match="matmul: expected sizes of N, got 'M'"):
        make("matmul", M=4)
    with pytest.raises(ValueError, match="N: expected a whole number of at least 1, got 0"):
        make("matmul", N=0)
    with pytest.raises(ValueError, match="N: expected a power of two, got 12; use 8"):
        make("fft", N=12)


def arrays_of(nest, **start):
    """Return the arrays after an execution of a kernel in plain Python, one statement at a time."""
    code, depth = [], 0
    for statement, piece in zip(nest.statements, nest.text.replace(";", "\n").split("\n"), strict=True):
        for depth, loop in enumerate(statement.loops):
            if depth >= statement.shared:
                code.append("    " * depth + f"for {loop.name} in range({loop.start}, {loop.stop}):")
        code.append("    " * len(statement.loops) + piece.rsplit(":", 1)[-1].strip())
    exec("\n".join(code), {**nest.sizes, "sqrt": np.sqrt}, start)
    return start


def test_factorisations_factorise():
    n, rng = 9, np.random.default_rng(0)
    root = rng.standard_normal((n, n))
    a = root @ root.T + np.eye(n)
    lu = arrays_of(make("lu", N=n), A=a.copy())["A"]
    assert (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu) == pytest.approx(a)
    lower = np.tril(arrays_of(make("cholesky", N=n), A=a.copy())["A"])
    assert lower @ lower.T == pytest.approx(a)
    x, b = np.empty((n, 4)), rng.standard_normal((n, 4))
    x[:] = b
    arrays_of(make("trisolve", N=n, R=4), X=x, L=lower)
    assert lower @ x == pytest.approx(b)


def test_the_transform_is_that_of_numpy_in_bit_reversed_order():
    n = 16
    signal = np.random.default_rng(0).standard_normal(n) + 0j
    order = [int(f"{i:04b}"[::-1], 2) for i in range(n)]
    found = arrays_of(
        make("fft", N=n), X=signal[order], Y=np.empty(n, complex), W=np.exp(-2j * np.pi * np.arange(n) / n)
    )
    assert found["X"] == pytest.approx(np.fft.fft(signal))


def test_im2col_convolves():
    rng = np.random.default_rng(1)
    image, weights = rng.standard_normal((8, 8)), rng.standard_normal((3, 3))
    found = arrays_of(make("im2col", N=8), I=image, K=weights.ravel(), P=np.full((9, 36), np.nan), R=np.zeros(36))["R"]
    direct = arrays_of(make("conv2d", N=8), I=image, K=weights, R=np.zeros((6, 6)))["R"]
    assert found.reshape(6, 6) == pytest.approx(direct)


@pytest.mark.parametrize(("name", "sizes"), [("matmul", {"N": 20}), ("conv2d", {"N": 24}), ("lu", {"N": 20})])
@pytest.mark.parametrize("lines", [4, 16, 64])
def test_misses_are_those_of_pycachesim(name, sizes, lines):
    cachesim = pytest.importorskip("cachesim")
    importlib.import_module("cachesim.backend")
    kernel = make(name, **sizes)
    memory = cachesim.MainMemory()
    cache = cachesim.Cache("L1", sets=1, ways=lines, cl_size=64, replacement_policy="LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    simulator = cachesim.CacheSimulator(cache, memory)
    for line in kernel.addresses(line=64).tolist():
        simulator.load(line * 64, length=8)
    found = kernel.reuse_distances(line=64)
    assert found.misses(lines, unit="lines") == cache.backend.MISS_count
    assert found.misses(8 * lines) == cache.backend.MISS_count
