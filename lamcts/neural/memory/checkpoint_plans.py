"""Activation checkpointing by block (`torch.utils.checkpoint`), as plans for a traced step."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.graph_tables import recomputable
from lamcts.neural.memory.plan import Action, Plan

SMALL = 1 / 16  # largest size of a by-product, relative to an operation's largest result (untuned)


class CheckpointBlock(NamedTuple):
    """Forward steps `begin` to `end`, exclusive, of one module; the name is "" outside modules."""

    name: str
    begin: int
    end: int


def blocks(graph: StepGraph) -> list[CheckpointBlock]:
    """Return the blocks of a traced module in the order in which they run."""
    found: list[CheckpointBlock] = []
    for name, steps in groupby(graph.steps[: graph.forward_count], lambda step: _block(step.name)):
        begin = found[-1].end if found else 0
        found.append(CheckpointBlock(name, begin, begin + len(list(steps))))
    return found


def checkpointing(graph: StepGraph, by_products: bool = False) -> Plan:
    """Return full checkpointing: keep the inputs of each block and recompute the rest."""
    name = "full checkpointing" + (", by-products too" if by_products else "")
    return _checkpointed(graph, _named(graph), name, by_products)


def segmented(graph: StepGraph, segments: int | None = None) -> Plan:
    """Return the plan of `torch.utils.checkpoint.checkpoint_sequential`, whose last segment keeps everything."""
    parts = _named(graph)
    count = segments or max(1, round(math.sqrt(len(parts))))
    size = max(1, len(parts) // count)
    firsts = parts[: size * (count - 1) : size]  # as checkpoint_sequential cuts them
    runs = [first._replace(end=parts[k * size + size - 1].end) for k, first in enumerate(firsts)]
    return _checkpointed(graph, runs, f"{count} segments")


def selective(graph: StepGraph) -> Plan:
    """Return selective checkpointing: keep the inputs of each block and the outputs of expensive operations."""
    plan = _checkpointed(graph, _named(graph), "selective checkpointing")
    expensive = [graph.steps[graph.makers[one][-1]].flops > 0 for one in graph.movable]
    actions = (Action.KEEP if keep else action for keep, action in zip(expensive, plan.actions, strict=True))
    return economical(graph, Plan(tuple(actions), name=plan.name))


def economical(graph: StepGraph, plan: Plan) -> Plan:
    """Return the plan with small by-products kept, such as the mean of a normalisation."""
    actions, number = list(plan.actions), {one: i for i, one in enumerate(graph.movable)}
    for step in graph.steps[: graph.forward_count]:
        largest = max((graph.storages[one].bytes for one in step.writes if one in number), default=0)
        for one in step.writes:
            if one in number and graph.storages[one].bytes <= SMALL * largest:
                actions[number[one]] = Action.KEEP
    return Plan(tuple(actions), name=plan.name)


def starting_plans(graph: StepGraph) -> list[Plan]:
    """Return the checkpointing plans from which searches start; empty for a graph without blocks."""
    made = [make(graph) for make in CHECKPOINT_PLANS.values()] + [checkpointing(graph, by_products=True)]
    return [plan for i, plan in enumerate(made) if any(plan.actions) and plan not in made[:i]]


def _checkpointed(graph: StepGraph, parts: Sequence[CheckpointBlock], name: str, by_products: bool = False) -> Plan:
    """Return the plan that recomputes storages written and used in the forward pass inside one of `parts` only."""
    sources = recomputable(graph)
    part = {t: k for k, block in enumerate(parts) for t in range(block.begin, block.end)}
    used: dict[int, set[int]] = {one: set() for one in graph.movable}
    for t, step in enumerate(graph.steps[: graph.forward_count]):
        for one in used.keys() & {*step.reads, *step.writes}:
            used[one].add(part.get(t, -1))
    inside = [len(used[one]) == 1 and -1 not in used[one] for one in graph.movable]
    actions = (Action.RECOMPUTE if free and mine else Action.KEEP for free, mine in zip(sources, inside, strict=True))
    plan = Plan(tuple(actions), name=name)
    return plan if by_products else economical(graph, plan)


def _named(graph: StepGraph) -> list[CheckpointBlock]:
    return [block for block in blocks(graph) if block.name]


def _block(name: str) -> str:
    *path, _ = name.split(".")
    ends = [k for k, part in enumerate(path) if part.isdigit()]
    return ".".join(path[: ends[0] + 1] if ends else path)


CHECKPOINT_PLANS: dict[str, Callable[[StepGraph], Plan]] = {
    "full checkpointing": checkpointing,
    "sqrt(n) segments": segmented,
    "selective checkpointing": selective,
}
