"""From a module, a batch and a memory budget to training steps within it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from lamcts.movement.sizes import size_of, size_text
from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.fitting.candidate_plans import KEEPING, greedy, presets, smallest
from lamcts.neural.memory.fitting.closed_loop import Deadline, Tried, settled, too_small
from lamcts.neural.memory.fitting.fitted_model import Chosen, Fitted, total_bytes
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS
from lamcts.neural.memory.plan import WORDS, Action, Plan
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.seen import Seen, with_sizes
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.memory.wrappers import refuse_parallel, uncompiled

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.trace import Trace

SECONDS = 60.0  # time limit of `fit`: a minute for a training of hours (untuned)
ADAMS = ("Adam", "AdamW", "NAdam", "RAdam")  # torch optimizers with two numbers for each parameter
STAYING = tuple(word for word in ALL_OPTIONS if not word.startswith("offload"))
OPTIMIZERS = "'none', 'sgd', 'momentum', 'adam' (0, 0, 1 and 2 numbers of each parameter)"

logger = logging.getLogger("lamcts")
UNITS = {"cuda": 512}  # bytes of the smallest block, by device type (torch's CUDACachingAllocator)


def fit(
    model: "nn.Module",
    batch: Any,
    budget: str | int | float,
    *,
    loss: "Callable[[Any], Tensor] | None" = None,
    optimizer: Any = None,
    accumulate: bool = False,
    options: tuple[str, ...] | None = None,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    verify: bool = True,
    seconds: float = SECONDS,
) -> Fitted:
    """Plan and measure training steps of a model within a memory budget. Needs torch.

    If everything can be kept, it is, without a search. Else a step runs under the plan, what its trace did not know is
    learned from it, and the step is planned again until its real peak is within 2 % of the budget, at most six times.
    The fastest plan within the budget is returned.

    Parameters
    ----------
    model : torch.nn.Module
        A module of one process, in its mode of training; it is not changed.
    batch : tensor, tuple or dict
        Arguments of the model; a dict has them by name.
    budget : int or str
        Bytes, or a text such as "8GiB", for all of a step: parameters, gradients, optimizer state, inputs and
        activations.
    loss : callable, default None
        From the output to a scalar; None is the sum of all floats.
    optimizer : str or torch.optim.Optimizer, default None
        Optimizer whose state counts: "none", "sgd", "momentum", "adam", or torch's SGD or Adam.
    accumulate : bool, default False
        Whether gradients of several steps are added up before the optimizer's step; all then live from the beginning.
    options : tuple of str, default None
        Allowed actions; None is all, but no offloading of a model on the CPU, where it frees no memory. A model on the
        "meta" device is planned for another device.
    exchanges : int, default None
        Plans of the local search of `least_time`; None is its default. 0 takes the best preset or greedy plan.
    seed : int, default 0
        Seed of the search. If `seconds` end the search, results also depend on the machine's speed.
    machine : Machine, default None
        Rates of the simulation. None measures those of the model's device, once in a process, and on the CPU the time
        of each operation of a step, if steps are measured; else it is `Machine()`.
    verify : bool, default True
        Whether training steps of each plan are run and measured. A model on the "meta" device cannot run.
    seconds : float, default 60
        Time limit of planning, after which the best plan so far is taken. A first plan is always made, and a step that
        runs is not interrupted.

    Raises
    ------
    ValueError
        If no plan within the budget is known, or the measured step of each plan exceeds it; the message has the
        smallest budget that works. Also if two traces of the model differ, or if its operations depend on values of
        tensors.
    """
    size, word = budget_of(budget), optimizer_word(optimizer)
    model = uncompiled(model)
    checked_model(model)
    deadline = Deadline(seconds)
    step = traced(model, batch, loss, word, accumulate)
    logger.info("memory: traced %d steps in %.1f s", len(step.graph.steps), deadline.took)

    allocated = _allocated_sizes(model, batch, word, accumulate)
    runs, timed = verify and not without_memory(model), machine is None
    machine = machine or (_machine_of(model) if runs else None)
    words = options or options_on(model)
    choices = [WORDS[word] for word in words]

    def planned(graph: StepGraph, room: int, starts: Sequence[Plan] = ()) -> Chosen:
        search: dict[str, Any] = {"exchanges": exchanges, "seed": seed, "machine": machine, "starts": starts}
        return within(allocated(graph), room, options=words, seconds=deadline.left, **search)

    def measured(plan: Plan, traced: "Trace") -> Any:
        from lamcts.neural.memory.execution import measure

        step = measure(model, batch, plan, loss=loss, traced=traced)
        return step if timed else replace(step, seconds={})  # else the given machine says what operations take

    def least(graph: StepGraph) -> Report:
        return smallest(allocated(graph), machine, choices)

    def simulated(graph: StepGraph, plan: Plan) -> Report:
        return Simulator(allocated(graph), machine).report(plan)

    if runs:
        found = Loop(step, word, planned, least, simulated, measured).run(size, deadline.over)
    else:
        found = MeasuredPlan(planned(step.graph, size), step)
    took = deadline.took
    logger.info("memory: planned in %.1f s", took)
    fitted = Fitted(model, found.traced, size, word, found.chosen, found.measured, took, found.margin_bytes)
    return replace(fitted, step_time=fitted.timed(batch, loss)) if runs else fitted


def options_on(model: Any) -> tuple[str, ...]:
    """Return the actions that free memory on the device of a model: on the CPU no copies to the host."""
    on_host = next(model.parameters()).device.type == "cpu" and not without_memory(model)
    return STAYING if on_host else ALL_OPTIONS


def _allocated_sizes(model: Any, batch: Any, optimizer: str, accumulate: bool) -> Callable[[StepGraph], StepGraph]:
    """Return a function from a graph to one with the sizes that the allocator of the model's device gives."""
    from lamcts.neural import trace

    inputs = [one for one in leaves(batch) if hasattr(one, "untyped_storage")]
    outside = outside_sizes(model, inputs, trace.STATES[optimizer] + accumulate)
    return partial(as_allocated, unit=unit_of(model), outside=outside)


