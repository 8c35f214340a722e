"""Train a module within a memory budget, in one call. `lamcts.neural.memory` exports the names for users."""

from lamcts.neural.memory.fitting.budget import Budget
from lamcts.neural.memory.fitting.candidate_plans import KEEPING, curve, front, greedy, presets, smallest
from lamcts.neural.memory.fitting.compiled import CompiledFit, fit_compiled
from lamcts.neural.memory.fitting.fitted_model import ActionCounts, Chosen, Fitted, action_counts
from lamcts.neural.memory.fitting.fitting import budget_of, fit, options_on, traced, within

__all__ = [
    "KEEPING",
    "ActionCounts",
    "Budget",
    "Chosen",
    "CompiledFit",
    "Fitted",
    "action_counts",
    "budget_of",
    "curve",
    "fit",
    "fit_compiled",
    "front",
    "greedy",
    "options_on",
    "presets",
    "smallest",
    "traced",
    "within",
]
