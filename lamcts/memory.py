"""Training within a budget of memory: `lamcts.memory.fit(model, batch, budget="8GiB")` (extra: torch)."""

from lamcts.neural.memory import Machine, apply, measure, measured_machine
from lamcts.searches.memory_fit import Budget, Fitted, fit

__all__ = ["Budget", "Fitted", "Machine", "apply", "fit", "measure", "measured_machine"]
