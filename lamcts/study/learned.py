"""What evaluations teach each other: kept beside the search, merged in the order of tells, journalled with them.

An objective whose evaluations learn something that later ones use, such as the statistics of the states that policies
visit (ARS), is a `Learner`. It keeps nothing itself: each evaluation is given what was learned before it started and
returns what it has seen, so that evaluations may run anywhere and a run that was stopped goes on with the same.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from lamcts.errors import JournalError


class Learner(Protocol):
    """An objective that learns. Memories and notes are JSON values, never changed in place."""

    @property
    def memory(self) -> Any:
        """What the first evaluation is given; None: this one does not learn after all."""

    def recall(self, point: Any, *, seed: int, memory: Any) -> tuple[float, Any]:
        """Return the value at `point` by the light of `memory`, and a note of what was seen."""

    def learn(self, memory: Any, note: Any) -> Any:
        """Return `memory` with `note` merged in."""


@dataclass
class Memory:
    """What was learned so far (`now`), and what the best evaluation was given (`best`)."""

    learner: Learner
    now: Any
    best: Any = None

    @classmethod
    def of(cls, f: Any) -> "Memory | None":
        """Return the memory before the first evaluation of `f`, or None where `f` is no learner."""
        if not all(hasattr(f, name) for name in ("memory", "recall", "learn")) or f.memory is None:
            return None
        return cls(f, f.memory)

    def told(self, note: Any, given: Any, leads: bool) -> None:
        """Take in the note of an evaluation that was `given` a memory; `leads`: it is the best so far."""
        if leads:
            self.best = given
        if note is not None:  # None: it failed
            self.now = self.learner.learn(self.now, note)

    def state(self) -> dict[str, Any]:
        return {"now": self.now, "best": self.best}

    def load(self, state: Any, path: str) -> None:
        """Go on from what a journal holds."""
        if not isinstance(state, dict) or set(state) != {"now", "best"} or state["now"] is None:
            raise JournalError(
                f"expected the journal {path} to hold what evaluations have learned, got none: "
                "its objective was another; start a new journal"
            )
        self.now, self.best = state["now"], state["best"]
