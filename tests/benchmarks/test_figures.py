import sys

import numpy as np
import pytest

from benchmarks import problems
from benchmarks.figures import ablations, comparison, lamoo, meta, regions, sheets, traces, validation
from benchmarks.figures import games as games_figure
from benchmarks.figures import synthetic as synthetic_figure
from benchmarks.figures.comparison import Runs
from benchmarks.harness.ledger import Ledger
from benchmarks.harness.task import Task
from lamcts.plot.canvas import COLOURS
from lamcts.samplers.turbo import Turbo

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'lamcts[plot]'")


def run(folder, method, seed, n, best, *, budget=10, problem="ackley-20", batch=1, status="ok", optimum="0.0"):
    row = {**Task(method, problem, batch, seed, budget)._asdict(), "status": status, "optimum": optimum}
    Ledger(folder).add(row, {"n": n, "best": best})


def found(folder, names=("ackley-20",), seeds=(100, 101, 102)):
    return comparison.read(Ledger(folder).rows(), Ledger(folder).curves(), names, seeds)


def last(value):
    return Runs(np.array([1.0]), np.array([[value]]))


def drawn(monkeypatch, folder, main, *more):
    monkeypatch.setattr(sys, "argv", ["figure", "--runs", str(folder), "--out", str(folder / "out"), *more])
    main()
    return sorted(path.name for path in (folder / "out").glob("*.png"))


def test_a_curve_keeps_its_best_until_the_next_improvement():
    values = comparison.stepped([2, 5], [3.0, 1.0], np.arange(1, 7))
    assert np.array_equal(values, [np.nan, 3, 3, 3, 1, 1], equal_nan=True)


def test_median_and_quartiles_stand_where_all_runs_are_known():
    known, (low, median, high) = sheets.middle(np.array([[np.nan, 1, 4.0], [9, 2, 8], [9, 3, 6]]))
    assert known.tolist() == [False, True, True]
    assert (low.tolist(), median.tolist(), high.tolist()) == ([1.5, 5.0], [2.0, 6.0], [2.5, 7.0])


def test_only_good_runs_of_the_seeds_and_problems_asked_for_are_read(tmp_path):
    run(tmp_path, "random", 100, [1, 4], [5.0, 2.0])
    run(tmp_path, "random", 101, [1, 2], [7.0, 3.0])
    run(tmp_path, "random", 102, [1], [0.0], status="failed")
    run(tmp_path, "random", 0, [1], [0.0])
    run(tmp_path, "random", 100, [1], [0.0], problem="levy-20")
    (name,), (method,) = found(tmp_path), found(tmp_path)["ackley-20"]
    assert (name, method) == ("ackley-20", "random@1")
    runs = found(tmp_path)[name][method]
    assert runs.n.tolist() == list(range(1, 11))
    assert runs.values[:, [0, 3, 9]].tolist() == [[5, 2, 2], [7, 3, 3]]
    assert runs.last == 2.5


def test_a_curve_is_made_of_the_budget_of_most_seeds(tmp_path):
    run(tmp_path, "random", 100, [1], [5.0], budget=50)
    for seed in (100, 101):
        run(tmp_path, "random", seed, [1], [2.0], budget=20)
        run(tmp_path, "random", seed, [1], [3.0], budget=5)
    assert found(tmp_path)["ackley-20"]["random@1"].n[-1] == 20


def test_regrets_are_shown_where_the_optimum_is_known_and_values_elsewhere(tmp_path):
    run(tmp_path, "random", 100, [1, 2], [-3.0, -39.0], optimum="-39.0")
    run(tmp_path, "random", 100, [1], [70.0], problem="swimmer", optimum="")
    both = found(tmp_path, ("ackley-20", "swimmer"))
    assert both["ackley-20"]["random@1"].values[0, :2].tolist() == [36.0, problems.SMALLEST_REGRET]
    assert both["swimmer"]["random@1"].last == 70


def test_what_is_missing_of_the_plan_is_counted(tmp_path):
    wanted = [Task(method, "ackley-20", 1, seed, 10) for method in ("random", "sobol") for seed in (100, 101)]
    for task in wanted[:3]:
        run(tmp_path, task.method, task.seed, [1], [1.0], status="failed" if task == wanted[1] else "ok")
    lines = comparison.missing(wanted, Ledger(tmp_path).rows())
    assert lines == ["missing of ackley-20: random@1 1 of 2, sobol@1 1 of 2"]
    assert comparison.missing(wanted[:1], Ledger(tmp_path).rows()) == []


