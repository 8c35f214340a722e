"""Trace a module into the graph of its training step (extra: torch).

traced = trace(model, batch, optimizer="adam")
liveness(traced.graph).peak_bytes + traced.graph.outside_bytes
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.trace.module import STATES, Trace, saved_bytes, trace
from lamcts.neural.trace.repeated import repeatable_trace

__all__ = ["STATES", "Trace", "repeatable_trace", "saved_bytes", "trace"]
