"""The default sampler of a space, and samplers by name. No other file imports several samplers."""

from typing import TYPE_CHECKING

from lamcts.outcomes.scalarisation import MAX_LOSSES
from lamcts.samplers.registry import AUTO, find, names
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.utils.removed import hint

if TYPE_CHECKING:
    from lamcts.outcomes.goals import Goals
    from lamcts.samplers.base import Sampler
    from lamcts.samplers.local_global import LocalGlobal
    from lamcts.samplers.separable import Separable
    from lamcts.spaces.base import SearchSpace

OTHERS = {"random": "uniform", "cmaes": "cma", "cma_es": "cma"}  # names of other libraries
WARM_UP = 100  # first evaluations, by `MixedGp` alone, in partly discrete spaces (benchmarks/notes/public-suites.md)
WIDE = 40  # dimensions beyond which a process in a trust region leads (benchmarks/optimizer/dimensions.py)
RADIUS = 0.2  # of that trust region (development runs of that script)


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
    original = name
    kind, colon, detail = name.partition(":")
    kind = kind.replace("-", "_")
    name = kind + colon + detail
    if name == AUTO:
        return default(space, goals, related)
    if (axis := FidelityAxis.of(space)) is not None:
        return with_fidelity(make(name, axis.rest), space, goals)
    cls = find(kind)
    sampler = None if cls is None else cls.suited(space, goals, detail)
    if sampler is None:
        known = names()
        near = hint("sampler", OTHERS.get(name, name), known)
        raise ValueError(f"sampler: expected one of {', '.join(known)}, got {original!r}{near}")
    return sampler


def default(space: "SearchSpace", goals: "Goals | None" = None, related: bool = False) -> "Sampler":
    """Return the sampler that `sampler="auto"` selects.

    `goals` of None is one objective without constraints; `related` says whether there are results of related tasks.

    For real parameters and one objective `LocalGlobal`: `GpCma` without constraints, `Quadratic` with them, and a
    Gaussian process of the whole space. Without constraints it is inside `Separable`, which adds a coordinate search
    where the loss is a sum over the parameters. In more than 40 dimensions, without constraints, the process keeps to a
    trust region, proposes the first d points alone, and takes turns with `GpCma` up to 5 d. `MixedGp` for several
    objectives, results of related tasks, and where at least half of the parameters are discrete; with fewer of them
    `LocalGlobal` of `Quadratic` and `MixedGp`. `MultiFidelity` in a space with a `Fidelity`. Compared on public suites,
    by benchmarks/optimizer/gates.py and dimensions.py.

    >>> import lamcts
    >>> lamcts.samplers.default(lamcts.Box(0, 1, dim=200)).local.warm_up
    200
    """
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.spaces.parameters import Parameters

    if FidelityAxis.of(space) is not None:
        return with_fidelity(MixedGp(), space, goals)
    plain = goals is None or goals.plain
    if Parameters(space).mostly_discrete or _several(goals) or (plain and related):
        return MixedGp()
    search = local_global(space, goals)
    return separable(search) if plain and space.continuous.all() else search


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


def local_global(space: "SearchSpace", goals: "Goals | None" = None) -> "LocalGlobal":
    """Return a local search that suits a space and the goals, with a Gaussian process of the whole space next to it."""
    from lamcts.samplers.bo import GpBo
    from lamcts.samplers.gp_cma import GpCma
    from lamcts.samplers.local_global import LocalGlobal
    from lamcts.samplers.mixed_gp import MixedGp
    from lamcts.samplers.quadratic import Quadratic

    if not space.continuous.all():
        return LocalGlobal(Quadratic(), MixedGp(), WARM_UP)
    if goals is not None and not goals.plain and not _several(goals):
        return LocalGlobal(Quadratic(), GpBo(n_start=0))
    if space.dim > WIDE:
        return LocalGlobal(GpCma(), GpBo(n_start=0, radius=RADIUS), space.dim)
    return LocalGlobal(GpCma(), GpBo(n_start=0))


def separable(local: "LocalGlobal") -> "Separable":
    """Return a search of reals that is joined by a coordinate search where the loss is a sum."""
    from lamcts.samplers.coordinate import Coordinate
    from lamcts.samplers.separable import Separable

    return Separable(local, Coordinate())
