"""Loads and stores of a network cell in a memory of few tensors: the I/O cost Q_e, as a count of one order of nodes."""

from collections.abc import Iterable, Sequence

from lamcts.types import whole_number

KEPT = (1, 2, 3)  # tensors; of a range that the paper does not print: with four, nearly every cell of 12 nodes fits


def cell_io(reads: Sequence[Sequence[int]], kept: Iterable[int] = KEPT) -> float:
    """Return the loads and stores of a cell in a memory that keeps few tensors between steps.

    Parameters
    ----------
    reads : sequence of sequences of int
        Of each node the earlier nodes whose results it reads. Nodes that read nothing are the inputs of the cell; the
        last node is its output. The order of the nodes is that of the steps.
    kept : iterable of int, default (1, 2, 3)
        Numbers of tensors that are kept from one step to the next. The cost is the mean over them.

    Returns
    -------
    float
        Loads plus stores in tensors of equal size, at least 1.

    Notes
    -----
    A step loads each result that it reads and the memory does not hold. A result that a later step reads is stored
    once, when the memory does not keep it. The inputs of the cell do not count, and the output counts 1. The tensors
    whose next use is nearest are kept, then those with more uses left, then the older. The count depends on the links
    and their order alone, not on operations and sizes.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> [costs.cell_io([(), (), (0, 1), (2,), (3,), (2, 4)], kept=[k]) for k in (1, 2)]
    [3.0, 1.0]
    """
    graph, counts = _checked(reads), [whole_number(k, "kept") for k in kept]
    if not counts:
        raise ValueError("kept: expected at least one number of tensors, got none")
    return sum(_traffic(graph, k) for k in counts) / len(counts)


def _checked(reads: Sequence[Sequence[int]]) -> list[set[int]]:
    """Return the nodes that each node reads; raise ValueError for what is no cell."""
    graph = [set(read) for read in reads]
    for node, read in enumerate(graph):
        for source in read:
            if not 0 <= source < node:
                raise ValueError(f"reads[{node}]: expected nodes below {node}, got {source}: number them in order")
    if not graph or not graph[-1]:
        raise ValueError("reads: expected an output, a last node that reads others, got none")
    return graph


def _traffic(graph: list[set[int]], k: int) -> int:
    """Return loads plus stores where `k` tensors are kept."""
    users = [[later for later, read in enumerate(graph) if node in read] for node in range(len(graph))]
    held, stored, total = set[int](), set[int](), 1
    for step, read in enumerate(graph):
        if not read:
            continue
        results = {node for node in read if graph[node]}
        total += len(results - held)
        left = {node: [later for later in users[node] if later > step] for node in held | results | {step}}
        waiting = sorted((uses[0], -len(uses), node) for node, uses in left.items() if uses)
        order = [node for _, _, node in waiting]
        evicted = set(order[k:]) - stored
        total += len(evicted)
        stored |= evicted
        held = set(order[:k])
    return total
