"""Costs of programs by formula: loop nests, and the data movement that no schedule can avoid.

    nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=320)
    nest.tiled(i=8, j=40, k=8).reuse_distances().misses(4096)   # misses of an LRU cache of 4096 words
    nest.lower_bound(memory=4096)                               # loads that no schedule can avoid
    costs.dmd("abbbca")                                         # data movement distance, 2 + sqrt(3)

Capacities are words of `element_bytes`, 8 by default; line sizes are bytes.
"""

from lamcts.costs import asymptotics, kernels
from lamcts.costs.affine import Affine
from lamcts.costs.bounds import LowerBound, lower_bound
from lamcts.costs.distances import ReuseDistances
from lamcts.costs.kernels import Kernel
from lamcts.costs.nest import Nest
from lamcts.costs.parser import nest
from lamcts.costs.reuse import dmd, reuse_distances
from lamcts.costs.statement import Access, Block, Loop, Statement
from lamcts.costs.statement_bound import StatementBound
from lamcts.costs.tiling import Tiling
from lamcts.costs.volume import iterations

__all__ = [
    "Access",
    "Affine",
    "Block",
    "Kernel",
    "Loop",
    "LowerBound",
    "Nest",
    "ReuseDistances",
    "Statement",
    "StatementBound",
    "Tiling",
    "asymptotics",
    "dmd",
    "iterations",
    "kernels",
    "lower_bound",
    "nest",
    "reuse_distances",
]
