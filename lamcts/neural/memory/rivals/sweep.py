"""`torch._functorch.config.activation_memory_budget` from 1 to 0, as plans of ours. Needs torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.graphs import StepGraph
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Action, Plan
from lamcts.neural.memory.scheme import scheme
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.memory.rivals.partition import Partition

BUDGETS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)  # closer together where the physical peak rises again


@dataclass(frozen=True, eq=False)
class Swept:
    """What the partitioner does with a budget.

    plan: for the traced step: what it saves is kept, the rest made anew. saved_bytes: of the tensors that it saves,
    each storage once, without parameters, buffers and inputs. kept_bytes: of the storages that `plan` keeps for the
    backward pass. unmatched_bytes: of `saved_bytes`, those of tensors for which the traced step has no storage.
    compiled: the step as the partitioner's two graphs run it.
    """

    budget: float
    plan: Plan
    saved_bytes: int
    kept_bytes: int
    unmatched_bytes: int
    compiled: StepGraph


def budget_sweep(
    module: "nn.Module",
    batch: Any,
    graph: StepGraph,
    budgets: Sequence[float] = BUDGETS,
    *,
    loss: "Callable[[Any], Tensor] | None" = None,
) -> list[Swept]:
    """Return what `torch.compile(module, backend="aot_eager")` saves and makes anew under each of `budgets`.

    graph: of the same module, batch and loss, see `trace`. RuntimeError where torch lacks what it takes, all of which
    is private to torch. Needs torch.
    """
    from lamcts.neural.memory.rivals.partition import partitions

    return [_swept(graph, partition) for partition in partitions(module, batch, budgets, loss=loss)]


def _swept(graph: StepGraph, partition: "Partition") -> Swept:
    from lamcts.neural.memory.rivals.alignment import storages
    from lamcts.neural.memory.rivals.priced import as_it_runs

    place = storages(graph, partition.forward)
    plan = _plan(graph, {place[node] for node in partition.saved}, f"budget {partition.budget:g}")
    sizes = {_memory(node): _bytes(node) for node in partition.saved}
    unmatched = {_memory(node): _bytes(node) for node in partition.saved if place[node] is None}
    return Swept(
        partition.budget,
        plan,
        sum(sizes.values()),
        _kept_bytes(graph, plan),
        sum(unmatched.values()),
        as_it_runs(partition, graph.outside_bytes),
    )


def _plan(graph: StepGraph, saved: set[int | None], name: str) -> Plan:
    sources = scheme(graph, Machine()).sources
    pairs = zip(sources, graph.movable, strict=True)
    return Plan(tuple(Action.RECOMPUTE if free and one not in saved else Action.KEEP for free, one in pairs), name=name)


def _kept_bytes(graph: StepGraph, plan: Plan) -> int:
    """Return the bytes that the forward pass leaves to the backward one: a storage that nobody wants back is freed."""
    wanted = Simulator(graph).wanted(plan.actions)
    kept = zip(graph.movable, plan.actions, wanted, strict=True)
    return sum(graph.storages[one].bytes for one, action, last in kept if action == Action.KEEP and last >= 0)


def _memory(node: Any) -> int:
    return int(node.meta["val"].untyped_storage()._cdata)


def _bytes(node: Any) -> int:
    return int(node.meta["val"].untyped_storage().nbytes())
