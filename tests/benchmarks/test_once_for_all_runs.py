"""The rows of the comparison of trainings of mobile supernets, and the numbers that the notes quote from them."""

from pathlib import Path
from statistics import mean

import pytest

from benchmarks.harness.sheet import RESULTS, read

NOTES = Path(__file__).parents[2] / "benchmarks" / "notes" / "nas.md"
SHOWN = ("smallest", "largest", "mean", "worst")


def test_the_notes_have_the_accuracies_of_the_results() -> None:
    rows, notes = read(RESULTS / "once_for_all.csv"), NOTES.read_text()
    assert {row["epochs"] for row in rows} == {"12"}
    for arm in {row["arm"] for row in rows}:
        mine = [row for row in rows if row["arm"] == arm]
        shown = [f"{mean(float(row[name]) for row in mine):.1f}" for name in SHOWN]
        assert f"| {arm} | {len(mine)} | {' | '.join(shown)} |" in notes, arm


def test_every_arm_is_measured_and_has_all_networks() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    from benchmarks.nas import once_for_all
    from lamcts.neural.supernet import supernet

    assert {row["arm"] for row in read(RESULTS / "once_for_all.csv")} == {*once_for_all.SINGLE, *once_for_all.ARMS}
    points = once_for_all.every(supernet(once_for_all.SPACE, channels=1, **once_for_all.SIZES))
    assert len({once_for_all.key_of(point) for point in points}) == 54
