"""A module trained within a budget of memory, in one call. `lamcts.memory` has the names for users.

with fit(model, batch, budget="8GiB") as fitted: ...
"""

from lamcts.searches.memory_fit.candidate_plans import KEEPING, greedy, presets, smallest
from lamcts.searches.memory_fit.curve import curve, front
from lamcts.searches.memory_fit.fitted_model import Chosen, Fates, Fitted, fates
from lamcts.searches.memory_fit.fitting import budget_of, fit, traced, within

__all__ = [
    "KEEPING",
    "Chosen",
    "Fates",
    "Fitted",
    "budget_of",
    "curve",
    "fates",
    "fit",
    "front",
    "greedy",
    "presets",
    "smallest",
    "traced",
    "within",
]
