"""Lower bounds of eight known programs next to valid schedules of any tiling and skew, and to bounds in print."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.trace import ends
from tests.movement.costs.test_bound_and_misses import random_access, random_nest, smallest

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


def predecessors(program: list[Instance]) -> list[set[int]]:
    """Return, for each iteration, those that have to come before it."""
    written: dict[Element, int] = {}
    readers: dict[Element, set[int]] = {}
    found = []
    for number, one in enumerate(program):
        last = {written[element] for element in (*one.reads, one.write) if element in written}
        found.append((last | readers.pop(one.write, set())) - {number})
        written[one.write] = number
        for element in one.reads:
            readers.setdefault(element, set()).add(number)
    return found


def fused(program: list[Instance], rng: np.random.Generator, tries: int) -> Iterator[list[Instance]]:
    """Yield schedules that run what an iteration needs just before it, in random orders and tiles of its loops.

    In each second one only iterations that no other one needs ask for others.
    """
    needs, at = predecessors(program), np.array([one.at for one in program])
    read = set().union(*needs)
    for number in range(tries):
        tiles, loops = rng.choice([1, 2, 4, 100], at.shape[1]), at[:, rng.permutation(at.shape[1])]
        order = [int(i) for i in np.lexsort(np.c_[loops // tiles, loops].T[::-1]) if not number % 2 or i not in read]
        done: dict[int, None] = {}
        for last in (*order, *range(len(program))):
            stack = [last]
            while stack:
                missing = [i for i in sorted(needs[stack[-1]], reverse=True) if i not in done]
                if missing:
                    stack += missing
                else:
                    done.setdefault(stack.pop())
        yield [program[i] for i in done]


def joined_nest(rng: np.random.Generator) -> str:
    """Return the text of two or three statements, of which one fills an array that the others add to or read."""
    loops = {"i": "for i in N0: ", "j": "for j in N1: ", "k": "for k in N2: "}
    chosen = sorted(rng.choice(list("ijk"), rng.integers(1, 3), replace=False))
    array = f"T{len(chosen)}[{','.join(chosen)}]"
    head, every = "".join(loops[name] for name in chosen), "".join(loops.values())
    parts = [f"{head}{array} {rng.choice(['=', '+='])} {random_access(rng, chosen)}"]
    for _ in range(rng.integers(1, 3)):
        reads = f"{random_access(rng, list('ijk'))} * {random_access(rng, list('ijk'))}"
        own = rng.random() < 0.6
        parts.append(
            f"{every}{array} += {reads}" if own else f"{every}{random_access(rng, ['j'])} += {array} * {reads}"
        )
    return "; ".join(parts)


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
            program = [*executed(nest.body, nest.sizes)]
            for schedule in (*schedules(program, rng, tries=3), *fused(program, rng, tries=2)):
                assert bound.daap <= loads(schedule, memory, allocate=False) * (1 + 1e-6), (text, memory)
                tried += 1
    assert tried > 100


def test_no_fused_schedule_loads_less_than_the_pebble_bound() -> None:
    """Results of one statement that another adds to or reads may never be loaded."""
    rng, tried = np.random.default_rng(35), 0
    for _ in range(80):
        sizes = {"N0": int(rng.integers(4, 12)), "N1": int(rng.integers(2, 12)), "N2": int(rng.integers(2, 9))}
        nest = costs.nest(joined_nest(rng), **sizes)
        memory = smallest(nest) + int(rng.integers(0, 30))
        bound = nest.lower_bound(memory)
        if bound.daap > 10:
            for schedule in fused([*executed(nest.body, nest.sizes)], rng, tries=4):
                assert bound.daap <= loads(schedule, memory, allocate=False) * (1 + 1e-4), (nest.text, sizes, memory)
                tried += 1
    assert tried > 150


FIRST = "for i in N, k in N: A[i,k] = B[i,k]; "


@pytest.mark.parametrize(
    ("text", "sizes", "words"),
    [  # and the loads of a fused schedule
        ("for i in N, j in N: D[i,j] = A[i]; for i in N, j in N, k in K: D[i,j] += B[k]", {"K": 10}, 1010),
        ("for i in N, j in N: D[i,j] += A[i]; for i in N, j in N, k in K: D[i,j] += B[k]", {"K": 10}, 10**6 + 1010),
        (f"{FIRST}for i in N, j in K, k in N: C[i,j] += A[i,k]*D[k,j]", {"K": 3}, 10**6 + 6000),
        (
            f"{FIRST}for i in N, k in N: E[i,k] = A[i,k]; for i in N, j in K, k in N: C[j] += E[i,k]",
            {"K": 3},
            10**6 + 3,
        ),
        ("for i in N: A[i] += A[i]; for i in N: A[i] += A[i]", {}, 1000),
        ("for i in N: A[i] += A[i]; for i in N, k in K: B[k] += A[i]", {"K": 3}, 1003),
    ],
)
def test_what_a_fused_schedule_keeps_is_not_counted(text: str, sizes: dict[str, int], words: int) -> None:
    bound = costs.nest(text, N=1000, **sizes).lower_bound(10_000)
    assert 0.95 * words <= bound.daap <= words * (1 + 1e-6)


def test_sums_that_begin_at_zero_keep_the_leading_term_of_their_bound() -> None:
    zero = "for i,j in N: C[i,j] = 0; "
    assert costs.nest(zero + PROGRAMS["gemm"].text, N=4000).lower_bound(1024).formula == "2 N^3 / sqrt(M) - N^2"
    scaled = costs.nest("for i,j in N: C[i,j] = C[i,j]*b[0]; " + PROGRAMS["gemm"].text, N=4000).lower_bound(1024)
    assert scaled.formula == "2 N^3 / sqrt(M)"  # the first statement loads what the second does not


@pytest.mark.parametrize("kernel", ["attention", "grouped_attention", "im2col", "outer_products", "fft"])
def test_kernels_of_several_statements_in_a_large_memory_load_each_element_once(kernel: str) -> None:
    nest = costs.kernels.make(kernel)
    bound = nest.lower_bound(10**6)
    assert bound.daap <= nest.reuse_distances().misses(10**6)


def test_rows_that_stay_in_the_memory_load_a_stencil_once() -> None:
    n = 14
    inputs = n + 2 * (n - 1)  # the first row, and both ends of the others
    assert loads(list(jacobi(n)), memory=2 * n, allocate=False) == inputs
    assert costs.nest(PROGRAMS["jacobi"].text, N=n).lower_bound(2 * n).daap <= inputs
