"""Numbers of DMC4ML (Ding et al.) that are exact, and a misprint."""

import numpy as np
import pytest

from lamcts.movement import costs

# The paper keeps the sum in a register and does not count the result: so does `registers="R"`.
CONVOLUTION = "for i in H-k+1: for j in W-k+1: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]"
# The result of a batch is added to R once for each pixel: s is the register of the sum.
BATCHED = "for b in B: for i,j in N-k+1: for c in X: for y,x in k: s[0] += K[X*b+c,y,x]*I[X*b+c,i+y,j+x]; R[i,j] = s[0]"


def convolution(height, width, k):
    return costs.nest(CONVOLUTION, H=height, W=width, k=k).reuse_distances(registers="R").dmd


def batched(n, batch):
    return costs.nest(BATCHED, B=10 // batch, N=n, X=batch, k=3).reuse_distances(registers="s").dmd


def test_the_traces_behind_theorem_3_10():
    exact = [convolution(512, 512, k) / 1e6 for k in (3, 5, 7)]
    assert exact == pytest.approx([36.456, 133.722, 322.298], abs=5e-4)


def test_the_steady_state_of_the_convolution_is_its_whole_trace():
    nest = costs.nest(CONVOLUTION, H=512, W=512, k=3)
    found = nest.reuse_distances(registers="R", steady=True)
    assert found.dmd == pytest.approx(36_455_961.35645, abs=1e-4)
    whole = nest.reuse_distances(registers="R", steady=False)
    assert np.array_equal(found.counts, whole.counts) and np.array_equal(found.distances, whole.distances)
    assert whole.accesses == 4_681_800


def test_traces_prefer_batches_of_two_where_the_theorem_prefers_one():
    assert (batched(96, 1) / 1e6, batched(96, 2) / 1e6) == pytest.approx((19.83, 18.45), abs=5e-3)


def test_the_asymmetry_of_traces_is_smaller_than_its_asymptote():
    portrait, square, landscape = (convolution(h, w, 3) for h, w in ((2048, 512), (1024, 1024), (512, 2048)))
    assert (square / portrait, landscape / portrait) == pytest.approx((1.231, 1.555), abs=5e-4)


def test_algorithm_2_as_printed_overwrites_its_matrix():
    n, k = 9, 3
    windows, pixels = (n - k + 1) ** 2, k * k
    printed = costs.nest("for i,j in N-k+1: for y,x in k: R[j+k*y+x,i] = I[i+y,j+x]", N=n, k=k)
    corrected = costs.nest("for i,j in N-k+1: for y,x in k: R[k*y+x,(N-k+1)*i+j] = I[i+y,j+x]", N=n, k=k)
    written = [len(np.unique(nest.addresses().reshape(-1, 2)[:, 1])) for nest in (printed, corrected)]
    assert written[0] < written[1] == windows * pixels
