"""An optimizer's settings as JSON values, and back. Parts of somebody else's are named, and have to be given again."""

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

from lamcts import samplers
from lamcts.optimizer.design import Design
from lamcts.spaces.described import built, described

# Classes of frozen settings, and where they are: a file may name these, and no others. Those of whole searches stand
# above this part, which imports them only where a file has them.
MODULES = {
    "LatentTree": "lamcts.tree.grow",
    "KMeansSvm": "lamcts.tree.splits",
    "Linear": "lamcts.tree.linear",
    "HoldOut": "lamcts.tree.holdout",
    "Prior": "lamcts.models.fit",
    "ModelBudget": "lamcts.models.local",
    "HammingPrior": "lamcts.models.hamming_fit",
    "Leaf": "lamcts.searches.lanas.leaf",
    "AlphaX": "lamcts.searches.alphax.sampler",
    "Assign": "lamcts.searches.alphax.actions",
    "BuildCells": "lamcts.searches.alphax.cells",
    "Ridge": "lamcts.searches.alphax.ridge",
    "MetaDnn": "lamcts.neural.metadnn.settings",
}
PARTS = ("space", "sampler", "tree")


def settings_of(space: Any, sampler: Any, tree: Any, design: Design, **rest: Any) -> dict[str, Any]:
    """Return the settings; under "foreign" the text of those parts that no file can hold, which are None."""
    given = {"space": space, "sampler": sampler, "tree": tree}
    parts = {"space": described(space), "sampler": _or_none(sampler), "tree": _or_none(tree)}
    foreign = {name: repr(part) for name, part in given.items() if part is not None and parts[name] is None}
    return parts | rest | {"design": design.signature(), "foreign": foreign}


def arguments_of(settings: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what `Optimizer` takes but for the design, with the parts that are `given` in place of the file's.

    ValueError where a part is neither given nor in the file.
    """
    missing = [name for name in settings["foreign"] if name not in given]
    if missing:
        what = f"{missing[0]}: {settings['foreign'][missing[0]]} is none that a file can hold"
        raise ValueError(f"{what}; pass load(path, {missing[0]}=...)")
    make = {"space": built, "sampler": from_plain, "tree": from_plain}
    try:
        parts = {name: given[name] if name in given else make[name](settings[name]) for name in PARTS}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"expected settings that this lamcts knows, got those of another version ({error})") from None
    goals: dict[str, Any] = settings.get("goals", {})
    return parts | {name: settings[name] for name in ("maximize", "seed", "repeat")} | goals


def design_of(settings: dict[str, Any], space: Any, centred: bool) -> Design:
    """Return the initial design, its x0 code by code: decoded and encoded again it might lose a last bit."""
    kind, n, x0 = (settings["design"][name] for name in ("kind", "n_init", "x0"))
    return Design(space, kind, n, [np.array(x, float) for x in x0], settings["seed"], centred=centred)


def plain(value: Any) -> Any:
    """Return frozen settings of ours as JSON values; TypeError for anything that `from_plain` could not make again."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    name, module = type(value).__name__, type(value).__module__
    if not is_dataclass(value) or not f"{module}.".startswith(f"{_modules().get(name)}."):
        raise TypeError(f"expected settings of lamcts, got {name}")
    return {"class": name} | {field.name: plain(getattr(value, field.name)) for field in fields(value)}


def from_plain(value: Any) -> Any:
    """Return what `plain` made JSON values of; KeyError, TypeError or ValueError for anything else."""
    if isinstance(value, list):
        return tuple(from_plain(item) for item in value)
    if not isinstance(value, dict):
        return value
    given = {name: from_plain(item) for name, item in value.items() if name != "class"}
    return getattr(import_module(_modules()[value["class"]]), value["class"])(**given)


def _modules() -> dict[str, str]:
    return {cls.__name__: cls.__module__ for cls in samplers.classes().values()} | MODULES


def _or_none(value: Any) -> Any:
    try:
        return plain(value)
    except TypeError:
        return None
