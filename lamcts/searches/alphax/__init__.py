"""AlphaX: tree search over actions that build an architecture (thesis ch. 3).

optimizer = lamcts.Optimizer(space, sampler=alphax.AlphaX(), tree=None)
"""

from lamcts.searches.alphax.actions import Actions, Assign, Game
from lamcts.searches.alphax.cells import BuildCells, BuiltCell
from lamcts.searches.alphax.sampler import AlphaX
from lamcts.searches.surrogate import Ridge

__all__ = ["Actions", "AlphaX", "Assign", "BuildCells", "BuiltCell", "Game", "Ridge"]
