"""Scratch memory for convolutions, out of what a plan leaves free at each step (thesis 8.3.5)."""

from typing import NamedTuple

from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.report import Report


class Workspaces(NamedTuple):
    """The bytes that each step gets, and the seconds of the training step with them."""

    bytes: list[int]
    seconds: float


def workspaces(report: Report, machine: Machine) -> Workspaces:
    """Return how much scratch memory each step gets of what is free, and what it gains.

    A step wants `Step.workspace_bytes`; it gets at most what `machine.capacity_bytes` leaves, and is `workspace_gain`
    times faster with all of it, with a part in proportion. Storages come first, as in the thesis, which tries
    algorithms on the device where this is a knob of a model.
    """
    given = [
        max(0, min(step.workspace_bytes, machine.capacity_bytes - live))
        for step, live in zip(report.graph.steps, report.live_bytes, strict=True)
    ]
    saved = 0.0
    for step, got in zip(report.graph.steps, given, strict=True):
        if got:
            factor = 1 + (machine.workspace_gain - 1) * got / step.workspace_bytes
            saved += machine.seconds(step) * (1 - 1 / factor)
    return Workspaces(given, report.seconds - saved)
