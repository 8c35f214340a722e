"""Networks of users as computation graphs: reading a module, and building its mutations."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.found import Child, Found
from lamcts.neural.evolve.inputs import check_device, check_model, data_of, examples_of, model_of
from lamcts.neural.evolve.objective import COSTS, Evolution, EvolvedNetworks
from lamcts.neural.evolve.read import ReadModel, UnreadableModel, read
from lamcts.neural.evolve.sampler import Evolve, select
from lamcts.neural.evolve.search import fit, mine
from lamcts.neural.evolve.source import save_source
from lamcts.neural.graphs.computation import SegmentDatabase

__all__ = ["COSTS", "Evolution", "EvolvedNetworks", "GraphNetwork", "ReadModel", "UnreadableModel", "read"]
__all__ += ["check_device", "check_model", "data_of", "examples_of"]
__all__ += ["Child", "Evolve", "Found", "SegmentDatabase", "fit", "mine", "model_of", "save_source"]
__all__ += ["select"]
