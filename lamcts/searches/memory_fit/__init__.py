"""A module trained within a budget of memory, in one call. `lamcts.memory` has the names for users.

with fit(model, batch, budget="8GiB") as fitted: ...
"""

from lamcts.searches.memory_fit.call import fit, within
from lamcts.searches.memory_fit.fitted import Chosen, Fates, Fitted, fates
from lamcts.searches.memory_fit.known import greedy, presets, smallest

__all__ = ["Chosen", "Fates", "Fitted", "fates", "fit", "greedy", "presets", "smallest", "within"]
