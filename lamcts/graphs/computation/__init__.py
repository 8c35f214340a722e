"""Computation graphs of networks: operations with shapes, segments of them, and replacement of segments.

Source: AutoGO (Salameh et al. 2023), sections 3.1 and 3.2. Nothing here imports torch.
"""

from lamcts.graphs.computation.costs import flops, parameters
from lamcts.graphs.computation.graph import ComputationGraph, OperationNode
from lamcts.graphs.computation.kinds import OPERATIONS, OperationKind, output_shape
from lamcts.graphs.computation.predictors import CountsForest, GraphPredictor
from lamcts.graphs.computation.segment import Segment, cut, replace

__all__ = [
    "OPERATIONS",
    "ComputationGraph",
    "CountsForest",
    "GraphPredictor",
    "OperationKind",
    "OperationNode",
    "Segment",
    "cut",
    "flops",
    "output_shape",
    "parameters",
    "replace",
]
