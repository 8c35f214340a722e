"""Training of networks: one loop, recipes, and data in memory or on disk. Torch loads when the loop is called."""

from typing import TYPE_CHECKING, Any

from lamcts.neural.train.data import Data, Part, stored
from lamcts.neural.train.datasets import digits, from_datasets, load
from lamcts.neural.train.distributed import DistributedTransferObjective
from lamcts.neural.train.export import export_network
from lamcts.neural.train.failures import Diverged, OutOfMemory, TrainingFailed
from lamcts.neural.train.model_card import load_network, save_network, trained_network
from lamcts.neural.train.objective import TrainObjective, TransferObjective
from lamcts.neural.train.presets import Preset, preset
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.neural.train.task import Task
from lamcts.utils.removed import refuses

if TYPE_CHECKING:
    from lamcts.neural.train.loop import train as train

__all__ = [
    "Data",
    "DistributedTransferObjective",
    "Diverged",
    "OutOfMemory",
    "Part",
    "Preset",
    "Recipe",
    "Seeds",
    "Task",
    "TrainObjective",
    "TrainingFailed",
    "TransferObjective",
    "digits",
    "export_network",
    "from_datasets",
    "load",
    "load_network",
    "preset",
    "save_network",
    "stored",
    "trained_network",
]


def __getattr__(name: str) -> Any:
    if name != "train":
        refuses(__name__)(name)
    from lamcts.neural import needs_torch  # noqa: F401
    from lamcts.neural.train.loop import train

    return train


def __dir__() -> list[str]:
    return sorted({*globals(), "train"})
