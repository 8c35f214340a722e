"""Training: one loop, what it is told, and data in memory. Only the loop itself loads torch, when it is called.

data, recipe = train.digits(), train.Recipe(epochs=6)
trained = train.train(net, data, recipe, seed=0, device="cpu", checkpoint="net.npz")
print(trained.valid_accuracy, trained.epochs)
"""

from lamcts.neural.train.data import Data, Part, digits
from lamcts.neural.train.failures import Diverged, OutOfMemory, TrainingFailed
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.neural.train.training import train

__all__ = ["Data", "Diverged", "OutOfMemory", "Part", "Recipe", "Seeds", "TrainingFailed", "digits", "train"]
