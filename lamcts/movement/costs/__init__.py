"""Costs of programs by formula: loop nests, and the data movement that no schedule can avoid.

    nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=320)
    nest.tiled(i=8, j=40, k=8).reuse_distances().misses(4096)   # misses of an LRU cache of 4096 words
    nest.lower_bound(memory=4096)                               # loads that no schedule can avoid
    costs.dmd("abbbca")                                         # data movement distance, 2 + sqrt(3)

Capacities are words of `element_bytes`, 8 by default; line sizes are bytes.
"""

from lamcts.movement.costs import asymptotics, kernels
from lamcts.movement.costs.affine import Affine
from lamcts.movement.costs.bounds import LowerBound, lower_bound
from lamcts.movement.costs.cells import cell
from lamcts.movement.costs.compiled import c_source, seconds
from lamcts.movement.costs.distances import ReuseDistances
from lamcts.movement.costs.kernels import Kernel
from lamcts.movement.costs.nest import Nest
from lamcts.movement.costs.parser import nest
from lamcts.movement.costs.program import Program
from lamcts.movement.costs.resident import resident_tiling
from lamcts.movement.costs.reuse import dmd, reuse_distances
from lamcts.movement.costs.spills import Spills, least_spills, mean_spills, spills
from lamcts.movement.costs.statement import Access, Block, Loop, Statement
from lamcts.movement.costs.statement_bound import StatementBound
from lamcts.movement.costs.tiling import Tiling
from lamcts.movement.costs.units import words
from lamcts.movement.costs.volume import iterations

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