def test_ours_come_first_then_peers_by_rank_and_the_last_are_grey():
    peers = {f"peer {i}@1": last(float(i)) for i in range(9)}
    looks = comparison.looks_of({"ackley-20": {**peers, "lamcts@10": last(99.0)}})
    assert list(looks) == ["lamcts@10", *peers]
    assert [how.band for how in looks.values()] == [True] * len(COLOURS) + [False] * (10 - len(COLOURS))
    assert len({how.colour for how in looks.values() if how.band}) == len(COLOURS)
    # Scores are maximized: the same numbers stand the other way round.
    assert list(comparison.looks_of({"rover": peers})) == list(peers)[::-1]


def test_our_samplers_with_and_without_the_tree_have_a_figure_of_their_own():
    names = ["lamcts@1", "lamcts turbo, no tree@10", "lamcts turbo, tree@1", "lamcts cma, no tree@1", "cma@1"]
    methods = {name: last(1.0) for name in [*names, "lamcts turbo, fenced@1"]}
    assert list(comparison.peers_only({"ackley-20": methods})["ackley-20"]) == [names[0], names[1], names[4]]
    assert comparison.peers_only({"ackley-20": {names[2]: last(1.0)}}) == {}


def test_a_sampler_is_compared_where_both_arms_have_runs():
    methods = {f"lamcts {name}@1": last(1.0) for name in ("turbo, tree", "turbo, no tree", "cma, tree")}
    pairs = meta.pairs({"ackley-20": methods, "levy-20": {"lamcts cma, tree@1": last(1.0)}})
    assert {name: list(samplers) for name, samplers in pairs.items()} == {"ackley-20": ["turbo"]}
    methods["lamcts turbo, fenced@1"] = last(2.0)
    assert list(meta.pairs({"ackley-20": methods})["ackley-20"]["turbo"]) == ["tree", "no tree", "fenced"]


@pytest.mark.parametrize("figure", [games_figure, synthetic_figure])
def test_a_figure_without_rows_says_so_and_draws_nothing(figure, tmp_path, monkeypatch, capsys):
    assert drawn(monkeypatch, tmp_path, lambda: comparison.main(figure.FIGURE, "")) == []
    assert "nothing to draw: no finished run" in capsys.readouterr().out
    assert drawn(monkeypatch, tmp_path, meta.main) == []


def test_figures_draw_what_there_is(tmp_path, monkeypatch, capsys):
    for method in ("lamcts", "random", "lamcts turbo, tree", "lamcts turbo, no tree", "lamcts turbo, fenced"):
        for seed in (100, 101):
            run(tmp_path, method, seed, [1, 5], [100.0, 1.0 + seed])
            run(tmp_path, method, seed, [1, 5], [100.0, 1.0 + seed], problem="levy-20-rotated")
    main = lambda: comparison.main(synthetic_figure.FIGURE, "")  # noqa: E731
    assert drawn(monkeypatch, tmp_path, main) == ["synthetic.png"]
    assert "missing of ackley-20: " in (told := capsys.readouterr().out) and "no curve of levy-20 yet" in told
    assert drawn(monkeypatch, tmp_path, main, "--rotated") == ["synthetic-rotated.png", "synthetic.png"]
    assert "meta.png" in drawn(monkeypatch, tmp_path, meta.main)


def test_a_run_that_has_a_row_is_not_run_again(tmp_path):
    called = []

    def measure(name, seed):
        called.append((name, seed))
        return {"n": [1, 2], "best": [0.123456789 * seed, 1e-12]}

    path = tmp_path / "traces.csv"
    traces.run_all([("a", 1), ("a", 2)], ("name", "seed"), measure, path)
    rows = traces.run_all([("a", 2), ("b", 1)], ("name", "seed"), measure, path)
    assert called == [("a", 1), ("a", 2), ("b", 1)]
    assert [(row["name"], row["seed"]) for row in rows] == [("a", "2"), ("b", "1")]
    assert traces.curves(rows, "best").tolist() == [[0.24691, 1e-12], [0.12346, 1e-12]]


