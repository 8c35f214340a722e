"""Evolution of a user's network: segments of its graph are replaced, and children are trained (AutoGO 2023)."""

from lamcts.neural.evolve.search.fit import fit, mine
from lamcts.neural.evolve.search.found import Child, Found
from lamcts.neural.evolve.search.sampler import Evolve, select
from lamcts.neural.graphs import computation

SegmentDatabase = computation.SegmentDatabase

__all__ = ["Child", "Evolve", "Found", "SegmentDatabase", "fit", "mine", "select"]
