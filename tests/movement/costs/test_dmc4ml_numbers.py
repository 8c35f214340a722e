"""Numbers of DMC4ML (Ding et al.) that are exact, and its misprints."""

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs import asymptotics

# The paper keeps the sum in a register and does not count the result: so does `registers="R"`.
CONVOLUTION = "for i in H-k+1: for j in W-k+1: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]"
# The result of a batch is added to R once for each pixel: s is the register of the sum.
BATCHED = "for b in B: for i,j in N-k+1: for c in X: for y,x in k: s[0] += K[X*b+c,y,x]*I[X*b+c,i+y,j+x]; R[i,j] = s[0]"


def convolution(height, width, k):
    return costs.nest(CONVOLUTION, H=height, W=width, k=k).reuse_distances(registers="R").dmd


def batched(n, batch):
    return costs.nest(BATCHED, B=10 // batch, N=n, X=batch, k=3).reuse_distances(registers="s").dmd


def test_theorem_3_10_and_the_traces_behind_it():
    printed = [asymptotics.convolution(512, 512, k) / 1e6 for k in (3, 5, 7)]
    assert [round(value) for value in printed] == [51, 159, 364]
    exact = [convolution(512, 512, k) / 1e6 for k in (3, 5, 7)]
    assert exact == pytest.approx([36.456, 133.722, 322.298], abs=5e-4)


def test_the_steady_state_of_the_convolution_is_its_whole_trace():
    nest = costs.nest(CONVOLUTION, H=512, W=512, k=3)
    found = nest.reuse_distances(registers="R", steady=True)
    assert found.dmd == pytest.approx(36_455_961.35645, abs=1e-4)
    whole = nest.reuse_distances(registers="R", steady=False)
    assert np.array_equal(found.counts, whole.counts) and np.array_equal(found.distances, whole.distances)
    assert whole.accesses == 4_681_800


def test_batching_pays_from_448_pixels_and_up_to_25_channels():
    formula = asymptotics.batched_convolution
    assert [formula(n, 3, 10, 10) < formula(n, 3, 10, 1) for n in (447, 448)] == [False, True]
    pays = [c for c in range(2, 60) if formula(1024, 3, c, c) < formula(1024, 3, c, 1)]
    assert pays == list(range(2, 26))


def test_traces_prefer_batches_of_two_where_the_theorem_prefers_one():
    one, two, ten = (batched(96, x) / 1e6 for x in (1, 2, 10))
    assert (one, two) == pytest.approx((19.83, 18.45), abs=5e-3)
    formula = [asymptotics.batched_convolution(96, 3, 10, x) / 1e6 for x in (1, 2, 10)]
    assert formula[:2] == pytest.approx([19.7, 21.6], abs=0.05) and formula[0] < formula[1]
    assert formula[1] / two == pytest.approx(1.17, abs=5e-3) and formula[2] / ten == pytest.approx(1.345, abs=5e-3)


def test_im2col_costs_12_times_a_convolution():
    last = asymptotics.im2col(1024, 7) - asymptotics.convolution(1024, 1024, 7)
    assert last / (7**1.5 * 1024**2.5) == pytest.approx(12.09, abs=5e-3)  # sqrt(n/k)


def test_the_square_image_costs_the_fourth_root_not_the_cube_root():
    def second(height, width):
        return asymptotics.convolution(height, width, 1) - 2 * 2**0.5 * height * width

    portrait, square, landscape = second(2**12, 2**10), second(2**11, 2**11), second(2**10, 2**12)
    square_power, landscape_power = (np.log(ratio / portrait) / np.log(4) for ratio in (square, landscape))
    assert (square_power, landscape_power) == pytest.approx((1 / 4, 1 / 2))
    assert (2**square_power, 2**landscape_power) == pytest.approx((1.19, 1.41), abs=5e-3)  # as printed at m = 2


def test_the_asymmetry_of_traces_is_smaller_than_its_asymptote():
    portrait, square, landscape = (convolution(h, w, 3) for h, w in ((2048, 512), (1024, 1024), (512, 2048)))
    assert (square / portrait, landscape / portrait) == pytest.approx((1.231, 1.555), abs=5e-4)


def test_376_million_for_the_transform_needs_the_logarithm_to_base_10():
    assert asymptotics.fft_convolution(512, log_base=10) / 1e6 == pytest.approx(376, abs=0.5)
    assert asymptotics.fft_convolution(512) / 1e6 == pytest.approx(685, abs=0.5)


@pytest.mark.parametrize("levels", [1, 2, 5, 9])
def test_lemma_3_13_counts_the_data_of_the_recursive_transform(levels):
    trace = costs.kernels.fft_trace(2**levels)
    assert costs.reuse_distances(trace).cold == (2 * levels + 1.5) * 2**levels


def test_the_exact_transform_is_below_the_bound_with_binary_logarithms():
    for n in (2**6, 2**12):
        assert asymptotics.fft(n, 10) < costs.dmd(costs.kernels.fft_trace(n)) < asymptotics.fft(n)


def test_algorithm_2_as_printed_overwrites_its_matrix():
    n, k = 9, 3
    windows, pixels = (n - k + 1) ** 2, k * k
    printed = costs.nest("for i,j in N-k+1: for y,x in k: R[j+k*y+x,i] = I[i+y,j+x]", N=n, k=k)
    corrected = costs.nest("for i,j in N-k+1: for y,x in k: R[k*y+x,(N-k+1)*i+j] = I[i+y,j+x]", N=n, k=k)
    written = [len(np.unique(nest.addresses().reshape(-1, 2)[:, 1])) for nest in (printed, corrected)]
    assert written[0] < written[1] == windows * pixels


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: asymptotics.convolution(0, 5, 3),
        lambda: asymptotics.convolution(5, 5, 1.5),
        lambda: asymptotics.batched_convolution(8, 3, 4, 5),
        lambda: asymptotics.fft(12),
        lambda: costs.kernels.fft_trace(1),
    ],
)
def test_arguments_out_of_range_are_errors(wrong):
    with pytest.raises(ValueError, match="expected"):
        wrong()
