"""CatCMA with margin, and COMO-CatCMA with margin for two objectives, of the library `cmaes`: they see no constraints.

Hamano et al. (2024, 2025), arXiv 2405.09962 and 2504.07884. Start, populations and kernels are the library's.
"""

from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.measured import MeasuredSearch
from lamcts import Box, Float, Int


def search(search: MeasuredSearch) -> None:
    import cmaes

    space = search.objective.space
    members = {} if isinstance(space, Box) else dict(parameters(space))
    reals = [name for name, member in members.items() if isinstance(member, Float)]
    whole = [name for name, member in members.items() if isinstance(member, Int)]
    if len(members) > len(reals) + len(whole):
        raise ValueError("expected real numbers and integers alone")
    box = [] if members else np.stack([space.low, space.high], axis=1).tolist()
    bounds = [[members[name].low, members[name].high] for name in reals] or box
    settings: dict[str, Any] = {"x_space": bounds, "seed": search.seed}
    if whole:
        settings["z_space"] = [list(range(members[name].low, members[name].high + 1)) for name in whole]
    several = len(search.goals.objectives) > 1
    strategy = cmaes.COMOCatCMAwM(**settings) if several else cmaes.CatCMAwM(**settings)
    while search.left:
        asked = list(strategy.ask_iter()) if several else [strategy.ask() for _ in range(strategy.population_size)]
        points = [_point(given, reals, whole) for given in asked]
        f = search.outcomes(points).f.tolist()
        strategy.tell([(given, losses if several else losses[0]) for given, losses in zip(asked, f, strict=True)])


def _point(given: Any, reals: list[str], whole: list[str]) -> Any:
    """Return a solution of the library as a point of the problem's own space."""
    if not reals:
        return given.x.tolist()
    return dict(zip(reals, given.x.tolist(), strict=True)) | dict(zip(whole, map(int, given.z), strict=True))
