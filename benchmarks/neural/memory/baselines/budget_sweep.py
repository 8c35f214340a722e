"""Plans and step graphs of `torch.compile`'s partitioner under `activation_memory_budget` from 1 to 0."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.neural.memory.baselines.alignment import storages
from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.graph_tables import graph_tables
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.partitioner import Partition, partitions
from lamcts.neural.memory.plan import Action, Plan
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.trace.recorder import Recorder


@dataclass(frozen=True, eq=False)
class BudgetPlan:
    """The result of the partitioner for one budget.

    plan: for the traced step: saved tensors are kept, the others recomputed. saved_bytes: of the saved tensors, each
    storage once, without parameters, buffers and inputs. kept_bytes: of the storages that `plan` keeps for the
    backward pass. unmatched_bytes: the part of `saved_bytes` whose tensors have no storage in the traced step.
    compiled: the step graph of the partitioner's two graphs.
    """

    budget: float
    plan: Plan
    saved_bytes: int
    kept_bytes: int
    unmatched_bytes: int
    compiled: StepGraph


def budget_sweep(
    module: nn.Module,
    batch: Any,
    graph: StepGraph,
    budgets: Sequence[float],
    *,
    loss: Callable[[Any], Tensor] | None = None,
) -> list[BudgetPlan]:
    """Return what `torch.compile(module, backend="aot_eager")` saves and recomputes under each of `budgets`.

    graph: of the same module, batch and loss, see `trace`. Raises RuntimeError where torch lacks a private function
    that this needs.
    """
    return [_swept(graph, partition) for partition in partitions(module, batch, budgets, loss=loss)]


def partition_graph(partition: Partition, outside_bytes: int = 0) -> StepGraph:
    """Return the step graph of the two graphs, forward then backward, run on fake tensors.

    No plan applies to it: recomputations are backward steps. `liveness` gives its peak.
    """
    recorder = Recorder(list(partition.given) + list(partition.tangents))
    with partition.fake, torch.no_grad(), recorder:
        results = partition.forward(*partition.given)
        recorder.forward = False
        saved = dict(zip(_saved_names(partition), results[partition.outputs :], strict=True))
        tangents = iter(partition.tangents)
        asked = [node.name for node in partition.backward.graph.nodes if node.op == "placeholder"]
        gradients = partition.backward(*(saved[name] if name in saved else next(tangents) for name in asked))
    return recorder.graph([one for one in gradients if isinstance(one, Tensor)], outside_bytes)


def _saved_names(partition: Partition) -> list[str]:
    (results,) = next(iter(reversed(partition.forward.graph.nodes))).args
    return [node.name for node in results[partition.outputs :]]


def _swept(graph: StepGraph, partition: Partition) -> BudgetPlan:
    place = storages(graph, partition.forward)
    plan = _plan(graph, {place[node] for node in partition.saved}, f"budget {partition.budget:g}")
    sizes = {_memory(node): _bytes(node) for node in partition.saved}
    unmatched = {_memory(node): _bytes(node) for node in partition.saved if place[node] is None}
    return BudgetPlan(
        partition.budget,
        plan,
        sum(sizes.values()),
        _kept_bytes(graph, plan),
        sum(unmatched.values()),
        partition_graph(partition, graph.outside_bytes),
    )


def _plan(graph: StepGraph, saved: set[int | None], name: str) -> Plan:
    sources = graph_tables(graph, Machine()).recomputable
    pairs = zip(sources, graph.movable, strict=True)
    return Plan(tuple(Action.RECOMPUTE if free and one not in saved else Action.KEEP for free, one in pairs), name=name)


def _kept_bytes(graph: StepGraph, plan: Plan) -> int:
    """Return the bytes that are kept for the backward pass; storages without a backward use are freed."""
    wanted = Simulator(graph).last_needs(plan.actions)
    kept = zip(graph.movable, plan.actions, wanted, strict=True)
    return sum(graph.storages[one].bytes for one, action, last in kept if action == Action.KEEP and last >= 0)


def _memory(node: Any) -> int:
    return int(node.meta["val"].untyped_storage()._cdata)


def _bytes(node: Any) -> int:
    return int(node.meta["val"].untyped_storage().nbytes())
