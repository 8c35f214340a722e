"""State that evaluations share, such as the statistics of visited states in ARS; the journal stores it.

A `StatefulObjective` has no state of its own. Each evaluation gets the state before its start and returns a note. Notes
are merged in the order of tells, so evaluations may run anywhere, and a run resumes exactly.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from lamcts.errors import JournalError
from lamcts.types import Json


class StatefulObjective(Protocol):
    """An objective whose evaluations share a state. Memories are JSON values, never changed in place.

    An objective with a method `pack(memory, point)` sends its result to the evaluation of `point` instead of `memory`.
    The method runs in the process that proposes points, so an evaluation gets the part of a large state that it needs.
    """

    @property
    def memory(self) -> Any:
        """The state before the first evaluation; None for no shared state."""

    def recall(self, point: Any, *, seed: int, memory: Any) -> tuple[float, Any]:
        """Return the value at `point` given `memory`, and a note for `learn`."""

    def learn(self, memory: Any, note: Any) -> Any:
        """Return `memory` with `note` merged in."""


@dataclass
class SharedState:
    """The state after all evaluations so far (`now`), and the state before the best evaluation (`best`)."""

    learner: StatefulObjective
    now: object
    best: object = None

    @classmethod
    def of(cls, f: Any) -> "SharedState | None":
        """Return the state before the first evaluation of `f`; None if `f` is no `StatefulObjective`."""
        if not all(hasattr(f, name) for name in ("memory", "recall", "learn")) or f.memory is None:
            return None
        return cls(f, f.memory)

    def tell(self, note: object, memory: object, is_best: bool) -> None:
        """Merge the note of an evaluation with a memory, the best so far or not."""
        if is_best:
            self.best = memory
        if note is not None:  # the note of a failure is None
            self.now = self.learner.learn(self.now, note)

    def packed(self, point: Any) -> object:
        """Return the packed state for the evaluation of a point, None to send the whole state."""
        pack = getattr(self.learner, "pack", None)
        return None if pack is None else pack(self.now, point)

    def state(self) -> Json:
        return {"now": self.now, "best": self.best}

    def load(self, state: object, path: str) -> None:
        """Restore the state of a journal."""
        if not isinstance(state, dict) or set(state) != {"now", "best"} or state["now"] is None:
            raise JournalError(
                f"expected the journal {path} to hold what evaluations have learned, got none: "
                "its objective was another; start a new journal"
            )
        self.now = state["now"]
        self.best = state["best"]
