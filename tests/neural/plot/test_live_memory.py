import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.neural.graphs import MB, alexnet, thesis_graph
from lamcts.neural.memory.fitting import presets
from lamcts.plot.canvas import SELECTED


@pytest.fixture(scope="module")
def reports():
    return presets(thesis_graph(alexnet(batch=200)))


def lines(figure):
    from matplotlib.patches import StepPatch

    return {line.get_label(): line for line in figure.axes[0].patches if isinstance(line, StepPatch)}


def test_each_plan_is_a_line_of_its_live_memory_and_the_last_stands_out(reports):
    drawn = lines(plot.live_memory(reports[:4]))
    assert list(drawn) == ["baseline", "keep all", "offload", "speed"]
    values = drawn["keep all"].get_data().values * 2**10  # drawn in GiB
    assert values.max() == pytest.approx(1489.355, abs=1e-3) and values.argmax() + 1 == 32 and len(values) == 46
    colours = [line.get_edgecolor() for line in drawn.values()]
    assert len(set(colours)) == 4 and drawn["speed"].get_linewidth() > drawn["offload"].get_linewidth()


def test_the_budget_is_a_line_and_forward_and_backward_are_divided(reports):
    axes = plot.live_memory(reports[1:3], budget_bytes=512 * MB).axes[0]
    budget, divided = axes.lines
    assert list(budget.get_ydata()) == [0.5, 0.5] and list(divided.get_xdata()) == [23, 23]
    assert {text.get_text() for text in axes.texts} == {"forward", "backward"}


def test_what_is_always_there_is_a_band_below_all_lines(reports):
    from dataclasses import replace

    graph = replace(reports[0].graph, outside_bytes=256 * MB)
    figure = plot.live_memory([replace(one, graph=graph) for one in reports[1:3]])
    values = lines(figure)["offload"].get_data().values
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert values.max() == pytest.approx((1132.056 + 256) / 2**10, abs=1e-3) and "same under all plans" in shown


def test_reports_of_several_networks_are_refused(reports):
    other = presets(thesis_graph(alexnet(batch=2)))
    for given in ([], [reports[0], other[0]]):
        with pytest.raises(ValueError, match="expected reports of plans on one graph, at least one, got"):
            plot.live_memory(given)


def test_the_last_plan_has_the_colour_of_what_is_selected(reports):
    from matplotlib.colors import to_rgba

    drawn = lines(plot.live_memory(reports))
    chosen = [name for name, line in drawn.items() if line.get_edgecolor() == to_rgba(SELECTED)]
    assert chosen == ["offload all"]
