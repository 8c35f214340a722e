"""Plans: of each movable storage, whether it is kept, made anew, or sent to the host (thesis 8.3)."""

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

from lamcts.graphs import StepGraph


class Action(IntEnum):
    """What becomes of an activation between its last forward use and the backward steps that need it.

    KEEP: it stays. RECOMPUTE: it is made anew when first needed, and stays until it is not needed any more, as in the
    speed-centric strategy. OFFLOAD: it goes to the host, and comes back one such storage ahead of its first need, as
    the thesis's checkpoints do. RECOMPUTE_AGAIN: as RECOMPUTE, but where only another storage is made of it, it is
    dropped at once, as in the memory-centric strategy. OFFLOAD_AGAIN: it comes back when needed, not ahead, and is
    dropped in the same way. RECOMPUTE_EACH and OFFLOAD_EACH: as these, and dropped after each step that needs it.
    """

    KEEP = 0
    RECOMPUTE = 1
    OFFLOAD = 2
    RECOMPUTE_AGAIN = 3
    OFFLOAD_AGAIN = 4
    RECOMPUTE_EACH = 5
    OFFLOAD_EACH = 6

    @property
    def word(self) -> str:
        """As it is written in points: "recompute-again"."""
        return self.name.lower().replace("_", "-")


WORDS = {action.word: action for action in Action}
RECOMPUTED = frozenset({Action.RECOMPUTE, Action.RECOMPUTE_AGAIN, Action.RECOMPUTE_EACH})
MOVED = frozenset({Action.OFFLOAD, Action.OFFLOAD_AGAIN, Action.OFFLOAD_EACH})


@dataclass(frozen=True)
class Plan:
    """What becomes of each storage of `graph.movable`, in that order.

    actions: one a storage.
    frees: whether storages are freed after their last use (True); else nothing ever is, nor moved: the baseline.
    name: what it is called ("plan").
    """

    actions: tuple[Action, ...]
    frees: bool = True
    name: str = "plan"

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", tuple(map(Action, self.actions)))
        if not self.frees and any(self.actions):
            raise ValueError("expected a plan that frees nothing to keep everything: pass frees=True")

    def counts(self) -> dict[str, int]:
        """Return how many storages each action has, by its word."""
        found = Counter(self.actions)
        return {action.word: found[action] for action in Action if found[action]}

    def checked(self, graph: StepGraph) -> "Plan":
        """Return the plan; ValueError if it has another number of actions than `graph` has movable storages."""
        if len(self.actions) != len(graph.movable):
            raise ValueError(
                f"{self.name}: expected {len(graph.movable)} actions for this graph, got {len(self.actions)}"
            )
        return self


def keep_all(graph: StepGraph, name: str = "liveness") -> Plan:
    """Return the plan that keeps every storage until its last use."""
    return Plan((Action.KEEP,) * len(graph.movable), name=name)
