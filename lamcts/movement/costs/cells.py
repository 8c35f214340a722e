"""The graph of maps of a network cell, for `lamcts.movement.costs.spills`."""

from collections.abc import Iterable, Sequence

Edge = tuple[int, int, str]  # source, destination, operation

FREE = ("skip_connect", "identity")  # operations without a map of their own


def cell(nodes: Sequence[str], edges: Iterable[Edge], inputs: int = 1, free: Sequence[str] = FREE) -> list[list[int]]:
    """Return the graph of maps of a network cell.

    Parameters
    ----------
    nodes : sequence of str
        Label of each node; the first are inputs, the last is the output. A node is the sum of what its edges bring.
    edges : iterable of (int, int, str)
        Source, destination and operation of each edge, sources before destinations. In a cell whose edges all have the
        operation "", each node between inputs and output applies the operation of its label to its sum.
    inputs : int, default 1
        Number of inputs.
    free : sequence of str, default ("skip_connect", "identity")
        Operations that pass their input on without a map of their own.

    Returns
    -------
    list of list of int
        The graph for `spills`: a map for each operation on a path from an input to the output, and one for each
        addition of two maps. Sums of more terms are chains of additions.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> costs.cell(["input", "1", "output"], [(0, 1, "conv"), (0, 2, "skip_connect"), (1, 2, "pool")])
    [[], [0], [1], [0, 2]]
    """
    edges = list(edges)
    on_nodes, used = not any(operation for _, _, operation in edges), _on_a_path(len(nodes), edges, inputs)
    graph: list[list[int]] = [[] for _ in range(inputs)]
    value = {node: node for node in range(inputs)}  # of a node its map

    def computed(read: list[int], operation: str) -> int:
        if operation in free:
            return read[0]
        graph.append(read)
        return len(graph) - 1

    for node in range(inputs, len(nodes)):
        found: int | None = None
        for source, _, operation in (edge for edge in edges if edge[1] == node and edge in used):
            term = value[source] if on_nodes else computed([value[source]], operation or free[0])
            found = term if found is None else computed([found, term], "add")
        if found is not None:
            value[node] = computed([found], nodes[node]) if on_nodes and node < len(nodes) - 1 else found
    return graph


def _on_a_path(nodes: int, edges: list[Edge], inputs: int) -> set[Edge]:
    """Return the edges that lie on a path from an input to the last node."""
    fed, needed = set(range(inputs)), {nodes - 1}
    for source, node, _ in sorted(edges, key=lambda edge: edge[1]):
        fed |= {node} if source in fed else set()
    for source, node, _ in sorted(edges, key=lambda edge: -edge[0]):
        needed |= {source} if node in needed else set()
    return {edge for edge in edges if edge[0] in fed and edge[1] in needed}
