"""The default sampler of a space, and samplers by name; no other file imports several samplers."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from lamcts.outcomes.scalarisation import MAX_LOSSES
from lamcts.samplers.registry import AUTO, find, names
from lamcts.spaces.fidelity import FidelityAxis

if TYPE_CHECKING:
    from lamcts.outcomes.goals import Goals
    from lamcts.samplers.base import Sampler
    from lamcts.samplers.local_global import LocalGlobal
    from lamcts.samplers.portfolio import Portfolio
    from lamcts.spaces.base import SearchSpace

PORTFOLIO, LOCAL_GLOBAL = "portfolio", "local_global"
WIDE = 100  # dimensions beyond which an ask of MixedGp along a front takes more than a quarter of a second; one of
# Quadratic under constraints takes seconds in 1000 (benchmarks/constrained/long_runs.py --told)
WARM_UP = 100  # evaluations of the mixed GP alone, in partly discrete spaces (benchmarks/notes/discrete.md)


def make(name: str, space: "SearchSpace", goals: "Goals | None" = None, related: bool = False) -> "Sampler":
    """Return the sampler of a name, with settings that suit a space.

    Parameters
    ----------
    name : str
        One of `names()`, with hyphens or underscores; `nevergrad:OnePlusOne` names one of Nevergrad's optimisers.
    space : search space
        The parameters.
    goals : Goals or None, default None
        Objectives and constraints, for "auto". None is one objective without constraints.
    related : bool, default False
        Whether there are results of related tasks, for "auto".

    Returns
    -------
    Sampler
        The settings.

    Raises
    ------
    ValueError
        If no sampler has that name.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.samplers.make("uniform", lamcts.Box(0, 1, dim=2))
    Uniform()
    """
    given, (kind, colon, detail) = name, name.partition(":")
    kind = kind.replace("-", "_")
    name = kind + colon + detail
    if name == AUTO:
        return default(space, goals, related)
    if (axis := FidelityAxis.of(space)) is not None:
        return with_fidelity(make(name, axis.rest), space, goals)
    if name == PORTFOLIO:
        return portfolio(space, goals)
    if name == LOCAL_GLOBAL:
        return local_global(goals)
    cls = None if kind in (PORTFOLIO, LOCAL_GLOBAL) else find(kind)
    made = None if cls is None else cls.suited(space, detail)
    if made is None:
        near = get_close_matches(name, [*names()], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"sampler: expected one of {', '.join(names())}, got {given!r}{hint}")
    return made


def default(space: "SearchSpace", goals: "Goals | None" = None, related: bool = False) -> "Sampler":
    """Return the sampler that `sampler="auto"` selects.

    `goals` of None is one objective without constraints; `related` says whether there are results of related tasks.

    For real parameters and one objective `LocalGlobal`: `GpCma` without constraints, `Quadratic` with them, and a
    Gaussian process of the whole space. In more than 100 dimensions without constraints `GpCma`; with results of
    related tasks `MixedGp`. `MixedGp` for several objectives, and where at least half of the parameters are discrete.
    `MultiFidelity` in a space with a `Fidelity`. The `Portfolio` otherwise, and with constraints or several objectives
    in more than 100 dimensions. Compared on public suites, by benchmarks/optimizer/gates.py.

    >>> import lamcts
    >>> lamcts.samplers.default(lamcts.Box(0, 1, dim=200))
    GpCma(sigma=0.3)
    """
    from lamcts.samplers.gp_cma import GpCma
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.spaces.parameters import Parameters

    if FidelityAxis.of(space) is not None:
        return with_fidelity(MixedGp(), space, goals)
    plain, wide = goals is None or goals.plain, space.dim > WIDE
    if Parameters(space).mostly_discrete or (_several(goals) and not wide):
        return MixedGp()
    if not space.continuous.all() or (wide and not plain):
        return portfolio(space, goals)
    if plain and related:
        return MixedGp()
    return GpCma() if wide else local_global(goals)


def _several(goals: "Goals | None") -> bool:
    return goals is not None and len(goals.objectives) > 1


def with_fidelity(sampler: "Sampler", space: "SearchSpace", goals: "Goals | None" = None) -> "Sampler":
    """Return a sampler that also chooses fidelities; the sampler itself in a space without a `Fidelity`."""
    from lamcts.samplers.fidelities import MultiFidelity

    axis = FidelityAxis.of(space)
    if axis is None or isinstance(sampler, MultiFidelity):
        return sampler
    if goals is not None and len(goals.objectives) > MAX_LOSSES:
        got = f"{len(goals.objectives)}: {', '.join(goals.names)}"
        cure = f"fix the fidelity, fix={{{axis.name!r}: {axis.fidelity.high}}}, or make constraints of some"
        raise ValueError(f"Fidelity {axis.name!r}: expected at most {MAX_LOSSES} objectives, got {got}; {cure}")
    return MultiFidelity(sampler)


def portfolio(space: "SearchSpace", goals: "Goals | None" = None) -> "Portfolio":
    """Return a portfolio of the methods that suit the parameters of a space and the goals.

    The coordinate search is one of them for real parameters and one objective without constraints: elsewhere the
    default was better without it (benchmarks/optimizer/gates.py, suites constrained and partly). `MixedGp` is one of
    them for discrete parameters and for several objectives.
    """
    from lamcts.samplers.coordinate import Coordinate
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.samplers.portfolio import Portfolio
    from lamcts.samplers.quadratic import Quadratic
    from lamcts.samplers.turbo import Turbo
    from lamcts.spaces.parameters import Parameters

    # The quadratic search descends, the trust region crosses ripples: with half of its draws descending, Rastrigin and
    # Rosenbrock, rotated, ended higher (seeds 0 to 9, benchmarks/notes/discrete.md). 2^-7 is that of arXiv 1910.01739.
    arms: list[Sampler] = [Turbo(length_min=2**-7, descent_share=1.0), Quadratic()]
    reals = bool(space.continuous.all())
    if reals and (goals is None or goals.plain):
        arms.append(Coordinate())
    if not reals or (_several(goals) and space.dim <= WIDE):
        arms.append(MixedGp())
    return Portfolio(tuple(arms), warm_up=WARM_UP if Parameters(space).partly_discrete else 0)


def local_global(goals: "Goals | None" = None) -> "LocalGlobal":
    """Return a local search that suits the goals, with a Gaussian process of the whole space next to it."""
    from lamcts.samplers.bo import GpBo
    from lamcts.samplers.gp_cma import GpCma
    from lamcts.samplers.local_global import LocalGlobal
    from lamcts.samplers.quadratic import Quadratic

    constrained = goals is not None and not goals.plain and not _several(goals)
    return LocalGlobal(Quadratic() if constrained else GpCma(), GpBo(n_start=0))
