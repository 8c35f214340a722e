"""Saved networks: weights with a model card in one file, which loads without the search."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.neural import nas
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.train.objective import TrainObjective, plain

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.train.checkpoints import Checkpoint

OWN = "NetworkFactory"  # networks that a function of the user builds


def save_network(
    path: Path | str, objective: TrainObjective, point: Point, search: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Write a trained network with its model card.

    Parameters
    ----------
    path : path
        File to write (.npz).
    objective : TrainObjective
        Objective with a `folder`, in which the network was trained.
    point : dict
        Point of the network.
    search : mapping, default None
        How the network was found, as JSON values: the entry "search" of the card.
    """
    from lamcts.neural.train import checkpoints

    held = _kept(objective, point)
    space, data = objective.architectures, objective.data
    card = {
        "space": {"kind": type(space).__name__, "settings": settings_of(space) if published(space) else {}},
        "point": dict(point),
        "text": space.text(point),
        "build": {"channels": data.shape[0], "classes": data.classes, **objective.sizes},
        "data": {"name": data.name, "shape": list(data.shape), "fingerprint": data.fingerprint},
        "recipe": plain(objective.recipe),
        "result": held.values["result"],
    }
    card |= {} if search is None else {"search": dict(search)}
    if objective.memory_budget is not None:
        peak = held.values["result"].get("planned_peak_bytes")
        card["memory"] = {"budget_bytes": objective.memory_budget.budget_bytes, "peak_bytes": peak}
    checkpoints.save(path, card, _weights(held))
    return card


def trained_network(objective: TrainObjective, point: Point) -> "nn.Module":
    """Return a trained network in evaluation mode, on the CPU. Needs torch.

    Parameters
    ----------
    objective : TrainObjective
        Objective with a `folder`, in which the network was trained.
    point : dict
        Point of the network.
    """
    held, net = _kept(objective, point), objective.build(point)
    net.load_state_dict(_weights(held))
    return net.eval()


def _kept(objective: TrainObjective, point: Point) -> "Checkpoint":
    """Return the checkpoint of a trained network."""
    from lamcts.neural.train import checkpoints

    file = objective.kept(point)
    if file is None:
        raise RuntimeError("expected a network that was trained into a folder, got none; train it first")
    return checkpoints.read(file)


def _weights(held: "Checkpoint") -> "dict[str, Tensor]":
    return held.tensors("average") or held.tensors("net")


def load_network(
    path: Path | str, function: "Callable[[Point], nn.Module] | None" = None
) -> "tuple[nn.Module, dict[str, Any]]":
    """Load a network that `save_network` wrote, in evaluation mode. Needs torch.

    Parameters
    ----------
    path : path
        The file.
    function : callable, optional
        The function that built the network from a point; required for a network of a `NetworkFactory`.

    Returns
    -------
    net : torch.nn.Module
        The network.
    card : dict
        Its model card.
    """
    from lamcts.neural.build import build
    from lamcts.neural.build.factory import built
    from lamcts.neural.train import checkpoints

    held = checkpoints.read(path)
    card = held.values
    try:
        if function is not None:
            net = built(function, card["point"], 0, "load_network")
        else:
            space = _space(card["space"]["kind"])(**card["space"]["settings"])
            net = build(space, card["point"], **card["build"])
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"{path}: expected a network with its card, got {error} wrong or missing") from None
    net.load_state_dict(held.tensors(""))
    return net.eval(), card


def published(space: ArchitectureSpace) -> bool:
    """Return whether a card alone can make a space: it is a class of `lamcts.neural.nas`."""
    return type(space).__name__ in nas.__all__


def _space(kind: str) -> type[ArchitectureSpace]:
    """Return a space class of `lamcts.neural.nas` by name; cards of strangers can name no other class."""
    if kind == OWN:
        raise ValueError("load_network: expected function=, the function that built the network from a point, got none")
    made = getattr(nas, kind) if kind in nas.__all__ else None
    if not (isinstance(made, type) and issubclass(made, ArchitectureSpace)):
        raise KeyError(kind)
    return made


def settings_of(space: ArchitectureSpace) -> dict[str, int]:
    """Return the settings of a space, which are integers, by parameter name."""
    names = list(inspect.signature(type(space)).parameters)
    values = {name: getattr(space, name) for name in names}
    return {name: len(value) if isinstance(value, list) else int(value) for name, value in values.items()}
