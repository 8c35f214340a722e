"""What the pictures of several objectives and of constraints show, read from the artists that draw it."""

import io

import numpy as np
import pytest

from lamcts.outcomes.hypervolume import hypervolume

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot

SENSES = {"cost": "min", "range": "max"}
VALUES = np.array([[3, 30], [1, 5], [np.nan, np.nan], [2, 28], [2, 4], [5, 29], [0, 99], [5, 31]], float)
FEASIBLE = np.array([True, True, True, True, True, True, False, True])


def texts(figure):
    from matplotlib.text import Text

    return " | ".join(found.get_text() for found in figure.findobj(Text) if found.get_text())


def labelled(axes, label):
    (found,) = [artist for artist in [*axes.collections, *axes.get_lines()] if artist.get_label() == label]
    return found


def is_drawn(figure):
    import matplotlib.image

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    file.seek(0)
    return matplotlib.image.imread(file)[..., :3].std() > 0.02


def test_each_evaluation_is_drawn_as_what_it_is():
    figure = plot.front(VALUES, SENSES, feasible=FEASIBLE)
    axes = figure.axes[0]
    assert labelled(axes, "dominated").get_offsets().tolist() == [[2, 4], [5, 29]]
    assert labelled(axes, "infeasible").get_offsets().tolist() == [[0, 99]]
    assert not len(labelled(axes, "infeasible").get_facecolors())
    assert labelled(axes, "front").get_offsets().tolist() == [[3, 30], [1, 5], [2, 28], [5, 31]]
    assert labelled(axes, "front").get_array().tolist() == [1, 2, 4, 8]  # when they were found
    assert labelled(axes, "knee (a compromise)").get_offsets().tolist() == [[2, 28]]
    assert "← better  cost" in texts(figure) and "range  better →" in texts(figure)
    assert is_drawn(figure)


@pytest.mark.parametrize("turn", [[1, 1], [1, -1], [-1, 1], [-1, -1]])
def test_the_staircase_is_the_edge_of_what_the_front_dominates(turn):
    f = np.array([[1, 3], [2, 1], [4, 0], [4, 4]], float)
    senses = {name: "min" if sign > 0 else "max" for name, sign in zip("ab", turn, strict=True)}
    (line,) = plot.front(turn * f, senses).axes[0].get_lines()
    corners = turn * np.column_stack(line.get_data())
    assert corners.tolist() == [[1, 8], [1, 3], [2, 3], [2, 1], [4, 1], [4, 0], [7, 0]]


def test_three_and_four_objectives_have_a_panel_for_each_pair():
    rng = np.random.default_rng(0)
    for m, panels in ((3, 3), (4, 6)):
        values = rng.random((30, m))
        figure = plot.front(values, {f"f{i + 1}": "min" for i in range(m)})
        axes = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        assert len(axes) == panels
        assert labelled(axes[-1], "knee (a compromise)").get_offsets().shape == (1, 2)
        assert axes[-1].get_xlabel().endswith(f"f{m - 1}") and axes[-1].get_ylabel().endswith(f"f{m}")


def test_one_or_many_objectives_have_another_picture():
    with pytest.raises(ValueError, match="expected 2 to 4 objectives to draw, got 1: draw `best_so_far` instead"):
        plot.front(np.ones((3, 1)), {"cost": "min"})
    with pytest.raises(ValueError, match="got 5: draw `parallel` instead"):
        plot.front(np.ones((3, 5)), dict.fromkeys("abcde", "min"))
    with pytest.raises(ValueError, match=r"expected rows of cost, range, got the shape \(3, 1\)"):
        plot.parallel(np.ones((3, 1)), SENSES)


def test_parallel_axes_have_the_better_end_above():
    figure = plot.parallel(VALUES, SENSES, feasible=FEASIBLE)
    axes = figure.axes[0]
    np.testing.assert_allclose(labelled(axes, "knee (a compromise)").get_ydata(), [0.75, 23 / 26])
    heights = [line.get_ydata() for line in axes.get_lines()[:4]]
    np.testing.assert_allclose(heights, [[0.5, 25 / 26], [1, 0], [0.75, 23 / 26], [0, 1]])
    shown = texts(figure)
    assert "cost (min)" in shown and "range (max)" in shown and "4 points" in shown and is_drawn(figure)


def test_the_hypervolume_is_drawn_after_each_evaluation():
    figure = plot.hypervolume(VALUES, SENSES, feasible=FEASIBLE, reference={"range": 2, "cost": 10})
    (line,) = figure.axes[0].get_lines()
    losses = np.where(FEASIBLE[:, None], VALUES * [1, -1], np.nan)
    expected = [hypervolume(losses[: i + 1], [10, -2]) for i in range(len(VALUES))]
    np.testing.assert_allclose(line.get_ydata(), expected)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 9))
    assert expected[0] == 7 * 28 and "reference point: cost 10, range 2" in texts(figure)


def test_the_hypervolume_says_which_reference_it_took():
    assert "reference point: cost 5.4, range 2.4" in texts(plot.hypervolume(VALUES, SENSES, feasible=FEASIBLE))
    with pytest.raises(ValueError, match="a number for each of cost, range"):
        plot.hypervolume(VALUES, SENSES, reference={"cost": 1})


def test_the_violation_falls_to_zero_and_the_value_begins_there():
    figure = plot.violation([4, np.nan, 2, 3, 0, -1, 5], [9, 9, 9, 9, 7, 6, 1], y="cost")
    above, below = figure.axes
    assert labelled(above, "least violation so far").get_ydata().tolist() == [4, 4, 2, 2]
    assert labelled(above, "infeasible evaluation").get_offsets()[:, 0].tolist() == [1, 3, 4, 7]
    np.testing.assert_array_equal(labelled(below, "best feasible value so far").get_ydata(), [np.nan] * 4 + [7, 6, 6])
    assert labelled(above, "first feasible: evaluation 5").get_xdata() == [5, 5]
    assert "cost" in texts(figure) and is_drawn(figure)


def test_a_value_that_is_to_be_large_climbs():
    below = plot.violation([0, 0, 0], [1, 3, 2], maximize=True).axes[1]
    assert labelled(below, "best feasible value so far").get_ydata().tolist() == [1, 3, 3]


def test_a_wide_fall_of_the_violation_is_drawn_in_the_logarithm():
    assert plot.violation([1000, 1, 0]).axes[0].get_yscale() == "log"
    assert plot.violation([10, 1, 0]).axes[0].get_yscale() == "linear"


POOR = [np.empty((0, 2)), np.full((3, 2), np.nan), np.ones((1, 2)), np.ones((4, 2)), np.full((2, 2), 1e300), -VALUES]


@pytest.mark.parametrize("values", POOR)
@pytest.mark.parametrize("good", [True, False])
def test_poor_runs_are_drawn_without_complaint(values, good):
    feasible = np.full(len(values), good)
    for draw in (plot.front, plot.parallel, plot.hypervolume):
        assert draw(values, SENSES, feasible=feasible).savefig(io.BytesIO(), dpi=30) is None
    amount = np.where(feasible, 0.0, values[:, 0])
    assert plot.violation(amount, values[:, 1]).savefig(io.BytesIO(), dpi=30) is None
