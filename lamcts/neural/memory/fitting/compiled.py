"""Compiled training steps within a memory budget. Needs torch."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lamcts.movement.sizes import size_text
from lamcts.neural.memory.fitting.closed_loop import Deadline, Tried, settled, too_small
from lamcts.neural.memory.fitting.fitting import (
    SECONDS,
    budget_of,
    checked_batch,
    checked_model,
    leaves,
    optimizer_word,
    outside_sizes,
    rounded,
    unit_of,
)
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.wrappers import uncompiled

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.memory.timing import StepTime


logger = logging.getLogger("lamcts")
EAGER = "; memory.fit plans eager steps, which may need less (lamcts memory without --compile)"


@dataclass(frozen=True, eq=False)
class CompiledFit:
    """A compiled model whose training steps fit a memory budget.

    Call `model` in training steps: it is compiled already. Other shapes of a batch compile again: inside a `with` block
    under the same limit. `print` describes the step.

    Attributes
    ----------
    model : torch.nn.Module
        The compiled model.
    budget_bytes : int
        The budget.
    limit_bytes : int or None
        The limit of activations and gradients, see `peak_within`; None if the step fits without one.
    fixed_bytes : int
        Parameters, optimizer state, buffers, inputs and gradients of earlier steps.
    measured_bytes : int or None
        The measured peak of all of a step; None where allocations cannot be measured.
    whole_bytes : int or None
        The same, compiled without a limit.
    planned_seconds : float
        Wall time of compilations and measurements.
    step_time : StepTime
        Measured time of a step, see `lamcts.neural.memory.step_time`.
    """

    model: "nn.Module"
    budget_bytes: int
    limit_bytes: int | None
    fixed_bytes: int
    measured_bytes: int | None
    whole_bytes: int | None
    planned_seconds: float
    step_time: "StepTime | None" = None
    machine: Machine | None = field(default=None, repr=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def __enter__(self) -> "CompiledFit":
        self._stack.enter_context(_limited(self.limit_bytes, self.machine))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def __str__(self) -> str:
        whole = "unknown memory" if self.whole_bytes is None else size_text(self.whole_bytes)
        limit = "that fits: compiled without a limit"
        if self.limit_bytes is not None:
            limit = f"compiled with at most {size_text(self.limit_bytes)} of activations and gradients"
        found = "the peak was not measured"
        if self.measured_bytes is not None:
            found = f"measured: {size_text(self.measured_bytes)} at most"
        found += "" if self.step_time is None else f"; {1e3 * self.step_time.seconds:.4g} ms a step"
        lines = [f"budget {size_text(self.budget_bytes)}; compiled without a limit a step takes {whole}", limit, found]
        return "\n".join([*lines, f"planned in {self.planned_seconds:.1f} s"])


def fit_compiled(
    model: "nn.Module",
    batch: Any,
    budget: str | int | float,
    *,
    loss: "Callable[[Any], Tensor] | None" = None,
    optimizer: Any = None,
    accumulate: bool = False,
    backend: str = "inductor",
    machine: Machine | None = None,
    seconds: float = SECONDS,
) -> CompiledFit:
    """Compile a model such that its training steps stay within a memory budget. Needs torch.

    `torch.compile` recomputes in the backward pass what the forward pass does not save; `peak_within` chooses what. A
    step is compiled without a limit, and if its measured peak exceeds the budget, with limits until the peak is within
    2 % of the budget, at most six times.

    Parameters
    ----------
    model, batch, budget, loss, optimizer, accumulate
        As of `fit`. The module itself is not changed.
    backend : str, default "inductor"
        Backend of `torch.compile` that partitions a step, such as "inductor" or "aot_eager".
    machine : Machine, default Machine()
        Rates by which the fastest step is chosen.
    seconds : float, default 60
        Time after which no further limit is tried. A compilation is not interrupted.

    Raises
    ------
    ValueError
        If no step within the budget was found; the message has the smallest one that was measured.

    Notes
    -----
    A compilation takes seconds to minutes. The logger "lamcts" reports each one at level INFO.

    Everything that was compiled in the process before is compiled again at its next call, since caches do not depend on
    a limit. With graph breaks each part has the limit of its own, and the measured peak decides.
    """
    import torch

    from lamcts.neural.memory.execution.measure import measured_peak
    from lamcts.neural.memory.inductor import LimitTooSmall
    from lamcts.neural.memory.timing import step_time

    size, word = budget_of(budget), optimizer_word(optimizer)
    model = uncompiled(model)
    checked_model(model)
    checked_batch(batch)
    deadline = Deadline(seconds)
    fixed = _fixed_bytes(model, batch, word, accumulate)
    tried: dict[int | None, Tried] = {}

    def run(limit: int | None) -> Tried:
        how = "without a limit" if limit is None else f"with at most {size_text(limit)} of activations and gradients"
        logger.info("memory: compiling %s, at %.1f s", how, deadline.took)
        torch.compiler.reset()
        made: Any = torch.compile(model, backend=backend)
        with _limited(limit, machine) as planned:
            peak = measured_peak(model, made, batch, loss, accumulate)
        total = None if peak is None else fixed + peak
        if total is not None:
            logger.info("memory: a step takes %s of %s, at %.1f s", size_text(total), size_text(size), deadline.took)
        error = (peak or 0) - max(planned) if planned else 0
        fit = CompiledFit(made, size, limit, fixed, total, None, 0.0, machine=machine)
        tried[limit] = Tried(fit, total, error, limit is None, float(-(limit or 0)))
        return tried[limit]

    def attempt(room: int) -> Tried | None:
        if not tried:
            return run(None)
        limit = max(room - fixed, 1)
        if limit in tried:
            return None
        try:
            return run(limit)
        except LimitTooSmall as error:
            return None if error.least_bytes in tried else run(error.least_bytes)

    found, _ = settled(attempt, size, deadline.over)
    if found.total is not None and found.total > size:
        least = min(one.total or 0 for one in tried.values())
        raise too_small(least, "which the smallest measured step took", size, EAGER)
    if next(reversed(tried)) != found.what.limit_bytes:  # the last one that was compiled is another
        found = run(found.what.limit_bytes)
    took = step_time(found.what.model, batch, loss=loss)
    fit: CompiledFit = found.what
    return replace(fit, whole_bytes=tried[None].total, planned_seconds=deadline.took, step_time=took)


def _fixed_bytes(model: Any, batch: Any, optimizer: str, accumulate: bool) -> int:
    """Return the bytes of all of a step before it begins, as the allocator of the model's device gives them."""
    from lamcts.neural import trace

    inputs = [one for one in leaves(batch) if hasattr(one, "untyped_storage")]
    sizes = outside_sizes(model, inputs, trace.STATES[optimizer] + accumulate)
    return sum(rounded(one, unit_of(model)) for one in sizes)


def _limited(limit: int | None, machine: Machine | None) -> AbstractContextManager[list[int] | None]:
    """Return a context in which what is compiled has a limit, if there is one."""
    from lamcts.neural.memory.inductor import peak_within

    return nullcontext() if limit is None else peak_within(limit, machine)
