"""Searches of network architectures by name, for `lamcts nas table --search` and `lamcts compare --peers`."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from lamcts import samplers

if TYPE_CHECKING:
    from lamcts.spaces import SearchSpace

Settings = Callable[["SearchSpace"], dict[str, Any]]  # returns settings of `lamcts.Optimizer`


class NetworkSearch(NamedTuple):
    """A search of architectures."""

    line: str
    settings: Settings


_searches: dict[str, NetworkSearch] = {}


def register(name: str, line: str) -> Callable[[Settings], Settings]:
    """Return a decorator that registers a function of a space, which returns settings of `lamcts.Optimizer`.

    Parameters
    ----------
    name : str
        Name of the search.
    line : str
        Description in one line.
    """

    def add(settings: Settings) -> Settings:
        if name in _searches:
            raise ValueError(f"expected a new name of a search, got {name!r}, which is taken: choose another")
        _searches[name] = NetworkSearch(line, settings)
        return settings

    return add


def names() -> dict[str, NetworkSearch]:
    """Return every search by its name."""
    return dict(_searches)


@register(samplers.AUTO, "the default of `lamcts run`: a Gaussian process over the choices")
def _auto(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": samplers.make(samplers.AUTO, space)}


@register("lanas", "LaNAS with a linear model in the leaves of its tree")
def _lanas(space: "SearchSpace") -> dict[str, Any]:
    made: dict[str, Any] = import_module("lamcts.neural.searches.lanas").improved()
    return made


@register("lanas-published", "LaNAS as published: uniform draws in the leaves")
def _lanas_published(space: "SearchSpace") -> dict[str, Any]:
    made: dict[str, Any] = import_module("lamcts.neural.searches.lanas").published()
    return made


@register("alphax", "AlphaX: tree search over the moves that build a network")
def _alphax(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.alphax").AlphaX()}


@register("reinforce", "REINFORCE: a policy over the choices")
def _reinforce(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.reinforce").Reinforce()}


@register("graph_reinforce", "REINFORCE with a graph convolutional network, for the space io-cell")
def _graph_reinforce(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.graph_reinforce").GraphReinforce(), "n_init": 0}


@register("evolution", "regularised evolution")
def _evolution(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": samplers.make("mutate", space)}


@register("local", "local search")
def _local(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": samplers.make("hillclimb", space)}


@register("random", "uniform draws")
def _random(space: "SearchSpace") -> dict[str, Any]:
    return {"sampler": samplers.make("uniform", space)}
