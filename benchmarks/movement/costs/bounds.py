"""How long does an I/O lower bound take, and how far below the paper's bound is the one without assumptions?

    python -m benchmarks.movement.costs.bounds [--memory 1024] [--repeats 7]

Twelve kernels at two memories. `form` is "closed" where the tile fits into the loops, "capped" where a short loop
limits it. `milliseconds` is the least CPU time of --repeats, each with other sizes and with no linear programme
remembered.
`loads` holds for the sizes at hand; `daap` is the bound of the paper, right to leading order. The goals: 5 ms where the
form is closed, 500 ms where extents cap it.
Rows go to results/bounds.csv.
"""

import time
from collections.abc import Iterator

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.movement import costs
from lamcts.movement.costs.intensity import vertex

KEY = ("kernel", "memory")
COLUMNS = (*KEY, "sizes", "sigma", "form", "formula", "loads", "daap", "milliseconds", "versions")
KERNELS = {
    "matrix product": ("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", {"N": 1000}),
    "matrix-vector product": ("for i,j in N: y[i] += A[i,j]*x[j]", {"N": 4000}),
    "shared input": ("for i,j,k in N: D[i,j,k] = A[i,k]*B[k,j]; E[i,j,k] = C[i,k]*B[k,j]", {"N": 20000}),
    "LU column": ("for k in N: for i in k+1..N: A[i,k] = A[i,k]/A[k,k]", {"N": 1000}),
    "LU update": ("for k in N: for i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]", {"N": 1000}),
    "Cholesky": (
        "for k in N: A[k,k] = sqrt(A[k,k]); for i in k+1..N: A[i,k] = A[i,k]/A[k,k]; "
        "for i in k+1..N: for j in k+1..i+1: A[i,j] -= A[i,k]*A[j,k]",
        {"N": 1000},
    ),
    "triangular solve": ("for i in N: for k in i: for j in R: X[i,j] -= L[i,k]*X[k,j]", {"N": 1000, "R": 800}),
    "MTTKRP": ("for i,j,k in N: for r in R: A[i,r] += X[i,j,k]*B[j,r]*C[k,r]", {"N": 300, "R": 300}),
    "contraction": ("for a,b,c,d in N: T[a,b,c] += A[a,b,d]*B[d,c]", {"N": 200}),
    "convolution 1-D": ("for i in N, x in K: R[i] += K0[x]*I[i+x]", {"N": 100_000, "K": 1000}),
    "convolution 2-D": ("for f in F, c in C, i,j in N, y,x in K: R[f,i,j] += I[c,i+y,j+x]*W[f,c,y,x]", {
        "F": 64, "C": 64, "N": 56, "K": 3,
    }),
    "convolution 2-D, batched": (
        "for b in B, f in F, c in C, i,j in N, y,x in K: R[b,f,i,j] += I[b,c,i+y,j+x]*W[f,c,y,x]",
        {"B": 16, "F": 64, "C": 64, "N": 56, "K": 3},
    ),
}  # fmt: skip


def main() -> None:
    given = script.parser(__doc__, "bounds.csv", "two kernels, 1 repeat")
    given.add_argument("--memory", type=int, nargs="+", default=[1024, 32768])
    given.add_argument("--repeats", type=int, default=7)
    given.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    arguments = script.parsed(given, memory=[64], repeats=1, kernels=["matrix product", "convolution 2-D"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.kernels, arguments.memory, arguments.repeats):
        sheet.record(row)


def measured(sheet: Sheet, kernels: list[str], memories: list[int], repeats: int) -> Iterator[Row]:
    """Yield the rows that are not there yet."""
    for name, memory in sheet.missing((name, memory) for name in kernels for memory in memories):
        text, sizes = KERNELS[name]
        others = [{size: value + i * (value > 9) for size, value in sizes.items()} for i in range(repeats)]
        seconds = min(timed(costs.nest(text, **other), memory) for other in others)
        bound = costs.nest(text, **sizes).lower_bound(memory)
        yield {
            "kernel": name, "memory": memory, "sizes": " ".join(f"{size}={value}" for size, value in sizes.items()),
            "sigma": str(bound.main.sigma), "form": "closed" if bound.formula else "capped", "formula": bound.formula,
            "loads": f"{bound.loads:.6g}", "daap": f"{bound.daap:.6g}", "milliseconds": f"{1e3 * seconds:.3g}",
            "versions": versions(("lamcts", "numpy", "scipy")),
        }  # fmt: skip


def timed(nest: costs.Nest, memory: int) -> float:
    """Return the CPU seconds of one bound."""
    vertex.cache_clear()
    began = time.process_time()
    nest.lower_bound(memory)
    return max(time.process_time() - began, 1e-9)


if __name__ == "__main__":
    main()
