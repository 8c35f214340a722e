"""Computation graphs of networks: operations with shapes, segments of them, and replacement of segments.

Source: AutoGO (Salameh et al. 2023), sections 3.1 and 3.2. Nothing here imports torch.
"""

from lamcts.neural.graphs.computation.database import VOCABULARY, SegmentDatabase, mine, runs, shipped
from lamcts.neural.graphs.computation.edits import LONGEST, Edit, children, resolve
from lamcts.neural.graphs.computation.encoding import PairEncoding
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode, flops, parameters
from lamcts.neural.graphs.computation.kinds import OPERATIONS, OperationKind, output_shape
from lamcts.neural.graphs.computation.levels import Infeasible
from lamcts.neural.graphs.computation.paths import COSTS, EditPaths, WidthEdit
from lamcts.neural.graphs.computation.segment import Segment, cut, replace

__all__ = [
    "COSTS",
    "LONGEST",
    "OPERATIONS",
    "VOCABULARY",
    "ComputationGraph",
    "Edit",
    "EditPaths",
    "Infeasible",
    "OperationKind",
    "OperationNode",
    "PairEncoding",
    "Segment",
    "SegmentDatabase",
    "WidthEdit",
    "children",
    "cut",
    "flops",
    "mine",
    "output_shape",
    "parameters",
    "replace",
    "resolve",
    "runs",
    "shipped",
]
