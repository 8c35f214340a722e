"""A found network in one file: its weights, and a card that says what it is. It loads without the search."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts import nas
from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.train.objective import TrainObjective, plain

if TYPE_CHECKING:
    from torch import nn


def save_network(path: Path | str, objective: TrainObjective, point: Point) -> dict[str, Any]:
    """Write the network of a point that the objective has trained into its folder; return its card.

    RuntimeError where it has not.
    """
    from lamcts.neural.train import checkpoints

    file = objective.kept(point)
    if file is None:
        raise RuntimeError("save_network: expected a network that was trained into a folder, got none; train it first")
    held = checkpoints.read(file)
    card = card_of(objective, point) | {"result": held.said["result"]}
    weights = held.tensors("average") or held.tensors("net")
    checkpoints.save(path, card, weights)
    return card


def card_of(objective: TrainObjective, point: Point) -> dict[str, Any]:
    """Return what a network is, and what it was trained with, as JSON values."""
    space, data = objective.architectures, objective.data
    return {
        "space": {"kind": type(space).__name__, "settings": settings_of(space)},
        "point": dict(point),
        "text": space.text(point),
        "build": {"channels": data.shape[0], "classes": data.classes, **objective.sizes},
        "data": {"name": data.name, "shape": list(data.shape), "fingerprint": data.fingerprint},
        "recipe": plain(objective.recipe),
    }


def load_network(path: Path | str) -> "tuple[nn.Module, dict[str, Any]]":
    """Return a network that `save_network` wrote, ready to judge, and its card. Needs torch."""
    from lamcts.neural.build import build
    from lamcts.neural.train import checkpoints

    held = checkpoints.read(path)
    card = held.said
    try:
        space = _space(card["space"]["kind"])(**card["space"]["settings"])
        net = build(space, card["point"], **card["build"])
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"{path}: expected a network with its card, got {error} wrong or missing") from None
    net.load_state_dict(held.tensors(""))
    return net.eval(), card


def _space(kind: str) -> type[ArchitectureSpace]:
    """Return a space of ours by its name: a card, which may be a stranger's, names nothing else."""
    made = getattr(nas, kind) if kind in nas.__all__ else None
    if not (isinstance(made, type) and issubclass(made, ArchitectureSpace)):
        raise KeyError(kind)
    return made


def settings_of(space: ArchitectureSpace) -> dict[str, int]:
    """Return what a space was made with: whole numbers, which it keeps under the names of its parameters."""
    names = list(inspect.signature(type(space)).parameters)
    values = {name: getattr(space, name) for name in names}
    return {name: len(value) if isinstance(value, list) else int(value) for name, value in values.items()}
