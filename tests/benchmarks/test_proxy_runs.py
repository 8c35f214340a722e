import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.nas import fewshot, proxies

PAGE = Path(__file__).parents[2] / "docs" / "api" / "nas.md"


def rows():
    return read(RESULTS / "proxies.csv")


def mean(name, **wanted):
    return np.mean([float(row[name]) for row in rows() if wanted.items() <= row.items()])


def test_the_page_has_the_numbers_of_the_results():
    text = PAGE.read_text()
    for proxy in proxies.RANKINGS:
        taus = [f"{mean(name, proxy=proxy):.3f}" for name in ("tau", "tau_top")]
        shown = re.search(rf"\| `{proxy}` \| ([\d.]+) \| ([\d.]+) \|", text)
        assert shown is not None and list(shown.groups()) == taus
    times = [mean("ms_per_score", proxy=proxy) for proxy in proxies.PROXIES]
    assert f"takes {min(times):.0f} to {max(times):.0f} ms" in text
    one = next(row for row in read(RESULTS / "fewshot.csv") if row["arm"] == "one" and row["seed"] == "0")
    baselines = mean("tau_3_epochs"), mean("tau_ceiling"), float(one["tau"]), float(one["tau_loss"])
    assert one["cells"] == rows()[0]["cells"] and one["tau_params"] == rows()[0]["tau"]  # the same networks
    for value in baselines:
        assert f"{value:.3f}" in text


def test_all_proxies_of_the_package_are_measured():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    from lamcts.neural.proxies import PROXIES

    assert tuple(PROXIES) == proxies.PROXIES and {row["proxy"] for row in rows()} == set(proxies.RANKINGS)


def test_the_mean_rank_ranks_what_both_prefer_first():
    found = proxies.mean_rank([np.array([1.0, 2.0, 3.0]), np.array([-5.0, 0.0, 0.0])])
    assert found.tolist() == [1.0, 2.25, 2.75]


def test_the_supernet_is_that_of_the_few_shot_runs():
    one = next(row for row in read(RESULTS / "fewshot.csv") if row["arm"] == "one" and row["seed"] == "0")
    mine = next(row for row in rows() if row["proxy"] == proxies.SUPERNET and row["seed"] == "0")
    assert float(mine["tau"]) == pytest.approx(float(one["tau_loss"]), abs=0.03)


def test_a_network_without_a_score_ranks_last():
    def f(point):
        if point == proxies.SPACE.point((0,) * 6):
            raise RuntimeError
        return 2.0

    assert [proxies.score_of(f, cell) for cell in ((0,) * 6, (3,) * 6)] == [-np.inf, 2.0]


def test_a_row_compares_scores_with_the_table():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    table = {cell: (float(fewshot.size_of(cell)[0]),) * 3 for cell in fewshot.made_up()}
    row = proxies.measure(proxies.Case("parameters", 0, len(table), 8), table, table)
    assert (row["tau"], row["tau_top"], row["tau_3_epochs"], row["unscored"]) == ("1.0000",) * 3 + (0,)
