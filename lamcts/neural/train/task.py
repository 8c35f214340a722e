"""Training tasks other than classification, with a loss and a score of the user. No torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.types import Json

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Task:
    """A loss and a score of outputs, such as of a network that removes noise from images.

    Parameters
    ----------
    loss : callable
        From the outputs of a batch and its targets, tensors [b, ...], to their mean loss, a tensor without axes.
    score : callable, default None
        From the same to their mean score, a number; None is the loss.
    name : str, default "score"
        Name of the score in results, with its unit.
    maximize : bool, default True
        Whether a higher score is better; without one the loss is minimised.

    Examples
    --------
    >>> from lamcts.neural.train import Task
    >>> task = Task(lambda outputs, targets: (outputs - targets).square().mean())
    >>> task.maximizes
    False
    """

    loss: "Callable[[Any, Tensor], Tensor]"
    score: "Callable[[Any, Tensor], Any] | None" = None
    name: str = "score"
    maximize: bool = True

    def __post_init__(self) -> None:
        for what in ("loss", "score"):
            if not callable(given := getattr(self, what)) and not (what == "score" and given is None):
                raise ValueError(f"Task: {what}: expected a function of outputs and targets, got {given!r:.60}")

    @property
    def maximizes(self) -> bool:
        """Whether a higher result is better."""
        return self.maximize and self.score is not None

    def scored(self, outputs: Any, targets: "Tensor", loss: "Tensor") -> float:
        """Return the score of a batch."""
        return float(loss if self.score is None else self.score(outputs, targets))

    def identity(self) -> Json:
        """Return what resumed trainings must share, as JSON values: functions by name, whose code is not compared."""
        names = [getattr(one, "__qualname__", type(one).__qualname__) for one in (self.loss, self.score)]
        return {"loss": names[0], "score": names[1], "name": self.name, "maximize": self.maximizes}
