"""From a module, a batch and a memory budget to training steps within it."""

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from lamcts.movement.sizes import size_of, size_text
from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.execute import measure, measured_machine
from lamcts.neural.memory.fitting.candidate_plans import KEEPING, greedy, presets, smallest
from lamcts.neural.memory.fitting.fitted_model import Chosen, Fitted, total_bytes
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS
from lamcts.neural.memory.plan import WORDS, Action, Plan
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.scratch import Work, with_scratch
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.trace import Trace

SECONDS = 60.0  # time limit of the search: a minute for a training of hours (untuned)
ADAMS = ("Adam", "AdamW", "NAdam", "RAdam")  # torch optimizers with two numbers for each parameter
STAYING = tuple(word for word in ALL_OPTIONS if not word.startswith("offload"))
OPTIMIZERS = "'none', 'sgd', 'momentum', 'adam' (0, 0, 1 and 2 numbers of each parameter)"

logger = logging.getLogger("lamcts")
UNITS = {"cuda": 512}  # bytes of the smallest block, by device type (torch's CUDACachingAllocator)


class UnverifiedPlan(UserWarning):
    """No plan was found whose measured step stays within the budget."""


def fit(
    model: "nn.Module",
    batch: Any,
    budget: str | int | float,
    *,
    loss: "Callable[[Any], Tensor] | None" = None,
    optimizer: Any = None,
    evaluations: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    verify: bool = True,
    **settings: Any,
) -> Fitted:
    """Plan and measure training steps of a model within a memory budget. Needs torch.

    If everything can be kept, it is, without a search. A plan whose measured step exceeds the budget is replaced by
    plans for a smaller one, at most four times; `Fitted.verified` is False if none stays within the budget.

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
    evaluations : int, default None
        Evaluations of `least_time`; None is its default. 0 takes the best preset or greedy plan.
    seed : int, default 0
        Seed of the search. If `seconds` end the search, results also depend on the machine's speed.
    machine : Machine, default None
        Rates of the simulation. None measures those of the model's device, once in a process, if steps are measured;
        else it is `Machine()`.
    verify : bool, default True
        Whether training steps of each plan are run and measured. A model on the "meta" device cannot run.
    **settings
        Options of `least_time` and `lamcts.minimize`; `seconds` is 60, for each plan. `options` are the allowed
        actions: all by default, and no offloading if steps are measured on the CPU, where it frees no memory.

    Raises
    ------
    ValueError
        If no plan within the budget is known; the message has the smallest budget that works. Also if two traces of the
        model differ, or if its operations depend on values of tensors.

    Warns
    -----
    UnverifiedPlan
        If the measured step of each plan exceeds the budget. The plan that exceeds it least is returned.
    """
    began, size, word = time.perf_counter(), budget_of(budget), optimizer_word(optimizer)
    step = traced(model, batch, loss, word)
    logger.info("memory: traced %d steps in %.1f s", len(step.graph.steps), time.perf_counter() - began)

    allocated = _allocated_sizes(model, batch, word)
    runs = verify and not without_memory(model)
    machine = machine or (_machine_of(model) if runs else None)
    if runs and next(model.parameters()).device.type == "cpu":  # where copies on the host free no memory
        settings = {"options": STAYING} | settings
    choices = [WORDS[word] for word in settings.get("options", ALL_OPTIONS)]

    def planned(graph: StepGraph, room: int, starts: Sequence[Plan] = ()) -> Chosen:
        sizes = allocated(graph)
        return within(sizes, room, evaluations=evaluations, seed=seed, machine=machine, starts=starts, **settings)

    def measured(plan: Plan) -> Any:
        return measure(model, batch, plan, loss=loss, traced=step)

    if runs:
        found = tightened(
            planned, measured, lambda graph: smallest(allocated(graph), machine, choices), step, word, size
        )
    else:
        found = MeasuredPlan(planned(step.graph, size))
    took = time.perf_counter() - began
    logger.info("memory: planned in %.1f s", took)
    fitted = Fitted(model, step, size, word, found.chosen, found.measured, took, found.margin_bytes)
    if runs and fitted.verified is not False:  # a step over the budget is not run again
        fitted = replace(fitted, step_time=fitted.timed(batch, loss))
    if fitted.verified is False:
        warnings.warn(f"memory plan, {fitted.measurement}", UnverifiedPlan, stacklevel=2)
    return fitted


