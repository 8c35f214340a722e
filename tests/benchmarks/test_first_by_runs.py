import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.nas import first_by, supernet_ranks
from lamcts.neural.nas.published201 import DATASETS

PAGE = Path(__file__).parents[2] / "docs" / "api" / "nas.md"
SHOWN = first_by.PROBLEMS[:2]


def of(problem, first):
    return [row for row in read(RESULTS / "first_by.csv") if (row["problem"], row["first"]) == (problem, first)]


@pytest.mark.parametrize("problem", SHOWN)
def test_the_page_has_the_numbers_of_paired_searches(problem):
    text, default = PAGE.read_text(), {row["seed"]: int(row["to_top"]) for row in of(problem, "default")}
    assert len(default) == 10
    for first in first_by.FIRST:
        rows = of(problem, first)
        found = [(int(row["to_top"]), default[row["seed"]]) for row in rows]
        median = f"{np.median([mine for mine, _ in found]):g}"
        pairs = f"{sum(a < b for a, b in found)}, {sum(a > b for a, b in found)}"
        bests = [f"{np.mean([float(row[name]) for row in rows]):.2f}" for name in ("best_10", "best_60")]
        assert f"| {problem} | `{first}` | {median} | {pairs} | {bests[0]} | {bests[1]} |" in text and len(rows) == 10


def test_first_networks_by_synflow_earn_their_place():
    for problem in SHOWN:
        pairs = zip(of(problem, "synflow"), of(problem, "default"), strict=True)
        found = [(int(mine["to_top"]), int(other["to_top"])) for mine, other in pairs]
        assert np.median([mine for mine, _ in found]) < np.median([other for _, other in found]) / 2
        assert sum(mine < other for mine, other in found) >= 7


def test_the_page_has_the_ranks_of_nasbench201():
    rows = {(row["ranking"], row["dataset"]): row for row in read(RESULTS / "supernet_ranks.csv")}
    for ranking in supernet_ranks.RANKINGS:
        taus = [f"{float(rows[ranking, dataset]['tau']):.3f}" for dataset in DATASETS]
        top = f"{float(rows[ranking, DATASETS[0]]['tau_top']):.3f}"
        assert re.search(rf"\| `{ranking}` \| {' . '.join(taus)} \| {top} \|", PAGE.read_text())


def test_a_row_ranks_by_its_scores():
    networks = supernet_ranks.sample(20)
    scores = supernet_ranks.scored("supernet", tuple(networks))
    row = supernet_ranks.measure(supernet_ranks.Case("supernet", "made up", 20), networks, scores, -scores)
    assert (row["tau"], row["tau_params"]) == ("1.0000", "-1.0000")


def test_a_search_begins_with_the_networks_of_a_proxy():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    case = first_by.Case("digits4096", "parameters", 0, 12, 15)
    points = first_by.started(case)
    scores = [first_by.remembered("digits4096", "parameters")(point) for point in points]
    assert len(points) == first_by.STARTS and scores == sorted(scores, reverse=True)
    row = first_by.measure(case)
    assert 1 <= row["to_top"] <= 13 and float(row["best_10"]) <= float(row["best_60"])
