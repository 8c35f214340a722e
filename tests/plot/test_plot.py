import io
import subprocess
import sys

import numpy as np
import pytest

from lamcts import minimize, objectives
from lamcts.errors import JournalError, MissingExtra, Pruned
from lamcts.optimizer import Optimizer
from lamcts.spaces import Box, Choice, Float, Int, Space
from lamcts.study import Study

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.plot import canvas
from lamcts.plot.curves import MARKS
from lamcts.plot.evaluations import ENDS, evaluations_of
from lamcts.plot.grown_tree import grown_tree
from lamcts.plot.tree_partition import axes_of


def told(space, function, n=150, sampler="uniform", maximize=False):
    opt = Optimizer(space, sampler=sampler, seed=0, maximize=maximize)
    points = space.decode_many(space.sample(n, np.random.default_rng(0)))
    opt.tell_points(list(points), [function(point) for point in points])
    return opt


@pytest.fixture(scope="module")
def plane():
    f = objectives.make("ackley", dim=2, shift=1)
    return told(f.space, f), f


def pixels(figure):
    """Return the drawing as an array [height, width, 3]."""
    import matplotlib.image

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    file.seek(0)
    return matplotlib.image.imread(file)[..., :3]


def texts(figure):
    from matplotlib.text import Text

    return " | ".join(found.get_text() for found in figure.findobj(Text) if found.get_text())


def is_drawn(figure):
    return pixels(figure).std() > 0.02