def _allocated_sizes(model: Any, batch: Any, optimizer: str) -> Callable[[StepGraph], StepGraph]:
    """Return a function from a graph to one with the sizes that the allocator of the model's device gives."""
    from lamcts.neural import trace

    inputs = [one for one in _leaves(batch) if hasattr(one, "untyped_storage")]
    outside = outside_sizes(model, inputs, trace.STATES[optimizer])
    return partial(as_allocated, unit=unit_of(model), outside=outside)


def _machine_of(model: Any) -> Machine | None:
    """Return the measured machine of a model's device; None for a device that is not measured."""
    device = next(model.parameters()).device
    return measured_machine(device) if device.type in ("cpu", "cuda") else None


def traced(model: Any, batch: Any, loss: Any = None, optimizer: Any = None) -> "Trace":
    """Check model and batch, and trace the training step, more than once to compare; see `fit`."""
    word = optimizer_word(optimizer)
    checked_model(model)
    checked_batch(batch)
    from lamcts.neural import trace

    return trace.repeatable_trace(model, batch, loss=loss, optimizer=word)


def within(
    graph: StepGraph,
    budget: str | int | float,
    *,
    evaluations: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    starts: Sequence[Plan] = (),
    **settings: Any,
) -> Chosen:
    """Return the fastest plan within a budget, with all candidates; `fit` carries it out."""
    room = budget_of(budget) - graph.outside_bytes
    search: dict[str, Any] = {"seconds": SECONDS, "options": ALL_OPTIONS} | settings
    choices = [WORDS[word] for word in search["options"]]
    plans = presets(graph, machine, choices)
    kept = next(one for one in plans if one.plan.name == KEEPING)
    if kept.peak_bytes <= room:
        return Chosen(kept, kept, plans)
    simulator = Simulator(graph, machine)
    plans += [simulator.report(plan) for plan in starts]
    continued = greedy(graph, room, machine, choices, starts) if starts else []
    plans += continued or greedy(graph, room, machine, choices)
    if not any(one.peak_bytes <= room for one in plans):
        plans.append(_smallest(graph, room, machine, choices))
    elif evaluations != 0:
        search |= {} if evaluations is None else {"evaluations": evaluations}
        plan = least_time(graph, room + graph.outside_bytes, seed=seed, machine=machine, starts=starts, **search)
        found = simulator.report(plan)
        known = {(one.peak_bytes, one.seconds) for one in plans}  # else the search returned a known plan
        plans += [] if (found.peak_bytes, found.seconds) in known else [found]
    return Chosen(min((one for one in plans if one.peak_bytes <= room), key=lambda one: one.seconds), kept, plans)


def _smallest(graph: StepGraph, room: int, machine: Machine | None, choices: Sequence[Action]) -> Report:
    least = smallest(graph, machine, choices)
    if least.peak_bytes > room:
        outside = graph.outside_bytes
        raise ValueError(
            f"budget: expected at least {size_text(least.total_bytes)}, the smallest for which a plan was found"
            f" ({size_text(outside)} of it whatever the plan), got {size_text(max(room + outside, 1))}:"
            " raise it, or take a smaller batch"
        )
    return least


def budget_of(budget: str | int | float) -> int:
    """Return a budget in bytes; raise ValueError if it is not a size."""
    try:
        return size_of(budget)
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None


