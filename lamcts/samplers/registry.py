"""Samplers by name, and which one is the default. Each loads, with what it needs, when it is first used."""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamcts.outcomes.goals import Goals
    from lamcts.samplers.base import Sampler
    from lamcts.spaces.base import Space

# name -> (module, class, one line for `lamcts list`). A new sampler is one file and one row.
REGISTRY = {
    "gp_cma": (
        "lamcts.samplers.gp_cma",
        "GpCma",
        "CMA-ES on a Gaussian-process surrogate, for real parameters and one objective",
    ),
    "turbo": ("lamcts.samplers.turbo", "Turbo", "trust-region Bayesian optimisation with Thompson sampling"),
    "exchange": (
        "lamcts.samplers.exchange",
        "Exchange",
        "Gaussian process over categories and integers, climbed by one-exchange moves",
    ),
    "quadratic": (
        "lamcts.samplers.quadratic",
        "Quadratic",
        "descent on a quadratic model, from the trend of all rows to a narrow box",
    ),
    "coordinate": (
        "lamcts.samplers.coordinate",
        "Coordinate",
        "one parameter at a time by expected improvement, then what helped together",
    ),
    "bo": (
        "lamcts.samplers.bo",
        "GpBo",
        "Gaussian process with expected improvement, for up to some hundred evaluations",
    ),
    "cma": ("lamcts.samplers.cma", "Cma", "CMA-ES, for smooth problems and large budgets (extra: cma)"),
    "nevergrad": (
        "lamcts.samplers.nevergrad",
        "Nevergrad",
        "any optimiser of Nevergrad: nevergrad:NAME (extra: nevergrad)",
    ),
    "mutate": (
        "lamcts.samplers.mutate",
        "Mutate",
        "regularised evolution: children of good late points, no model",
    ),
    "hillclimb": ("lamcts.samplers.hillclimb", "HillClimb", "first-improvement local search, one parameter at a time"),
    "uniform": ("lamcts.samplers.uniform", "Uniform", "scrambled Sobol draws inside the region"),
}
AUTO, PORTFOLIO = "auto", "portfolio"
LEAD = 100  # rows that exchanges lead for where some parameters are discrete (benchmarks/README.md, models to tune)


def names() -> dict[str, str]:
    """Return every sampler's name with one line about it."""
    lines = {
        AUTO: "the default: gp_cma for reals and one objective, exchange where most is discrete, else portfolio",
        PORTFOLIO: "turbo, quadratic and coordinate round one best point, shares by gain (exchange with discrete ones)",
    }
    return lines | {name: line for name, (_, _, line) in REGISTRY.items()}


def make(name: str, space: "Space", goals: "Goals | None" = None) -> "Sampler":
    """Return the sampler of a name, with default settings; `nevergrad:OnePlusOne` names one of Nevergrad's.

    goals: what `default` takes (None: one objective without constraints).
    """
    kind, _, detail = name.partition(":")
    if kind == AUTO and not detail:
        return default(space, goals)
    if kind == PORTFOLIO and not detail:
        return portfolio(space)
    if kind not in REGISTRY or (detail and kind != "nevergrad"):
        near = get_close_matches(name, [*names()], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"sampler: expected one of {', '.join(names())}, got {name!r}{hint}")
    module, cls, _ = REGISTRY[kind]
    sampler: Sampler = getattr(import_module(module), cls)(**({"name": detail} if detail else {}))
    return sampler


def default(space: "Space", goals: "Goals | None" = None) -> "Sampler":
    """Return the sampler that `sampler="auto"` stands for.

    `GpCma` for real parameters and one objective without constraints; `Exchange` where half of the parameters or more
    are discrete; else the portfolio, `Auto`.

    space: the parameters.
    goals: objectives and constraints (None: one objective without constraints).
    """
    from lamcts.samplers.exchange import Exchange
    from lamcts.samplers.gp_cma import GpCma
    from lamcts.spaces.parameters import Parameters

    if Parameters(space).mostly_discrete:
        return Exchange()
    plain = goals is None or goals.plain
    return GpCma() if plain and space.continuous.all() else portfolio(space)


def portfolio(space: "Space") -> "Sampler":
    """Return several searches round one best point, those that suit the parameters of a space."""
    from lamcts.samplers.auto import Auto
    from lamcts.samplers.coordinate import Coordinate
    from lamcts.samplers.exchange import Exchange
    from lamcts.samplers.quadratic import Quadratic
    from lamcts.samplers.turbo import Turbo
    from lamcts.spaces.parameters import Parameters

    # The quadratic search goes to the bottom, this one leaps: with half of its draws descending, Rastrigin and
    # Rosenbrock, turned, ended higher (seeds 0 to 9, benchmarks/README.md). 2^-7 is that of arXiv 1910.01739.
    base = Turbo(length_min=2**-7, descent_share=1.0)
    arms: list[Sampler] = [base, Quadratic(), Coordinate()]
    if space.continuous.all():
        return Auto(tuple(arms))
    return Auto((*arms, Exchange()), lead=LEAD if Parameters(space).partly_discrete else 0)
