"""The page of LU has the numbers of its rows."""

from pathlib import Path

import pytest

from benchmarks.harness.sheet import RESULTS, read

PAGE = (Path(__file__).parents[2] / "docs" / "linalg.md").read_text()
GROWTH, SECONDS, WORDS = (read(RESULTS / f"lu_{name}.csv") for name in ("growth", "seconds", "words"))
METHODS = ("SciPy", "Dask", "lamcts, Dask array", "lamcts, 4 x 4 x 2 ranks")


def rows(matrix: str, size: str, method: str) -> list[dict[str, str]]:
    """Return the rows of all seeds."""
    return [row for row in GROWTH if (row["matrix"], row["N"], row["method"]) == (matrix, size, method)]


@pytest.mark.parametrize("matrix", ["normal", "zero first block"])
@pytest.mark.parametrize("size", ["256", "1024"])
def test_the_table_of_growth(matrix: str, size: str) -> None:
    cells = []
    for method in METHODS:
        found = rows(matrix, size, method)
        assert len(found) == 3
        failed = all("singular" in row["message"] for row in found)
        cells.append("fails" if failed else f"{max(float(row['growth']) for row in found):.3g}")
    assert f"| {matrix}, N = {size} | {' | '.join(cells)} |".replace("9.88e+03", "9880") in PAGE


def test_growth_and_residuals_keep_their_limits() -> None:
    kinds = {row["matrix"] for row in GROWTH}
    assert len(kinds) == 4
    for row in GROWTH:
        if row["method"].startswith("lamcts"):
            (partial,) = [other for other in rows(row["matrix"], row["N"], "SciPy") if other["seed"] == row["seed"]]
            assert float(row["growth"]) <= 2 * float(partial["growth"])
            assert float(row["residual"]) < 1e-14


def test_cpu_time_is_at_most_three_times_that_of_dask() -> None:
    ours = {row["N"]: row["ratio"] for row in SECONDS if row["method"] == "lamcts"}
    assert max(map(float, ours.values())) <= 3
    assert ", ".join(f"{ratio} for N = {size}" for size, ratio in ours.items()) in PAGE


def test_the_words_of_the_figure() -> None:
    (row,) = [row for row in WORDS if row["part"] == "weak" and row["P"] == "64"]
    counted = int(row["counted"])
    assert f"receives {counted:,} words,\n{counted / int(row['bound']):.2f} times the bound" in PAGE
    assert f"{counted / int(row['scalapack']):.2f} times the model of 2-D LU" in PAGE
    for row in WORDS:
        if row["counted"]:
            assert float(row["counted"]) == pytest.approx(float(row["model"]), rel=0.01)
            assert int(row["P"]) < 16 or int(row["counted"]) > int(row["bound"])
