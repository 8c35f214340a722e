"""Pictures of what parameters do, and `lamcts plot` of several runs."""

from itertools import combinations

import numpy as np
import pytest
from commands import said

import lamcts

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.cli.plot import _drawn
from lamcts.journal import Journal

SPACE = lamcts.Space(
    {"idle": lamcts.Float(0, 1), "lr $_{": lamcts.Float(1e-4, 1, log=True), "act": lamcts.Choice(["a", "$b"])}
)


def loss(point):
    return 5 * np.log10(point["lr $_{"]) ** 2 + 20 * (point["act"] == "a")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run():
    lamcts.minimize(loss, SPACE, budget=60, seed=0, sampler="uniform", journal="run.db")
    return "run.db"


def texts(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text) if found.get_text()]


def test_the_bars_are_in_the_order_of_what_matters(run):
    figure = plot.importance(run)
    assert figure.axes[0].get_yticklabels()[0].get_text() == r"lr \$_{"
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == sorted(widths, reverse=True) and widths[0] > 10 * widths[-1]


def test_slices_and_contours_have_their_panels_and_the_users_units(run):
    figure = plot.slices(run)
    assert [axes.get_xlabel() for axes in figure.axes[:3]] == [r"lr \$_{", "act", "idle"]
    assert figure.axes[0].get_xscale() == "log" and figure.axes[0].get_xlim()[1] < 3
    figure = plot.contours(run)
    assert figure.axes[0].get_xlabel() == r"lr \$_{" and figure.axes[0].get_ylabel() == "idle"


def test_parallel_axes_name_options_and_ends(run):
    figure = plot.parameters(run)
    assert {"a", r"\$b"} <= {*texts(figure)} and len(figure.axes[0].get_lines()) == 60 + 3


@pytest.mark.parametrize("kind", ["importance", "slice", "contour", "parallel"])
def test_every_kind_is_drawn_from_a_journal(capsys, tmp_path, run, kind):
    assert said(capsys, "plot", "run.db", "--kind", kind)[0] == 0
    assert (tmp_path / f"run-{kind}.png").stat().st_size > 5000


def test_figures_of_a_model_need_five_values_and_others_none(capsys, tmp_path):
    lamcts.minimize(loss, SPACE, budget=4, seed=0, sampler="uniform", journal="short.db")
    for kind in ("slice", "parallel"):
        assert said(capsys, "plot", "short.db", "--kind", kind)[0] == 0
        assert (tmp_path / f"short-{kind}.png").stat().st_size > 5000
    for kind in ("importance", "contour"):
        code, _, err = said(capsys, "plot", "short.db", "--kind", kind)
        assert code == 2 and "expected 5 evaluations or more, with values that differ, got 4 with 4 different" in err
        assert err.endswith("evaluate more points, or draw --kind slice or --kind parallel\n")
    lamcts.minimize(loss, SPACE, budget=6, seed=0, sampler="uniform", journal="short.db")
    for kind in ("importance", "contour"):
        assert said(capsys, "plot", "short.db", "--kind", kind)[0] == 0