def _machine_of(model: Any) -> Machine | None:
    """Return the measured machine of a model's device; None for a device that is not measured."""
    from lamcts.neural.memory.calibration import measured_machine

    device = next(model.parameters()).device
    return measured_machine(device) if device.type in ("cpu", "cuda") else None


def traced(model: Any, batch: Any, loss: Any = None, optimizer: Any = None, accumulate: bool = False) -> "Trace":
    """Check model and batch, and trace the training step, more than once to compare; see `fit`."""
    word = optimizer_word(optimizer)
    checked_model(model)
    checked_batch(batch)
    from lamcts.neural import trace

    return trace.repeatable_trace(model, batch, loss=loss, optimizer=word, accumulate=accumulate)


def within(
    graph: StepGraph,
    budget: str | int | float,
    *,
    options: tuple[str, ...] = ALL_OPTIONS,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    starts: Sequence[Plan] = (),
    seconds: float = SECONDS,
) -> Chosen:
    """Return the fastest plan within a budget, with all candidates; `fit` carries it out."""
    room, deadline = budget_of(budget) - graph.outside_bytes, Deadline(seconds)
    choices = [WORDS[word] for word in options]
    plans = presets(graph, machine, choices)
    kept = next(one for one in plans if one.plan.name == KEEPING)
    if kept.peak_bytes <= room:
        return Chosen(kept, kept, plans)
    simulator = Simulator(graph, machine)
    plans += [simulator.report(plan) for plan in starts]
    continued = greedy(graph, room, machine, choices, starts, deadline.over) if starts else []
    plans += continued or greedy(graph, room, machine, choices, over=deadline.over)
    if not any(one.peak_bytes <= room for one in plans):
        least = smallest(graph, machine, choices)
        if least.peak_bytes > room:
            outside = graph.outside_bytes
            why = f"the smallest for which a plan was found ({size_text(outside)} of it whatever the plan)"
            raise too_small(least.total_bytes, why, room + outside)
        plans.append(least)
    elif exchanges != 0 and not deadline.over():
        search: dict[str, Any] = {"options": options, "exchanges": exchanges, "machine": machine, "starts": starts}
        plan = least_time(graph, room + graph.outside_bytes, seed=seed, seconds=deadline.left, **search)
        found = simulator.report(plan)
        known = {(one.peak_bytes, one.seconds) for one in plans}  # else the search returned a known plan
        plans += [] if (found.peak_bytes, found.seconds) in known else [found]
    return Chosen(min((one for one in plans if one.peak_bytes <= room), key=lambda one: one.seconds), kept, plans)


def budget_of(budget: str | int | float) -> int:
    """Return a budget in bytes; raise ValueError if it is not a size."""
    try:
        return size_of(budget)
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None


