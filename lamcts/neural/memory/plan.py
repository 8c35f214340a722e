"""Memory plans: keep, recompute or offload each movable storage, or each group of them (thesis 8.3)."""

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

from lamcts.neural.graphs import StepGraph


class Action(IntEnum):
    """Treatment of an activation between its last forward use and its backward uses.

    Attributes
    ----------
    KEEP
        Keep it on the device.
    RECOMPUTE
        Recompute it at its first need and keep it until its last (speed-centric strategy).
    OFFLOAD
        Offload it to the host and prefetch it one offloaded storage ahead, as the thesis's checkpoints.
    RECOMPUTE_AGAIN
        As RECOMPUTE, but free it at once if only a recomputation needed it (memory-centric strategy).
    OFFLOAD_AGAIN
        Fetch it on demand, not ahead, and free it in the same way.
    RECOMPUTE_EACH, OFFLOAD_EACH
        As RECOMPUTE_AGAIN and OFFLOAD_AGAIN, but free it after each step that needs it.
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
        """The name in points, such as "recompute-again"."""
        return self.name.lower().replace("_", "-")


WORDS = {action.word: action for action in Action}
RECOMPUTED = frozenset({Action.RECOMPUTE, Action.RECOMPUTE_AGAIN, Action.RECOMPUTE_EACH})
MOVED = frozenset({Action.OFFLOAD, Action.OFFLOAD_AGAIN, Action.OFFLOAD_EACH})


@dataclass(frozen=True)
class Plan:
    """Actions of the movable storages of a graph.

    Parameters
    ----------
    actions : tuple of Action
        One action for each storage of `graph.movable`, in that order.
    frees : bool, default True
        Whether storages are freed after their last use. False is the baseline, which frees and moves nothing.
    name : str, default "plan"
        Name in reports.
    """

    actions: tuple[Action, ...]
    frees: bool = True
    name: str = "plan"

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", tuple(map(Action, self.actions)))
        if not self.frees and any(self.actions):
            raise ValueError("expected a plan that frees nothing to keep everything: pass frees=True")

    def counts(self) -> dict[str, int]:
        """Return the number of storages of each action, by name."""
        found = Counter(self.actions)
        return {action.word: found[action] for action in Action if found[action]}

    def checked(self, graph: StepGraph) -> "Plan":
        """Return the plan; raise ValueError if the number of actions does not match the graph."""
        if len(self.actions) != len(graph.movable):
            raise ValueError(
                f"{self.name}: expected {len(graph.movable)} actions for this graph, got {len(self.actions)}"
            )
        return self


def keep_all(graph: StepGraph, name: str = "liveness") -> Plan:
    """Return the plan that keeps every storage until its last use."""
    return Plan((Action.KEEP,) * len(graph.movable), name=name)


def tensor_groups(graph: StepGraph) -> list[list[int]]:
    """Group the movable storages by the operations that write and read them in the forward pass, and by size."""
    readers: dict[int, list[str]] = {one: [] for one in graph.movable}
    for step in graph.steps[: graph.forward_count]:
        for one in step.reads:
            if one in readers:
                readers[one].append(step.kind)
    found: dict[tuple[object, ...], list[int]] = {}
    for i, one in enumerate(graph.movable):
        makers = tuple(graph.steps[t].kind for t in graph.makers[one])
        found.setdefault((makers, tuple(sorted(readers[one])), graph.storages[one].bytes), []).append(i)
    return [*found.values()]
