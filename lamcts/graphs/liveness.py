"""Which storages are live at which step, and the peak (thesis 8.3.2).

Letters: S steps, K storages.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lamcts.graphs.steps import StepGraph
from lamcts.types import Rows


@dataclass(frozen=True, eq=False)
class Liveness:
    """When each storage is first written and last used, and what follows.

    first, last [K]: steps, both included; storages that nobody writes have none and are -1.
    """

    graph: StepGraph
    first: Rows
    last: Rows

    def before(self, step: int) -> frozenset[int]:
        """Return the storages that are live when a step begins: its *in* set."""
        return frozenset(np.flatnonzero((self.first < step) & (self.last >= step) & (self.first >= 0)).tolist())

    def after(self, step: int) -> frozenset[int]:
        """Return the storages that are live when a step has ended: its *out* set."""
        return frozenset(np.flatnonzero((self.first <= step) & (self.last > step) & (self.first >= 0)).tolist())

    def during(self, step: int) -> frozenset[int]:
        """Return the storages that are live while a step runs: what it finds, and what it writes."""
        return frozenset(np.flatnonzero((self.first <= step) & (self.last >= step) & (self.first >= 0)).tolist())

    @cached_property
    def live_bytes(self) -> Rows:
        """Bytes that are live while each step runs [S]."""
        return self._summed(np.array([storage.bytes for storage in self.graph.storages], np.int64))

    @cached_property
    def live_count(self) -> Rows:
        """Storages that are live while each step runs [S]."""
        return self._summed(np.ones(len(self.graph.storages), np.int64))

    @property
    def peak_bytes(self) -> int:
        """The most that is live at once."""
        return int(self.live_bytes.max())

    @property
    def peak_step(self) -> int:
        """The first step at which so much is live, counted from 0."""
        return int(self.live_bytes.argmax())

    def _summed(self, amounts: Rows) -> Rows:
        there = self.first >= 0
        change = np.zeros(len(self.graph.steps) + 1, np.int64)
        np.add.at(change, self.first[there], amounts[there])
        np.add.at(change, self.last[there] + 1, -amounts[there])
        return change.cumsum()[:-1]


def liveness(graph: StepGraph) -> Liveness:
    """Return when each storage lives, if it is freed after its last use and nothing is moved or made anew.

    Those outside have no first and no last step.
    """
    first, last = np.full((2, len(graph.storages)), -1, np.int64)
    for t, step in enumerate(graph.steps):
        for one in step.writes:
            first[one] = t if first[one] < 0 else first[one]
        for one in (*step.reads, *step.writes):
            last[one] = t
    outside = np.array([storage.role == "outside" for storage in graph.storages], bool)
    first[outside] = last[outside] = -1
    return Liveness(graph, first, last)


def baseline_bytes(graph: StepGraph) -> int:
    """Return the bytes if every storage has memory of its own for the whole iteration (thesis 8.3, the baseline)."""
    live = liveness(graph)
    return sum(storage.bytes for storage, at in zip(graph.storages, live.first, strict=True) if at >= 0)
