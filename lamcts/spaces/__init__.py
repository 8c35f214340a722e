"""Search spaces: points, and their encoding in the unit cube."""

from lamcts.spaces.angle import Angle
from lamcts.spaces.base import SearchSpace, distance
from lamcts.spaces.box import Box
from lamcts.spaces.canonical import Canonical
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.fidelity import Fidelity
from lamcts.spaces.finite import Finite
from lamcts.spaces.float import Float
from lamcts.spaces.integer import Int
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Space
from lamcts.spaces.simplex import Simplex
from lamcts.spaces.subset import Subset
from lamcts.spaces.valid import Valid

__all__ = [
    "Angle",
    "Bool",
    "Box",
    "Canonical",
    "Choice",
    "Fidelity",
    "Finite",
    "Float",
    "Int",
    "Parameters",
    "Permutation",
    "SearchSpace",
    "Simplex",
    "Space",
    "Subset",
    "Valid",
    "distance",
]
