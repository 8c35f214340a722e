"""Computation graphs without torch: networks as lists of layers, training steps, and their live memory."""

from lamcts.neural.graphs.layers import KINDS, Layer, LayeredNetwork, LayerKind
from lamcts.neural.graphs.liveness import Liveness, baseline_bytes, liveness
from lamcts.neural.graphs.networks import NETWORKS, alexnet, bottlenecks, densenet, fan, resnet
from lamcts.neural.graphs.steps import MB, Step, StepGraph, Storage, Tensor
from lamcts.neural.graphs.thesis import route, thesis_graph

__all__ = [
    "KINDS",
    "MB",
    "NETWORKS",
    "Layer",
    "LayerKind",
    "LayeredNetwork",
    "Liveness",
    "Step",
    "StepGraph",
    "Storage",
    "Tensor",
    "alexnet",
    "baseline_bytes",
    "bottlenecks",
    "densenet",
    "fan",
    "liveness",
    "resnet",
    "route",
    "thesis_graph",
]
