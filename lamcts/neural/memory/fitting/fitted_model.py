"""The result of `fit`: a model with a plan and its costs."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lamcts.movement.sizes import size_text
from lamcts.neural.memory.plan import Action, Plan
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.memory.timing import StepTime
    from lamcts.neural.trace import Trace

KINDS = ("keep", "recompute", "offload")


class ActionCounts(NamedTuple):
    """Numbers of storages with a backward need that are kept, recomputed and offloaded."""

    kept: int
    recomputed: int
    offloaded: int

    def __str__(self) -> str:
        return f"{self.kept} kept, {self.recomputed} recomputed, {self.offloaded} offloaded"


def action_counts(report: Report) -> ActionCounts:
    """Count the treatment of storages with a backward need, for themselves or for a recomputation."""
    graph = report.graph
    back = {event.storage for event in report.events if event.allocates and event.step >= graph.forward_count}
    wanted = Simulator(graph).last_needs(report.plan.actions)
    rows = zip(graph.movable, report.plan.actions, wanted, strict=True)
    words = [Action(one).word.partition("-")[0] if i in back else "keep" for i, one, at in rows if at >= 0]
    return ActionCounts(*(words.count(word) for word in KINDS))


class Chosen(NamedTuple):
    """A simulated plan for a budget; `kept` is the plan that keeps everything, `plans` are all candidates."""

    report: Report
    kept: Report
    plans: list[Report]

    def lines(self) -> list[str]:
        """Return a description of the plan in lines."""
        report, kept = self.report, self.kept
        if report is kept:
            return ["that fits: everything is kept"]
        whole, part = size_text(report.total_bytes), size_text(report.peak_bytes)
        moved = size_text(report.sent_bytes + report.fetched_bytes)
        longer = f"{100 * (report.seconds / kept.seconds - 1):.1f} % more than keeping everything"
        return [
            f"plan {report.plan.name!r}: {whole}, {part} of it activations and gradients;"
            f" {1e3 * report.seconds:.4g} ms a step, modelled, {longer}",
            f"{action_counts(report)}; a step recomputes {report.recomputes} and moves {moved}",
        ]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with a plan that fits a memory budget.

    Inside a `with` block, training steps follow the plan. The block can be entered repeatedly. If everything is kept,
    steps run unchanged; else each step must match the trace: same batch shape, loss and mode. Penalties, auxiliary
    losses, loss scaling and metrics may be added; see `lamcts.neural.memory.apply`. `print` describes the plan.

    Attributes
    ----------
    traced : Trace
        The traced training step.
    budget_bytes : int
        The budget.
    optimizer : str
        Optimizer whose state counts.
    chosen : Chosen
        The plan and all candidates.
    measured : MeasuredStep or None
        Measurement of one step, see `measure`.
    planned_seconds : float
        Time of tracing, search and measurement.
    margin_bytes : int
        Part of the budget that planning left free, because a measured step took more than the plan.
    step_time : StepTime or None
        Measured time of a step under the plan, see `lamcts.neural.memory.step_time`; None if none ran.
    """

    model: "nn.Module"
    traced: "Trace"
    budget_bytes: int
    optimizer: str
    chosen: Chosen
    measured: Any
    planned_seconds: float
    margin_bytes: int = 0
    step_time: "StepTime | None" = None
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def report(self) -> Report:
        """The simulated plan."""
        return self.chosen.report

    @property
    def plan(self) -> Plan:
        return self.report.plan

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is recomputed or offloaded."""
        return self.report is self.chosen.kept

    @property
    def measured_bytes(self) -> int | None:
        """The measured peak of a step, with parameters, buffers, inputs and optimizer state; None without one."""
        return total_bytes(self.traced, self.optimizer, self.measured)

    @property
    def peak_bytes(self) -> int:
        """The measured peak of a step, or the simulated one without a measurement."""
        return self.measured_bytes or self.report.total_bytes

    @property
    def verified(self) -> bool | None:
        """Whether the measured step stayed within the budget; None without a measured peak.

        It also has to hold at most the predicted bytes after the forward pass.
        """
        total = self.measured_bytes
        if total is None:
            return None
        return bool(self.measured.held_bytes <= self.measured.predicted_bytes and total <= self.budget_bytes)

    def timed(self, batch: Any, loss: Any = None) -> "StepTime":
        """Measure the time of steps under the plan."""
        from lamcts.neural.memory.timing import step_time

        plan = None if self.keeps_all else self.plan
        return step_time(self.model, batch, plan, loss=loss, traced=self.traced)

    def __enter__(self) -> "Fitted":
        if not self.keeps_all:
            from lamcts.neural.memory.execution import apply

            self._stack.enter_context(apply(self.model, self.plan, self.traced))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """A description of the plan in a few lines."""
        whole = f"keeping everything takes {size_text(self.chosen.kept.total_bytes)}"
        parts = ", ".join(f"{name} {size_text(size)}" for name, size in self.parts().items() if size)
        lines = [f"budget {size_text(self.budget_bytes)}; {whole}:", f"  {parts}", *self.chosen.lines()]
        return "\n".join([*lines, self.measurement, f"planned in {self.planned_seconds:.1f} s"])

    def parts(self) -> dict[str, int]:
        """Return the bytes of keeping everything, by purpose; their sum is its total."""
        traced, kept = self.traced, self.chosen.kept
        fixed = fixed_bytes(traced, self.optimizer)
        state = fixed - traced.parameter_bytes - traced.buffer_bytes - traced.input_bytes - traced.gradient_bytes
        return {
            "parameters": traced.parameter_bytes,
            "gradients of earlier steps": traced.gradient_bytes,
            f"optimiser ({self.optimizer})": state,
            "buffers": traced.buffer_bytes,
            "inputs": traced.input_bytes,
            "activations and gradients": kept.peak_bytes,
            "rounding": kept.total_bytes - kept.peak_bytes - fixed,
        }

    @property
    def measurement(self) -> str:
        """The measurement in one line."""
        found = self.measured
        if found is None:
            return "not measured"
        held, predicted = size_text(found.held_bytes), size_text(found.predicted_bytes)
        text = f"measured: {held} held after the forward pass, {predicted} predicted"
        total = self.measured_bytes
        if total is None:
            return f"{text}; the peak was not measured"
        text += f"; {size_text(total)} at most"
        scratch = max(found.scratch.values(), default=0)
        text += f", scratch memory of up to {size_text(scratch)} included" if 100 * scratch > total else ""
        if found.reserved_bytes is not None:
            reserved = total - found.peak_bytes + found.reserved_bytes
            text += f", {size_text(reserved)} reserved by the allocator"
        if self.step_time is not None:
            modelled = f"{1e3 * self.report.seconds:.4g} modelled"
            text += f"; {1e3 * self.step_time.seconds:.4g} ms a step, {modelled}"
        elif found.milliseconds is not None:
            text += f", {found.milliseconds:.1f} ms"
        text += f"; {size_text(self.margin_bytes)} of the budget left free" if self.margin_bytes else ""
        if found.held_bytes > found.predicted_bytes:
            return f"{text}: more than planned for, leave more room"
        if total > self.budget_bytes:
            over = size_text(total - self.budget_bytes)
            return f"{text}: {over} over the budget, and no plan was measured within it; raise it, or shrink the batch"
        return text


def fixed_bytes(traced: "Trace", optimizer: str) -> int:
    """Return the bytes before a step: parameters, buffers, inputs, optimizer state and gradients of earlier steps."""
    from lamcts.neural import trace

    before = traced.parameter_bytes + traced.buffer_bytes + traced.input_bytes + traced.gradient_bytes
    return before + trace.STATES[optimizer] * traced.parameter_bytes


def total_bytes(traced: "Trace", optimizer: str, measured: Any) -> int | None:
    """Return the measured peak of all of a step, to compare with a budget; None without a measured peak."""
    if measured is None or measured.peak_bytes is None:
        return None
    return fixed_bytes(traced, optimizer) + int(measured.peak_bytes)
