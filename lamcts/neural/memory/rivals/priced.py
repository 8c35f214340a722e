"""A partitioned training step as it runs, operation by operation: a step graph of its own. Needs torch."""

import torch
from torch import Tensor

from lamcts.graphs import StepGraph
from lamcts.neural.memory.rivals.partition import Partition
from lamcts.neural.trace.recorder import Recorder


def as_it_runs(partition: Partition, outside_bytes: int = 0) -> StepGraph:
    """Return the steps of the two graphs, forward then backward, run one after the other on fake tensors.

    Nothing in it is for a plan to decide: what is made anew is made by backward steps. Liveness says its peak.
    """
    recorder = Recorder(list(partition.given) + list(partition.tangents))
    with partition.fake, torch.no_grad(), recorder:
        results = partition.forward(*partition.given)
        recorder.forward = False
        handed = dict(zip(_handed(partition), results[partition.outputs :], strict=True))
        tangents = iter(partition.tangents)
        asked = [node.name for node in partition.backward.graph.nodes if node.op == "placeholder"]
        gradients = partition.backward(*(handed[name] if name in handed else next(tangents) for name in asked))
    return recorder.graph([one for one in gradients if isinstance(one, Tensor)], outside_bytes)


def _handed(partition: Partition) -> list[str]:
    (results,) = next(iter(reversed(partition.forward.graph.nodes))).args
    return [node.name for node in results[partition.outputs :]]
