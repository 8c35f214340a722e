"""AlphaX: tree search over the actions that build an architecture (thesis ch. 3).

optimizer = lamcts.Optimizer(space, sampler=alphax.AlphaX(), tree=None)
"""

from lamcts.searches.alphax.actions import Actions, Assign, Game
from lamcts.searches.alphax.cells import BuildCells, Cell
from lamcts.searches.alphax.ridge import Ridge
from lamcts.searches.alphax.sampler import AlphaX

__all__ = ["Actions", "AlphaX", "Assign", "BuildCells", "Cell", "Game", "Ridge"]
