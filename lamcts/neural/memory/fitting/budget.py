"""Memory budgets for trainings: each network of a search is planned within one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.neural.memory.fitting.fitted_model import Fitted
from lamcts.neural.memory.fitting.fitting import budget_of, fit
from lamcts.neural.memory.machine import Machine

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Budget:
    """A memory budget for trainings, the argument `memory_budget` of `TrainObjective` and `train`.

    Parameters
    ----------
    size : int or str
        Bytes, or a text such as "8GiB", for all of a training on its device: data, parameters, averaged weights,
        gradients, optimizer state and activations.
    exchanges : int, default 0
        Plans of the local search for a faster plan of each network; 0 takes the best preset or greedy plan.
    seed : int, default 0
        Seed of the search.
    machine : Machine, default None
        Rates and host times of the simulation (None: measured where steps are, else those of `Machine()`).
    verify : bool, default True
        Whether a step of each plan is measured. A plan whose measured step exceeds the budget is a failed evaluation.

    Notes
    -----
    A network whose step fits is trained without a plan. Else each form of a step has a plan: the batch sizes of an
    epoch differ by one, dropped paths begin in the second epoch, and mixed labels change the loss.
    """

    size: int | str
    exchanges: int = 0
    seed: int = 0
    machine: Machine | None = None
    verify: bool = True

    def __post_init__(self) -> None:
        budget_of(self.size)

    @property
    def budget_bytes(self) -> int:
        """The size in bytes."""
        return budget_of(self.size)

    def plan(
        self,
        model: "nn.Module",
        batch: "Tensor",
        room: int,
        *,
        loss: "Callable[[Any], Tensor]",
        optimizer: Any,
    ) -> Fitted:
        """Return the plan of a training step of at most `room` bytes; ValueError with the reason if there is none."""
        how = {"exchanges": self.exchanges, "seed": self.seed, "machine": self.machine, "verify": self.verify}
        return fit(model, batch, room, loss=loss, optimizer=optimizer, **how)  # type: ignore[arg-type]
