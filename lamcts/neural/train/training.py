"""`train` under a name that needs no torch until it is called."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lamcts.errors import MissingExtra
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.train.loop import Epoch, Trained


def train(
    net: "nn.Module",
    data: Data,
    recipe: Recipe,
    *,
    seed: int | Seeds = 0,
    device: str = "cpu",
    checkpoint: Path | str | None = None,
    report: "Callable[[Epoch], None] | None" = None,
) -> "Trained":
    """Train a network, which is changed, and return what came of it. Needs torch.

    The same seed gives the same result on CPU, to the bit, with as many threads, if what the network draws it draws by
    modules of `lamcts.neural.build` alone; no global generator is touched.

    net: gives classes' scores [n, k] for examples [n, ...], or [n, t, k] for texts.
    seed: of everything that is drawn (0), or `Seeds`, one for each use.
    device: "cpu", "cuda" or another of torch's ("cpu").
    checkpoint: a file that holds the training after each epoch (None: none); where it is there, the training goes on
        from it, to the same result to the bit on CPU.
    report: called after each epoch (None: nobody is), and may end the training by an exception; of a training that
        goes on, it hears of the earlier epochs first.

    `Diverged` where the loss is no number any more, `OutOfMemory` where the device has too little.
    """
    try:
        from lamcts.neural.train import loop
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra.of("torch", "torch") from None
    return loop.train(net, data, recipe, seed=seed, device=device, checkpoint=checkpoint, report=report)
