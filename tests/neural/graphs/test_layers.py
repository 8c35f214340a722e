"""Networks as lists of layers, the order in which they run, and which of their storages are live when."""

import pytest

from lamcts.neural.graphs import (
    MB,
    NETWORKS,
    LayeredNetwork,
    StepGraph,
    alexnet,
    baseline_bytes,
    bottlenecks,
    liveness,
    resnet,
    route,
    thesis_graph,
)

ALEXNET = thesis_graph(alexnet(batch=200))


def test_alexnet_needs_what_the_thesis_prints():
    live = liveness(ALEXNET)
    assert len(ALEXNET.storages) == 36
    assert baseline_bytes(ALEXNET) / MB == pytest.approx(2189.437, abs=5e-4)
    assert live.peak_bytes / MB == pytest.approx(1489.355, abs=5e-4)
    assert live.peak_step + 1 == 32 and live.live_count[31] == 17  # steps are counted from 1 there
    assert ALEXNET.steps[31].name == "d pool5"
    assert live.live_count.max() == live.live_count[22] == 23  # at the end of the forward pass


def test_the_depths_of_table_84_have_the_printed_ratios():
    """Depth is 3 (n1 + n2 + n3 + n4) + 2, so 1920 comes of n3 = 595, rounded as the table is."""
    ratios = [1920 / depth for depth in (148, 152, 480, 592)]
    assert ratios == pytest.approx([12.9730, 12.6316, 4.0, 3.2432], abs=5e-5)
    net = bottlenecks((1, 2, 1, 1), batch=1, image=(3, 64, 64))
    shortcuts = 4  # a convolution beside the first block of each stage, which the depth does not count
    convolutions = sum(layer.kind in ("conv", "fc") for layer in net.layers.values())
    assert convolutions - shortcuts == 3 * 5 + 2


def test_the_operations_of_resnet_50_are_the_published_ones():
    flops = sum(layer.flops for layer in resnet(50).layers.values() if layer.weights)
    assert flops / 2 == pytest.approx(4.09e9, rel=0.001)  # multiply-adds with the strides of today's ResNets (v1.5)
    weights = sum(layer.weights for layer in resnet(50).layers.values())
    assert weights == pytest.approx(25.5e6, rel=0.01)


def nested() -> LayeredNetwork:
    """Two fans, one inside the other, as in figure 8.6."""
    net = LayeredNetwork((4, 8, 8), batch=1)
    net.add("conv", channels=4, kernel=1, name="a")
    net.add("fork", "a", name="b")
    net.add("relu", "b", name="c")
    net.add("fork", "b", name="f")
    net.add("relu", "f", name="g")
    net.add("bn", "f", name="h")
    net.add("join", "c", "g", "h", name="i")
    net.add("relu", "i", name="j")
    return net


def test_a_join_runs_once_all_that_it_reads_has_run_and_branches_run_one_after_the_other():
    assert route(nested()) == ["a", "b", "c", "f", "g", "h", "i", "j"]
    net = LayeredNetwork((1, 1, 1), batch=1)
    net.add("fork", "input", name="fork")
    for branch in "xy":
        net.add("relu", "fork", name=f"{branch}1")
    for branch in "xy":
        net.add("relu", f"{branch}1", name=f"{branch}2")
    net.add("join", "y2", "x2", name="end")
    assert route(net) == ["fork", "x1", "x2", "y1", "y2", "end"]  # not in the order in which they were added


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_runs_each_layer_after_all_that_it_reads_and_back_in_the_reverse_order(name):
    net = NETWORKS[name](batch=1)
    order = route(net)
    assert sorted(order) == sorted(net.layers)
    place = {layer: i for i, layer in enumerate(["input", *order])}
    assert all(place[one] < place[layer.name] for layer in net.layers.values() for one in layer.inputs)
    steps = [step.name for step in thesis_graph(net).steps]
    assert steps == [*order, *(f"d {layer}" for layer in reversed(order))]


@pytest.mark.parametrize("name", NETWORKS)
def test_liveness_needs_no_more_than_the_baseline_and_agrees_with_its_own_sets(name):
    graph = thesis_graph(NETWORKS[name](batch=1))
    live = liveness(graph)
    assert live.peak_bytes < baseline_bytes(graph)
    assert live.before(0) == live.after(len(graph.steps) - 1) == frozenset()
    for t in range(0, len(graph.steps) - 1, 7):
        assert live.after(t) == live.before(t + 1) <= live.during(t + 1)
        assert live.live_bytes[t] == sum(graph.storages[one].bytes for one in live.during(t))
        assert live.live_count[t] == len(live.during(t))


def test_gradients_written_over_others_are_aliases_and_a_joins_branches_get_one_each():
    graph = thesis_graph(nested())
    storage = {tensor.name: tensor.storage for tensor in graph.tensors}
    assert storage["d j"] == storage["d i"] == storage["d c"]
    assert len({storage["d c"], storage["d g"], storage["d h"]}) == 3
    assert storage["d a"] == storage["d b"]  # what comes back through the branches is added up in place


def test_the_full_join_of_a_densenet_is_read_by_every_layer_after_it():
    net = NETWORKS["densenet"](blocks=(3,), growth=4, batch=1, image=(3, 32, 32))
    readers = net.readers()
    assert len(readers["pool1"]) == 4  # the first layer, two concatenations and the last
    live = liveness(thesis_graph(net))
    assert live.peak_bytes > 0


@pytest.mark.parametrize(
    ("kind", "after", "settings", "expected"),
    [
        ("gelu", (), {}, "expected a kind of layer"),
        ("relu", ("nobody",), {}, "expected a layer that was added before"),
        ("relu", ("a", "b"), {}, "expected one input, got 2"),
        ("join", ("a", "b"), {}, "expected inputs of one shape"),
        ("concat", ("a", "b"), {}, "expected inputs of one height and width"),
        ("conv", ("a",), {"channels": 1, "kernel": 9}, "expected an output with numbers"),
    ],
)
def test_a_layer_that_does_not_fit_is_refused(kind, after, settings, expected):
    net = LayeredNetwork((3, 8, 8), batch=1)
    net.add("conv", channels=4, kernel=1, name="a")
    net.add("pool", kernel=2, stride=2, name="b")
    with pytest.raises(ValueError, match=expected):
        net.add(kind, *after, **settings)
    assert list(net.layers) == ["a", "b"]


def test_a_graph_without_layers_or_with_steps_out_of_order_is_refused():
    with pytest.raises(ValueError, match="expected a network with layers"):
        thesis_graph(LayeredNetwork((1, 1, 1), batch=1))
    with pytest.raises(ValueError, match="expected all forward steps before"):
        StepGraph(ALEXNET.steps[::-1], ALEXNET.storages, ALEXNET.tensors, "thesis")
    with pytest.raises(ValueError, match="expected storages below 1"):
        StepGraph(ALEXNET.steps, ALEXNET.storages[:1], (), "thesis")
