"""Evolution of a user's network: segments of its graph are replaced, and children are trained (AutoGO 2023).

found = fit(model, batch, data, recipe, at_most={"flops": 0.8}, budget=200)
"""

from lamcts.graphs import computation
from lamcts.searches.evolve.fit import fit
from lamcts.searches.evolve.found import Child, Found
from lamcts.searches.evolve.mining import mine
from lamcts.searches.evolve.parents import select
from lamcts.searches.evolve.sampler import Evolve

CountsForest = computation.CountsForest
SegmentDatabase = computation.SegmentDatabase

__all__ = ["Child", "CountsForest", "Evolve", "Found", "SegmentDatabase", "fit", "mine", "select"]
