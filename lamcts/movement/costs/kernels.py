"""Kernels of numerical programs as loop nests: one table, by name; default sizes take about a second."""

from collections.abc import Mapping
from dataclasses import dataclass

from lamcts.movement.costs.nest import Nest, nest
from lamcts.text import safe_repr
from lamcts.types import whole_number


@dataclass(frozen=True)
class Kernel:
    """A loop nest by name: what it computes, its text, and its default sizes."""

    about: str
    text: str
    sizes: Mapping[str, int]


KERNELS: dict[str, Kernel] = {  # default sizes: 10^4 to 10^6 accesses
    "matmul": Kernel("matrix product", "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", {"N": 48}),
    "matvec": Kernel("matrix-vector product", "for i,j in N: y[i] += A[i,j]*x[j]", {"N": 256}),
    "conv1d": Kernel(
        "convolution of a signal", "for i in N-k+1: for x in k: R[i] += K[x]*I[i+x]", {"N": 4096, "k": 16}
    ),
    "conv2d": Kernel(
        "convolution of an image",
        "for i,j in N-k+1: for y,x in k: R[i,j] += K[y,x]*I[i+y,j+x]",
        {"N": 64, "k": 3},
    ),
    "batched_conv2d": Kernel(
        "convolution of B*X channels of an image, X at a time (theorem 3.11 of DMC4ML)",
        "for b in B: for i,j in N-k+1: for c in X: for y,x in k: R[i,j] += K[X*b+c,y,x]*I[X*b+c,i+y,j+x]",
        {"N": 32, "k": 3, "B": 5, "X": 2},
    ),
    "conv_layer": Kernel(
        "convolution layer of a network: C channels to F",
        "for f in F: for c in C: for i,j in N: for y,x in k: R[f,i,j] += K[f,c,y,x]*I[c,i+y,j+x]",
        {"F": 8, "C": 4, "N": 12, "k": 3},
    ),
    "im2col": Kernel(
        "convolution by im2col and a matrix-vector product (algorithm 2 of DMC4ML, corrected)",
        "for i,j in N-k+1: for y,x in k: P[k*y+x,(N-k+1)*i+j] = I[i+y,j+x]\n"
        "for q in (N-k+1)*(N-k+1): for p in k*k: R[q] += K[p]*P[p,q]",
        {"N": 48, "k": 3},
    ),
    "attention": Kernel(
        "attention of H heads over L tokens, with D numbers a head",
        "for h in H: for i,j in L: for t in D: S[h,i,j] += Q[h,i,t]*K[h,j,t]\n"
        "for i,j in L: Z[h,i] += S[h,i,j]\n"
        "for i,j in L: for t in D: O[h,i,t] += S[h,i,j]/Z[h,i]*V[h,j,t]",
        {"H": 4, "L": 32, "D": 16},
    ),
    "grouped_attention": Kernel(
        "grouped-query attention: P groups of Q heads, which share keys and values",
        "for g in P: for u in Q: for i,j in L: for t in D: S[g,u,i,j] += A[g,u,i,t]*K[g,j,t]\n"
        "for i,j in L: Z[g,u,i] += S[g,u,i,j]\n"
        "for i,j in L: for t in D: O[g,u,i,t] += S[g,u,i,j]/Z[g,u,i]*V[g,j,t]",
        {"P": 2, "Q": 2, "L": 32, "D": 16},
    ),
    "lu": Kernel(
        "LU factorisation without pivoting",
        "for k in N: for i in k+1..N: A[i,k] = A[i,k]/A[k,k]\nfor i,j in k+1..N: A[i,j] -= A[i,k]*A[k,j]",
        {"N": 64},
    ),
    "cholesky": Kernel(
        "Cholesky factorisation",
        "for k in N: A[k,k] = sqrt(A[k,k])\n"
        "for i in k+1..N: A[i,k] = A[i,k]/A[k,k]\n"
        "for i in k+1..N: for j in k+1..i+1: A[i,j] -= A[i,k]*A[j,k]",
        {"N": 80},
    ),
    "trisolve": Kernel(
        "triangular solve with R right-hand sides",
        "for i in N: for k in i: for j in R: X[i,j] -= L[i,k]*X[k,j]\nfor j in R: X[i,j] = X[i,j]/L[i,i]",
        {"N": 64, "R": 48},
    ),
    "mttkrp": Kernel(
        "matricised tensor times Khatri-Rao product",
        "for i,j,k in N: for r in R: A[i,r] += X[i,j,k]*B[j,r]*C[k,r]",
        {"N": 20, "R": 10},
    ),
    "contraction": Kernel(
        "tensor of three indices times a matrix", "for a,b,c,d in N: T[a,b,c] += A[a,b,d]*B[d,c]", {"N": 18}
    ),
    "outer_products": Kernel(
        "two statements that share an input (section 4.1 of the thesis of COnfLUX)",
        "for i,j,k in N: D[i,j,k] = A[i,k]*B[k,j]\nE[i,j,k] = C[i,k]*B[k,j]",
        {"N": 40},
    ),
    "fft": Kernel(
        "fast Fourier transform, level by level between two arrays; N is a power of two",
        "",  # one piece for each level: see `_levels`
        {"N": 1024},
    ),
}


def names() -> list[str]:
    """Return the names of all kernels."""
    return list(KERNELS)


def make(name: str, **sizes: int) -> Nest:
    """Return a kernel as a loop nest.

    Parameters
    ----------
    name : str
        Name in the table `KERNELS`.
    **sizes : int
        Sizes of the kernel, at least 1. Others have the defaults of the table.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> costs.kernels.make("matmul", N=24).reuse_distances().misses(128)
    14976
    """
    if name not in KERNELS:
        raise ValueError(f"kernel: expected one of {', '.join(KERNELS)}, got {safe_repr(name):.40}")
    kernel = KERNELS[name]
    for size in sizes:
        if size not in kernel.sizes:
            raise ValueError(f"{name}: expected sizes of {', '.join(kernel.sizes)}, got {safe_repr(size):.40}")
    given = {**kernel.sizes, **sizes}
    return nest(kernel.text, **given) if kernel.text else nest(_levels(_power_of_two(given["N"])))


def _levels(n: int) -> str:
    """Return the text of the transform: butterflies of 2, 4, ..., n elements, between the arrays X and Y."""
    pieces = []
    for level in range(n.bit_length() - 1):
        half, (source, target) = 2**level, "XY" if level % 2 == 0 else "YX"
        index, root = f"{2 * half}*b{level}+k{level}", f"W[{n // (2 * half)}*k{level}]*{source}"
        loops = f"for b{level} in {n // (2 * half)}: for k{level} in {half}: "
        pieces.append(f"{loops}{target}[{index}] = {source}[{index}] + {root}[{index}+{half}]")
        pieces.append(f"{target}[{index}+{half}] = {source}[{index}] - {root}[{index}+{half}]")
    return "\n".join(pieces)


def _power_of_two(n: int) -> int:
    """Return `n`; ValueError unless it is a power of two of at least 2."""
    if whole_number(n, "N", least=2) & n - 1:
        raise ValueError(f"N: expected a power of two, got {n}; use {2 ** (n.bit_length() - 1)}")
    return int(n)
