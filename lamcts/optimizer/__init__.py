"""Ask and tell. The loop is in `optimizer.py`."""

from lamcts.optimizer.optimizer import Best, Optimizer

__all__ = ["Best", "Optimizer"]
