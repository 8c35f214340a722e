"""Steady states: the first passes of the outermost loop give the same distances as the whole trace."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.movement import costs
from lamcts.movement.costs import program as programs
from lamcts.movement.costs import reuse

STEADY = {
    "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]": {"N": 12},
    "for i,j in H: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]": {"H": 20, "k": 3},
    "for j,i in H: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]": {"H": 20, "k": 3},
    "for i in N: for j in i..i+4: a[i] += b[j]*c[j-i]": {"N": 40},
    "for i in N: a[i] = a[i]*b[39-i]": {"N": 40},
    "for i in N: a[2*i] = a[2*i+1]*b[i]; c[i] = a[2*i+3]": {"N": 40},
    "for t in T: for i in N: a[t+1,i] = a[t,i]+a[t-1,i]": {"T": 30, "N": 5},
    "for i,j in N: a[i+j] += b[i,j]": {"N": 30},
    "for i,j,k in N: a[i+j,j+k] += b[i-j,k]*b[i-j+2,k]": {"N": 10},
    "for i in N: for k in N: for j in k..N: a[i,j] += b[k,j]": {"N": 12},
}


def same(one, two):
    return (
        np.array_equal(one.distances, two.distances) and np.array_equal(one.counts, two.counts) and one.cold == two.cold
    )


@pytest.mark.parametrize("text", STEADY)
def test_the_steady_state_is_the_whole_trace(text):
    nest = costs.nest(text, **STEADY[text])
    assert same(nest.reuse_distances(steady=True), nest.reuse_distances(steady=False))


@pytest.mark.parametrize("name", costs.kernels.names())
@pytest.mark.parametrize("line", [None, 64])
def test_the_default_is_the_whole_trace_of_every_kernel(name, line):
    kernel = costs.kernels.make(name, **{"N": 16} if "N" in costs.kernels.KERNELS[name].sizes else {"L": 16})
    assert same(kernel.reuse_distances(line=line), kernel.reuse_distances(line=line, steady=False))


@pytest.mark.parametrize("line", [None, 32])
def test_tilings_and_lines_have_steady_states(line):
    tiling = costs.kernels.make("matmul", N=24).tiled(i=4, j=5, k=7)
    assert same(tiling.reuse_distances(line=line, steady=True), tiling.reuse_distances(line=line, steady=False))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (costs.kernels.make("lu", N=8), "a range of i that depends on the outermost loop"),
        (costs.kernels.make("im2col", N=8), "statements that share no loop"),
        (costs.nest("for i in N: a[i] = a[39-i]", N=40), "accesses to a that move differently"),
        (costs.nest("a[0] = 1"), "statements that share no loop"),
    ],
)
def test_a_program_without_steady_state_is_an_error_that_says_why(program, reason):
    with pytest.raises(ValueError, match=f"steady: expected .* got {reason}.*; leave steady out"):
        program.reuse_distances(steady=True)
    assert same(program.reuse_distances(), program.reuse_distances(steady=False))


def test_passes_that_move_by_part_of_a_line_are_no_steady_state():
    product = costs.kernels.make("matmul", N=12)
    with pytest.raises(ValueError, match="move A by 12 words, which is no whole number of lines"):
        product.reuse_distances(line=64, steady=True)


def test_passes_that_differ_are_found_even_if_the_proof_were_wrong(monkeypatch):
    nest = costs.nest("for t in T: for i in N: a[t+9,i] = a[t,i]", T=40, N=5)
    monkeypatch.setattr(programs, "_lag", lambda *arguments: 7)  # 9 is right: the first reuse is in pass 9
    with pytest.raises(ValueError, match="passes with other distances"):
        nest.reuse_distances(steady=True)


def test_the_convolution_of_the_paper_needs_six_of_510_passes(monkeypatch):
    convolution = costs.kernels.make("conv2d", N=512, k=3)
    monkeypatch.setattr(reuse, "LIMIT", 6 * 510 * 9 * 2)
    found = convolution.reuse_distances(registers="R", steady=True)
    assert found.dmd == pytest.approx(36_455_961.35645, abs=1e-4) and found.accesses == 4_681_800


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_passes_are_measured_whole(n):
    nest = costs.nest("for i in N: a[i,9-9*i] += a[i,9-9*i]", N=n)
    assert same(nest.reuse_distances(steady=True), nest.reuse_distances(steady=False))
    assert same(nest.reuse_distances(line=64), nest.reuse_distances(line=64, steady=False))


def test_accesses_to_registers_may_move_as_they_like():
    nest = costs.nest("for i in N: b[i] = a[i]+a[39-i]", N=40)
    assert same(nest.reuse_distances(steady=True, registers="a"), nest.reuse_distances(steady=False, registers="a"))


def test_a_sampled_nest_may_not_be_steady_too():
    with pytest.raises(ValueError, match="sample"):
        costs.kernels.make("matmul").reuse_distances(sample=0.1, steady=True)


@st.composite
def nests(draw):
    """Return a random nest of one or two statements in two or three loops, the outermost of 5 to 14 passes."""
    small, names = st.integers(-2, 3), ["i", "j", "k"][: draw(st.integers(2, 3))]
    ranges = {"i": str(draw(st.integers(5, 14)))}
    for name in names[1:]:
        first = draw(st.sampled_from(["0", "0", "i", *(["j"] if name == "k" else [])]))
        ranges[name] = f"{first}..{first}+{draw(st.integers(1, 4))}"

    steps = {array: [draw(small), draw(small)] for array in "AB"}  # of each index, per pass: as most programs

    def index(step):
        return "+".join([f"{step}*i", *(f"{draw(small)}*{name}" for name in names[1:]), f"{draw(small)}"])

    def access():
        array = draw(st.sampled_from("AB"))
        return f"{array}[{','.join(index(step) for step in steps[array])}]"

    loops = " ".join(f"for {name} in {ranges[name]}:" for name in names)
    statements = [f"C[{','.join(names)}] = {access()} + {access()}" for _ in range(draw(st.integers(1, 2)))]
    return costs.nest(f"{loops} {'; '.join(statements)}")


@given(
    tiles=st.fixed_dictionaries({"i": st.integers(1, 4), "j": st.integers(1, 7), "y": st.integers(1, 3)}),
    order=st.permutations("ijyx"),
    line=st.sampled_from([None, 16]),
)
@settings(max_examples=60, deadline=None)
def test_the_default_is_the_whole_trace_of_tilings(tiles, order, line):
    nest = costs.nest("for i in H: for j in W: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]", H=23, W=14, k=3)
    tiling = nest.tiled(order=order, **tiles)
    assert same(tiling.reuse_distances(line=line), tiling.reuse_distances(line=line, steady=False))


@given(nest=nests(), line=st.sampled_from([None, 16, 64]))
@settings(max_examples=60, deadline=None)
def test_the_default_is_the_whole_trace_of_random_nests(nest, line):
    assert same(nest.reuse_distances(line=line), nest.reuse_distances(line=line, steady=False))
