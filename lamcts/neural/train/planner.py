"""What a training within a memory budget needs of a planner, such as `lamcts.neural.memory.Budget`. No torch."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn


class StepPlan(Protocol):
    """A plan of training steps, which follow it inside a `with` block."""

    @property
    def keeps_all(self) -> bool:
        """Whether steps run unchanged."""

    @property
    def peak_bytes(self) -> int:
        """The peak of a step, measured if possible, with parameters, gradients, optimizer state and inputs."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> bool | None: ...


class StepPlanner(Protocol):
    """A memory budget with a way to plan training steps within it."""

    @property
    def budget_bytes(self) -> int:
        """The budget."""

    def plan(
        self,
        model: "nn.Module",
        batch: "Tensor",
        room: int,
        *,
        loss: "Callable[[Any], Tensor]",
        optimizer: Any,
    ) -> StepPlan:
        """Return a plan for a step of at most `room` bytes; ValueError with the reason if there is none."""


def checked(memory: object) -> None:
    """Raise ValueError for a budget that is no planner, such as a text."""
    if memory is not None and not hasattr(memory, "plan"):
        raise ValueError(
            f"memory_budget: expected a planner, got {memory!r:.60}; pass lamcts.neural.memory.Budget({memory!r:.60})"
        )
