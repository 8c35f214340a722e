"""Batched training of many small networks, each as if trained alone. Needs torch."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.batched.loop import BatchedResult, StackedNetworks, VmappedNetworks, train

__all__ = ["BatchedResult", "StackedNetworks", "VmappedNetworks", "train"]
