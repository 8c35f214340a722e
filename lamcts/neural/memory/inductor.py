"""A limit on peak memory for `torch.compile`; torch's own budget limits saved bytes, whose peak may still rise."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lamcts.movement.sizes import size_of, size_text
from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.joint_graph import joint_steps
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Action
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver
    from torch.fx import Graph

ANY = 1e-6  # torch's own budget: small enough that the partitioner calls the solver; at 0 it never does


class LimitTooSmall(ValueError):
    """No step within a limit was found. least_bytes: the smallest peak found."""

    def __init__(self, least_bytes: int, limit_bytes: int) -> None:
        sizes = f"expected at least {size_text(least_bytes)}, got {size_text(limit_bytes)}"
        super().__init__(f"peak: {sizes}: raise it, or take a smaller batch")
        self.least_bytes = least_bytes


TESTED = "2.13"  # the tested release; others may work
NAMES = {
    "torch._inductor.custom_graph_pass": ("CustomKnapsackSolver",),
    "torch._functorch.config": ("activation_memory_budget", "activation_memory_budget_solver", "patch"),
    "torch.fx.experimental.symbolic_shapes": ("optimization_hint",),
}


def missing() -> str | None:
    """Return the first private name that the installed torch lacks for a custom solver, or None."""
    import torch

    for name, wanted in NAMES.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            return f"torch {torch.__version__} has no {name}; tested with {TESTED}"
        if lacks := [one for one in wanted if not hasattr(module, one)]:
            return f"torch {torch.__version__} has no {name}.{lacks[0]}; tested with {TESTED}"
    return None


@contextmanager
def peak_within(peak: str | int | float, machine: Machine | None = None) -> Iterator[list[int]]:
    """Limit the peak memory of steps that `torch.compile` compiles inside this `with` block.

    The compiled step saves the tensors of the fastest step found within the peak. Yields the modelled peaks of what was
    compiled so far, in bytes.

    Parameters
    ----------
    peak : int or str
        Bytes, or a text such as "8GiB", without parameters, buffers and inputs.
    machine : Machine, default Machine()
        Rates of the simulation.

    Raises
    ------
    ValueError
        In the step that compiles, inside the block, if no step within the peak is found; the message has the smallest.
    RuntimeError
        If the installed torch has no custom solvers.
    """
    if lacks := missing():
        raise RuntimeError(f"expected a torch with custom solvers: {lacks}")
    from torch._dynamo.exc import BackendCompilerFailed
    from torch._functorch import config

    found: list[int] = []
    solver = _solver(size_of(peak), machine, found)
    try:
        with config.patch(activation_memory_budget=ANY, activation_memory_budget_solver=solver):
            yield found
    except BackendCompilerFailed as error:
        if isinstance(error.inner_exception, LimitTooSmall):
            raise error.inner_exception from None
        raise


def kept(
    graph: StepGraph, decided: Sequence[int], peak_bytes: int, machine: Machine | None = None
) -> tuple[list[bool], int]:
    """Return which of the storages `decided` to keep for the least time within a peak, and the resulting peak."""
    simulator = Simulator(graph, machine)
    number = {one: i for i, one in enumerate(graph.movable)}
    base = [Action.RECOMPUTE if free else Action.KEEP for free in simulator.tables.recomputable]
    places = [number.get(one, -1) for one in decided]

    def actions(keep: Sequence[bool]) -> list[Action]:
        found = [*base]
        for i, yes in zip(places, keep, strict=True):
            if i >= 0 and yes:
                found[i] = Action.KEEP
        return found

    def cost(keep: Sequence[bool]) -> tuple[int, float]:
        return simulator.excess(actions(keep), peak_bytes)

    best = min((_descended(cost, [start] * len(places)) for start in (True, False)), key=cost)
    return best, simulator.cost(actions(best)).peak_bytes


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


def _solver(peak_bytes: int, machine: Machine | None, found: list[int]) -> "CustomKnapsackSolver":
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
            graph, place = joint_steps(joint_graph, node_info.required_fw_nodes)
            nodes = all_recomputable_banned_nodes
            single = [k for k, node in enumerate(nodes) if node in place]  # of several results each is a node
            keep, peak = kept(graph, [place[nodes[k]] for k in single], peak_bytes, machine)
            if peak > peak_bytes:
                raise LimitTooSmall(peak, peak_bytes)
            found.append(peak)
            saved = {k for k, yes in zip(single, keep, strict=True) if yes}
            return sorted(saved), [k for k in range(len(nodes)) if k not in saved]

        def uuid(self) -> None:
            """Return None, which bypasses torch's caches: they do not depend on the peak."""
            return

    return Solver()
