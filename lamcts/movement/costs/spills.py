"""Spills of intermediate results when a graph of operations runs in a memory of few maps."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

Inputs = Sequence[Sequence[int]]  # of each node the nodes whose results it reads, all of them before it
CAPACITIES = range(3, 9)  # maps: an addition needs three; with eight, few cells of the benchmarks spill
ALL_ORDERS = 8  # computed nodes up to which every order is tried: at most 8! = 40,320 schedules
Edge = tuple[int, int, str]  # source, destination, operation
FREE = ("skip_connect", "identity")  # operations without a map of their own


class Spills(NamedTuple):
    """Traffic between fast and slow memory beyond the first load of the inputs, in maps."""

    loads: int
    stores: int
    order: tuple[int, ...]

    @property
    def total(self) -> int:
        """Loads plus stores."""
        return self.loads + self.stores


def spills(inputs: Inputs, capacity: int, order: Sequence[int] | None = None) -> Spills:
    """Count the spills of one schedule (None: by number) under least-recently-used replacement.

    Maps leave the memory free of cost after their last use. First loads of inputs and last stores of outputs are free.
    """
    graph = _checked(inputs, capacity)
    computed = [node for node, read in enumerate(graph) if read]
    schedule = computed if order is None else list(order)
    if sorted(schedule) != computed:
        raise ValueError(f"order: expected each computed node {computed} once, got {schedule}")
    place = {node: step for step, node in enumerate(schedule)}
    for node in schedule:
        late = [source for source in graph[node] if place.get(source, -1) > place[node]]
        if late:
            raise ValueError(f"order: expected node {late[0]} before node {node}, which reads it, got it after")
    return _run(graph, capacity, schedule)


def least_spills(inputs: Inputs, capacity: int) -> Spills:
    """Return the schedule with the fewest spills under least-recently-used replacement.

    Parameters
    ----------
    inputs : sequence of sequences of int
        Of each node the numbers of the nodes that it reads, each smaller than its own. A node that reads nothing is an
        input of the graph and starts in slow memory.
    capacity : int
        Size of the fast memory in maps. It holds all inputs and the result of any operation.

    Returns
    -------
    Spills
        Loads and stores beyond the first load of the inputs, and the order: the best of all orders of up to eight
        computed nodes, else of three list schedules.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> costs.least_spills([(), (0,), (0,), (1,), (2,), (3, 4)], capacity=3).total  # two chains from one input
    0
    """
    graph = _checked(inputs, capacity)
    small = sum(1 for read in graph if read) <= ALL_ORDERS
    best: Spills | None = None
    for order in _orders(graph) if small else (_listed(graph, rule) for rule in (_first, _newest, _freeing)):
        found = _run(graph, capacity, order)
        if best is None or found.total < best.total:
            best = found
        if best.total == 0:
            break
    assert best is not None  # a checked graph has at least one order
    return best


def mean_spills(inputs: Inputs, capacities: Iterable[int] = CAPACITIES) -> float:
    """Return the least spills of a graph in maps, averaged over capacities."""
    totals = [least_spills(inputs, capacity).total for capacity in capacities]
    if not totals:
        raise ValueError("capacities: expected at least one, got none")
    return sum(totals) / len(totals)


def _checked(inputs: Inputs, capacity: int) -> list[tuple[int, ...]]:
    """Return the graph with each input of a node once; raise ValueError for what cannot run."""
    graph = [tuple(dict.fromkeys(read)) for read in inputs]
    for node, read in enumerate(graph):
        wrong = [source for source in read if not 0 <= source < node]
        if wrong:
            raise ValueError(
                f"inputs[{node}]: expected nodes from 0 to {node - 1}, got {wrong[0]}: number them in order"
            )
    least = max((len(read) + 1 for read in graph if read), default=0)
    if capacity < least:
        raise ValueError(f"capacity: expected at least {least} maps, the inputs and result of one node, got {capacity}")
    return graph


def _run(graph: list[tuple[int, ...]], capacity: int, order: Sequence[int]) -> Spills:
    """Play a schedule. Maps in `fast` are ordered from the least to the most recently used."""
    left = [0] * len(graph)  # uses to come
    for read in graph:
        for source in read:
            left[source] += 1
    fast: OrderedDict[int, None] = OrderedDict()
    slow = {node for node, read in enumerate(graph) if not read}
    loads = stores = 0
    seen: set[int] = set()  # inputs that were loaded once

    for node in order:
        for source in (*graph[node], node):
            if source in fast:
                fast.move_to_end(source)
                continue
            if source != node:
                loads += bool(graph[source]) or source in seen
                seen.add(source)
            if len(fast) == capacity:
                pinned = graph[node]
                victim = next(map_ for map_ in fast if map_ not in pinned)
                del fast[victim]
                stores += victim not in slow
                slow.add(victim)
            fast[source] = None
        for source in (*graph[node], node):
            left[source] -= source != node
            if left[source] == 0:
                fast.pop(source, None)
    return Spills(loads, stores, tuple(order))


def _orders(graph: list[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield every topological order of the computed nodes."""
    computed = [node for node, read in enumerate(graph) if read]

    def extend(order: list[int], done: set[int]) -> Iterator[list[int]]:
        if len(order) == len(computed):
            yield order
        for node in computed:
            if node not in done and all(source in done or not graph[source] for source in graph[node]):
                yield from extend([*order, node], done | {node})

    return extend([], set())


Rule = Callable[[list[tuple[int, ...]], list[int], list[int], int], float]


def _listed(graph: list[tuple[int, ...]], rule: Rule) -> list[int]:
    """Return a list schedule: of the nodes that can run, the one with the largest value of a rule comes next."""
    order: list[int] = []
    left = [node for node, read in enumerate(graph) if read]
    while left:
        ready = [node for node in left if not set(graph[node]) & set(left)]
        order.append(max(ready, key=lambda node: (rule(graph, order, left, node), -node)))
        left.remove(order[-1])
    return order


def _first(graph: list[tuple[int, ...]], order: list[int], left: list[int], node: int) -> float:
    return -node


def _newest(graph: list[tuple[int, ...]], order: list[int], left: list[int], node: int) -> float:
    """Prefer the node whose inputs were computed last: depth first."""
    return max((order.index(source) for source in graph[node] if source in order), default=-1)


def _freeing(graph: list[tuple[int, ...]], order: list[int], left: list[int], node: int) -> float:
    """Prefer the node that is the last use of most of its inputs."""
    others = {source for other in left if other != node for source in graph[other]}
    return len(set(graph[node]) - others) + _newest(graph, order, left, node) / (1 + len(graph))


def cell(nodes: Sequence[str], edges: Iterable[Edge], inputs: int = 1, free: Sequence[str] = FREE) -> list[list[int]]:
    """Return the graph of maps of a network cell, for `least_spills`.

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
