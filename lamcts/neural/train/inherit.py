"""Weight transfer (AlphaX, thesis 3.2.4): a network starts with the weights it shares with a trained one."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.train import checkpoints


class Inherited(NamedTuple):
    """Result of a transfer."""

    copied: tuple[str, ...]
    fresh: tuple[str, ...]
    share: float


@torch.no_grad()
def inherit(child: nn.Module, parent: nn.Module | dict[str, torch.Tensor]) -> Inherited:
    """Copy tensors with the same path, shape and dtype from another network, in place.

    Parameters
    ----------
    child : torch.nn.Module
        The network to change.
    parent : torch.nn.Module or dict
        The donor, or its `state_dict()`.
    """
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
    """A trained network: its file, and the number of parameters of the encoding that differ."""

    file: Path
    edits: int


class Archive:
    """Trained networks of a space, one file each in a folder that processes may share."""

    def __init__(self, space: ArchitectureSpace, folder: Path | str) -> None:
        self.space, self.folder = space, Path(folder)
        self._read: dict[Path, tuple[str, ...]] = {}

    def add(self, point: Point, net: nn.Module, code: str) -> None:
        """Save a network under a code of its point and training."""
        self.add_weights(point, net.state_dict(), code)

    def add_weights(self, point: Point, weights: Mapping[str, Any], code: str) -> None:
        """Save tensors or arrays of a network under a code of its point and training."""
        tensors = {name: torch.as_tensor(value) for name, value in weights.items()}
        checkpoints.save(self.folder / f"{code}.npz", {"point": dict(point)}, tensors)

    def nearest(self, point: Point, among: Iterable[str] | None = None) -> NearestNetwork | None:
        """Return the nearest network except the point's own, or None; ties go to the first name."""
        mine = self._codes(point)
        files = self.folder.glob("*.npz") if among is None else (self.folder / f"{code}.npz" for code in among)
        edits = ((sum(a != b for a, b in zip(mine, self._codes_of(file), strict=True)), file) for file in set(files))
        found = min((each for each in edits if each[0]), default=None)
        return None if found is None else NearestNetwork(found[1], found[0])

    def _codes_of(self, file: Path) -> tuple[str, ...]:
        """Return the values of the point of a file, which is read once."""
        if file not in self._read:
            if not file.exists():
                raise ValueError(
                    f"expected the weights of a trained network in {file}, got no such file: "
                    "restore the folder, or start a new run"
                )
            self._read[file] = self._codes(checkpoints.read(file).values["point"])
        return self._read[file]

    def weights(self, path: Path) -> dict[str, torch.Tensor]:
        """Return the weights of a file, by path in the network."""
        return {name: torch.tensor(value) for name, value in checkpoints.read(path).arrays.items()}

    def _codes(self, point: Point) -> tuple[str, ...]:
        """Return the values of the canonical point as texts, by parameter name."""
        canonical = self.space.canonical(point)
        return tuple(json.dumps(canonical[name]) for name in sorted(canonical))