def checked_model(model: Any) -> None:
    """Raise TypeError for a non-module, and for a model that reduces gradients during the backward pass."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    kinds = {cls.__name__ for one in model.modules() for cls in type(one).__mro__}
    if "DistributedDataParallel" in kinds:
        raise TypeError(
            "model: expected one of one process, got a DistributedDataParallel: its buckets reduce gradients during the"
            " backward pass, which plans do not support; fit the module inside it"
        )
    if not any(one.requires_grad for one in model.parameters()):
        raise ValueError("model: expected parameters that require gradients, got none: there is nothing to train")


def checked_batch(batch: Any) -> None:
    """Raise TypeError for a batch without tensors."""
    if not any(hasattr(one, "untyped_storage") for one in _leaves(batch)):
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


def _leaves(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return [leaf for one in values.values() for leaf in _leaves(one)]
    if isinstance(values, (list, tuple)):
        return [leaf for one in values for leaf in _leaves(one)]
    return [values]


def unit_of(model: Any) -> int:
    """Return the bytes of which allocations on the device of a model are multiples."""
    return next((UNITS.get(one.device.type, 1) for one in model.parameters()), 1)


def as_allocated(graph: StepGraph, unit: int, outside: Iterable[int] = ()) -> StepGraph:
    """Return a graph whose storages have multiples of `unit` bytes; `outside` are sizes of tensors that it lacks."""
    if unit == 1:
        return graph
    storages = tuple(one._replace(bytes=_rounded(one.bytes, unit)) for one in graph.storages)
    more = sum(_rounded(size, unit) - size for size in outside)
    return StepGraph(graph.steps, storages, graph.tensors, graph.accounting, graph.outside_bytes + more)


def outside_sizes(model: Any, inputs: Iterable[Any], states: int) -> list[int]:
    """Return the bytes of tensors outside the graph; each parameter has a gradient and `states` of the optimizer."""
    trained = [_size(one) for one in model.parameters()]
    return trained * (2 + states) + [_size(one) for one in (*model.buffers(), *inputs)]


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _size(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


ROUNDS = 4  # plans after the first; the second knows all scratch memory, on the CPU (untuned)

STARTS = 3  # plans of a round from which the next one continues (untuned)


class Planner(Protocol):
    """Plan for a graph and a budget, from plans of an earlier round; raise ValueError if no plan fits."""

    def __call__(self, graph: StepGraph, room: int, starts: Sequence[Plan] = ()) -> Chosen: ...


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with its measurement; `margin_bytes` of the budget were left free."""

    chosen: Chosen
    measured: Any = None
    margin_bytes: int = 0


def tightened(
    planned: Planner,
    measured: Callable[[Plan], Any],
    smallest: Callable[[StepGraph], Report],
    traced: "Trace",
    optimizer: str,
    budget: int,
) -> MeasuredPlan:
    """Return the first plan whose measured step fits the budget, else the one that exceeds it least."""

    def total(one: MeasuredPlan) -> int:
        return total_bytes(traced, optimizer, one.measured) or 0

    graph, scratch, room = traced.graph, dict[Work, int](), budget
    chosen = planned(graph, budget)
    found = [MeasuredPlan(chosen, measured(chosen.report.plan))]
    for _ in range(ROUNDS):
        over = total(found[-1]) - budget
        if over <= 0:
            return found[-1]
        for work, size in found[-1].measured.scratch.items():
            scratch[work] = max(size, scratch.get(work, 0))
        graph = with_scratch(traced.graph, scratch)
        known = Simulator(graph).report(chosen.report.plan).total_bytes
        room = min(room, known - over)  # the budget, unless more was allocated than the graph knows
        try:
            chosen = planned(graph, room, _best(chosen))
        except ValueError:  # no plan is that small
            least = smallest(graph)
            if least.plan.actions == chosen.report.plan.actions:
                break
            chosen = Chosen(least, chosen.kept, [*chosen.plans, least])
        found.append(MeasuredPlan(chosen, measured(chosen.report.plan), budget - room))
    return min(found, key=total)


def _best(chosen: Chosen) -> list[Plan]:
    """Return the plan of a round, and the fastest of the others with at most its peak."""
    others = sorted(chosen.plans, key=lambda one: one.seconds)
    small = [one.plan for one in others if one.peak_bytes <= chosen.report.peak_bytes and one.plan.frees]
    return [chosen.report.plan, *(plan for plan in small if plan.actions != chosen.report.plan.actions)][:STARTS]
