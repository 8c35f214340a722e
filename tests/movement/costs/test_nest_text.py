"""Loop nests from text: what the parser keeps, and what its errors say."""

import pytest

from lamcts.movement import costs
from lamcts.movement.costs.statement import Affine, Block

LU = "for k in N: for i in k+1..N: A[i,k] = A[i,k]/A[k,k]; for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]"


def test_an_update_reads_its_target_after_the_right_hand_side_and_then_writes_it() -> None:
    (statement,) = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=3).statements
    assert [(str(access), access.write) for access in statement.accesses] == [
        ("A[i,k]", False), ("B[k,j]", False), ("C[i,j]", False), ("C[i,j]", True),
    ]  # fmt: skip


def test_reads_appear_from_left_to_right_through_calls_and_signs() -> None:
    (statement,) = costs.nest("for i in N: a[i] = max(b[i], -c[i]) ** 2 + alpha*d[i+1]", N=3).statements
    assert [str(read) for read in statement.reads] == ["b[i]", "c[i]", "d[i+1]"]


def test_statements_share_the_loops_that_they_need() -> None:
    nest = costs.nest(LU, N=4)
    assert [(statement.names, statement.shared) for statement in nest.statements] == [
        (("k", "i"), 0), (("k", "i", "j"), 1),
    ]  # fmt: skip
    (outer,) = nest.body
    assert isinstance(outer, Block)
    assert outer.loop.name == "k" and len(outer.body) == 2


def test_a_later_statement_leaves_loops_that_it_does_not_need() -> None:
    nest = costs.nest("for k in N: for i in N: s[k] += A[k,i]; t[k] = s[k]; for j in N: u[j] = t[j]", N=4)
    assert [(statement.names, statement.shared) for statement in nest.statements] == [
        (("k", "i"), 0), (("k",), 1), (("j",), 0),
    ]  # fmt: skip


def test_lines_and_semicolons_mean_the_same() -> None:
    assert costs.nest(LU, N=4).statements == costs.nest(LU.replace(";", "\n   "), N=4).statements


def test_a_header_may_name_several_ranges() -> None:
    short = costs.nest("for i in N, j,k in i+1..M: A[i,j] = B[k]", N=3, M=5).statements
    assert short == costs.nest("for i in N: for j in i+1..M: for k in i+1..M: A[i,j] = B[k]", N=3, M=5).statements


def test_factors_without_loop_variables_count_by_their_value() -> None:
    (statement,) = costs.nest("for i,j in N: a[N*i+j] = b[2*(i-1)+j*3]", N=5).statements
    assert statement.target.indices == (Affine((("i", 5), ("j", 1))),)
    assert statement.reads[0].indices == (Affine((("i", 2), ("j", 3)), -2),)


def test_affine_expressions_add_up_and_are_kept_in_one_order() -> None:
    assert Affine.of("i") + Affine.of("j") * 2 - Affine.of("i") - 3 == Affine((("j", 2),), -3)
    assert str(Affine((("j", -1), ("i", 2)), 0)) == "2*i-j" and str(Affine()) == "0"
    assert Affine((("i", 2),), 1).put({"i": Affine.of("k") + 1}) == Affine((("k", 2),), 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for i in N: a[i] = b[m]", r"at character 0, .*expected a loop over m, which an index uses, got none"),
        ("for i in N: a[i*i] = b[i]", r"at character 14, 'i\*i\] = b\[i\]': expected an affine expression"),
        ("for i in N: a[c[i]] = b[i]", r"expected an affine expression .*, got c\[i\]"),
        ("for i in N: a[i//2] = b[i]", r"expected an affine expression .*, got i // 2"),
        ("for i in N: for i in N: a[i] = b[i]", r"^i: expected one loop of that name around a\[i\], got 2"),
        ("for i in N a[i] = b[i]", r"at character 0, .*expected a colon"),
        ("for i in N: a[i] = b[i", r"at character 20, .*expected a Python assignment"),
        ("for i in N: a[i]", r"at character 1\d, .*expected an assignment such as"),
        ("for i in N: s = b[i]", r"at character 12, .*expected an element with an index on the left, such as s\[0\]"),
        ("for i in N: a[i] = f[i][i]", r"expected the name of an array before the index"),
        ("for 2i in N: a[i] = b[i]", r"at character 3, .*expected names and a range"),
        ("for i: a[i] = b[i]", r"at character 3, .*expected a range for i, such as `i in N`, got none"),
        ("for i in 2..: a[i] = N[i]", r"expected a Python expression"),
        ("for i in N: a[i] = a[i,i]", r"^a: expected 2 indices as in a\[i,i\], got a\[i\]"),
        ("for i in N: i[i] = a[i]", r"^i: expected an array, got the name of a loop or a size"),
        ("for N in N: a[N] = b[N]", r"^N: expected a loop variable or a size, got both"),
        (" ; \n", r"expected a text such as"),
    ],
)
def test_bad_texts_are_refused_with_their_position_and_a_cure(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        costs.nest(text, N=3)


def test_sizes_are_asked_for_and_checked() -> None:
    with pytest.raises(ValueError, match=r"^N: expected a size, got none; nest\(\.\.\., N=1024\)"):
        costs.nest("for i in N: a[i] = b[i]")
    with pytest.raises(ValueError, match=r"^M: expected a size that the text uses, got M=3; remove it"):
        costs.nest("for i in N: a[i] = b[i]", N=3, M=3)
    with pytest.raises(ValueError, match=r"^N: expected a whole number of at least 1, got 0"):
        costs.nest("for i in N: a[i] = b[i]", N=0)


def test_a_loop_that_no_access_uses_repeats_its_elements() -> None:
    plain = costs.nest("for t in T: for i in 1..N-1: B[i] = A[i-1]+A[i+1]; for i in 1..N-1: A[i] = B[i]", N=30, T=6)
    marked = costs.nest(
        "for t in T: for i in 1..N-1: B[i] = A[i-1]+A[i+1]+X[t]; for i in 1..N-1: A[i] = B[i]", N=30, T=6
    )
    for memory in (10, 40, 100):  # X[t] is read at each step: one more element in the memory
        assert 0 <= marked.reuse_distances().misses(memory + 1) - plain.reuse_distances().misses(memory) <= 6
        assert plain.lower_bound(memory).repeated == ("t",)
        assert plain.lower_bound(memory).loads <= plain.reuse_distances().misses(memory)
    with pytest.raises(ValueError, match=r"^t: expected an access .* uses this loop variable, got none: a bound"):
        costs.nest("for t in T: for i in t: B[i] = A[i]", T=20).lower_bound(100)
