"""Lower bounds of eight known programs next to valid schedules of any tiling and skew, and to bounds in print."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.trace import ends
from tests.movement.costs.test_bound_and_misses import random_nest, smallest

Element = tuple[object, ...]  # name of an array, then indices


class Instance(NamedTuple):
    """One iteration of a statement: the loops of the schedule, what it reads, and what it writes."""

    at: tuple[int, ...]
    reads: tuple[Element, ...]
    write: Element


class Known(NamedTuple):
    """A program: its text, its iterations in program order, and the leading term of the pebble bound in print."""

    text: str
    iterations: Callable[[int], Iterator[Instance]]
    printed: Callable[[float, float], float]  # of N and M
    share: float  # of it that `daap` proves to leading order


def gemm(n: int, out: str = "C", left: str = "A", right: str = "B", phase: int = 0) -> Iterator[Instance]:
    for i, j, k in np.ndindex(n, n, n):
        yield Instance((phase, i, j, k), ((left, i, k), (right, k, j), (out, i, j)), (out, i, j))


def two_products(n: int) -> Iterator[Instance]:
    yield from gemm(n, "T", "A", "B")
    yield from gemm(n, "D", "T", "C", phase=1)


def lu(n: int) -> Iterator[Instance]:
    for k in range(n):
        for i in range(k + 1, n):
            yield Instance((k, i, k), (("A", i, k), ("A", k, k)), ("A", i, k))
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                yield Instance((k, i, j), (("A", i, j), ("A", i, k), ("A", k, j)), ("A", i, j))


def cholesky(n: int) -> Iterator[Instance]:
    for k in range(n):
        yield Instance((k, k, k), (("A", k, k),), ("A", k, k))
        for i in range(k + 1, n):
            yield Instance((k, i, k), (("A", i, k), ("A", k, k)), ("A", i, k))
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                yield Instance((k, i, j), (("A", i, j), ("A", i, k), ("A", j, k)), ("A", i, j))


def trmm(n: int) -> Iterator[Instance]:
    for i, j in np.ndindex(n, n):
        for k in range(i + 1, n):
            yield Instance((i, j, k), (("B", i, j), ("A", k, i), ("B", k, j)), ("B", i, j))


def syrk(n: int) -> Iterator[Instance]:
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                yield Instance((i, j, k), (("C", i, j), ("A", i, k), ("A", j, k)), ("C", i, j))


def floyd_warshall(n: int) -> Iterator[Instance]:
    for k, i, j in np.ndindex(n, n, n):
        yield Instance((k, i, j), (("D", i, j), ("D", i, k), ("D", k, j)), ("D", i, j))


def jacobi(n: int) -> Iterator[Instance]:
    for t in range(n):
        for i in range(1, n - 1):
            yield Instance((t, i), tuple(("A", t, i + step) for step in (-1, 0, 1)), ("A", t + 1, i))


PROGRAMS = {  # in print: Kwasniewski et al. 2021 (LU), Olivry et al. 2020 and Beaumont et al. 2022 (the others)
    "gemm": Known("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", gemm, lambda n, m: 2 * n**3 / math.sqrt(m), 1),
    "2mm": Known(
        "for i,j,k in N: T[i,j] += A[i,k]*B[k,j]; for i,j,k in N: D[i,j] += T[i,k]*C[k,j]",
        two_products, lambda n, m: 4 * n**3 / math.sqrt(m), 0.6,
    ),
    "lu": Known(costs.kernels.KERNELS["lu"].text, lu, lambda n, m: 2 * n**3 / (3 * math.sqrt(m)), 1),
    "cholesky": Known(
        costs.kernels.KERNELS["cholesky"].text, cholesky, lambda n, m: n**3 / (3 * math.sqrt(2 * m)), math.sqrt(1 / 2)
    ),
    "trmm": Known("for i,j in N: for k in i+1..N: B[i,j] += A[k,i]*B[k,j]", trmm, lambda n, m: n**3 / math.sqrt(m), 1),
    "syrk": Known(
        "for i in N: for j in i+1: for k in N: C[i,j] += A[i,k]*A[j,k]",
        syrk, lambda n, m: n**3 / math.sqrt(2 * m), math.sqrt(1 / 2),
    ),
    "floyd-warshall": Known(
        "for k,i,j in N: D[i,j] = min(D[i,j], D[i,k]+D[k,j])",
        floyd_warshall, lambda n, m: 2 * n**3 / math.sqrt(m), 0.19,
    ),
    "jacobi": Known(
        "for t in N: for i in 1..N-1: A[t+1,i] = A[t,i-1]+A[t,i]+A[t,i+1]", jacobi, lambda n, m: n**2 / (4 * m), 0
    ),
}  # fmt: skip


def history(schedule: list[Instance]) -> dict[Element, list[tuple[int, ...]]]:
    """Return, for each element, its writes in order, and the reads between them in any order."""
    seen: dict[Element, list[list[tuple[int, ...]]]] = {}
    for one in schedule:
        for read in one.reads:
            seen.setdefault(read, [[]])[-1].append(one.at)
        seen.setdefault(one.write, [[]]).append([one.at])
    return {element: [tuple(sorted(part)) for part in parts] for element, parts in seen.items()}


def schedules(program: list[Instance], rng: np.random.Generator, tries: int) -> Iterator[list[Instance]]:
    """Yield the program, and those of random tilings, skews and orders that keep all dependences."""
    kept = history(program)
    yield program
    at = np.array([one.at for one in program])  # [iterations, loops]
    depth = at.shape[1]
    for _ in range(tries):
        skew = np.tril(rng.random((depth, depth)) < 0.15, -1) + np.eye(depth, dtype=int)
        skewed = (at @ skew.T)[:, rng.permutation(depth)]
        tiles = rng.choice([1, 2, 4, 6, 100], depth)
        found = [program[i] for i in np.lexsort(np.c_[skewed // tiles, skewed].T[::-1])]
        if history(found) == kept:
            yield found


def loads(schedule: list[Instance], memory: int, allocate: bool) -> int:
    """Return the loads of the best replacement; without `allocate`, what is written needs no load."""
    accesses: list[tuple[Element, bool]] = []  # the elements, and whether they are written
    for one in schedule:
        accesses += [*((element, False) for element in one.reads), (one.write, True)]
    places: list[int] = []
    following: dict[Element, int] = {}
    for at, (element, written) in reversed(list(enumerate(accesses))):
        places.append(following.get(element, len(accesses)))
        following[element] = len(accesses) if written and not allocate else at
    cached: dict[Element, int] = {}
    count = 0
    for (element, written), after in zip(accesses, reversed(places), strict=True):
        count += element not in cached and (allocate or not written)
        cached[element] = after
        if len(cached) > memory:
            del cached[max(cached, key=cached.__getitem__)]
    return count


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_valid_schedule_loads_less_than_either_bound(name: str) -> None:
    known, rng = PROGRAMS[name], np.random.default_rng(5)
    tried = 0
    for n, memory in ((8, 6), (10, 12), (12, 20)):
        bound = costs.nest(known.text, N=n).lower_bound(memory)
        for schedule in schedules(list(known.iterations(n)), rng, tries=60):
            assert bound.loads <= loads(schedule, memory, allocate=True), (n, memory)
            assert bound.daap <= loads(schedule, memory, allocate=False), (n, memory)
            tried += 1
    assert tried >= 8  # the program itself, and tilings


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_pebble_bound_is_next_to_the_one_in_print(name: str) -> None:
    known = PROGRAMS[name]
    ratio = costs.nest(known.text, N=40_000).lower_bound(1024).daap / known.printed(40_000, 1024)
    assert ratio == pytest.approx(known.share, rel=0.05)


def executed(body: Sequence[Any], values: Mapping[str, int], at: tuple[int, ...] = ()) -> Iterator[Instance]:
    """Yield the iterations of a nest in program order."""
    for item in body:
        if isinstance(item, Statement):
            *reads, write = [(one.array, *(int(i.value(values)) for i in one.indices)) for one in item.accesses]
            yield Instance((*at, 0, 0, 0)[:3], tuple(reads), write)
        else:
            for value in range(*ends(item.loop, values)):
                yield from executed(item.body, {**values, item.loop.name: value}, (*at, value))


def test_no_valid_schedule_of_a_random_nest_loads_less_than_the_pebble_bound() -> None:
    """As where elements of one diagonal are one element, or one statement computes what another reads."""
    rng, tried = np.random.default_rng(34), 0
    for _ in range(150):
        text, sizes = random_nest(rng).text, (("N0", 12), ("N1", 11), ("N2", 10))
        nest = costs.nest(text, **{name: size for name, size in sizes if name in text})
        memory = smallest(nest) + int(rng.integers(0, 4))
        try:
            bound = nest.lower_bound(memory)
        except ValueError:  # loops that repeat the same elements, and may be empty
            continue
        if bound.daap > 30:
            for schedule in schedules([*executed(nest.body, nest.sizes)], rng, tries=4):
                assert bound.daap <= loads(schedule, memory, allocate=False) * (1 + 1e-6), (text, memory)
                tried += 1
    assert tried > 100


def test_rows_that_stay_in_the_memory_load_a_stencil_once() -> None:
    n = 14
    inputs = n + 2 * (n - 1)  # the first row, and both ends of the others
    assert loads(list(jacobi(n)), memory=2 * n, allocate=False) == inputs
    assert costs.nest(PROGRAMS["jacobi"].text, N=n).lower_bound(2 * n).daap <= inputs