def lines(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_the_best_so_far_is_a_staircase_of_the_best_values():
    figure = plot.best_so_far([5, 3, 4, None, 2, 9], target=1)
    line = lines(figure)["best so far"]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(line.get_ydata(), [5, 3, 3, 3, 2, 2])
    assert "target 1" in texts(figure) and "failed" in texts(figure) and is_drawn(figure)


def test_the_reward_climbs_and_counts_episodes():
    figure = plot.reward([1, 5, 2], episodes=3, name="swimmer", threshold=4)
    line = lines(figure)["best so far"]
    np.testing.assert_array_equal(line.get_xdata(), [3, 6, 9])
    np.testing.assert_array_equal(line.get_ydata(), [1, 5, 5])
    assert "simulated episodes (3 per evaluation)" in texts(figure)
    assert "mean return over 3 episodes" in texts(figure)


def test_many_runs_are_drawn_as_median_and_band():
    figure = plot.best_so_far({"one": [[4, 2], [2, 1], [9, 8]], "two": [3, 3]}, maximize=False)
    line = lines(figure)["one: median and quartiles of 3 runs"]
    np.testing.assert_array_equal(line.get_ydata(), [4, 2])
    assert "two" in lines(figure) and len(figure.axes[0].collections) == 1


def test_a_wide_fall_of_positive_values_is_drawn_in_the_logarithm():
    assert plot.best_so_far([1e4, 10, 1e-3]).axes[0].get_yscale() == "log"
    assert plot.best_so_far([1e4, 10, -1]).axes[0].get_yscale() == "linear"
    assert plot.best_so_far([10, 9, 8]).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(
    ("values", "maximize"),
    [
        ([-1e4, -90, -70, -60, -50, -40, -30, -25, -20, -18], True),
        ([1e6, 10, 9.5, 9, 8.5, 8, 7.5, 7, 6.5, 6], False),
        ([1e9, *np.linspace(-3, -9, 60)], False),
    ],
)
def test_one_bad_value_at_the_start_does_not_flatten_the_others(values, maximize):
    low, high = plot.best_so_far(values, maximize=maximize).axes[0].get_ylim()
    rest = values[1:]
    assert low < min(rest) and high > max(rest) and high - low < 2 * np.ptp(rest)
    space = Space({"a": Float(0, 1)})
    opt = Optimizer(space, sampler="uniform", seed=0, maximize=maximize)
    opt.tell_points([{"a": i / len(values)} for i in range(len(values))], list(map(float, values)))
    low, high = plot.slices(opt).axes[0].get_ylim()
    assert high - low < 2 * np.ptp(rest)


def test_of_several_runs_the_axis_fits_the_best_values_that_are_drawn():
    values = [20, 900, 8, 950, 5, 700, 4, 800, 3.5, 600]
    low, high = plot.best_so_far({"one": values, "two": values}).axes[0].get_ylim()
    assert low < 3.5 and 8 < high < 25


def test_the_ends_of_evaluations_have_their_own_colours_in_each_figure():
    assert len({*MARKS.values()}) == len(MARKS) == len({*ENDS.values(), "infeasible"}) and 2 not in MARKS.values()
    for gone in (["failed"], ["infeasible", "failed"]):
        run = evaluations_of([1.0, np.nan, 2.0], feasible=[True, True, "infeasible" not in gone])
        colours = {name: line.get_color() for name, line in lines(plot.best_so_far(run)).items()}
        assert [colours[name] for name in gone] == [canvas.COLOURS[MARKS[name]] for name in gone]


@pytest.mark.parametrize("values", [[12, 7, 5, 4, 3, 3, 2], [100, 30, 9, 3, 1, -1], [1e3, 10, 0.1, 1e-3, 1e-5]])
def test_a_run_that_converges_is_drawn_from_its_first_value(values):
    low, high = plot.best_so_far(values).axes[0].get_ylim()
    assert low < min(values) and high > max(values)


def ended(point):
    """Evaluate a point whose first digit is how it ends."""
    if point["end"] == "pruned":
        raise Pruned
    if point["end"] == "failed":
        raise ValueError("no")
    return {"value": point["x"], "more": -1.0 if point["end"] == "ok" else 1.0}


@pytest.mark.parametrize("ends", [("ok", "pruned"), ("ok", "failed"), ("infeasible", "ok", "pruned", "failed")])
def test_evaluations_without_a_value_are_called_what_they_are(ends):
    space, seeds = Space({"end": Choice(ends), "x": Float(0, 1)}), {"seed": 0, "sampler": "uniform"}
    result = Study(ended, space, False, 24, objectives=["value"], constraints=["more <= 0"], **seeds).solve()
    labels = {*lines(plot.best_so_far(result))}
    assert labels == {*ends} - {"ok"} | {"best so far"}
    marks = {name: line.get_xdata().tolist() for name, line in lines(plot.best_so_far(result)).items()}
    kinds = [point["end"] for point in result.history.points]
    assert all(marks[end] == [i + 1 for i, kind in enumerate(kinds) if kind == end] for end in labels & {*ends})


def test_known_results_stand_at_the_left_end_and_count_as_no_evaluations():
    space, how = {"a": Float(-1, 1)}, {"seed": 0, "sampler": "uniform"}
    first = minimize(lambda p: p["a"] ** 2, space, budget=9, **how)
    second = minimize(lambda p: 1 + p["a"] ** 2, space, budget=5, known=first, **how)
    figure = plot.best_so_far({"plain": first, "known": second})
    assert lines(figure)["known"].get_xdata().tolist() == [0] * 9 + [1, 2, 3, 4, 5]
    assert lines(figure)["plain"].get_xdata().tolist() == list(range(1, 10)) and figure.axes[0].get_xlim() == (0, 10)
    band = lines(plot.best_so_far({"both": [second, second]}))["both: median and quartiles of 2 runs"]
    assert band.get_xdata().tolist() == [1, 2, 3, 4, 5] and set(band.get_ydata()) == {first.fun}


def test_a_long_title_is_in_lines_that_fit():
    name = "python3 train.py --rate {rate} --layers {layers} --activation {act} --epochs 30 --data images/cifar"
    figure = plot.best_so_far([3, 2, 1], title=f"{name}: best value so far")
    figure.draw_without_rendering()
    title, right = figure.axes[0].title, figure.get_figwidth() * figure.dpi
    shown = figure.axes[0].get_title(loc="left")
    assert shown.replace("\n", " ") == f"{name}: best value so far" and "\n" in shown
    assert figure.axes[0]._left_title.get_window_extent().x1 <= right and title.get_text() == ""
    assert plot.best_so_far([1], title="x" * 900).axes[0].get_title(loc="left").endswith("...")


@pytest.mark.parametrize("values", [[], [None, float("nan")], [1.0], [2, 2, 2], [1e300, -1e300], [float("inf"), 1]])
def test_poor_runs_are_drawn_without_complaint(values):
    assert pixels(plot.best_so_far(values)).size


def test_runs_come_as_optimizers_results_and_columns(plane):
    opt, _ = plane
    values = opt.seen.y
    from lamcts.optimizer.history import History, Points
    from lamcts.study.result import Result

    history = History(Points(opt.space, opt.seen.x), opt.seen.x, values, opt.seen.seconds, opt.seen.trial, {}, False)
    for source in (opt, Result(history=history), history, {"values": values}, values.tolist()):
        np.testing.assert_array_equal(evaluations_of(source).values[:, 0], values)
    flipped = told(Box(0, 1, dim=2), lambda point: point[0], maximize=True)
    assert evaluations_of(flipped).maximize and evaluations_of(flipped).values.max() > 0.9
    assert lines(plot.best_so_far(Result(history=history)))
    with pytest.raises(ValueError, match="or a sequence of values, got object"):
        evaluations_of(object())
    with pytest.raises(JournalError, match="there is no journal at nothing"):
        plot.best_so_far("nothing")


def test_the_partition_shows_leaves_points_and_the_selected_region(plane):
    opt, f = plane
    figure = plot.partition(opt, function=f, optimum=f.centre)
    shown = figure.axes[0].collections[0].get_array()
    assert len(np.unique(shown)) == sum(1 for _ in leaves(grown_tree(opt).root)) > 1
    for label in ("150 evaluations", "selected region", "optimum", "best", "mean rank"):
        assert label in texts(figure)
    assert is_drawn(figure)


def leaves(node):
    if not node.kids:
        yield node
    for kid in node.kids:
        yield from leaves(kid)


def test_a_cell_has_the_colour_of_the_leaf_that_the_splits_say(plane):
    opt, _ = plane
    shown = plot.partition(opt).axes[0].collections[0].get_array().reshape(240, 240).T  # [x1, x2]
    rng = np.random.default_rng(1)
    for i, j in rng.integers(0, 240, (20, 2)):
        node, x = grown_tree(opt).root, (np.array([[i, j]]) + 0.5) / 240
        while node.kids:
            node = node.kids[0 if node.split.good(x)[0] else 1]
        assert shown[i, j] == node.value


def test_looking_leaves_the_search_as_it_was(plane):
    opt, _ = plane
    before = opt.state_dict()["core"]
    plot.partition(opt)
    assert opt.state_dict()["core"] == before


def test_a_line_is_drawn_in_its_own_units():
    opt = told(Space({"rate": Float(1e-4, 1e-1, log=True)}), lambda point: abs(np.log10(point["rate"]) + 2))
    figure = plot.partition(opt, function=lambda point: abs(np.log10(point["rate"]) + 2), optimum={"rate": 1e-2})
    axes = figure.axes[0]
    assert axes.get_xlabel() == "rate" and axes.get_xscale() == "log"
    np.testing.assert_allclose(axes.get_xlim(), [1e-4, 1e-1])
    assert is_drawn(figure)


def test_axes_know_their_names_and_scales():
    def axes(space):
        return axes_of(evaluations_of(told(space, lambda point: 0.0, n=2)))

    wide, steps = axes(Box([-5, 0], [5, 1]))
    assert (wide.name, steps.name, wide.log) == ("x1", "x2", False)
    np.testing.assert_allclose(wide.native(np.array([0, 0.5, 1])), [-5, 0, 5])
    mixed = Space({"a": Float(0, 1), "n": Int(1, 9)})
    assert [axis.name for axis in axes(mixed)] == ["x1 (encoded)", "x2 (encoded)"]
    inner = Space({"in": Space({"a": Float(0, 1)}), "b": Float(0, 1)})
    assert [axis.name for axis in axes(inner)] == ["in.a", "b"]


def test_a_partition_of_three_coordinates_is_refused():
    with pytest.raises(ValueError, match="1 or 2 coordinates to draw, got 3"):
        plot.partition(told(Box(0, 1, dim=3), sum, n=10))
    with pytest.raises(ValueError, match="got 3"):
        plot.partition(told(Choice(["a", "b", "c"]), lambda point: len(point), n=2))


@pytest.mark.parametrize("sampler", ["uniform", "la_mcts"])
@pytest.mark.parametrize("dim", [1, 2])
def test_a_partition_without_splits_is_one_region(dim, sampler):
    figure = plot.partition(told(Box(0, 1, dim=dim), sum, n=3, sampler=sampler))
    assert len(np.unique(figure.axes[0].collections[0].get_array())) == 1
    assert is_drawn(figure)


def test_a_partition_of_nothing_seen_is_drawn():
    assert pixels(plot.partition(Optimizer(Box(0, 1, dim=1), sampler="uniform", seed=0))).size


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[plot\]'"):
        plot.best_so_far([1, 2])


def test_the_plots_load_on_first_use_and_matplotlib_with_the_first_figure():
    code = (
        "import sys, lamcts; assert 'lamcts.plot' not in sys.modules and 'plot' in dir(lamcts); lamcts.plot.partition; "
    )
    code += "assert 'matplotlib' not in sys.modules; lamcts.plot.best_so_far([1]); assert 'matplotlib' in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_only_feasible_values_are_a_best_so_far_and_of_several_objectives_none_is():
    settings = {"budget": 20, "seed": 0, "sampler": "uniform", "progress": False}
    f, space = (lambda point: {"value": point[0], "g": point[1]}), Box(0.0, 1.0, dim=2)
    study = Study(f, space, False, constraints=["g <= 0.5"], **settings)
    result = study.solve()
    kept = np.where(result.history.feasible, result.history.values, np.nan)
    assert 0 < np.isfinite(kept).sum() < 20
    for source in (result, result.history, study.optimizer):
        assert np.array_equal(evaluations_of(source).column, kept, equal_nan=True)
    both = Study(f, space, False, objectives=["value", "g"], **settings)
    for source in (both.solve(), both.optimizer):
        with pytest.raises(ValueError, match="expected one objective, got several: draw `front` or `hypervolume`"):
            plot.best_so_far(source)
