"""Networks of users as computation graphs: reading a module, and building its mutations."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.read import ReadModel, read

__all__ = ["GraphNetwork", "ReadModel", "read"]
