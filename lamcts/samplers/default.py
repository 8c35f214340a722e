"""The default sampler of a space, and samplers by name; no other file imports several samplers."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from lamcts.samplers.registry import AUTO, find, names

if TYPE_CHECKING:
    from lamcts.outcomes.goals import Goals
    from lamcts.samplers.base import Sampler
    from lamcts.samplers.portfolio import Portfolio
    from lamcts.spaces.base import SearchSpace

PORTFOLIO = "portfolio"
LEAD = 100  # evaluations for which the mixed GP proposes alone, of partly discrete spaces (benchmarks/README.md, models
# to tune)


def make(name: str, space: "SearchSpace", goals: "Goals | None" = None) -> "Sampler":
    """Return the sampler of a name, with settings that suit a space.

    ValueError if no sampler has that name.

    name: one of `names()`; `nevergrad:OnePlusOne` names one of Nevergrad's optimisers.
    space: the parameters.
    goals: objectives and constraints, for `auto` (None: one objective without constraints).
    """
    if name == AUTO:
        return default(space, goals)
    if name == PORTFOLIO:
        return portfolio(space)
    kind, _, detail = name.partition(":")
    cls = None if kind == PORTFOLIO else find(kind)
    made = None if cls is None else cls.suited(space, detail)
    if made is None:
        near = get_close_matches(name, [*names()], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"sampler: expected one of {', '.join(names())}, got {name!r}{hint}")
    return made


def default(space: "SearchSpace", goals: "Goals | None" = None) -> "Sampler":
    """Return the sampler that `sampler="auto"` selects.

    `GpCma` for real parameters and one objective without constraints; `MixedGp` where half of the parameters or more
    are discrete; else the `Portfolio`.

    space: the parameters.
    goals: objectives and constraints (None: one objective without constraints).
    """
    from lamcts.samplers.gp_cma import GpCma
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.spaces.parameters import Parameters

    if Parameters(space).mostly_discrete:
        return MixedGp()
    plain = goals is None or goals.plain
    return GpCma() if plain and space.continuous.all() else portfolio(space)


def portfolio(space: "SearchSpace") -> "Portfolio":
    """Return a portfolio of the methods that suit the parameters of a space."""
    from lamcts.samplers.coordinate import Coordinate
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.samplers.portfolio import Portfolio
    from lamcts.samplers.quadratic import Quadratic
    from lamcts.samplers.turbo import Turbo
    from lamcts.spaces.parameters import Parameters

    # The quadratic search descends, the trust region crosses ripples: with half of its draws descending, Rastrigin and
    # Rosenbrock, rotated, ended higher (seeds 0 to 9, benchmarks/README.md). 2^-7 is that of arXiv 1910.01739.
    base = Turbo(length_min=2**-7, descent_share=1.0)
    arms: list[Sampler] = [base, Quadratic(), Coordinate()]
    if space.continuous.all():
        return Portfolio(tuple(arms))
    return Portfolio((*arms, MixedGp()), lead=LEAD if Parameters(space).partly_discrete else 0)
