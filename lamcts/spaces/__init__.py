"""Spaces: what a point is, and how it becomes a vector in the unit cube."""

from lamcts.spaces.base import distance
from lamcts.spaces.box import Box, Float
from lamcts.spaces.discrete import Bool, Choice, Int
from lamcts.spaces.finite import Finite
from lamcts.spaces.keyed import Keyed
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Product, Space
from lamcts.spaces.valid import Valid

__all__ = [
    "Bool",
    "Box",
    "Choice",
    "Finite",
    "Float",
    "Int",
    "Keyed",
    "Parameters",
    "Permutation",
    "Product",
    "Space",
    "Valid",
    "distance",
]
