"""Measured properties of a step that its trace on fake tensors lacks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from lamcts.neural.graphs import StepGraph, Storage

Work = tuple[str, int, int]  # kind, floating-point operations and moved bytes of an operation


class Measured(Protocol):
    """The properties of a `MeasuredStep`, which needs torch."""

    @property
    def scratch(self) -> Mapping[Work, int]: ...
    @property
    def seconds(self) -> Mapping[Work, float]: ...
    @property
    def sizes(self) -> Mapping[int, int]: ...


@dataclass
class Seen:
    """The largest scratch bytes and the least seconds by work, and the bytes of storages of unknown size, by number."""

    scratch: dict[Work, int] = field(default_factory=dict)
    seconds: dict[Work, float] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    def add(self, step: Measured) -> None:
        """Add the properties of a measured step."""
        for work, size in step.scratch.items():
            self.scratch[work] = max(size, self.scratch.get(work, 0))
        for work, took in step.seconds.items():
            self.seconds[work] = min(took, self.seconds.get(work, took))
        self.sizes |= step.sizes

    def graph(self, traced: StepGraph) -> StepGraph:
        """Return a traced graph with the measured properties."""
        return with_seconds(with_scratch(with_sizes(traced, self.sizes), self.scratch), self.seconds)


def with_sizes(graph: StepGraph, sizes: Mapping[int, int]) -> StepGraph:
    """Return a graph in which storages have other sizes; a plan for one graph is a plan for the other."""
    storages = tuple(one._replace(bytes=sizes.get(i, one.bytes)) for i, one in enumerate(graph.storages))
    return replace(graph, storages=storages)


def with_seconds(graph: StepGraph, seconds: Mapping[Work, float]) -> StepGraph:
    """Return a graph whose steps take measured times, where their work was measured."""
    steps = tuple(one._replace(seconds=seconds.get((one.kind, one.flops, one.moved_bytes), 0.0)) for one in graph.steps)
    return replace(graph, steps=steps)


def with_scratch(graph: StepGraph, scratch: Mapping[Work, int]) -> StepGraph:
    """Return a graph whose steps also write a temporary storage of their scratch bytes, as do their recomputations."""
    storages, steps = list(graph.storages), []
    for step in graph.steps:
        size = scratch.get((step.kind, step.flops, step.moved_bytes), 0)
        steps.append(step._replace(writes=(*step.writes, len(storages))) if size else step)
        storages += [Storage(f"scratch of {step.name}", size, "temporary")] if size else []
    return replace(graph, steps=tuple(steps), storages=tuple(storages))
