"""Several runs with several objectives in one figure; and what is drawn can be read from afar."""

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from tests.commands import said

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from matplotlib.text import Text

from lamcts import plot
from lamcts.plot.canvas import DOT, LEAST_DOT, NOTE, dot

SENSES = {"cost": "min", "range": "max"}
ONE = np.array([[3, 30], [1, 5], [np.nan, np.nan], [2, 4]], float)
TWO = np.array([[2, 40], [1, 1]], float)


def drawn_as(axes, label):
    (found,) = [artist for artist in axes.collections if artist.get_label() == label]
    return found.get_offsets().tolist()


def test_fronts_stand_over_one_another_each_with_its_points():
    axes = plot.fronts({"one": ONE, "two $a$": TWO}, SENSES).axes[0]
    assert drawn_as(axes, "one: 2 points") == [[3, 30], [1, 5]]
    assert drawn_as(axes, r"two \$a\$: 2 points") == [[2, 40], [1, 1]]
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    kept = plot.fronts({"two": TWO}, SENSES, feasible={"two": np.array([False, True])}).axes[0]
    assert drawn_as(kept, "two: 1 points") == [[1, 1]]


def test_three_objectives_have_three_panels_and_five_none():
    rng = np.random.default_rng(0)
    assert len(plot.fronts({"a": rng.random((9, 3))}, dict.fromkeys("abc", "min")).axes) == 3
    with pytest.raises(ValueError, match="expected 2 to 4 objectives, got 5: draw `hypervolume`"):
        plot.fronts({"a": rng.random((9, 5))}, dict.fromkeys("abcde", "min"))


def test_a_run_without_a_feasible_point_has_an_empty_front():
    axes = plot.fronts({"none": np.full((3, 2), np.nan), "two": TWO}, SENSES).axes[0]
    assert drawn_as(axes, "none: 0 points") == []


def test_runs_with_several_objectives_are_compared_by_hypervolume_and_by_front(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    f = objectives.make("zdt1", dim=3)
    for seed in range(2):
        lamcts.minimize(f, budget=8, seed=seed, sampler="uniform", journal=f"u{seed}.db")
    lamcts.minimize(f, budget=8, seed=0, sampler="mutate", journal="other.db")
    curves, fronts = [], []
    monkeypatch.setattr(plot, "best_so_far", _kept(curves, plot.best_so_far))
    monkeypatch.setattr(plot, "fronts", _kept(fronts, plot.fronts))
    runs = ["u0.db", "u1.db", "other.db"]
    assert said(capsys, "plot", *runs)[0] == 0 == said(capsys, "plot", *runs, "--kind", "front", "--out", "f.png")[0]
    ((hypervolumes, more),) = curves
    assert {name: len(group) for name, group in hypervolumes.items()} == {"zdt1 (uniform)": 2, "other": 1}
    record = lamcts.load("other.db").front
    assert hypervolumes["other"][0][-1] == pytest.approx(record.hypervolume({"f1": 11, "f2": 11}))
    assert more["maximize"] and "reference point: f1 11, f2 11" in more["y"]
    assert {name: values.shape for name, values in fronts[0][0].items()} == {
        "zdt1 (uniform)": (16, 2),
        "other": (8, 2),
    }
    assert (tmp_path / "comparison.png").exists() and (tmp_path / "f.png").exists()
    code, _, err = said(capsys, "plot", *runs, "--kind", "best")
    assert code == 2 and "expected hypervolume or front for several journals, got 'best'" in err


def _kept(calls, draw):
    return lambda what, *given, **more: calls.append((what, more)) or draw(what, *given, **more)


@pytest.fixture(scope="module")
def grown():
    f = objectives.make("levy", dim=2, shift=0)
    opt = lamcts.Optimizer(
        f.space, sampler=lamcts.samplers.LaMcts(lamcts.samplers.Uniform(), lamcts.LatentTree(leaf_size=10)), seed=0
    )
    points = f.space.decode_many(f.space.sample(60, np.random.default_rng(0)))
    opt.tell_points(list(points), [f(point) for point in points])
    return opt


@pytest.mark.parametrize(
    "draw",
    [
        plot.partition,
        lambda opt: plot.best_so_far(opt, target=3.0),
        lambda opt: plot.front(ONE, SENSES),
        lambda opt: plot.hypervolume(ONE, SENSES),
        lambda opt: plot.violation([3, 1, 0], [1.0, 2.0, 3.0]),
        lambda opt: plot.parallel(ONE, SENSES),
    ],
)
def test_nothing_is_written_too_small_for_a_projector(grown, draw):
    sizes = [found.get_fontsize() for found in draw(grown).findobj(Text) if found.get_text().strip()]
    assert len(sizes) > 3 and min(sizes) >= NOTE


def test_dots_shrink_in_a_crowd():
    assert dot(0) == dot(150) == DOT > dot(600) == DOT / 2 > dot(10**6) == LEAST_DOT
