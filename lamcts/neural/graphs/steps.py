"""A training step as a graph: forward and backward steps in order, tensors, and their storages.

Storages are numbered by their first write.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

Role = Literal["activation", "gradient", "temporary", "outside"]

MB = 2**20  # bytes, as in the thesis


class Storage(NamedTuple):
    """Memory of one tensor, or of several that share it."""

    name: str
    bytes: int
    role: Role  # "activation" is written by a forward step, "gradient" by a backward one


class Tensor(NamedTuple):
    """A named view of a storage; tensors with the same storage are aliases."""

    name: str
    storage: int


class Step(NamedTuple):
    """One operation; a storage that it reads and writes is modified in place."""

    name: str
    kind: str
    forward: bool  # whether it belongs to the forward pass
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: int  # floating-point operations
    moved_bytes: int  # bytes read and written
    checkpoint: bool = False
    workspace_bytes: int = 0
    node: int = -1
    copied_bytes: int = 0
    seconds: float = 0.0  # measured, without the host time of a plan; 0: not measured


@dataclass(frozen=True, eq=False)
class StepGraph:
    """All steps of a training iteration in order, forward steps first."""

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
        """Number of forward steps."""
        return sum(step.forward for step in self.steps)

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """Storages that a plan decides on: activations that no backward step writes, in order."""
        late = {one for step in self.steps if not step.forward for one in step.writes}
        made = {one for step in self.steps if step.forward for one in step.writes}
        kept = [i for i, storage in enumerate(self.storages) if storage.role == "activation" and i in made]
        return tuple(i for i in kept if i not in late)

    @cached_property
    def makers(self) -> dict[int, tuple[int, ...]]:
        """Forward steps that write each movable storage, in order; a recomputation runs all of them."""
        found: dict[int, list[int]] = {i: [] for i in self.movable}
        for t, step in enumerate(self.steps[: self.forward_count]):
            for one in step.writes:
                if one in found:
                    found[one].append(t)
        return {i: tuple(steps) for i, steps in found.items()}
