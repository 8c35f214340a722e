"""A training step as a graph: forward and backward steps in order, tensors, and the memory that they share.

Storages are numbered in the order in which they are first written.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

MB = 2**20  # bytes, as in the thesis


class Storage(NamedTuple):
    """Memory that one tensor has, or several share.

    role: "activation" is made by a forward step; "gradient" by a backward one; "temporary" lives within a step,
    or is held by others than autograd; "outside" is not ours to move: inputs, parameters. outside ones count no bytes
    unless an accounting says so.
    """

    name: str
    bytes: int
    role: Literal["activation", "gradient", "temporary", "outside"]


class Tensor(NamedTuple):
    """A name for a storage: tensors with the same one are aliases, be they views or written in place."""

    name: str
    storage: int


class Step(NamedTuple):
    """One operation. A storage that it reads and writes is changed in place.

    forward: whether it belongs to the forward pass. reads, writes: storages. flops: operations; moved_bytes: read and
    written. checkpoint: as in `layers.Kind`. workspace_bytes: scratch memory with which it would run faster.
    node: backward steps in a row of one number are one formula, which asks for the movable storages that it reads one
    after the other, in this order, and holds each until its last step (-1: a step that asks for all at once, and holds
    none longer). copied_bytes: of what is outside it changes so much in place, and a copy of it when it runs again.
    """

    name: str
    kind: str
    forward: bool
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: int
    moved_bytes: int
    checkpoint: bool = False
    workspace_bytes: int = 0
    node: int = -1
    copied_bytes: int = 0


@dataclass(frozen=True, eq=False)
class StepGraph:
    """All steps of one training iteration, forward ones first, in the order in which they run.

    accounting: how the memory was counted: "thesis" (of a list of layers) or "traced" (of a module as torch runs it).
    outside_bytes: what is there all the time beside the storages: parameters, their gradients, the optimiser's state.
    """

    steps: tuple[Step, ...]
    storages: tuple[Storage, ...]
    tensors: tuple[Tensor, ...]
    accounting: Literal["thesis", "traced"]
    outside_bytes: int = 0

    def __post_init__(self) -> None:
        known = range(len(self.storages))
        backward = False
        for step in self.steps:
            if any(one not in known for one in (*step.reads, *step.writes)):
                raise ValueError(f"{step.name}: expected storages below {len(known)}, got {step.reads}, {step.writes}")
            if backward and step.forward:
                raise ValueError(f"{step.name}: expected all forward steps before the backward ones")
            backward = not step.forward

    @cached_property
    def forward_count(self) -> int:
        """How many steps are forward ones."""
        return sum(step.forward for step in self.steps)

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """Storages that a plan decides on: activations that no backward step writes, in the order they are made."""
        late = {one for step in self.steps if not step.forward for one in step.writes}
        made = {one for step in self.steps if step.forward for one in step.writes}
        kept = [i for i, storage in enumerate(self.storages) if storage.role == "activation" and i in made]
        return tuple(i for i in kept if i not in late)

    @cached_property
    def makers(self) -> dict[int, tuple[int, ...]]:
        """The forward steps that write each movable storage, in order: all of them make it anew."""
        found: dict[int, list[int]] = {i: [] for i in self.movable}
        for t, step in enumerate(self.steps[: self.forward_count]):
            for one in step.writes:
                if one in found:
                    found[one].append(t)
        return {i: tuple(steps) for i, steps in found.items()}
