"""The step graph of a list of layers, with the memory accounting of the thesis (8.3, 8.4).

In the forward pass each layer's output is a separate tensor. In the backward pass the gradient of a layer's input is
separate if `LayerKind.own_gradient`; else it overwrites the gradient of the output. The gradient of the last softmax
overwrites its output. The input image, weights and workspaces are not counted.
"""

from lamcts.neural.graphs.layers import FLOAT_BYTES, INPUT, KINDS, Layer, LayeredNetwork
from lamcts.neural.graphs.steps import Step, StepGraph, Storage, Tensor


def thesis_graph(network: LayeredNetwork) -> StepGraph:
    """Return the training step of a list of layers, by the route of algorithm 8 and back.

    Parameters
    ----------
    network : LayeredNetwork
        The network.

    Examples
    --------
    >>> from lamcts.neural.graphs import MB, alexnet, liveness, thesis_graph
    >>> round(liveness(thesis_graph(alexnet(batch=200))).peak_bytes / MB, 3)
    1489.355
    """
    if not network.layers:
        raise ValueError("expected a network with layers, got none: add some")
    order = route(network)
    memory = _Memory(network)
    forward = [_forward(network, network.layers[name], memory) for name in order]
    backward = [_backward(network, network.layers[name], memory) for name in reversed(order)]
    return StepGraph((*forward, *backward), tuple(memory.storages), tuple(memory.tensors), "thesis")


class _Memory:
    """Storages and tensors so far; `outputs` and `gradients` of layers are numbers of storages."""

    def __init__(self, network: LayeredNetwork) -> None:
        self.network = network
        self.storages: list[Storage] = []
        self.tensors: list[Tensor] = []
        self.outputs: dict[str, int] = {}
        self.gradients: dict[str, int] = {}

    def output(self, name: str) -> int:
        self.storages.append(Storage(name, self.network.output_bytes(name), "activation"))
        self.outputs[name] = self.alias(name, len(self.storages) - 1)
        return self.outputs[name]

    def gradient(self, name: str, over: int | None) -> int:
        """Return the storage of the gradient of a layer's output: the existing one, else `over`, else a new one."""
        if name not in self.gradients:
            if over is None:
                over = len(self.storages)
                self.storages.append(Storage(f"d {name}", self.network.output_bytes(name), "gradient"))
            self.gradients[name] = self.alias(f"d {name}", over)
        return self.gradients[name]

    def alias(self, name: str, storage: int) -> int:
        self.tensors.append(Tensor(name, storage))
        return storage


def _forward(network: LayeredNetwork, layer: Layer, memory: _Memory) -> Step:
    reads = _inputs(layer, memory)
    writes = (memory.output(layer.name),)
    moved = _moved(memory, reads, writes) + FLOAT_BYTES * layer.weights
    flops, scratch = layer.flops * network.batch, _workspace(network, layer)
    return Step(layer.name, layer.kind, True, reads, writes, flops, moved, KINDS[layer.kind].checkpoint, scratch)


def _backward(network: LayeredNetwork, layer: Layer, memory: _Memory) -> Step:
    kind = KINDS[layer.kind]
    output = memory.outputs[layer.name]
    if layer.name not in memory.gradients:  # the last layer: the loss begins here
        memory.gradient(layer.name, output if layer.kind == "softmax" else None)
    above = memory.gradients[layer.name]
    free = None if KINDS[layer.kind].own_gradient else above  # a gradient of an input may overwrite `above`
    found = []
    for name in layer.inputs:
        if name == INPUT and free is not None:
            continue  # not needed, and it would have no separate memory
        found.append(memory.gradient(name, free))
        free = None if found[-1] == free else free  # further inputs of a join get copies
    below = tuple(dict.fromkeys(found))
    needs = (*(_inputs(layer, memory) if kind.needs_input else ()), *((output,) if kind.needs_output else ()))
    reads = tuple(dict.fromkeys((*needs, above)))
    moved = _moved(memory, reads, below) + 2 * FLOAT_BYTES * layer.weights  # weights are read, their gradients written
    flops = layer.flops * network.batch * (2 if layer.weights else 1)  # gradients of weights and of input
    scratch = _workspace(network, layer)
    return Step(f"d {layer.name}", layer.kind, False, reads, below, flops, moved, kind.checkpoint, scratch)


def _inputs(layer: Layer, memory: _Memory) -> tuple[int, ...]:
    return tuple(dict.fromkeys(memory.outputs[name] for name in layer.inputs if name != INPUT))


def _moved(memory: _Memory, reads: tuple[int, ...], writes: tuple[int, ...]) -> int:
    return sum(memory.storages[one].bytes for one in (*reads, *writes))


def _workspace(network: LayeredNetwork, layer: Layer) -> int:
    """Return the bytes of all patches of a convolution, with which it is one matrix product."""
    if layer.kind != "conv":
        return 0
    return FLOAT_BYTES * network.batch * layer.patch * layer.shape[1] * layer.shape[2]


def route(network: LayeredNetwork) -> list[str]:
    """Return the layer names in the order of their forward steps; backward steps run in reverse order."""
    readers, waiting = network.readers(), {name: len(layer.inputs) for name, layer in network.layers.items()}
    order: list[str] = []
    stack = [*reversed(readers[INPUT])]
    while stack:
        name = stack.pop()
        waiting[name] -= 1  # the printed counter, decreasing: one more input has run
        if waiting[name] == 0:
            order.append(name)
            stack.extend(reversed(readers[name]))
    return order
