"""Memory plans as an objective: from {keep, recompute, offload}^n to peak memory and time."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from lamcts.movement.sizes import size_of
from lamcts.neural.graphs import MB, NETWORKS, StepGraph, thesis_graph
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import MOVED, RECOMPUTED, WORDS, Action, Plan, keep_all
from lamcts.neural.memory.presets import preset
from lamcts.neural.memory.simulator import Cost, Simulator
from lamcts.objectives.base import register
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space

DIGITS = 16  # hexadecimal, of a fingerprint: 64 bits, which no two graphs share by chance
OPTIONS = ("keep", "recompute", "offload")
ALL_OPTIONS = tuple(WORDS)
PEAK, TIME = "peak_mb", "milliseconds"  # MB are 2^20 bytes


@dataclass(frozen=True, eq=False)
class ScheduleObjective:
    """Peak memory and time of a training step by the action of each activation.

    graph: the training step.
    budget: largest peak (None: the peak is an objective too); bytes, or a text such as "8GiB". The peak includes
        `graph.outside_bytes`.
    machine: rates of the simulation (None: `Machine()`).
    options: allowed actions (("keep", "recompute", "offload")); four more end in "-again" and "-each", see `Action`.

    A point is a dict from names of activations to options. Activations without an effect are left out.
    """

    graph: StepGraph
    budget: str | int | float | None = None
    machine: Machine | None = None
    options: tuple[str, ...] = OPTIONS

    name = "memory"
    maximize = False
    optimum = None
    hypervolume = None

    def __post_init__(self) -> None:
        if unknown := [word for word in self.options if word not in WORDS]:
            raise ValueError(f"options: expected some of {', '.join(WORDS)}, got {unknown[0]!r}")
        if "keep" not in self.options:
            raise ValueError(f"options: expected 'keep' among them, got {self.options!r}")
        if not self._decided:
            raise ValueError("expected a graph with activations that a backward step needs, got one without")
        if self.budget is not None:
            size_of(self.budget)

    @cached_property
    def simulator(self) -> Simulator:
        return Simulator(self.graph, self.machine)

    @cached_property
    def space(self) -> Space:
        return Space({name: Choice(self._allowed(i)) for name, i in self._decided.items()})

    @property
    def x0(self) -> dict[str, str]:
        """The plan that keeps everything."""
        return self.point(keep_all(self.graph))

    @property
    def objectives(self) -> dict[str, str]:
        return {TIME: "min"} if self.budget is not None else {PEAK: "min", TIME: "min"}

    @property
    def constraints(self) -> tuple[str, ...]:
        return () if self.budget is None else (f"{PEAK} <= {size_of(self.budget) / MB!r}",)

    @cached_property
    def reference(self) -> Mapping[str, float] | None:
        """The peak of keeping everything, and the slowest time of three plans: keep, memory-centric, offload all."""
        if self.budget is not None:
            return None
        everything = [Action.OFFLOAD] * len(self.graph.movable)
        plans = (keep_all(self.graph).actions, self.nearest(preset("memory", self.graph)).actions, everything)
        costs = [self.measured(self.simulator.cost(actions)) for actions in plans]
        return {PEAK: costs[0][PEAK], TIME: max(cost[TIME] for cost in costs)}

    def __call__(self, point: Mapping[str, str], *, seed: int | None = None) -> dict[str, float]:
        """Return peak and time at `point`. The simulator is deterministic: `seed` has no effect."""
        return self.measured(self.simulator.cost(self.plan(point).actions))

    def cost(self, point: Mapping[str, str]) -> dict[str, float]:
        """Return peak and time at `point`, also where the budget makes the peak a constraint."""
        return self(point)

    def measured(self, cost: Cost) -> dict[str, float]:
        """Return a cost as a dict of objectives."""
        return {PEAK: (cost.peak_bytes + self.graph.outside_bytes) / MB, TIME: 1e3 * cost.seconds}

    def plan(self, point: Mapping[str, str]) -> Plan:
        """Return the plan of a point; storages that it does not name are kept."""
        actions = [Action.KEEP] * len(self.graph.movable)
        for name, i in self._decided.items():
            actions[i] = WORDS[point[name]]
        return Plan(tuple(actions), name="searched")

    def point(self, plan: Plan) -> dict[str, str]:
        """Return the point of a plan."""
        plan.checked(self.graph)
        for name, i in self._decided.items():
            if plan.actions[i].word not in self._allowed(i):
                raise ValueError(f"{name}: expected one of {', '.join(self.options)}, got {plan.actions[i].word!r}")
        return {name: plan.actions[i].word for name, i in self._decided.items()}

    def starts(self) -> list[dict[str, str]]:
        """Return points of the thesis's plans, adapted to the options, and of offloading everything."""
        words = ("liveness", "offload", "speed", "memory", "cost-aware")
        plans = [self.nearest(preset(word, self.graph)) for word in words]
        points = [self.point(plan) for plan in plans]
        if "offload" in self.options:
            points.append(dict.fromkeys(self._decided, "offload"))
        return [point for i, point in enumerate(points) if point not in points[:i]]

    def nearest(self, plan: Plan) -> Plan:
        """Return the plan with each action replaced by the nearest allowed one."""
        actions = []
        for i, action in enumerate(plan.actions):
            alike = sorted(RECOMPUTED if action in RECOMPUTED else MOVED if action in MOVED else {Action.KEEP})
            choices = [action, *(one for one in reversed(alike) if one < action), Action.KEEP]
            actions.append(next(one for one in choices if one.word in self._allowed(i)))
        return Plan(tuple(actions), name=plan.name)

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that a resumed run must share, as JSON values."""
        told = repr((self.graph.steps, self.graph.storages, self.graph.outside_bytes))
        content = hashlib.sha256(told.encode()).hexdigest()[:DIGITS]
        machine = asdict(self.simulator.machine)
        budget = {"options": list(self.options), "budget": list(self.constraints)}
        return {"graph": content, "machine": machine, **budget}

    @cached_property
    def _decided(self) -> dict[str, int]:
        """Activations with an effect, by name: those needed by the backward pass or by a recomputation."""
        tables = self.simulator.tables
        matters = [need >= 0 for need in tables.last_need]
        for i in range(len(matters) - 1, -1, -1):
            if matters[i]:
                for source in tables.inputs[i]:
                    matters[source] = True
        return {self.graph.storages[one].name: i for i, one in enumerate(self.graph.movable) if matters[i]}

    def _allowed(self, i: int) -> tuple[str, ...]:
        if self.simulator.tables.recomputable[i]:
            return self.options
        return tuple(word for word in self.options if WORDS[word] not in RECOMPUTED)


@register("memory", "peak memory and time of a training step, by what is kept, recomputed or offloaded")
def memory(
    network: str = "alexnet", images: int = 200, within: str | None = None, again: bool = False
) -> ScheduleObjective:
    """Return the memory plans of a training step of a network of the thesis, as an objective.

    network: "alexnet", "resnet", "densenet" or "fan" ("alexnet").
    images: batch size (200).
    within: largest peak, such as "8GiB" (None: the peak is an objective too).
    again: whether an activation may be recomputed or fetched more than once (False).
    """
    if network not in NETWORKS:
        raise ValueError(f"network: expected one of {', '.join(NETWORKS)}, got {network!r}")
    graph = thesis_graph(NETWORKS[network](batch=images))
    return ScheduleObjective(graph, within, options=ALL_OPTIONS if again else OPTIONS)
