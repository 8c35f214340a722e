"""Batched training of many small networks, each as if trained alone. Needs torch.

nets = [build(nas.Digits4096(), point, channels=1, widths=(8,), cells=1, seed=seed) for seed in range(3)]
batched.train(nets, digits(), Recipe(epochs=12), seeds=range(3)).valid_accuracy  # [3]
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.batched.loop import BatchedResult, train
from lamcts.neural.batched.stacked import StackedNetworks, VmappedNetworks

__all__ = ["BatchedResult", "StackedNetworks", "VmappedNetworks", "train"]