def checked_model(model: Any) -> None:
    """Raise TypeError for a non-module, and for a model of several processes or threads."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    refuse_parallel(model)
    if not any(one.requires_grad for one in model.parameters()):
        raise ValueError("model: expected parameters that require gradients, got none: there is nothing to train")


def checked_batch(batch: Any) -> None:
    """Raise TypeError for a batch without tensors."""
    if not any(hasattr(one, "untyped_storage") for one in leaves(batch)):
        raise TypeError(
            "batch: expected a tensor, a tuple of arguments, or a dict of them by name, with a tensor among them, got"
            f" {type(batch).__name__}"
        )


def optimizer_word(optimizer: Any) -> str:
    """Return the name of a torch optimizer for `trace`, which counts its state; names are returned unchanged."""
    if optimizer is None or isinstance(optimizer, str):
        return optimizer or "none"
    name, groups = type(optimizer).__name__, getattr(optimizer, "param_groups", [])
    if name == "SGD":
        return "momentum" if any(group.get("momentum") for group in groups) else "sgd"
    if name in ADAMS and not any(group.get("amsgrad") for group in groups):
        return "adam"
    got = f"{name} with amsgrad" if name in ADAMS else name
    raise ValueError(
        f"optimizer: expected {OPTIMIZERS}, or torch's SGD or Adam, got {got}: give the word that is nearest"
    )


def without_memory(model: Any) -> bool:
    """Return whether a model has no memory, on the "meta" device or with fake tensors, so that no step can run."""
    tensors = [*model.parameters(), *model.buffers()]
    return any(one.is_meta or type(one).__name__ == "FakeTensor" or hasattr(one, "fake_mode") for one in tensors)


def leaves(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return [leaf for one in values.values() for leaf in leaves(one)]
    if isinstance(values, (list, tuple)):
        return [leaf for one in values for leaf in leaves(one)]
    return [values]


def unit_of(model: Any) -> int:
    """Return the bytes of which allocations on the device of a model are multiples."""
    return next((UNITS.get(one.device.type, 1) for one in model.parameters()), 1)


def as_allocated(graph: StepGraph, unit: int, outside: Iterable[int] = ()) -> StepGraph:
    """Return a graph whose storages have multiples of `unit` bytes; `outside` are sizes of tensors that it lacks."""
    if unit == 1:
        return graph
    storages = tuple(one._replace(bytes=rounded(one.bytes, unit)) for one in graph.storages)
    more = sum(rounded(size, unit) - size for size in outside)
    return replace(graph, storages=storages, outside_bytes=graph.outside_bytes + more)


def outside_sizes(model: Any, inputs: Iterable[Any], states: int) -> list[int]:
    """Return the bytes of tensors outside the graph; each parameter has `states` numbers as large as itself."""
    trained = [_size(one) for one in model.parameters()]
    return trained * (1 + states) + [_size(one) for one in (*model.buffers(), *inputs)]


def rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _size(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


STARTS = 3  # plans of a round from which the next one continues (untuned)


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with its measurement and the trace, whose storages have the sizes that were seen."""

    chosen: Chosen
    traced: "Trace"
    measured: Any = None
    margin_bytes: int = 0


class Planner(Protocol):
    """Plan for a graph and a budget, from plans of an earlier round; raise ValueError if no plan fits."""

    def __call__(self, graph: StepGraph, room: int, starts: Sequence[Plan] = ()) -> Chosen: ...


@dataclass(frozen=True)
class Loop:
    """Plans of a traced step, measured."""

    traced: "Trace"
    optimizer: str
    planned: Planner
    smallest: Callable[[StepGraph], Report]
    simulated: Callable[[StepGraph, Plan], Report]
    measured: "Callable[[Plan, Trace], Any]"

    def run(self, budget: int, over: Callable[[], bool]) -> MeasuredPlan:
        """Return the fastest plan whose measured step fits the budget; raise ValueError if none does."""
        seen, tried = Seen(), dict[tuple[Action, ...], Chosen]()

        def run(chosen: Chosen) -> Tried:
            plan = chosen.report.plan
            step = self.measured(plan, self._sized(seen))
            seen.add(step)
            graph, traced = seen.graph(self.traced.graph), self._sized(seen)
            kept = self.simulated(graph, chosen.kept.plan)
            whole = plan.actions == kept.plan.actions
            chosen = Chosen(kept if whole else self.simulated(graph, plan), kept, chosen.plans)
            tried[plan.actions] = chosen
            total, one = total_bytes(traced, self.optimizer, step), MeasuredPlan(chosen, traced, step)
            logger.info("memory: plan %r takes %s", plan.name, "unknown memory" if total is None else size_text(total))
            return Tried(one, total, (total or 0) - chosen.report.total_bytes, whole, chosen.report.seconds)

        def attempt(room: int) -> Tried | None:
            graph, last = seen.graph(self.traced.graph), next(reversed(tried.values()), None)
            try:
                chosen = self.planned(graph, room, () if last is None else _best(last))
            except ValueError:  # no plan is that small
                if last is None:
                    raise
                least = self.smallest(graph)
                chosen = Chosen(least, last.kept, [*last.plans, least])
            return None if chosen.report.plan.actions in tried else run(chosen)

        found, room = settled(attempt, budget, over)
        if found.total is not None and found.total > budget:
            last = next(reversed(tried.values()))
            whole = None if last.kept.plan.actions in tried else run(Chosen(last.kept, last.kept, last.plans))
            least = min(found, whole or found, key=lambda one: one.total or 0)
            name = least.what.chosen.report.plan.name
            raise too_small(least.total or 0, f"which the smallest measured step took, under the plan {name!r}", budget)
        plan: MeasuredPlan = found.what
        return replace(plan, margin_bytes=max(budget - room, 0))

    def _sized(self, seen: Seen) -> "Trace":
        return replace(self.traced, graph=with_sizes(self.traced.graph, seen.sizes))


def _best(chosen: Chosen) -> list[Plan]:
    """Return the plan of a round, and the fastest of the others with at most its peak."""
    others = sorted(chosen.plans, key=lambda one: one.seconds)
    small = [one.plan for one in others if one.peak_bytes <= chosen.report.peak_bytes and one.plan.frees]
    return [chosen.report.plan, *(plan for plan in small if plan.actions != chosen.report.plan.actions)][:STARTS]
