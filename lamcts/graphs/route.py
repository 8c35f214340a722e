"""Execution order of the layers of a network (thesis, algorithm 8)."""

from lamcts.graphs.layers import INPUT, LayeredNetwork


def route(network: LayeredNetwork) -> list[str]:
    """Return the layer names in the order of their forward steps; backward steps run in reverse order.

    Depth first from the input; a join waits for all its inputs (algorithm 8, `RouteConstruct`), so branches run one
    after the other. The printed algorithm is recursive; this one is not, so deep networks do not exhaust Python's
    stack.

    Parameters
    ----------
    network : LayeredNetwork
        The network.
    """
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
