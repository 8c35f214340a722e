"""The figure of time and memory by kind of layer."""

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.neural.graphs import alexnet, densenet, thesis_graph
from lamcts.neural.memory import layer_shares


def test_both_bars_of_a_network_are_full():
    networks = {"AlexNet": alexnet(batch=2), "DenseNet": densenet((2, 3), growth=4, batch=1, image=(3, 64, 64))}
    figure = plot.layer_shares({name: layer_shares(thesis_graph(one)) for name, one in networks.items()})
    axes = figure.axes[0]
    tops = {}
    for bar in axes.patches:
        place = round(bar.get_x(), 6)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    assert len(tops) == 4 and all(top == pytest.approx(100) for top in tops.values())
    assert [one.get_text() for one in axes.get_xticklabels()] == ["AlexNet", "DenseNet"]


def test_no_network_is_refused():
    with pytest.raises(ValueError, match="networks: expected at least one, each with operations, got 0"):
        plot.layer_shares({})
