"""`lamcts bound` and `lamcts movement`: what they print, and what they say to mistakes."""

import pytest
from commands import said

PRODUCT = "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"


def test_the_bound_of_a_product(capsys):
    code, out, _ = said(capsys, "bound", PRODUCT, "--memory", "32KiB", "--sizes", "N=1024")
    assert code == 0
    assert "misses of a cache    33,554,432 words or more\n" in out
    assert "red-blue pebbles     2 N^3 / sqrt(M) = 33,554,432 words or more\n" in out and "M = 4096\n" in out
    assert "i = 64, j = 64, k = 64" in out
    assert "of the busiest" not in out


def test_processors_share_the_bound(capsys):
    _, out, _ = said(capsys, "bound", "matmul", "--memory", "4096", "--sizes", "N=1024", "--processors", "8")
    assert "4,194,304 words or more of the busiest processor" in out


def test_a_stencil_has_no_bound_of_the_pebble_game(capsys):
    stencil = "for t in T: for i in 1..N-1: A[t+1,i] = A[t,i-1]+A[t,i+1]"
    _, out, _ = said(capsys, "bound", stencil, "--sizes", "N=200,T=50", "--memory", "400")
    assert "red-blue pebbles  " not in out
    assert "note: A[t+1,i] reads results of the nest a step away: no bound of red-blue pebbles is known" in out


def test_loops_over_time_have_misses_and_the_bound_of_one_iteration(capsys, tmp_path):
    jacobi = "for t in T: for i in 1..N-1: B[i] = A[i-1]+A[i+1]; for i in 1..N-1: A[i] = B[i]"
    options = ["--sizes", "N=200,T=20", "--levels", "100,1000", "--png", str(tmp_path / "misses.png")]
    code, out, _ = said(capsys, "movement", jacobi, *options)
    assert code == 0 and "not known" not in out and (tmp_path / "misses.png").exists()
    code, out, _ = said(capsys, "bound", jacobi, "--sizes", "N=200,T=20")
    assert code == 0 and "note: t is in no index: the bounds are those of one iteration of its loop" in out
    triangle = "for t in T: for i in t: B[i] = A[i]"
    code, _, err = said(capsys, "bound", triangle, "--sizes", "T=20")
    assert code == 2 and "t: expected an access in the loop over t that uses this loop variable" in err
    assert said(capsys, "movement", triangle, "--sizes", "T=20", "--levels", "10")[1].count("not known") == 1


def test_the_misses_of_a_tiling_at_each_level(capsys, tmp_path):
    png = tmp_path / "misses.png"
    options = ["--sizes", "N=48", "--tile", "i=12,j=12,k=1", "--levels", "192, 32KiB", "--png", str(png)]
    code, out, _ = said(capsys, "movement", PRODUCT, *options)
    assert code == 0 and png.stat().st_size > 10_000
    assert "442,368 accesses to 6,912 words" in out
    row = next(line.split() for line in out.splitlines() if line.strip().startswith("192"))
    assert row == ["192", "20,736", "15,963", "1.29904"]
    assert "no prediction of run time" in out


def test_lines_order_and_a_sample(capsys):
    options = ["--sizes", "N=64", "--order", "i,k,j", "--line", "64", "--levels", "64KiB,8"]
    _, exact, _ = said(capsys, "movement", "matmul", *options)
    assert "accesses to 1,536 lines of 64 bytes" in exact
    _, sampled, _ = said(capsys, "movement", "matmul", *options, "--sample", "0.2")
    rows = [line.split() for line in sampled.splitlines() if line.strip().startswith(("64KiB", "8 "))]
    assert rows[0][2] == "+-" and " ".join(rows[1][1:4]) == "sample too small"


def test_the_caches_of_the_machine_are_the_default(capsys):
    _, out, _ = said(capsys, "movement", "matvec", "--sizes", "N=16")
    assert "L1" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["bound", PRODUCT], "N: expected a size, got none; --sizes N=1024"),
        (["bound", "matmull"], "kernel: expected one of matmul"),
        (["bound", PRODUCT, "--sizes", "N:4"], "--sizes: expected names and whole numbers such as N=1024"),
        (["bound", "matmul", "--memory", "lots"], "--memory: expected words such as 4096"),
        (["bound", "matmul", "--memory", "1"], "--memory: expected at least 3 words"),
        (["bound", "for i in N: a[i*i] = b[i]", "--sizes", "N=4"], "affine"),
        (["movement", "matmul", "--line", "60"], "--line: expected a power of two"),
        (["movement", "matmul", "--tile", "i=100"], "expected a tile of 1 to 48"),
        (["movement", "matmul", "--order", "i,j"], "--order: expected each of i, j, k once"),
        (["movement", "lu", "--sizes", "N=2000"], "use --sample 0.01"),
        (["movement", "matmul", "--png", "figure.doc"], "--png: expected a name ending in .png"),
    ],
)
def test_mistakes_are_one_line_with_the_cure(capsys, argv, message):
    code, _, err = said(capsys, *argv)
    assert code == 2 and message in err and len(err.strip().splitlines()) == 1
