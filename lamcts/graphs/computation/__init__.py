"""Computation graphs of networks: operations with shapes, segments of them, and replacement of segments.

Source: AutoGO (Salameh et al. 2023), sections 3.1 and 3.2. Nothing here imports torch.
"""

from lamcts.graphs.computation.costs import flops, parameters
from lamcts.graphs.computation.database import VOCABULARY, SegmentDatabase, mine, runs, shipped
from lamcts.graphs.computation.edits import LONGEST, Edit, children
from lamcts.graphs.computation.encoding import PairEncoding
from lamcts.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.graphs.computation.kinds import OPERATIONS, OperationKind, output_shape
from lamcts.graphs.computation.levels import Infeasible
from lamcts.graphs.computation.paths import COSTS, EditPaths
from lamcts.graphs.computation.predictors import CountsForest, GraphPredictor
from lamcts.graphs.computation.resolution import resolve
from lamcts.graphs.computation.scaling import WidthEdit
from lamcts.graphs.computation.segment import Segment, cut, replace

__all__ = [
    "COSTS",
    "LONGEST",
    "OPERATIONS",
    "VOCABULARY",
    "ComputationGraph",
    "CountsForest",
    "Edit",
    "EditPaths",
    "GraphPredictor",
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
