"""Costs of programs by formula: loop nests, and the data movement that no schedule can avoid.

nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=320)
"""

from lamcts.costs.affine import Affine
from lamcts.costs.nest import Access, Block, Loop, Nest, Statement
from lamcts.costs.parser import nest

__all__ = ["Access", "Affine", "Block", "Loop", "Nest", "Statement", "nest"]
