"""Weight transfer (AlphaX, thesis 3.2.4): a network begins with what it shares with one that is trained.

Of the trained ones it is the nearest, by edits of the encoding; layers that it lacks begin as they would have.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.train import checkpoints


class Inherited(NamedTuple):
    """copied: the names of what a network took over. fresh: of what it did not. share: of its numbers, those copied."""

    copied: tuple[str, ...]
    fresh: tuple[str, ...]
    share: float


@torch.no_grad()
def inherit(child: nn.Module, parent: nn.Module | dict[str, torch.Tensor]) -> Inherited:
    """Copy into a network what another, or its `state_dict()`, has under the same path and in the same shape."""
    source = parent.state_dict() if isinstance(parent, nn.Module) else parent
    mine = child.state_dict()
    copied = tuple(name for name, value in mine.items() if _fits(value, source.get(name)))
    for name in copied:
        mine[name].copy_(source[name])
    numbers = {name: value.numel() for name, value in mine.items()}
    share = sum(numbers[name] for name in copied) / max(sum(numbers.values()), 1)
    return Inherited(copied, tuple(name for name in mine if name not in copied), share)


def _fits(value: torch.Tensor, other: torch.Tensor | None) -> bool:
    return other is not None and value.shape == other.shape and value.dtype == other.dtype


class NearestNetwork(NamedTuple):
    """A trained network: its file, and in how many parameters of the encoding it differs."""

    file: Path
    edits: int


class Archive:
    """Networks of a space that are trained, a file of arrays and JSON each in a folder, which processes may share."""

    def __init__(self, space: ArchitectureSpace, folder: Path | str) -> None:
        self.space, self.folder = space, Path(folder)
        self._read: dict[Path, tuple[str, ...]] = {}

    def add(self, point: Point, net: nn.Module, code: str) -> None:
        """Keep a network under a code, which stands for its point and what it was trained with."""
        checkpoints.save(self.folder / f"{code}.npz", {"point": dict(point)}, net.state_dict())

    def nearest(self, point: Point) -> NearestNetwork | None:
        """Return the nearest network but the point's own; None where there is none. Of several, the first by name."""
        mine = self._codes(point)
        for file in sorted(self.folder.glob("*.npz")):
            if file not in self._read:
                self._read[file] = self._codes(checkpoints.read(file).said["point"])
        edits = ((sum(a != b for a, b in zip(mine, codes, strict=True)), file) for file, codes in self._read.items())
        found = min((each for each in edits if each[0]), default=None)
        return None if found is None else NearestNetwork(found[1], found[0])

    def weights(self, path: Path) -> dict[str, torch.Tensor]:
        """Return the weights of a file, by path in the network."""
        return {name: torch.tensor(value) for name, value in checkpoints.read(path).arrays.items()}

    def _codes(self, point: Point) -> tuple[str, ...]:
        """Return the values of the one point that stands for a network, each as text, in the order of their names."""
        canonical = self.space.canonical(point)
        return tuple(json.dumps(canonical[name]) for name in sorted(canonical))
