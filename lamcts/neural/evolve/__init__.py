"""Networks of users as computation graphs: reading a module, and building its mutations.

parent = read(model, batch)
net = GraphNetwork(parent.graph, parent)
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.networks import EvolvedNetworks
from lamcts.neural.evolve.read import ReadModel, UnreadableModel, read

__all__ = ["EvolvedNetworks", "GraphNetwork", "ReadModel", "UnreadableModel", "read"]
