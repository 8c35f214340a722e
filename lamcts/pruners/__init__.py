"""Rules that stop a trial early, from the intermediate values that all trials have reported.

A rule is a class in a module of this folder, registered by ``@register("name", "one line")``. Its method
``prune(number, curves)`` returns whether trial `number` should stop.
"""

from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from lamcts.pruners.curves import Curves
from lamcts.pruners.halving import Halving, Hyperband
from lamcts.pruners.median import Median
from lamcts.pruners.model import Model
from lamcts.pruners.registry import NAMES, Pruner, line, register
from lamcts.text import safe_repr
from lamcts.utils.argument_hints import hint_pruner
from lamcts.utils.removed import hint, refuses

__all__ = [
    "NAMES",
    "Curves",
    "Halving",
    "Hyperband",
    "Median",
    "Model",
    "Pruner",
    "line",
    "make",
    "register",
]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def make(pruner: str | Pruner | None) -> Pruner | None:
    """Return a pruner from its name, or the object itself if it is one.

    Parameters
    ----------
    pruner : str, object or None
        A name of `NAMES`, an object with a method ``prune(number, curves)``, or None.

    Returns
    -------
    object or None
        The pruner; None for None.

    Raises
    ------
    ValueError
        If `pruner` is neither.

    Examples
    --------
    >>> from lamcts import pruners
    >>> pruners.make("median")
    Median(startup=5, warmup=0, interval=1)
    """
    if pruner is None:
        return None
    if isinstance(pruner, str) and pruner in NAMES:
        return NAMES[pruner]()
    theirs = hint_pruner(pruner)
    cure = f"; {theirs}" if theirs else hint("pruner", pruner) if isinstance(pruner, str) else ""
    if theirs is not None or isinstance(pruner, (str, type)) or not _takes_curves(getattr(pruner, "prune", None)):
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"pruner: expected {names}, None, or an object with prune(number, curves) such as "
            f"pruners.Median(startup=10), got {safe_repr(pruner):.60}{cure}"
        )
    return pruner


def _takes_curves(prune: object) -> bool:
    """Return whether a function can be called with a number and curves, by its signature."""
    if not callable(prune):
        return False
    try:
        signature(prune).bind(0, Curves())
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        return True
    return True
