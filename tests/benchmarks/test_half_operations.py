"""The table of half the operations pairs differences by seed, and the notes have the tables that scripts print."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.evolve import latencies
from benchmarks.evolve.end_to_end import COLUMNS, interval, table
from benchmarks.harness.sheet import RESULTS, read
from lamcts.neural.graphs.computation import OperationNode

NOTES = Path(__file__).resolve().parents[2] / "benchmarks" / "notes" / "evolve.md"


def row(method, seed, test):
    return dict.fromkeys(COLUMNS, "1.0") | {"data": "digits", "method": method, "seed": str(seed), "test": str(test)}


def test_differences_are_paired_by_seed():
    tests = {"width": [90.0, 80.0, 70.0], "segments": [91.0, 82.0, 73.0], "operations": [91.0, 81.0]}
    lines = list(table([row(name, seed, one) for name, all_ in tests.items() for seed, one in enumerate(all_)]))
    cells = {line.split(" | ")[1]: line.split(" | ") for line in lines[2:]}
    assert cells["segments"][2:6] == ["3", "1.0", "82.0", "+2.0 +- 2.5"]  # 1, 2, 3; t(0.975, 2) / sqrt(3) is 2.48
    assert cells["segments"][6] == "+0.5 +- 6.4"  # of the two seeds that both have
    assert cells["width"][5] == "-" and cells["operations"][6] == "-"


def test_one_difference_has_no_interval():
    assert interval([1.0]) == "+1.0"


@pytest.mark.parametrize(("name", "printed"), [("end_to_end", table), ("latencies", latencies.table)])
def test_the_notes_have_the_tables_of_the_results(name, printed):
    lines = list(printed(read(RESULTS / f"evolve_{name}.csv")))
    assert len(lines) > 10
    assert "\n".join(lines) in NOTES.read_text()


def test_operations_are_counted_by_kind():
    def kind(op, **attributes):
        return latencies.kind_of(OperationNode(op, (0,), (4, 8, 8), {"channels": 4} | attributes))

    assert [kind("conv", kernel=(3, 3)), kind("conv", kernel=1), kind("conv", kernel=(3, 3), groups=4)] == [
        "conv",
        "pointwise",
        "grouped",
    ]
    assert [kind("batch_norm"), kind("gelu"), kind("max_pool"), kind("add")] == ["norm", "activation", "pool", "rest"]


def test_random_children_are_averaged_by_speed():
    def row(network, time):
        return dict.fromkeys(latencies.COLUMNS, "1.0") | {"network": network, "time_ratio": time}

    lines = list(latencies.table([row("width-8", "1.0"), *(row("random child", t) for t in ("0.5", "0.7", "2.0"))]))
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| width-8",
        "| 1 random children, slower: mean",
        "| 2 random children, faster: mean",
    ]
    assert lines[-1].split(" | ")[4] == "0.60"
