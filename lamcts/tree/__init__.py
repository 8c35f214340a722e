"""The tree of latent actions. Importing it loads numpy only; scikit-learn loads with the first split."""

from lamcts.tree.grow import IncrementalTree, LatentTree
from lamcts.tree.linear import Linear
from lamcts.tree.node import Node, paths, walk
from lamcts.tree.splits import KMeansSvm, Splitter

__all__ = [
    "IncrementalTree",
    "KMeansSvm",
    "LatentTree",
    "Linear",
    "Node",
    "Splitter",
    "paths",
    "walk",
]
