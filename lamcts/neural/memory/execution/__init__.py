"""Execution of memory plans in torch (extra: torch)."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.execution.measure import MeasuredStep, held_bytes, measure

__all__ = ["MeasuredStep", "apply", "held_bytes", "measure"]
