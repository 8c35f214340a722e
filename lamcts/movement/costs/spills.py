"""Spills of intermediate results when a graph of operations runs in a memory of few maps.

A work on I/O bounds in architecture search (appendix C, equation 35) adds the traffic inside a cell, averaged over
capacities, to the loss. Its generating functions have no closed form; here the traffic of a schedule is counted.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

Inputs = Sequence[Sequence[int]]  # of each node the nodes whose results it reads, all of them before it

CAPACITIES = range(3, 9)  # maps: an addition needs three; with eight, few cells of the benchmarks spill
ALL_ORDERS = 8  # computed nodes up to which every order is tried: at most 8! = 40,320 schedules


class Spills(NamedTuple):
    """Traffic between fast and slow memory beyond the first load of the inputs, in maps.

    Attributes
    ----------
    loads : int
        Maps that were evicted and loaded again.
    stores : int
        Maps that were written to slow memory because they were evicted before their last use.
    order : tuple of int
        The schedule: the computed nodes in the order in which they run.
    """

    loads: int
    stores: int
    order: tuple[int, ...]

    @property
    def total(self) -> int:
        """Loads plus stores."""
        return self.loads + self.stores


def spills(inputs: Inputs, capacity: int, order: Sequence[int] | None = None) -> Spills:
    """Count the spills of one schedule under least-recently-used replacement.

    Parameters
    ----------
    inputs : sequence of sequences of int
        Of each node the numbers of the nodes that it reads, each smaller than its own. A node that reads nothing is an
        input of the graph and starts in slow memory.
    capacity : int
        Size of the fast memory in maps. It holds all inputs and the result of any operation.
    order : sequence of int, default None
        The computed nodes in a topological order. None runs them by number.

    Returns
    -------
    Spills
        Loads, stores and the order.

    Raises
    ------
    ValueError
        If the graph has a cycle or an unknown node, the order is not topological, or the capacity is too small.

    Notes
    -----
    A map leaves the memory free of cost after its last use. The first load of an input and the last store of an output
    are not counted: every schedule pays them. Nothing is computed twice.

    Examples
    --------
    A diamond: one input, two branches, one sum.

    >>> from lamcts.movement import costs
    >>> costs.spills([(), (0,), (0,), (1, 2)], capacity=3).total
    0
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
        The graph, as `spills` takes it.
    capacity : int
        Size of the fast memory in maps.

    Returns
    -------
    Spills
        The best schedule among all orders up to eight computed nodes. Larger graphs: the best of three list schedules.

    Raises
    ------
    ValueError
        As `spills`.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> graph = [(), (0,), (0,), (1,), (2,), (3, 4)]  # two chains from one input
    >>> costs.spills(graph, 3, [1, 2, 3, 4, 5]).total, costs.least_spills(graph, 3).total
    (0, 0)
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
    """Return the least spills of a graph, averaged over capacities.

    Parameters
    ----------
    inputs : sequence of sequences of int
        The graph, as `spills` takes it.
    capacities : iterable of int, default range(3, 9)
        Sizes of the fast memory in maps.

    Returns
    -------
    float
        Mean number of maps loaded or stored.

    Raises
    ------
    ValueError
        As `spills`; also without a capacity.

    Notes
    -----
    The work above averages over twenty random capacities (appendix C, after equation 35). The mean over all capacities
    of a range is what that average estimates, without its noise.
    """
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
