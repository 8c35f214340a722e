"""Train a module within a memory budget, in one call. `lamcts.memory` exports the names for users.

with fit(model, batch, budget="8GiB") as fitted: ...
"""

from lamcts.searches.memory_fit.budget import Budget
from lamcts.searches.memory_fit.candidate_plans import KEEPING, greedy, presets, smallest
from lamcts.searches.memory_fit.curve import curve, front
from lamcts.searches.memory_fit.fitted_model import ActionCounts, Chosen, Fitted, action_counts
from lamcts.searches.memory_fit.fitting import UnverifiedPlan, budget_of, fit, traced, within

__all__ = [
    "KEEPING",
    "ActionCounts",
    "Budget",
    "Chosen",
    "Fitted",
    "UnverifiedPlan",
    "action_counts",
    "budget_of",
    "curve",
    "fit",
    "front",
    "greedy",
    "presets",
    "smallest",
    "traced",
    "within",
]
