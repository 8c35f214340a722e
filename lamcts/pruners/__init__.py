"""When a trial that reports values on its way is stopped: rules over the curves of all trials."""

from inspect import signature
from typing import Any

from lamcts.argument_hints import hint_pruner
from lamcts.pruners.curves import Curves
from lamcts.pruners.extrapolation import Extrapolation
from lamcts.pruners.halving import Halving, Hyperband
from lamcts.pruners.median import Median
from lamcts.text import safe_repr

NAMES = {"median": Median, "halving": Halving, "hyperband": Hyperband, "extrapolation": Extrapolation}

__all__ = ["NAMES", "Curves", "Extrapolation", "Halving", "Hyperband", "Median", "make"]


def make(pruner: Any) -> Any:
    """Return the rule of a name, or an object that is one; None for None. ValueError for anything else."""
    if pruner is None:
        return None
    if isinstance(pruner, str) and pruner in NAMES:
        return NAMES[pruner]()
    theirs = hint_pruner(pruner)
    if theirs is not None or isinstance(pruner, (str, type)) or not _takes_curves(getattr(pruner, "prune", None)):
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"pruner: expected {names}, None, or an object with prune(number, curves) such as "
            f"pruners.Median(startup=10), got {safe_repr(pruner):.60}{'' if theirs is None else f'; {theirs}'}"
        )
    return pruner


def _takes_curves(prune: Any) -> bool:
    """Return whether it can be called with a number and curves, as far as it tells what it takes."""
    if not callable(prune):
        return False
    try:
        signature(prune).bind(0, Curves())
    except TypeError:
        return False
    except ValueError:  # some built-in functions tell nothing
        return True
    return True
