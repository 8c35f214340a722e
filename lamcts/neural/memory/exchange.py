"""Local search on plans by simulated annealing: change an action, swap two, set several, or copy a layer."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.greedy import never
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan, tensor_groups
from lamcts.neural.memory.simulator import Simulator

HEAT = 1e-3  # initial temperature, relative to the time of a training step
COOLED = 1e-3  # final temperature, relative to the initial one
NEAR = 8  # largest distance of half of the swaps, in places
STRETCH = 6  # most consecutive storages that get the same action
# HEAT, COOLED, NEAR and STRETCH were tuned by hand on ResNet-50 and a transformer of 24 layers, at 2,000 evaluations.


class Score(NamedTuple):
    """Quality of a plan, lower is better: bytes above the budget, summed over steps, then seconds."""

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
    over: Callable[[], bool] = never,
) -> Plan:
    """Improve a plan within a memory budget by simulated annealing.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    plan : Plan
        Initial plan.
    budget_bytes : int
        Largest peak in bytes, without `graph.outside_bytes`.
    evaluations : int
        Number of simulated plans.
    seed : int, default 0
        Seed of the search.
    machine : Machine, default Machine()
        Rates of the simulation.
    actions : sequence of Action, default all
        Allowed actions.
    over : callable, default never
        Returns whether the time limit has passed; the best plan so far is then returned.
    """
    search = _Exchange(Simulator(graph, machine), budget_bytes, [*actions], np.random.default_rng(seed))
    best = search.run(bytes(plan.checked(graph).actions), evaluations, over)
    return Plan(tuple(map(Action, best)), name="exchanged")


def score(simulator: Simulator, actions: Sequence[int], budget_bytes: int) -> Score:
    """Score a plan for a budget; lower scores are better."""
    return Score(*simulator.excess(actions, budget_bytes))


class _Exchange:
    """One annealing run."""

    def __init__(self, simulator: Simulator, budget: int, actions: list[Action], rng: np.random.Generator) -> None:
        self.simulator, self.budget, self.rng = simulator, budget, rng
        tables = simulator.tables
        fixed = [one for one in actions if one not in RECOMPUTED]
        self.options = [actions if free else fixed for free in tables.recomputable]
        self.groups = [group for group in tensor_groups(tables.graph) if len(group) > 1]

    def run(self, now: bytes, evaluations: int, over: Callable[[], bool]) -> bytes:
        value = best_value = score(self.simulator, now, self.budget)
        best, heat = now, HEAT * value.seconds
        for k in range(evaluations):
            if over():
                break
            tried = self._neighbour(now)
            new = score(self.simulator, tried, self.budget)
            if self._accepts(value, new, heat * COOLED ** (k / evaluations)):
                now, value = tried, new
            if new < best_value:
                best, best_value = tried, new
        return best

    def _accepts(self, old: Score, new: Score, heat: float) -> bool:
        if new <= old or new.excess > old.excess:
            return new <= old
        return self.rng.random() < math.exp((old.seconds - new.seconds) / heat)

    def _neighbour(self, now: bytes) -> bytes:
        """Return a different plan by one of five random moves."""
        tried, count = bytearray(now), len(now)
        while tried == now:
            kind, i = self.rng.integers(5 if self.groups else 3), int(self.rng.integers(count))
            if kind == 0:
                self._set(tried, [i])
            elif kind == 1:
                self._swap(tried, i)
            elif kind == 2:
                self._set(tried, range(i, min(count, i + int(self.rng.integers(2, STRETCH + 1)))))
            else:
                group = self.groups[self.rng.integers(len(self.groups))]
                self._share(tried, group) if kind == 3 else self._copy(tried, group)
        return bytes(tried)

    def _share(self, tried: bytearray, group: list[int]) -> None:
        """Set one action for consecutive storages of a tensor group."""
        low, high = sorted(self.rng.integers(len(group) + 1, size=2))
        self._set(tried, group[low:high])

    def _copy(self, tried: bytearray, group: list[int]) -> None:
        """Copy the actions after one storage of a group to another place: one layer copies another."""
        source, target = (group[k] for k in self.rng.choice(len(group), 2, replace=False))
        width = min(abs(source - target), len(tried) - max(source, target))
        for k in range(int(self.rng.integers(1, width + 1))):
            if tried[source + k] in self.options[target + k]:
                tried[target + k] = tried[source + k]

    def _set(self, tried: bytearray, some: Sequence[int]) -> None:
        """Set one action for storages that allow it."""
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
