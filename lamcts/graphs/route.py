"""The order in which a network's layers run (thesis, algorithm 8)."""

from lamcts.graphs.layers import INPUT, LayeredNetwork


def route(network: LayeredNetwork) -> list[str]:
    """Return the layers' names in the order of their forward steps; the backward steps come in the reverse order.

    Depth first from the input; at a join, only once all that it reads has run (algorithm 8, `RouteConstruct`), so one
    branch is finished before the next is begun. Not recursive as printed: deep networks would exhaust Python's stack.
    """
    readers, waiting = network.readers(), {name: len(layer.inputs) for name, layer in network.layers.items()}
    order: list[str] = []
    stack = [*reversed(readers[INPUT])]
    while stack:
        name = stack.pop()
        waiting[name] -= 1  # the printed counter, counted down: one more of what it reads has run
        if waiting[name] == 0:
            order.append(name)
            stack.extend(reversed(readers[name]))
    return order
