"""Trace a module into the graph of its training step (extra: torch)."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.trace.module import STATES, Trace, saved_bytes, trace
from lamcts.neural.trace.repeated import repeatable_trace

__all__ = ["STATES", "Trace", "repeatable_trace", "saved_bytes", "trace"]
