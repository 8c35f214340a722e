"""Theorem 3 of the paper on I/O cost is no lower bound: schedules that load and store less than it says.

Equations (20) to (33) for a chain of steps, in which each step reads results of the step before alone (Definition 3),
and Q >= (X - S) (ceil(|V| / |H|) - 1) of appendix A with R(S) = S and T(S) = 0. As printed, phi (24) is 0, since U may
be empty; (25) and (29) are 0, since R_j lies in R_{j-1} and the outputs of step j. Hence (33) counts results that are
read inside a part as its outputs. With phi as a maximum, (27) still lets a step read at most S results of the step
before, although a part may compute and use more of them, one after the other. Without both, Zhang et al.'s theorem
(PPoPP 2021) is left. It is a bound, and 0 on all small graphs here.
"""

import heapq
import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

VARIANTS = {"printed": (False, True), "phi as a maximum": (True, True), "Zhang": (True, False)}


class Step(NamedTuple):
    """The most that k inputs generate: vertices (21), outputs (22), and outputs that the next step reads."""

    vertices: list[int]
    outputs: list[int]
    read: list[int]


def largest(steps, memory, x, phi_is_largest, bounded):
    """Return |H_max| of (30) under (27), (31) to (33); `bounded`: (33) holds, and a step reads at most S results."""

    @cache
    def vertices(j, left, kept, outside):
        if j == len(steps):
            return 0
        found = [-math.inf]
        for g in range(left + 1):
            many, out, read = (values[min(g + kept, len(values) - 1)] for values in steps[j])
            held = min(memory, read)
            leaving = outside + out - (held if phi_is_largest and j < len(steps) - 1 else 0)
            if not bounded or leaving <= x:
                found.append(many + vertices(j + 1, left - g, held if bounded else read, leaving * bounded))
        return max(found)

    return x + vertices(0, x, 0, 0)


def bound(steps, count, memory, name):
    """Return the largest lower bound on loads plus stores over X, of a chain with `count` vertices."""
    sizes = {x: largest(steps, memory, x, *VARIANTS[name]) for x in range(memory + 1, memory + 12)}
    return max((x - memory) * (math.ceil(count / size) - 1) for x, size in sizes.items())


def least(reads, memory):
    """Return the least loads plus stores by Dijkstra over the red-blue pebble game without recomputation."""
    nodes = range(len(reads))
    users = [sum(1 << user for user in nodes if node in reads[user]) for node in nodes]
    needs = [sum(1 << source for source in read) for read in reads]
    begin = sum(1 << node for node in nodes if not reads[node])
    queue, settled = [(0, begin, 0, begin)], set()
    while queue:
        cost, computed, red, blue = heapq.heappop(queue)
        if computed == (1 << len(reads)) - 1:
            return cost + sum(not user for user in users)  # each output is stored
        if (computed, red, blue) in settled:
            continue
        settled.add((computed, red, blue))
        for node in nodes:
            bit = 1 << node
            if red & bit:
                heapq.heappush(queue, (cost + (not blue & bit), computed, red & ~bit, blue | bit))
            elif red.bit_count() < memory:
                if blue & bit and users[node] & ~computed:
                    heapq.heappush(queue, (cost + 1, computed, red | bit, blue))
                if not computed & bit and not needs[node] & ~red:
                    after = computed | bit
                    alive = sum(1 << one for one in nodes if (red | bit) >> one & 1 and users[one] & ~after)
                    heapq.heappush(queue, (cost, after, alive, blue))
    raise AssertionError("no schedule")


def chain(rng, most=9):
    """Return a random chain of two to four steps as the vertices of each and what each vertex reads."""
    sizes = rng.integers(1, 4, int(rng.integers(3, 6)))
    while sizes.sum() > most:
        sizes[sizes.argmax()] -= 1
    parts, reads = [], []
    for size in sizes:
        part = list(range(len(reads), len(reads) + size))
        for i in range(size):
            pool = [*parts[-1], *part[:i]] if parts else []
            reads.append(
                set(rng.choice(pool, rng.integers(1, min(3, len(pool)) + 1), replace=False).tolist() if pool else ())
            )
        parts.append(part)
    return parts, reads


def generated(parts, reads, j):
    """Return the generating functions of step j by all dominators D, with (20)."""
    inside, after = parts[j], set().union(*(reads[v] for v in parts[j + 1])) if j + 1 < len(parts) else set()
    outputs = [v for v in inside if v in after or not any(v in read for read in reads)]
    around = sorted({source for v in inside for source in reads[v]} & {*parts[j - 1]}) + inside
    found = np.zeros((3, len(around) + 1), int)
    for chosen in range(1 << len(around)):
        made = {v for i, v in enumerate(around) if chosen >> i & 1}
        k = len(made)
        for v in inside:
            made |= {v} if reads[v] <= made else set()
        counts = [len(made.intersection(part)) for part in (inside, outputs, after.intersection(inside))]
        found[:, k] = np.maximum(found[:, k], counts)
    return Step(*np.maximum.accumulate(found, 1).tolist())


def paths(count, steps):
    """Return the steps of `count` paths next to each other, of one vertex a step."""
    most = list(range(count + 1))
    return [Step(most, most, most)] * (steps - 1) + [Step(most, most, [0])]


@pytest.mark.parametrize("name", VARIANTS)
def test_on_small_graphs_no_variant_is_above_the_least_and_hardly_any_is_above_zero(name):
    rng, above_zero = np.random.default_rng(0), 0
    for _ in range(200):
        parts, reads = chain(rng)
        memory = max(map(len, reads)) + 1
        said = bound([generated(parts, reads, j) for j in range(1, len(parts))], len(reads), memory, name)
        assert said == 0 or said <= least(reads, memory)
        above_zero += said > 0
    assert above_zero == {"printed": 14, "phi as a maximum": 0, "Zhang": 0}[name]


def test_the_pebble_game_of_paths_loads_each_input_and_stores_each_output():
    path = [set(), {0}, {1}, {2}]
    assert least(path, 2) == 2
    two = [set(), {0}, {1}, set(), {3}, {4}]
    assert least(two, 2) == 4


def test_the_printed_theorem_is_above_a_path_of_25_vertices():
    assert bound(paths(1, 24), 25, 2, "printed") > 2  # a load, a store
    assert bound(paths(1, 24), 25, 2, "phi as a maximum") <= 2


def test_with_phi_as_a_maximum_it_is_above_paths_next_to_each_other():
    steps, count = paths(8, 50), 8 * 51
    assert bound(steps, count, 2, "phi as a maximum") > 16  # eight loads and eight stores, path by path
    assert 0 < bound(steps, count, 2, "Zhang") <= 16
