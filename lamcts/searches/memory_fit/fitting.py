"""One call for users: from a module, a batch and a budget to training steps within it.

with fit(model, batch, budget="8GiB", loss=loss, optimizer=adam) as fitted:
    print(fitted)
    for step in range(100): ...
"""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lamcts.graphs import StepGraph
from lamcts.neural import memory
from lamcts.searches.memory_fit.arguments import checked_batch, checked_model, optimizer_word, without_memory
from lamcts.searches.memory_fit.candidate_plans import KEEPING, greedy, presets, smallest
from lamcts.searches.memory_fit.fitted_model import Chosen, Fitted
from lamcts.searches.memory_plan import least_time

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.trace import Trace

SECONDS = 60.0  # after which the search asks for no further plan: a minute of a training of hours (untuned)

logger = logging.getLogger("lamcts")


def fit(
    model: "nn.Module",
    batch: Any,
    budget: str | int | float,
    *,
    loss: "Callable[[Any], Tensor] | None" = None,
    optimizer: Any = None,
    evaluations: int | None = None,
    seed: int = 0,
    machine: memory.Machine | None = None,
    verify: bool = True,
    **settings: Any,
) -> Fitted:
    """Find how training steps of `model` on `batch` fit `budget` in the least time, and measure one.

    model: a module of one process, in the mode in which it will be trained; it stays as it is.
    batch: a tensor, a tuple of arguments, or a dict of them by name.
    budget: of all that a step holds: parameters, gradients, the optimiser's state, inputs and activations; bytes, or a
        text such as "8GiB".
    loss: from the module's output to the number that is differentiated (None: the sum of all its floats).
    optimizer: whose state is counted: "none", "sgd", "momentum" or "adam", or torch's own SGD or Adam (None: none).
    evaluations: those of `least_time` (None: as many as it takes by itself); 0 searches nothing, and takes the best of
        the thesis's plans and the greedy one.
    seed: governs the search; where `seconds` end it, so does the machine's speed (0).
    machine: what the simulator believes in (None: `Machine()`).
    verify: whether a training step is run and measured (True); a model on the "meta" device has none to run.
    settings: as `lamcts.minimize` takes them; `seconds` is 60 here.

    Where everything can be kept, it is, without a search. ValueError where no plan within the budget is known; its
    message has the smallest budget that works. Needs torch.
    """
    began, size, word = time.perf_counter(), budget_of(budget), optimizer_word(optimizer)
    step = traced(model, batch, loss, word)
    logger.info("memory: traced %d steps in %.1f s", len(step.graph.steps), time.perf_counter() - began)
    chosen = within(step.graph, size, evaluations=evaluations, seed=seed, machine=machine, **settings)
    took = time.perf_counter() - began
    logger.info("memory: planned in %.1f s", took)
    plan = chosen.report.plan
    measured = memory.measure(model, batch, plan, loss=loss) if verify and not without_memory(model) else None
    return Fitted(model, step, size, word, chosen, measured, took)


def traced(model: Any, batch: Any, loss: Any = None, optimizer: Any = None) -> "Trace":
    """Return the training step of a model, once model and batch are such that it can be planned for: see `fit`."""
    word = optimizer_word(optimizer)
    checked_model(model)
    checked_batch(batch)
    from lamcts.neural import trace

    return trace.trace(model, batch, loss=loss, optimizer=word)


def within(
    graph: StepGraph,
    budget: str | int | float,
    *,
    evaluations: int | None = None,
    seed: int = 0,
    machine: memory.Machine | None = None,
    **settings: Any,
) -> Chosen:
    """Return the fastest plan within the budget that is known or found, which `fit` carries out, beside all others.

    It keeps everything where that fits. ValueError where no plan fits, with the smallest budget that works.
    """
    room = budget_of(budget) - graph.outside_bytes
    plans = presets(graph, machine)
    kept = next(one for one in plans if one.plan.name == KEEPING)
    if kept.peak_bytes <= room:
        return Chosen(kept, kept, plans)
    plans += greedy(graph, room, machine)
    if not any(one.peak_bytes <= room for one in plans):
        plans.append(_smallest(graph, room, machine))
    elif evaluations != 0:
        search: dict[str, Any] = {"seconds": SECONDS, "options": memory.ALL_OPTIONS} | settings
        search |= {} if evaluations is None else {"evaluations": evaluations}
        plan = least_time(graph, room + graph.outside_bytes, seed=seed, machine=machine, **search)
        found = memory.Simulator(graph, machine).report(plan)
        known = {(one.peak_bytes, one.seconds) for one in plans}  # else it found what was there
        plans += [] if (found.peak_bytes, found.seconds) in known else [found]
    return Chosen(min((one for one in plans if one.peak_bytes <= room), key=lambda one: one.seconds), kept, plans)


def _smallest(graph: StepGraph, room: int, machine: memory.Machine | None) -> memory.Report:
    least = smallest(graph, machine)
    if least.peak_bytes > room:
        outside = graph.outside_bytes
        raise ValueError(
            f"budget: expected at least {memory.size_text(least.total_bytes)}, the smallest for which a plan was found"
            f" ({memory.size_text(outside)} of it whatever the plan), got {memory.size_text(max(room + outside, 1))}:"
            " raise it, or take a smaller batch"
        )
    return least


def budget_of(budget: str | int | float) -> int:
    """Return a budget in bytes; ValueError where it is no size."""
    try:
        return memory.size_of(budget)
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None
