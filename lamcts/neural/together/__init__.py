"""Many small networks trained at once, each as if it were alone. Needs torch.

nets = [build(nas.Digits4096(), point, channels=1, widths=(8,), cells=1, seed=seed) for seed in range(3)]
together.train(nets, digits(), Recipe(epochs=12), seeds=range(3)).valid_accuracy  # [3]
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.together.grouped import Grouped
from lamcts.neural.together.loop import Together, train
from lamcts.neural.together.mapped import Mapped

__all__ = ["Grouped", "Mapped", "Together", "train"]
