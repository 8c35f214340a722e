"""Costs of loop nests and network cells by formula: exact cache misses, and the data movement that no schedule avoids.

Capacities are words of `element_bytes`, 8 by default; line sizes are bytes.
"""

from typing import TYPE_CHECKING

from lamcts.movement.costs import kernels
from lamcts.movement.costs.bounds import LowerBound, lower_bound
from lamcts.movement.costs.cell_io import cell_io
from lamcts.movement.costs.nest import Nest, nest
from lamcts.movement.costs.reuse import ReuseDistances, dmd, reuse_distances
from lamcts.movement.costs.tiling import Tiling, resident_tiling
from lamcts.movement.sizes import words
from lamcts.utils.removed import refuses

__all__ = [
    "LowerBound",
    "Nest",
    "ReuseDistances",
    "Tiling",
    "cell_io",
    "dmd",
    "kernels",
    "lower_bound",
    "nest",
    "resident_tiling",
    "reuse_distances",
    "words",
]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
