"""Regions: paths of splits, and ways to draw points inside them.

`Optimizer.region()` is the one that is searched next (with `tree=LatentTree()`: the default's own chooses nothing);
`draw(region, n, rng, optimizer.seen).x` are points inside, [n, d] in the unit cube, for an acquisition function of
anybody's.
"""

from lamcts.regions.fill import fill as draw
from lamcts.regions.region import Region

__all__ = ["Region", "draw"]
