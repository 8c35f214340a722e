"""Ask and tell. The loop is in `optimizer.py`."""

from lamcts.optimizer.optimizer import Optimizer
from lamcts.optimizer.records import Best

__all__ = ["Best", "Optimizer"]
