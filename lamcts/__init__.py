"""Black-box optimisation that learns where to look: latent action Monte Carlo tree search (LA-MCTS).

    opt = lamcts.Optimizer(lamcts.Box(-5, 10, dim=20), seed=0)
    trials = opt.ask(4)
    opt.tell(trials, [f(trial.point) for trial in trials])

or `lamcts.minimize(f, space, budget=500)`. Importing this package loads numpy and nothing heavier; `lamcts.plot` and
`lamcts.report` load on first use.
"""

from importlib import import_module
from typing import Any

from lamcts.utils import interrupts

with interrupts.imported():
    from lamcts import pruners, samplers
    from lamcts.errors import Exhausted, InvalidPoint, JournalError, LamctsError, MissingExtra, Pruned
    from lamcts.optimizer import Best, Optimizer
    from lamcts.outcomes.measured import Measured
    from lamcts.outcomes.trial import Trial
    from lamcts.spaces import (
        Angle,
        Bool,
        Box,
        Canonical,
        Choice,
        Fidelity,
        Finite,
        Float,
        Int,
        Permutation,
        Simplex,
        Space,
        Subset,
        Valid,
    )
    from lamcts.study import compare, load, maximize, minimize, run
    from lamcts.tree import LatentTree

__version__ = "0.1.0"

__all__ = [
    "Angle",
    "Best",
    "Bool",
    "Box",
    "Canonical",
    "Choice",
    "Exhausted",
    "Fidelity",
    "Finite",
    "Float",
    "Int",
    "InvalidPoint",
    "JournalError",
    "LamctsError",
    "LatentTree",
    "Measured",
    "MissingExtra",
    "Optimizer",
    "Permutation",
    "Pruned",
    "Simplex",
    "Space",
    "Subset",
    "Trial",
    "Valid",
    "compare",
    "load",
    "maximize",
    "minimize",
    "pruners",
    "run",
    "samplers",
]

_LAZY = ("movement", "neural", "objectives", "plot", "report")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"lamcts.{name}")
    raise AttributeError(f"module 'lamcts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
