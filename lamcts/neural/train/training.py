"""Public `train`, which loads torch when called."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.errors import MissingExtra
from lamcts.neural.train.data import Data
from lamcts.neural.train.planner import StepPlanner
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.neural.train.task import Task

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
    memory_budget: StepPlanner | None = None,
    task: Task | None = None,
) -> "Trained":
    """Train a network in place. Needs torch.

    On the CPU, equal seeds and thread counts give equal bits, if random layers are those of `lamcts.neural.build`. No
    global generator is used.

    Parameters
    ----------
    net : torch.nn.Module
        From examples [n, ...] to class scores [n, k], or [n, t, k] for texts; or to what the loss of a task takes.
    data : Data
        Training, validation and test data.
    recipe : Recipe
        Training settings.
    seed : int or Seeds, default 0
        One seed, or four for separate uses.
    device : str, default "cpu"
        Device of torch, such as "cuda".
    checkpoint : path, default None
        File written after each epoch. If it exists, the training resumes from it with the same bits on the CPU.
    report : callable, default None
        Called after each epoch; an exception ends the training. After a resume it is called for earlier epochs first.
    memory_budget : lamcts.neural.memory.Budget, default None
        Memory budget, within which training steps are planned. Weights have the same bits on the CPU; a step that fits
        runs without a plan. Data and averaged weights count. Evaluation is by batches of the recipe, not by 512.
    task : Task, default None
        Loss and score of the outputs; None is cross-entropy and accuracy.

    Returns
    -------
    Trained
        The network and its results.

    Raises
    ------
    Diverged
        If the loss is not finite.
    OutOfMemory
        If the device has too little memory, or no plan is within the budget.
    TrainingFailed
        If a training step cannot be planned.
    """
    try:
        from lamcts.neural.train import loop
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra.of("torch", "torch") from None
    how: dict[str, Any] = {"device": device, "checkpoint": checkpoint, "report": report, "memory_budget": memory_budget}
    return loop.train(net, data, recipe, seed=seed, task=task, **how)
