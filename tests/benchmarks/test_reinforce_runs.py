"""The rows of the comparison of REINFORCE, and the numbers that pages quote from them."""

from pathlib import Path
from statistics import mean

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.nas import reinforce
from lamcts import objectives
from lamcts.samplers import Reinforce

ROOT = Path(__file__).parents[2]


def gap(method: str, data: str, mark: int) -> str:
    rows = [row for row in read(RESULTS / "reinforce.csv") if (row["method"], row["data"]) == (method, data)]
    assert len({row["seed"] for row in rows}) == len(rows) == 10
    return f"{mean(float(row[f'gap_{mark}']) for row in rows):.3f}"


def test_the_notes_have_the_gaps_of_the_results() -> None:
    notes = (ROOT / "benchmarks" / "notes" / "nas.md").read_text()
    for method in reinforce.METHODS:
        gaps = [gap(method, data, mark) for data in reinforce.DATA for mark in reinforce.MARKS]
        line = next(line for line in notes.splitlines() if line.startswith(f"| {method}") and gaps[0] in line)
        assert [cell.strip() for cell in line.split("|")[2:-1]] == gaps


def test_the_page_has_the_gaps_of_the_results() -> None:
    page = " ".join((ROOT / "docs" / "api" / "nas.md").read_text().split())
    at = {
        method: [f"{float(gap(method, 'digits4096', mark)):.2f}" for mark in (100, 300)]
        for method in ("reinforce", "random", "lanas")
    }
    assert f"is {at['reinforce'][0]} percentage points after 100 samples and {at['reinforce'][1]} after 300" in page
    assert f"Random search has {at['random'][0]} and {at['random'][1]}, LaNAS {at['lanas'][0]} and" in page


def test_a_run_is_a_row_of_gaps() -> None:
    row, curve = reinforce.measured("reinforce", "digits4096", 50, 0)
    optimum = objectives.make("digits4096").optimum
    assert 0 <= float(row["gap_50"]) < 5 and row["optimum"] == f"{optimum:.4f}" and curve is None
    space = objectives.make("digits4096").space
    assert isinstance(reinforce.settings(reinforce.Case("reinforce", "digits4096", 50, 0), space)["sampler"], Reinforce)
