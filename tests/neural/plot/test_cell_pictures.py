import sys
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest

from lamcts.errors import MissingExtra
from lamcts.neural.nas import ConvNet, EnasCell, IoCell, NasNet
from lamcts.neural.nas.base import Graph

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.neural.plot.networks import drawing, layered, ordered

# seven vertices, nine edges
VERTICES = Graph(
    ["input", "conv3x3", "conv1x1", "maxpool3x3", "conv3x3", "conv3x3", "output"],
    [(i, j, "") for i, j in [(0, 1), (0, 2), (0, 6), (1, 3), (2, 4), (3, 5), (4, 5), (1, 6), (5, 6)]],
)


def laid_out(n, edges):
    return layered(np.full((n, 2), 0.5), edges, np.array([[len(label) / 10, 0.2] for _, _, label in edges]))


def texts(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text) if found.get_text()]


def arrows(figure):
    from matplotlib.patches import FancyArrowPatch

    return figure.findobj(FancyArrowPatch)


def ink(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return float(np.asarray(canvas.buffer_rgba())[..., :3].std())


def test_a_node_stands_right_of_all_that_lead_to_it_and_as_far_left_as_that_allows():
    layout = layered(np.full((7, 2), 0.5), VERTICES.edges, np.zeros((9, 2)))
    x = layout.at[:7, 0]
    assert all(x[i] < x[j] for i, j, _ in VERTICES.edges)
    assert x[1] == x[2] and x[3] == x[4] and x[6] == x.max()


@pytest.mark.parametrize("seed", range(6))
def test_nothing_overlaps_in_a_picture_of_a_drawn_cell(seed):
    graph = NasNet().graphs(NasNet().random(np.random.default_rng(seed)))["normal"]
    layout = laid_out(8, graph.edges)
    low, high = layout.at - layout.size / 2, layout.at + layout.size / 2
    apart = ((low[:, None] >= high - 1e-9) | (high[:, None] <= low + 1e-9)).any(2)
    np.fill_diagonal(apart, True)
    assert apart.all()


def test_an_edge_that_passes_columns_has_a_bend_in_each_and_others_are_straight():
    layout = layered(np.full((4, 2), 0.5), [(0, 1, ""), (1, 2, ""), (2, 3, ""), (0, 3, "")], np.zeros((4, 2)))
    assert [len(chain) for chain in layout.chains] == [2, 2, 2, 4]
    assert (np.abs(layout.at[layout.chains[3][1:-1], 1] - layout.at[1:3, 1]) >= 0.29).all()  # around the nodes


def test_two_edges_between_the_same_nodes_have_a_place_each_for_their_labels():
    layout = laid_out(2, [(0, 1, "skip"), (0, 1, "conv")])
    one, two = layout.at[layout.named]
    assert one[0] == two[0] and abs(one[1] - two[1]) >= 0.2
    assert layout.at[0, 0] < one[0] < layout.at[1, 0]


def test_a_chain_is_level():
    layout = laid_out(5, [(i, i + 1, "") for i in range(4)])
    np.testing.assert_allclose(layout.at[:, 1], layout.at[0, 1])


def crossings(order, links):
    place = {s: (c, k) for c, column in enumerate(order) for k, s in enumerate(column)}
    ends = [(*place[i], place[j][1]) for i, j in links]
    return sum(a[0] == b[0] and (a[1] - b[1]) * (a[2] - b[2]) < 0 for a, b in combinations(ends, 2))


@pytest.mark.parametrize("seed", range(8))
def test_no_order_of_a_small_graph_has_fewer_crossings(seed):
    rng = np.random.default_rng(seed)
    columns = np.repeat(np.arange(3), 4)
    links = [(i, j) for i in range(12) for j in range(12) if columns[j] == columns[i] + 1 and rng.random() < 0.45]
    found = ordered(columns, links)
    assert [sorted(column) for column in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    every = product(*(list(permutations(range(4 * c, 4 * c + 4))) for c in range(3)))
    assert crossings(found, links) == min(crossings(order, links) for order in every)


def test_a_cell_of_four_nodes_is_drawn_without_crossings():
    edges = [(0, 1, "skip"), (0, 2, "none"), (1, 2, "conv"), (0, 3, "pool"), (1, 3, "conv"), (2, 3, "skip")]
    layout = laid_out(4, edges)
    x = layout.at[:, 0].round(6)
    order = [sorted(np.flatnonzero(x == c), key=lambda s: layout.at[s, 1]) for c in np.unique(x)]
    assert crossings(order, [pair for chain in layout.chains for pair in pairwise(chain)]) == 0


def test_a_graph_with_a_cycle_is_refused():
    with pytest.raises(ValueError, match="expected a graph without cycles"):
        laid_out(3, [(0, 1, ""), (1, 2, ""), (2, 1, "")])


def test_both_cells_of_a_network_are_drawn_with_all_their_operations():
    space = NasNet()
    point = space.random(np.random.default_rng(1))
    figure = plot.cells(space, point)
    shown = texts(figure)
    assert {"nasnet: normal", "nasnet: reduction"} <= set(shown)
    operations = [value for name, value in point.items() if "layer" in name]
    assert sorted(text for text in shown if text in operations) == sorted(operations)
    assert shown.count("node 4") == 2 and ink(figure) > 5
    graphs = space.graphs(point).values()
    assert len(arrows(figure)) == sum(len(graph.edges) for graph in graphs)


def test_edges_with_one_label_have_one_colour_and_others_another():
    figure = drawing({"cell": Graph(["a", "b", "c"], [(0, 1, "skip"), (1, 2, "conv"), (0, 2, "skip"), (1, 2, "")])})
    colours = [arrow.get_edgecolor() for arrow in arrows(figure)]
    assert colours[0] == colours[2] and len(set(colours)) == 3


def test_boxes_are_as_wide_as_their_labels_and_arrows_end_at_them():
    from matplotlib.patches import FancyBboxPatch

    figure = drawing({"made up": VERTICES})
    ink(figure)  # draws: only then extents are known
    renderer = figure.canvas.get_renderer()
    labels = [text for text in figure.axes[0].texts if text.get_text()]
    boxes = [box for box in figure.axes[0].patches if isinstance(box, FancyBboxPatch)]
    assert len(labels) == len(boxes) == 7
    for label, box in zip(labels, boxes, strict=True):
        inner, outer = label.get_window_extent(renderer), box.get_window_extent(renderer)
        assert outer.x0 < inner.x0 and inner.x1 < outer.x1 and outer.y0 < inner.y0 and inner.y1 < outer.y1
    sides = np.array([box.get_window_extent(renderer).x0 for box in boxes])
    for arrow in arrows(figure):
        assert np.abs(arrow.get_window_extent(renderer).x1 - sides).min() < 4  # dots


@pytest.mark.parametrize("space", [ConvNet(), EnasCell(), IoCell()], ids=lambda space: space.name)
def test_a_space_of_one_graph_is_drawn_with_a_title_of_its_own(space):
    point = space.random(np.random.default_rng(0))
    figure = plot.cells(space, point, title="best of the run")
    (name,) = space.graphs(point)
    assert f"best of the run: {name}" in texts(figure) and len(figure.axes) == 1 and ink(figure) > 5


def test_an_invalid_point_is_refused_with_its_reason():
    space = NasNet()
    same = {"normal_connect0": 0, "normal_layer0": "skip_connect", "normal_layer1": "skip_connect"}
    with pytest.raises(ValueError, match="invalid: normal node 0: skip_connect twice on input 0"):
        plot.cells(space, space.random(np.random.default_rng(0)) | same)


@pytest.mark.parametrize("package", ["networkx", "matplotlib.figure"])
def test_without_its_packages_the_extra_is_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[plot\]'"):
        plot.cells(ConvNet(), ConvNet().random(np.random.default_rng(0)))
