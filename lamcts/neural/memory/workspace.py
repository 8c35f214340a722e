"""Workspaces for convolutions from the memory that a plan leaves free at each step (thesis 8.3.5)."""

from typing import NamedTuple

from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.report import Report


class Workspaces(NamedTuple):
    """Workspace of each step in bytes, and the time of the training step with it, in seconds."""

    bytes: list[int]
    seconds: float


def workspaces(report: Report, machine: Machine) -> Workspaces:
    """Assign free memory to steps as workspace.

    A step requests `Step.workspace_bytes` and gets at most the free part of `machine.capacity_bytes`. With all of it
    the step is `workspace_gain` times faster, with a part proportionally. The thesis times algorithms on the device
    instead.

    Parameters
    ----------
    report : Report
        A simulated plan.
    machine : Machine
        Capacity and gain.
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
