"""Regions: paths of splits, and uniform sampling inside them.

`Optimizer.region()` returns the region that is searched next, with a tree that selects regions. `draw` samples points
inside, in the unit cube, for any acquisition function.
"""

from lamcts.spaces.regions.fill import fill as draw
from lamcts.spaces.regions.region import Region

__all__ = ["Region", "draw"]
