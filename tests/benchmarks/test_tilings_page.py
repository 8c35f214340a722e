"""The numbers of docs/data-movement.md are those of the result files."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "data-movement.md").read_text()
NAMES = {
    "matrix product": "matmul",
    "matrix-vector product": "matvec",
    "convolution": "conv2d",
    "contraction": "contraction",
    "MTTKRP": "mttkrp",
    "attention scores": "attention scores",
}
METHODS = ("lamcts", "local search", "tpe", "random")


def rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "benchmarks" / "results" / name).open() as file:
        return list(csv.DictReader(file))


def runs(start: str) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the rows of each nest and method."""
    found = defaultdict(list)
    for row in rows("tilings.csv"):
        if row["start"] == start:
            found[row["nest"], row["method"]].append(row)
    return found


def cells(title: str) -> list[str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][2:]


@pytest.mark.parametrize("title", NAMES)
def test_the_table_of_searches(title: str) -> None:
    for method, cell in zip(METHODS, cells(title), strict=True):
        mine = runs("model")[NAMES[title], method]
        hits, over = sum(bool(row["hit"]) for row in mine), sum(float(row["at_60"]) for row in mine) / len(mine)
        assert len(mine) == 10
        assert cell == (f"{hits}, {100 * over:.1f} %" if hits < len(mine) else str(hits))


@pytest.mark.parametrize(
    ("title", "start"), [("all, seeds of 60", "model"), ("all, without the start (`--start none`)", "none")]
)
def test_the_sums_of_the_table(title: str, start: str) -> None:
    found = runs(start)
    sums = [sum(bool(row["hit"]) for nest in NAMES.values() for row in found[nest, method]) for method in METHODS]
    assert cells(title) == [str(number) for number in sums]


def test_the_best_tilings_and_the_times() -> None:
    ratios = {(row["kernel"], row["sizes"]): row for row in rows("best_tilings.csv")}
    assert re.search(rf"{float(ratios['matmul', 'N=96']['ratio_loads']):.2f}\s+times the bound at 192 words", PAGE)
    assert f"{float(ratios['mttkrp', 'N=64 R=128']['ratio_loads']):.2f} times" in PAGE
    assert f"{float(ratios['conv_layer', 'F=8 C=4 N=12 k=3']['ratio_daap']):.2f} times" in PAGE
    over = [1 + float(row["over"]) for row in rows("timed_tilings.csv")]
    assert f"{min(over):.2f} to {max(over):.2f} times the time" in PAGE


def test_the_correlations_with_seconds() -> None:
    from scipy.stats import spearmanr

    found = rows("movement_and_time.csv")
    seconds = [float(row["seconds"]) for row in found]
    for measure, text in (("dmd", r"seconds is (-?[\d.]+):"), ("misses_32KiB", r"32 KiB memory is (-?[\d.]+)\.")):
        shown = re.search(text, PAGE)
        assert shown and float(shown[1]) == round(spearmanr([float(row[measure]) for row in found], seconds)[0], 2)
