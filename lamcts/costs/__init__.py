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
from lamcts.costs.cells import cell
from lamcts.costs.compiled import c_source, seconds
from lamcts.costs.distances import ReuseDistances
from lamcts.costs.kernels import Kernel
from lamcts.costs.nest import Nest
from lamcts.costs.parser import nest
from lamcts.costs.program import Program
from lamcts.costs.resident import resident_tiling
from lamcts.costs.reuse import dmd, reuse_distances
from lamcts.costs.spills import Spills, least_spills, mean_spills, spills
from lamcts.costs.statement import Access, Block, Loop, Statement
from lamcts.costs.statement_bound import StatementBound
from lamcts.costs.tiling import Tiling
from lamcts.costs.units import words
from lamcts.costs.volume import iterations

__all__ = [
    "Access",
    "Affine",
    "Block",
    "Kernel",
    "Loop",
    "LowerBound",
    "Nest",
    "Program",
    "ReuseDistances",
    "Spills",
    "Statement",
    "StatementBound",
    "Tiling",
    "asymptotics",
    "c_source",
    "cell",
    "dmd",
    "iterations",
    "kernels",
    "least_spills",
    "lower_bound",
    "mean_spills",
    "nest",
    "resident_tiling",
    "reuse_distances",
    "seconds",
    "spills",
    "words",
]
