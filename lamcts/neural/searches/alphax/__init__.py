"""AlphaX: tree search over actions that build an architecture (thesis ch. 3)."""

from lamcts.neural.searches.alphax.actions import Actions, Assign, Game
from lamcts.neural.searches.alphax.cells import BuildCells, BuiltCell
from lamcts.neural.searches.alphax.sampler import AlphaX
from lamcts.neural.searches.surrogate import Ridge

__all__ = ["Actions", "AlphaX", "Assign", "BuildCells", "BuiltCell", "Game", "Ridge"]
