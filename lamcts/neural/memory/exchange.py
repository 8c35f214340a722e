"""Local search on plans: a storage changes, two swap what they do, several do the same, a layer does as another.

What one storage frees another may keep: under a budget that is a step that changes of one storage cannot take.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamcts.graphs import StepGraph
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.memory.tensor_groups import tensor_groups

HEAT = 1e-3  # of the time of a training step: how much slower a plan may be that is taken now and then, at first
COOLED = 1e-3  # the heat at the end, of that at the beginning
NEAR = 8  # half of the swaps are with a storage so many places away at most
STRETCH = 6  # storages in a row that get the same action, at most
# HEAT, COOLED, NEAR and STRETCH were tuned by hand on ResNet-50 and a transformer of 24 layers, at 2,000 evaluations.


class Score(NamedTuple):
    """How good a plan is, less is better: bytes above the budget, summed over the steps, then seconds."""

    excess: int
    seconds: float


def exchange(
    graph: StepGraph,
    plan: Plan,
    budget_bytes: int,
    evaluations: int,
    *,
    seed: int = 0,
    machine: Machine | None = None,
    actions: Sequence[Action] = tuple(Action),
) -> Plan:
    """Return the fastest plan found within a budget, `graph.outside_bytes` left out, from `plan` on.

    Simulated annealing that simulates `evaluations` plans; one above the budget is only left for one that is less so.
    Where none within the budget was found, the plan is the one nearest to it. actions: what it may use.
    """
    search = _Exchange(Simulator(graph, machine), budget_bytes, [*actions], np.random.default_rng(seed))
    return Plan(tuple(map(Action, search.run(bytes(plan.checked(graph).actions), evaluations))), name="exchanged")


def score(simulator: Simulator, actions: Sequence[int], budget_bytes: int) -> Score:
    """Return how good a plan is within a budget."""
    price = simulator.plan_cost(actions)
    return Score(int(np.maximum(price.live - budget_bytes, 0).sum()), price.seconds)


class _Exchange:
    """One search: what it may change, and at random."""

    def __init__(self, simulator: Simulator, budget: int, actions: list[Action], rng: np.random.Generator) -> None:
        self.simulator, self.budget, self.rng = simulator, budget, rng
        tables = simulator.tables
        fixed = [one for one in actions if one not in RECOMPUTED]
        self.options = [actions if free else fixed for free in tables.recomputable]
        self.roles = [role for role in tensor_groups(tables.graph) if len(role) > 1]

    def run(self, now: bytes, evaluations: int) -> bytes:
        value = best_value = score(self.simulator, now, self.budget)
        best, heat = now, HEAT * value.seconds
        for k in range(evaluations):
            tried = self._moved(now)
            new = score(self.simulator, tried, self.budget)
            if self._taken(value, new, heat * COOLED ** (k / evaluations)):
                now, value = tried, new
            if new < best_value:
                best, best_value = tried, new
        return best

    def _taken(self, old: Score, new: Score, heat: float) -> bool:
        if new <= old or new.excess > old.excess:
            return new <= old
        return self.rng.random() < math.exp((old.seconds - new.seconds) / heat)

    def _moved(self, now: bytes) -> bytes:
        """Return another plan, by one of five moves; one that changes nothing is drawn again."""
        tried, count = bytearray(now), len(now)
        while tried == now:
            kind, i = self.rng.integers(5 if self.roles else 3), int(self.rng.integers(count))
            if kind == 0:
                self._set(tried, [i])
            elif kind == 1:
                self._swap(tried, i)
            elif kind == 2:
                self._set(tried, range(i, min(count, i + int(self.rng.integers(2, STRETCH + 1)))))
            else:
                role = self.roles[self.rng.integers(len(self.roles))]
                self._share(tried, role) if kind == 3 else self._copy(tried, role)
        return bytes(tried)

    def _share(self, tried: bytearray, role: list[int]) -> None:
        """Give some in a row of a role one action."""
        low, high = sorted(self.rng.integers(len(role) + 1, size=2))
        self._set(tried, role[low:high])

    def _copy(self, tried: bytearray, role: list[int]) -> None:
        """Let what follows one of a role do as what follows another: a layer does as another layer."""
        source, target = (role[k] for k in self.rng.choice(len(role), 2, replace=False))
        width = min(abs(source - target), len(tried) - max(source, target))
        for k in range(int(self.rng.integers(1, width + 1))):
            if tried[source + k] in self.options[target + k]:
                tried[target + k] = tried[source + k]

    def _set(self, tried: bytearray, some: Sequence[int]) -> None:
        """Give some storages one action, as far as they may have it."""
        if some:
            choices = self.options[some[0]]
            action = choices[self.rng.integers(len(choices))]
            for i in some:
                if action in self.options[i]:
                    tried[i] = action

    def _swap(self, tried: bytearray, i: int) -> None:
        count = len(tried)
        far = self.rng.random() < 0.5
        j = (
            int(self.rng.integers(count))
            if far
            else min(count - 1, max(0, i + int(self.rng.integers(-NEAR, NEAR + 1))))
        )
        if tried[j] in self.options[i] and tried[i] in self.options[j]:
            tried[i], tried[j] = tried[j], tried[i]
