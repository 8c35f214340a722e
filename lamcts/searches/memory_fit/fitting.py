"""From a module, a batch and a memory budget to training steps within it.

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

SECONDS = 60.0  # time limit of the search: a minute for a training of hours (untuned)

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
    """Plan and measure training steps of a model within a memory budget. Needs torch.

    If everything can be kept, it is, without a search.

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
    machine : Machine, default Machine()
        Rates of the simulation.
    verify : bool, default True
        Whether one training step is run and measured. A model on the "meta" device cannot run.
    **settings
        Options of `lamcts.minimize`; `seconds` is 60.

    Returns
    -------
    Fitted
        The model with its plan, for use in a `with` block.

    Raises
    ------
    ValueError
        If no plan within the budget is known; the message has the smallest budget that works.
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
    """Check model and batch, and trace the training step; see `fit`."""
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
    """Return the fastest plan within a budget, with all candidates; `fit` carries it out.

    Everything is kept if that fits.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    budget : int or str
        Largest total memory, with `graph.outside_bytes`; bytes, or a text such as "8GiB".
    evaluations : int, default None
        Evaluations of `least_time`; None is its default, 0 searches nothing.
    seed : int, default 0
        Seed of the search.
    machine : Machine, default Machine()
        Rates of the simulation.
    **settings
        Options of `lamcts.minimize`.

    Raises
    ------
    ValueError
        If no plan fits; the message has the smallest budget that works.
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
        known = {(one.peak_bytes, one.seconds) for one in plans}  # else the search returned a known plan
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
    """Return a budget in bytes; raise ValueError if it is not a size."""
    try:
        return memory.size_of(budget)
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None
