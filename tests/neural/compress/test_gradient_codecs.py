"""Codecs of gradients: what goes in comes out, in as few bits as promised."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.neural.compress.codecs import bits, indices, rice, sparse, values
from lamcts.neural.compress.codecs.values import RangeFloat
from lamcts.neural.compress.schemes import quantised

sizes = st.integers(1, 3000)
seeds = st.integers(0, 2**32 - 1)


def some_indices(size: int, share: float, seed: int) -> torch.Tensor:
    """Return rising indices below a size."""
    return torch.from_numpy(np.flatnonzero(np.random.default_rng(seed).random(size) < share))


def test_the_bitmap_is_the_status_of_the_thesis() -> None:
    """Section 7.3.2: [a, 0, b, 0, c, 0, 0] has status 1 0 1 0 1 0 0."""
    status = torch.tensor([7.0, 0, 8, 0, 9, 0, 0]) != 0
    bitmap = bits.to_bytes(status)
    assert bitmap.tolist() == [0b10101]
    assert bits.true_indices(bits.from_bytes(bitmap, 7)).tolist() == [0, 2, 4]


@given(sizes, st.floats(0, 1), seeds)
def test_indices_come_back_from_their_code(size: int, share: float, seed: int) -> None:
    chosen = some_indices(size, share, seed)
    code = indices.encode(chosen, size)
    assert torch.equal(indices.decode(code, len(chosen), size), chosen)
    assert len(code) <= 3 + -(-size // 8)  # a byte that says which code, and at most a bitmap


@given(st.lists(st.integers(0, 2**20), max_size=100), st.integers(0, 30))
@settings(deadline=None)
def test_gaps_come_back_from_their_code_of_any_width(left_out: list[int], width: int) -> None:
    if sum(left_out) >> width > 10**7:
        return
    code = rice.encode(torch.tensor(left_out, dtype=torch.long), width)
    assert rice.gaps(rice.decode(code, width, len(left_out))).tolist() == left_out


def test_the_width_is_the_best_of_all() -> None:
    for share in (0.001, 0.01, 0.1, 0.4, 0.9):
        left_out = rice.gaps(some_indices(100_000, share, 0))
        best = min(range(20), key=lambda width: rice.bit_length(left_out, width))
        assert rice.bit_length(left_out, rice.best_width(left_out)) == rice.bit_length(left_out, best)


def test_an_index_of_one_percent_takes_eight_bits_where_a_bitmap_takes_a_hundred() -> None:
    chosen = some_indices(1_000_000, 0.01, 0)
    assert 8 * len(indices.encode(chosen, 1_000_000)) / len(chosen) == pytest.approx(8.1, abs=0.1)
    entropy = -(0.01 * math.log2(0.01) + 0.99 * math.log2(0.99)) / 0.01
    assert entropy == pytest.approx(8.08, abs=0.01)


@pytest.mark.parametrize("width", range(1, 17))
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_codes_of_any_width_come_back(width: int, count: int) -> None:
    codes = torch.from_numpy(np.random.default_rng(width).integers(0, 2**width, count))
    data = bits.codes_to_bytes(codes, width)
    assert torch.equal(bits.codes_from_bytes(data, width, count), codes)
    assert len(data) == bits.bytes_of(count, width) <= -(-count * width // 8) + 1


def test_numpy_packs_bits_as_torch_does_on_other_devices() -> None:
    for count in (0, 1, 8, 77):
        status = torch.rand(count, generator=torch.Generator().manual_seed(count)) < 0.5
        assert torch.equal(bits.to_bytes(status), bits.codes_to_bytes(status, 1))
        assert torch.equal(bits.codes_from_bytes(bits.to_bytes(status), 1, count).bool(), status)


@given(st.lists(st.integers(0, 2), max_size=50))
def test_ternary_digits_come_back(digits: list[int]) -> None:
    data = quantised.trits_to_bytes(torch.tensor(digits, dtype=torch.int32))
    assert quantised.trits_from_bytes(data, len(digits)).tolist() == digits
    assert len(data) == -(-len(digits) // 5)


@given(st.integers(2, 16), st.floats(1e-30, 1e30))
def test_a_range_float_has_rising_numbers_from_zero_to_its_top(width: int, top: float) -> None:
    short = RangeFloat(width, top)
    numbers = short.decode(torch.arange(short.codes))
    assert short.codes == 2 ** (width - 1) == len(numbers)
    last = int(short.encode(torch.tensor([top], dtype=torch.float32)))
    assert last == short.codes - 1 or short.base == 1
    numbers = numbers[: last + 1]
    assert numbers[0] == 0 and bool((numbers.diff() > 0).all())
    if short.base > 1:
        assert numbers[1] == short.eps
        assert float(numbers[-1]) == pytest.approx(top, rel=0.51 * 2.0 ** -(23 - short.shift))


@given(st.integers(2, 12), st.floats(1e-20, 1e20), seeds)
def test_a_range_float_is_the_nearest(width: int, top: float, seed: int) -> None:
    short = RangeFloat(width, top)
    rng = np.random.default_rng(seed)
    x = torch.from_numpy((rng.uniform(-1, 1, 300) ** rng.integers(1, 9)).astype(np.float32)) * np.float32(top)
    nearest = short.decode(torch.arange(2 * short.codes)).double()
    least = (x.double()[:, None] - nearest).abs().amin(1)
    assert torch.equal((x.double() - short.decode(short.encode(x)).double()).abs(), least)


@pytest.mark.parametrize("width", [4, 8, 12, 16])
def test_the_error_of_a_range_float_is_at_most_half_an_ulp(width: int) -> None:
    short = RangeFloat(width, 3.7)
    x = torch.linspace(short.eps, 3.7, 10_001)
    half_ulp = 2.0 ** (torch.frexp(x).exponent - 2 - (23 - short.shift))
    assert bool(((x - short.decode(short.encode(x))).abs() <= half_ulp).all())


def test_cutting_bits_off_as_the_thesis_does_doubles_the_error() -> None:
    short = RangeFloat(8, 1.0)
    x = torch.rand(10_000, generator=torch.Generator().manual_seed(0))
    cut = ((x.view(torch.int32) >> short.shift) << short.shift).view(torch.float32)
    rounding = (x - short.decode(short.encode(x))).abs().mean()
    assert float((x - cut).abs().mean() / rounding) == pytest.approx(2, rel=0.05)


def test_larger_magnitudes_than_the_top_become_the_top() -> None:
    for short in (RangeFloat(8, 1.0), RangeFloat(16, 1.0)):
        assert short.decode(short.encode(torch.tensor([5.0, -1e38, 0.0]))).tolist() == [1.0, -1.0, 0.0]
    assert RangeFloat(8, 0.0).decode(RangeFloat(8, 0.0).encode(torch.zeros(3))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["fp32", "fp16", "range2", "range8", "range11", "range16"])
@pytest.mark.parametrize("scale", [1e-35, 1e-8, 1.0, 1e8, 1e35])
def test_values_come_back_with_the_error_of_their_format(kind: str, scale: float) -> None:
    x = torch.randn(501, generator=torch.Generator().manual_seed(0)) * scale
    top = float(x.abs().max())
    data = values.encode(x, kind, top)
    back = values.decode(data, kind, top, len(x))
    assert len(data) == values.size_of(kind, len(x))
    relative = float((x.double() - back).norm() / x.double().norm())
    limit = {"fp32": 0, "fp16": 3e-4, "range2": 0.96, "range8": 0.04, "range11": 0.005, "range16": 2e-4}[kind]
    assert relative <= limit


def test_small_gradients_keep_their_bits_in_half_precision() -> None:
    x = torch.tensor([1e-9, 3e-10])  # float16 has nothing below 6e-8
    back = values.decode(values.encode(x, "fp16", 1e-9), "fp16", 1e-9, 2)
    assert back.tolist() == pytest.approx(x.tolist(), rel=5e-4)


def test_a_sparse_vector_that_is_not_finite_is_sent_as_a_head_alone() -> None:
    data = sparse.encode(torch.tensor([2, 5]), torch.tensor([1.0, math.inf]), 9, "range8")
    assert len(data) == sparse.HEAD.size
    chosen, x = sparse.decode(data, 9, "range8")
    assert chosen.tolist() == [*range(9)] and bool(x.isnan().all())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rice.gaps(torch.tensor([3, 3])), "expected indices of 0 or more that rise"),
        (lambda: rice.encode(torch.tensor([1]), 31), "expected 0 to 30 remainder bits, got 31"),
        (lambda: rice.decode(rice.encode(torch.tensor([1, 2]), 1)[:1], 1, 2), "expected the code of 2 gaps, got one"),
        (lambda: bits.from_bytes(torch.zeros(1, dtype=torch.uint8), 9), "expected at least 2 bytes for 9 bits, got 1"),
        (lambda: bits.codes_from_bytes(torch.zeros(1, dtype=torch.uint8), 4, 3), "expected 2 bytes for 3 codes, got 1"),
        (lambda: indices.encode(torch.tensor([4]), 4), "expected indices below 4, got 4"),
        (lambda: indices.decode(torch.zeros(0, dtype=torch.uint8), 1, 4), "got no bytes"),
        (lambda: sparse.decode(torch.zeros(5, dtype=torch.uint8), 4, "fp16"), "expected at least 8 bytes"),
        (lambda: quantised.trits_to_bytes(torch.tensor([3])), "expected digits 0, 1 and 2, got 3 to 3"),
        (
            lambda: quantised.trits_from_bytes(torch.zeros(1, dtype=torch.uint8), 6),
            "expected 2 bytes for 6 digits, got 1",
        ),
        (lambda: RangeFloat(1, 1.0), "expected 2 to 16 bits, got 1"),
        (lambda: RangeFloat(8, math.nan), "expected a finite largest magnitude of 0 or more, got top=nan"),
        (lambda: values.bits_of("int8"), "expected values 'fp32', 'fp16' or 'range2' to 'range16', got 'int8'"),
        (lambda: values.bits_of("range17"), "got 'range17'"),
    ],
)
def test_bad_input_is_reported(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_range_floats_are_made_of_float32() -> None:
    with pytest.raises(TypeError, match=r"expected float32 numbers, got torch.float64"):
        RangeFloat(8, 1.0).encode(torch.ones(2, dtype=torch.float64))