def test_figures_of_one_objective_are_drawn_for_each_of_several(capsys, tmp_path):
    space = {"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1)}
    words = {"objectives": {"cost": "min", "yield [%]": "max"}, "sampler": "uniform", "seed": 0, "journal": "two.db"}
    lamcts.minimize(lambda p: {"cost": p["x"], "yield [%]": p["y"]}, space, budget=12, **words)
    for kind in ("slice", "contour", "best"):
        code, out, _ = said(capsys, "plot", "two.db", "--kind", kind)
        assert code == 0 and out == f"written to two-{kind}-cost.png\nwritten to two-{kind}-yield-.png\n"
        assert (tmp_path / f"two-{kind}-yield-.png").stat().st_size > 5000
    assert said(capsys, "plot", "two.db", "--kind", "importance", "-o", "bars.pdf")[1] == "written to bars.pdf\n"
    run = plot.evaluations.evaluations_of("two.db")
    assert run.alone(1).best[-1] == run.values[:, 1].max() and run.alone(0).best[-1] == run.values[:, 0].min()
    opt = lamcts.Optimizer(space, objectives=["a", "b"], seed=0)
    opt.tell_points([{"x": 0.5, "y": 0.5}], [[1.0, 2.0]])
    opt.save("lab.db")
    assert "lab: the front" in texts(_drawn(Journal.read("lab.db"), None)[""])  # of no objective with a name
    code, _, err = said(capsys, "plot", "two.db", "--kind", "violation")
    assert code == 2 and "expected one of front, hypervolume, best, importance, slice, contour, parallel for 2" in err


def mixed(point):
    share = point["mix"]["b"] / 200
    return {"yield": 10 - 40 * (share - 0.4) ** 2 - (point["t"] - 2) ** 2, "load": share + point["t"] / 10}


@pytest.fixture(scope="module")
def mixture():
    space = {"mix": lamcts.Simplex(["a", "b", "c"], total=200), "t": lamcts.Float(0, 4), "u": lamcts.Float(0, 1)}
    opt = lamcts.Optimizer(space, objectives={"yield": "max"}, constraints=["load <= 0.58"], seed=0, n_init=40)
    for _ in range(45):
        (trial,) = opt.ask()
        opt.tell(trial, mixed(trial.point))
    return plot.evaluations.evaluations_of(opt)


def test_a_line_goes_through_the_best_point_and_keeps_the_total_of_a_mixture(mixture):
    effects, names = mixture.effects, mixture.space.names
    i = names.index("mix.b")
    rows = effects.moved(np.repeat(effects.x[:1], 5, 0), i, np.linspace(0, 1, 5)[:, None])
    assert rows[:, :3].sum(1) == pytest.approx(1) and rows[:, i].tolist() == [0, 0.25, 0.5, 0.75, 1]
    line = plot.surfaces.line_of(mixture, i)
    near = np.argmin(np.abs(np.array(line.values) - line.best))
    assert line.predicted.mean[near, 0] == pytest.approx(mixture.best[-1], abs=0.3)
    assert effects.quality[0][0] > 0.9 and names[effects.order[-1]] == "u"


def test_planes_are_ternary_for_mixtures_and_have_the_model_its_error_and_the_boundary(mixture):
    ternary, plane = plot.surfaces.planes_of(mixture, 3)
    assert sorted(ternary.corners) == ["mix.a 200", "mix.b 200", "mix.c 200"]
    assert {axis.name for axis in plane.axes} == {"t", "u"} and (plane.predicted.std >= 0).all()
    at_t = plane.x if plane.axes[0].name == "t" else plane.y
    crossed = at_t[np.abs(plane.predicted.excess[:, 0]) < 0.01]
    share = dict(zip(mixture.space.names, mixture.effects.x[0], strict=True))["mix.b"]
    assert crossed == pytest.approx(10 * (0.58 - share), abs=0.3)
    figure = plot.contours(mixture)
    assert "load <= 0.58" in texts(figure) and any(
        "leave-one-out R² " in text.replace("\n", " ") for text in texts(figure)
    )


def test_importance_is_the_share_of_the_variance_of_each_objective():
    space = {"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1)}
    result = lamcts.minimize(
        lambda p: {"a": p["x"] + p["y"] / 2, "b": p["y"]},
        space,
        budget=60,
        seed=0,
        sampler="uniform",
        objectives=["a", "b"],
    )
    assert plot.slices(result, objective=1).axes[0].get_ylabel() == "b"
    for draw in (plot.slices, plot.contours):
        with pytest.raises(ValueError, match="objective: expected a number from 0 to 1, got 2"):
            draw(result, objective=2)
    effects = plot.evaluations.evaluations_of(result).effects
    assert effects.importance == pytest.approx(np.array([[0.8, 0.2], [0.0, 1.0]]), abs=0.15)


def test_importance_is_of_the_whole_space_also_where_the_search_was_dense_elsewhere():
    weights = np.array([4.0, 3.0, 2.0, 1.0])
    result = lamcts.minimize(lambda x: float(weights @ (2 * x + x**2)), [(0, 1)] * 4, budget=40, seed=0)
    effects = plot.evaluations.evaluations_of(result).effects
    assert effects.importance[0] == pytest.approx(weights**2 / (weights**2).sum(), abs=0.06)  # additive
    x = np.random.default_rng(0).random((1000, 4))
    errors = effects.at(x).mean[:, 0] - (2 * x + x**2) @ weights
    assert effects.expected_r2[0] == pytest.approx(1 - errors.var() / ((2 * x + x**2) @ weights).var(), abs=0.1)
    assert "over the space, where the model expects R² " in " ".join(texts(plot.importance(result))).replace("\n", " ")


def test_a_run_without_a_value_has_no_figure_of_its_parameters():
    result = lamcts.minimize(lambda point: None, SPACE, budget=3, seed=0, sampler="uniform")
    for draw in (plot.slices, plot.parameters):
        with pytest.raises(ValueError, match="expected an evaluation with a value, got none among 3"):
            draw(result)


@pytest.mark.dear
def test_panels_and_names_do_not_overlap():
    names = ["learning_rate_of_the_encoder", "learning_rate_of_the_decoder", "weight_decay_of_both"]
    space = {name: lamcts.Float(1e-6, 1e-1, log=True) for name in names}
    result = lamcts.minimize(lambda p: sum(np.log10([*p.values()]) ** 2), space, budget=40, seed=0, sampler="uniform")
    contours, parallel = plot.contours(result), plot.parameters(result)
    contours.draw_without_rendering()
    panels = [boxes_of(axes.xaxis.label, axes.yaxis.label, *axes.get_yticklabels()) for axes in contours.axes]
    assert len(panels) == 12  # three planes, mean and standard deviation, each with a scale of colours
    assert not any(one.overlaps(other) for a, b in combinations(panels, 2) for one in a for other in b)
    parallel.draw_without_rendering()
    shown = boxes_of(*parallel.axes[0].get_xticklabels())
    assert len(shown) == 3 and not any(one.overlaps(other) for one, other in combinations(shown, 2))


def boxes_of(*texts):
    """Return the places of texts on the page."""
    return [text.get_window_extent() for text in texts if text.get_text()]


def test_several_runs_are_one_figure_and_seeds_one_curve(capsys, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        plot, "best_so_far", lambda curves, **more: drawn.append(curves) or plot.curves.best_so_far(curves)
    )
    for seed in range(3):
        lamcts.minimize(loss, SPACE, budget=12, seed=seed, sampler="uniform", journal=f"u{seed}.db")
    lamcts.minimize(loss, SPACE, budget=12, seed=0, sampler="coordinate", journal="other.db")
    assert said(capsys, "plot", "u0.db", "u1.db", "u2.db", "other.db")[0] == 0
    assert {name: len(runs) for name, runs in drawn[0].items()} == {"loss (uniform)": 3, "other": 1}
    assert (tmp_path / "comparison.png").stat().st_size > 5000


def test_runs_that_cannot_be_compared_are_said_so(capsys):
    lamcts.minimize(loss, SPACE, budget=5, seed=0, sampler="uniform", journal="down.db")
    lamcts.maximize(loss, SPACE, budget=5, seed=0, sampler="uniform", journal="up.db")
    code, _, err = said(capsys, "plot", "down.db", "up.db")
    assert code == 2 and "expected runs of one and the same objective" in err
    code, _, err = said(capsys, "plot", "down.db", "down.db", "--kind", "slice")
    assert code == 2 and "expected best for several journals, got 'slice'" in err
