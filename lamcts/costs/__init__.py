"""Costs of programs by formula: loop nests, and the data movement that no schedule can avoid.

nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=320)
"""

from lamcts.costs.affine import Affine
from lamcts.costs.bounds import LowerBound, lower_bound
from lamcts.costs.distances import ReuseDistances
from lamcts.costs.nest import Nest
from lamcts.costs.parser import nest
from lamcts.costs.reuse import dmd, reuse_distances
from lamcts.costs.statement import Access, Block, Loop, Statement
from lamcts.costs.statement_bound import StatementBound
from lamcts.costs.volume import iterations

__all__ = [
    "Access",
    "Affine",
    "Block",
    "Loop",
    "LowerBound",
    "Nest",
    "ReuseDistances",
    "Statement",
    "StatementBound",
    "dmd",
    "iterations",
    "lower_bound",
    "nest",
    "reuse_distances",
]
