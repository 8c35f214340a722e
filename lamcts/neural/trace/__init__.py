"""Trace a module into the graph of its training step (extra: torch)."""

from typing import TYPE_CHECKING

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.trace.module import STATES, Trace, repeatable_trace, trace
from lamcts.utils.removed import refuses

__all__ = ["STATES", "Trace", "repeatable_trace", "trace"]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
