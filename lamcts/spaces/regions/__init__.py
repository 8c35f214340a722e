"""Regions: paths of splits, and uniform sampling inside them.

A tree selects one: `LatentTree().incremental(space, opt.seen).select(rng)`. `draw` samples points
inside, in the unit cube, for any acquisition function.
"""

from lamcts.spaces.regions.fill import fill as draw
from lamcts.spaces.regions.region import Region

__all__ = ["Region", "draw"]
