import sys

import numpy as np
import pytest

import lamcts
from benchmarks.figures import lanas as figure
from benchmarks.figures import leaves
from benchmarks.harness.sheet import Sheet
from benchmarks.nas import cells, lanas
from lamcts.neural.nas import NasBench101
from lamcts.neural.nas.graph_hash import pruned


def test_the_variables_of_a_cell_are_those_of_the_space():
    space, found = NasBench101(), cells.made_up(60, 5)
    for row, x in enumerate(lanas.variables(found)):
        v = int(found.vertices[row])
        ops = tuple(int(found.operations[row]) // 3**t % 3 for t in range(v - 2))
        cell = pruned(int(found.edges[row]), ops)
        assert len(cell.before) == v
        point = space.point(cell)
        assert x[:21].tolist() == [float(point[name]) for name in space.edges]
        kinds = x[21:].reshape(5, 3)
        assert kinds[: v - 2].argmax(1).tolist() == list(ops) and not kinds[v - 2 :].any()


@pytest.mark.parametrize(
    "method", ["lanas", "lanas, bayes linear", "lanas as its code", "lanas as its code, bayes linear"]
)
def test_the_search_of_made_up_cells_finds_the_best_and_its_curve_ends_there(method):
    row, _ = lanas.measure(method=method, data="made up", cap=2000, seed=2)
    best = lanas.of_cells("made up").optimum
    assert row["reached_at"] == row["samples"] < 1000
    pairs = [pair.split(":") for pair in row["curve"].split()]
    assert (int(pairs[-1][0]), float(pairs[-1][1])) == (row["samples"], pytest.approx(best, abs=1e-4))
    assert [float(value) for _, value in pairs] == sorted(float(value) for _, value in pairs)


def test_cells_that_come_again_are_free_and_the_cap_ends_a_run():
    problem = lanas.Problem(None, lambda point: point % 10, lambda point: point % 3, 99)
    counted = lanas.Counted(problem, cap=3)
    for point in (0, 3, 6, 4, 7):
        counted(point)
    assert counted.better == [(1, 0), (1, 3), (1, 6), (2, 7)] and counted.best(1) == 6
    with pytest.raises(lanas.Reached):
        counted(2)


def test_the_figure_draws_how_far_the_best_is_after_each_sample(monkeypatch, tmp_path):
    far = figure.regret("1:80.0 12:93.0 100:94.0", 94.0)
    at = {10: 14.0, 12: 1.0, 5000: figure.FLOOR}
    assert all(far[np.searchsorted(figure.SAMPLES, n)] == value for n, value in at.items() if n in figure.SAMPLES)
    assert (np.diff(figure.by_chance(np.linspace(0, 1, 100_000))) <= 0).all()
    monkeypatch.setattr(sys, "argv", ["lanas", "--rows", str(tmp_path / "none.csv")])
    with pytest.raises(SystemExit, match=r"run benchmarks\.nas\.lanas first"):
        figure.main()


def test_the_figure_draws_the_curves_of_both_tables_and_the_grid(monkeypatch, tmp_path):
    sheet = Sheet(tmp_path / "rows.csv", lanas.Case._fields, lanas.COLUMNS)
    for data in figure.SIZES:
        for method in ("lanas", lanas.GRID[4, 20]):
            for seed, samples in enumerate((100, 300)):
                case = lanas.Case(method, data, 5000, seed)
                sheet.append(case._asdict() | {"samples": samples, "curve": f"1:80.0 {samples}:94.0"})
    monkeypatch.setattr(sys, "argv", ["lanas", "--smoke", "--rows", str(sheet.path)])
    drawn = []
    monkeypatch.setattr(figure.sheets, "finish", lambda _, title, path, *rest: drawn.append(path.name))
    figure.main()
    assert drawn == ["lanas.png", "lanas_grid.png"]
    median, runs = figure.medians([row for row in sheet.rows() if row["data"] == "nasbench101"])
    assert median[0, 0] == 200 and runs[0] == [2, 0, 0] and np.isnan(median[1:]).all()


@pytest.mark.parametrize("method", ["lanas", "lamcts (encodings)"])
def test_a_table_of_layers_is_searched_to_its_best_network(method, monkeypatch):
    layers = lamcts.Space({f"layer_{i}": lamcts.Choice(("a", "b", "c")) for i in range(6)})
    best = 2.0 * 6
    made = lanas.Problem(
        layers, lambda p: sum(2.0 * (v == "b") + (v == "c") for v in p.values()), lambda p: str(sorted(p.items())), best
    )
    monkeypatch.setattr(lanas, "of_encodings", lambda data: made)
    found = lanas.run(lanas.Case(method, "nasbench-macro", 729, 0))
    assert found.better[-1][1] == best and len(found.seen) < 729


def test_the_reference_sorts_all_cells_into_leaves_the_better_ones_first():
    reference = leaves.grown("made up")
    assert sum(map(len, reference.values())) == lanas.of_cells("made up").space.size
    means = [reference[path].mean() for path in sorted(reference, reverse=True)]
    assert len(means) == 16 and means[0] == max(means) and means[-1] == min(means)
    assert reference["1" * leaves.HEIGHT].max() == lanas.of_cells("made up").optimum


def test_the_leaves_of_a_search_hold_all_its_samples_and_draw_near_the_reference():
    (first, *_, last) = leaves.searched("made up", 0, 500)
    assert (first.samples, last.samples) == (200, 500)
    assert sum(map(len, last.leaves.values())) == 500
    best, worst = last.leaves["1111"], last.leaves["0000"]
    assert best.mean() > worst.mean() and len(best) > len(worst)


def test_the_divergence_is_none_between_equal_distributions_and_finite_where_the_reference_is_empty():
    a, b = leaves.shares(np.array([79.0, 81.0])), leaves.shares(np.array([94.0]))
    assert a[0] == a.max() == 0.5 and leaves.divergence(a, a) == 0.0
    assert leaves.divergence(b, a) == pytest.approx(np.log(1 / leaves.LEAST))
