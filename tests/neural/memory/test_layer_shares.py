"""Time and memory by kind of layer."""

import pytest

from lamcts.neural.graphs import alexnet, baseline_bytes, thesis_graph
from lamcts.neural.memory import LayerShare, Machine, layer_shares
from lamcts.neural.memory.layer_shares import kind_of, merged

GRAPH = thesis_graph(alexnet(batch=2))


def test_the_kinds_add_up_to_the_step():
    found = layer_shares(GRAPH)
    assert sum(one.operations for one in found) == len(GRAPH.steps)
    assert sum(one.seconds for one in found) == pytest.approx(sum(map(Machine().seconds, GRAPH.steps)))
    assert sum(one.bytes for one in found) == baseline_bytes(GRAPH)
    assert found == sorted(found, key=lambda one: -one.seconds)


def test_host_time_raises_the_share_of_many_small_operations():
    slow = {one.kind: one.seconds for one in layer_shares(GRAPH, Machine(operation_seconds=1.0))}
    assert slow["relu"] > slow["conv"]  # seven of them, five convolutions


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("convolution_backward", "conv"),
        ("threshold_backward", "relu"),
        ("max_pool2d_with_indices", "pool"),
        ("_scaled_dot_product_flash_attention_for_cpu_backward", "attention"),
        ("native_layer_norm", "norm"),
        ("add_", "add"),
        ("lrn", "lrn"),
        ("__", "other"),
    ],
)
def test_operations_have_kinds(operation, kind):
    assert kind_of(operation) == kind


def test_small_kinds_are_merged_and_nothing_is_lost():
    kinds = [LayerShare("conv", 3, 1.0, 1000), LayerShare("add", 2, 0.001, 3), LayerShare("sum", 1, 0.002, 4)]
    large, other = merged(kinds, 0.01)
    assert large is kinds[0] and other == LayerShare("other", 3, pytest.approx(0.003), 7)
    assert merged(kinds[:2], 0.01) == kinds[:2]
