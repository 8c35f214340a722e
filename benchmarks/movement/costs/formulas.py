"""How near are the closed forms of DMC4ML (Ding et al.) to exact traces?

    python -m benchmarks.movement.costs.formulas

The paper sums square roots of reuse distances over all reuses and keeps leading terms. Each formula is compared with
the exact sum over the trace of the loops that it describes, at growing sizes: the ratio of a formula that holds tends
to 1. Where the printed formula has a misprint, "mended" is another row. Rows go to results/movement_formulas.csv.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.movement import costs

KEY = ("formula", "sizes")
COLUMNS = (*KEY, "printed", "exact", "ratio", "versions")
LINE = 64  # bytes of a cache line: 8 numbers


class Case(NamedTuple):
    """A formula and the loops that it is about."""

    formula: str
    sizes: dict[str, int]
    printed: float
    exact: Callable[[], float]


def convolution(n: int, k: int) -> float:
    """Return theorem 3.10."""
    return 2 * math.sqrt(2) * k**3 * n**2 + k**1.5 * n**2.5


def grouped(heads: int, groups: int, length: int, width: int) -> float:
    """Return lemma 3.6 for heads of `width` numbers."""
    d = heads * width
    return groups * (d**2 + 2 * d**2 / heads) ** 1.5 + 2 * (heads - groups) * d**2 / heads * math.sqrt(
        length**2 + 4 * d**2 / heads
    )


def cases() -> Iterator[Case]:
    """Yield all comparisons."""
    for sizes in ({"m": 32, "n": 32, "l": 32}, {"m": 128, "n": 128, "l": 128}, {"m": 16, "n": 64, "l": 128}):
        product = _exact("for i in m: for j in l: for k in n: C[i,j] += A[i,k]*B[k,j]", **sizes)
        rows, weights = sizes["m"], sizes["n"] * sizes["l"]
        yield Case("3.1 product, (m n l)^1.5", sizes, (rows * weights) ** 1.5, product)
        yield Case("3.1 product, mended to m (n l)^1.5, as 3.3 has it", sizes, rows * weights**1.5, product)
    for groups in (1, 2, 4, 8):
        sizes = {"P": groups, "Q": 8 // groups, "L": 32, "D": 16}
        yield Case("3.6 grouped queries", sizes, grouped(8, groups, 32, 16), _kernel("grouped_attention", **sizes))
    for n, k in ((128, 3), (512, 3), (512, 5), (512, 7)):
        yield Case("3.10 convolution", {"N": n, "k": k}, convolution(n, k), _kernel("conv2d", N=n, k=k))
    for n, c, x in ((64, 10, 1), (64, 10, 10), (128, 10, 2)):
        printed = c * math.sqrt(x) * convolution(n, 3) + math.sqrt(x) * (c / x - 1) * n**3
        sizes = {"N": n, "k": 3, "B": c // x, "X": x}
        yield Case("3.11 batched convolution", sizes, printed, _kernel("batched_conv2d", **sizes))
    for n, k in ((48, 3), (192, 3), (96, 7)):
        sizes, exact = {"N": n, "k": k}, _kernel("im2col", N=n, k=k)
        yield Case("3.12 im2col, + k n^3", sizes, convolution(n, k) + k * n**3, exact)
        yield Case("3.12 im2col, mended to + k^3 n^3", sizes, convolution(n, k) + k**3 * n**3, exact)
    for n in (256, 4096, 16384):
        for name, logarithm in (("2", math.log2), ("e", math.log), ("10", math.log10)):
            printed = 6.4 * n**1.5 * math.sqrt(logarithm(n))
            yield Case(f"3.18 FFT, logarithm to base {name}", {"N": n}, printed, _transform(n))
    for n, k in ((128, 3), (256, 5)):
        lines = _kernel("conv2d", LINE, N=n, k=k)
        yield Case("3.20 convolution in lines of 8", {"N": n, "k": k}, convolution(n, k) / math.sqrt(8), lines)


def _exact(text: str, **sizes: int) -> Callable[[], float]:
    return lambda: costs.nest(text, **sizes).reuse_distances().dmd


def _kernel(name: str, line: int | None = None, **sizes: int) -> Callable[[], float]:
    return lambda: costs.kernels.make(name, **sizes).reuse_distances(line).dmd


def _transform(n: int) -> Callable[[], float]:
    return lambda: costs.dmd(transform(n))


def transform(n: int) -> np.ndarray:
    """Return the accesses of algorithm 3: the recursive FFT, which copies its halves, with n/2 roots of unity."""
    accesses: list[int] = []
    made = iter(range(n // 2, n**3)).__next__  # below n / 2 are the roots

    def recurse(given: list[int]) -> list[int]:
        if len(given) == 1:
            return given
        halves = []
        for start in (0, 1):
            copies = [made() for _ in given[start::2]]
            accesses.extend(one for pair in zip(given[start::2], copies, strict=True) for one in pair)
            halves.append(recurse(copies))
        found = [made() for _ in given]
        for k, (even, odd) in enumerate(zip(*halves, strict=True)):
            for result in (found[k], found[k + len(halves[0])]):
                accesses.extend((even, k * (n // len(given)), odd, result))
        return found

    recurse([made() for _ in range(n)])
    return np.array(accesses)


def main() -> None:
    arguments = script.parsed(script.parser(__doc__, "movement_formulas.csv", "the comparisons of small loops"))
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for case in cases():
        sizes = " ".join(f"{name}={size}" for name, size in case.sizes.items())
        small = math.prod(case.sizes.values()) < 10_000
        if sheet.missing([(case.formula, sizes)]) and (small or not arguments.smoke):
            exact = case.exact()
            row = {"formula": case.formula, "sizes": sizes, "printed": f"{case.printed:.4g}", "exact": f"{exact:.4g}"}
            row |= {"ratio": f"{case.printed / exact:.3f}", "versions": versions(("lamcts", "numpy"))}
            sheet.record(row)
    for row in sheet.rows():
        print(f"{row['formula']:52} {row['sizes']:20} {row['printed']:>10} / {row['exact']:>10} = {row['ratio']}")


if __name__ == "__main__":
    main()