def test_a_small_run_of_turbo_stays_in_the_region_of_the_tree():
    steps = traces.search(problems.find("ackley-20").make(0), 2, 1, sampler="turbo", seed=0)
    assert next(steps).sampler == Turbo(scope="incumbent")
    assert [len(opt.seen) for opt in steps] == [1, 2]


def test_the_default_setting_is_run_once_whatever_is_varied():
    settings = [ablations.setting_of(name, value) for name, (_, trees) in ablations.CHANGED.items() for value in trees]
    assert settings.count(("default", "")) == len(ablations.CHANGED)
    assert len(set(settings)) == 1 + sum(len(trees) - 1 for _, trees in ablations.CHANGED.values())
    by_setting = {repr(tree) for _, trees in ablations.CHANGED.values() for tree in trees.values()}
    assert len(by_setting) == len(set(settings))  # every setting is another tree


def test_an_ablation_run_repeats_and_ends_at_its_best():
    first = ablations.measure("leaf", "5", "uniform", "smoke", 100, 30)
    assert first == ablations.measure("leaf", "5", "uniform", "smoke", 100, 30)
    assert first["n"][0] == 1 and first["n"][-1] == 30
    assert np.all(np.diff(first["best"]) <= 0) and first["best"][-1] > 0
    assert first != ablations.measure("default", "", "uniform", "smoke", 100, 30)


def test_the_validation_tells_regions_from_what_was_drawn_there():
    curves = {name: np.array(curve) for name, curve in validation.measure("uniform", "smoke", 100, 80).items()}
    assert curves["n"].tolist() == list(range(10, 90, 10))
    assert curves["splits"][0] == curves["depth"][0] == 0 and curves["splits"][-1] > 0
    assert np.all(curves["depth"] <= curves["splits"])
    assert np.all(curves["best"] <= curves["evaluated"]) and np.all(curves["fresh"] > 0)


def test_a_region_covers_the_plane_until_the_first_split():
    curves = regions.measure("uniform", "ackley-2", 100, 50)
    assert curves["n"] == [40, 45, 50]
    for splits, share, inside in zip(curves["splits"], curves["share"], curves["optimum_inside"], strict=True):
        assert (share == 1) == (splits == 0) and 0 < share <= 1 and inside in (0, 1)
    middles = regions.mesh()
    assert middles[1, 0] > middles[0, 0] and middles[1, 1] == middles[0, 1]  # the first coordinate runs fastest


def test_regions_are_summed_up_over_seeds_and_iterations():
    rows = [{"optimum_inside": "1 0", "share": "1 0.5"}, {"optimum_inside": "1 1", "share": "1 0.3"}]
    assert "75 % of the selected regions, 2 seeds" in regions.told(rows) and "40 % of the plane" in regions.told(rows)
    assert regions.percent(0.0) == "< 0.001 %" and regions.percent(1.0) == "100 %"


def test_what_lamoo_is_compared_by_falls_and_depends_on_the_tree():
    curves = {tree: lamoo.measure("uniform", tree, "bnh", 100, 60) for tree in ("none", "lamoo")}
    assert curves["none"]["n"] == list(range(5, 65, 5))
    for own in curves.values():
        assert np.all(np.diff(own["missing"]) <= 0)
    assert curves["none"]["missing"][:2] == curves["lamoo"]["missing"][:2]  # before the first split
    assert curves["none"]["missing"] != curves["lamoo"]["missing"]


def test_lamoo_s_curves_are_drawn_and_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lamoo, "METHODS", lamoo.METHODS[:2])
    options = ("--problems", "bnh", "--seeds", "100", "--budget", "20")
    monkeypatch.setattr(sys, "argv", ["lamoo", "--out", str(tmp_path), *options])
    lamoo.main()
    rows = (tmp_path / "lamoo.csv").read_text()
    assert rows.count("\n") == 3 and (tmp_path / "lamoo.png").stat().st_size > 5_000
    monkeypatch.setattr(lamoo, "measure", None)
    lamoo.main()
    assert (tmp_path / "lamoo.csv").read_text() == rows
