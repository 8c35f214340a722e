"""A limit on peak memory for `torch.compile`; torch's own budget limits saved bytes, whose peak may still rise."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lamcts.movement.sizes import size_of
from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.graphs import MB, StepGraph
from lamcts.neural.memory import partitioner
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Action
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver
    from torch.fx import Graph

ANY = 1e-6  # torch's own budget: small enough that the partitioner calls the solver; at 0 it never does
NAMES = {
    "torch._inductor.custom_graph_pass": ("CustomKnapsackSolver",),
    "torch._functorch.config": ("activation_memory_budget_solver", "patch"),
}


def missing() -> str | None:
    """Return what the installed torch lacks for a custom solver, or None."""
    return partitioner.missing() or partitioner.lacking(NAMES)


@contextmanager
def peak_within(peak: str | int | float, machine: Machine | None = None) -> Iterator[None]:
    """Limit the peak memory of steps that `torch.compile` compiles inside this `with` block.

    The compiled step saves the tensors of the fastest step found within the peak.

    Parameters
    ----------
    peak : int or str
        Bytes, or a text such as "8GiB", without parameters, buffers and inputs.
    machine : Machine, default Machine()
        Rates of the simulation.
    """
    if lacks := missing():
        raise RuntimeError(f"expected a torch with custom solvers: {lacks}")
    from torch._functorch import config

    with config.patch(activation_memory_budget=ANY, activation_memory_budget_solver=_solver(size_of(peak), machine)):
        yield


def kept(
    graph: StepGraph, decided: Sequence[int], peak_bytes: int, machine: Machine | None = None
) -> tuple[list[bool], int]:
    """Return which of the storages `decided` to keep for the least time within a peak, and the resulting peak.

    All others are recomputed, as the partitioner does. Coordinate descent from keeping all and from keeping none
    lowers the excess first, then the time.
    """
    simulator = Simulator(graph, machine)
    number = {one: i for i, one in enumerate(graph.movable)}
    base = [Action.RECOMPUTE if free else Action.KEEP for free in simulator.tables.recomputable]
    places = [number.get(one, -1) for one in decided]

    def cost(keep: Sequence[bool]) -> tuple[int, float]:
        actions = [*base]
        for i, yes in zip(places, keep, strict=True):
            if i >= 0 and yes:
                actions[i] = Action.KEEP
        found = simulator.cost(actions)
        return max(found.peak_bytes, peak_bytes), found.seconds

    ends = [_descended(cost, [start] * len(places)) for start in (True, False)]
    best = min(ends, key=cost)
    return best, cost(best)[0]


def _descended(cost: Callable[[Sequence[bool]], tuple[int, float]], keep: list[bool]) -> list[bool]:
    """Return a local optimum under single changes."""
    value, better = cost(keep), True
    while better:
        better = False
        for k in range(len(keep)):
            tried = [*keep[:k], not keep[k], *keep[k + 1 :]]
            if (new := cost(tried)) < value:
                keep, value, better = tried, new, True
    return keep


def _solver(peak_bytes: int, machine: Machine | None) -> "CustomKnapsackSolver":
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver

    class Solver(CustomKnapsackSolver):
        """The solver that selects which of the candidate nodes the partitioner saves."""

        def __call__(
            self,
            memory: object,
            joint_graph: "Graph",
            max_memory: float,
            node_info: Any,
            all_recomputable_banned_nodes: Any,
        ) -> tuple[list[int], list[int]]:
            nodes = all_recomputable_banned_nodes
            graph, place = partitioner.joint_steps(joint_graph, node_info.required_fw_nodes)
            keep, peak = kept(graph, [place[node] for node in nodes], peak_bytes, machine)
            if peak > peak_bytes:
                raise ValueError(f"peak: expected at least {peak / MB:.3f} MB, got {peak_bytes / MB:.3f} MB: raise it")
            return [k for k, yes in enumerate(keep) if yes], [k for k, yes in enumerate(keep) if not yes]

        def uuid(self) -> None:
            """Return None, which bypasses torch's caches: they do not depend on the peak."""
            return

    return Solver()
