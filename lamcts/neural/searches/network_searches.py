"""Searches of network architectures by name, as `lamcts nas --search NAME` takes them."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from lamcts import samplers

if TYPE_CHECKING:
    from lamcts.spaces import SearchSpace


class Settings(Protocol):
    """Returns settings of `lamcts.Optimizer`; first: random networks at the start (None: the search's own number)."""

    def __call__(self, space: "SearchSpace", first: int | None = None) -> dict[str, Any]: ...


S = TypeVar("S", bound=Settings)


class NetworkSearch(NamedTuple):
    """A search of architectures."""

    line: str
    settings: Settings


_searches: dict[str, NetworkSearch] = {}


def register(name: str, line: str) -> Callable[[S], S]:
    """Return a decorator that registers a function as a search of architectures.

    Parameters
    ----------
    name : str
        Name of the search.
    line : str
        Description in one line.
    """

    def add(settings: S) -> S:
        if name in _searches:
            raise ValueError(f"expected a new name of a search, got {name!r}, which is taken: choose another")
        _searches[name] = NetworkSearch(line, settings)
        return settings

    return add


def names() -> dict[str, NetworkSearch]:
    """Return every search by its name."""
    return dict(_searches)


@register(samplers.AUTO, "the default of `lamcts run`: a Gaussian process over the choices")
def _auto(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return {"sampler": samplers.make(samplers.AUTO, space)} | _design(first)


@register("lanas", "LaNAS with a linear model in the leaves of its tree")
def _lanas(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return _lanas_settings("improved", first)


@register("lanas-published", "LaNAS as published: uniform draws in the leaves")
def _lanas_published(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return _lanas_settings("published", first)


@register("alphax", "AlphaX: tree search over the moves that build a network")
def _alphax(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.alphax").AlphaX()} | _design(first)


@register("reinforce", "REINFORCE: a policy over the choices")
def _reinforce(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.reinforce").Reinforce()} | _design(first)


@register("graph_reinforce", "REINFORCE with a graph convolutional network, for the space io-cell")
def _graph_reinforce(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return {"sampler": import_module("lamcts.neural.searches.graph_reinforce").GraphReinforce(), "n_init": first or 0}


@register("evolution", "regularised evolution")
def _evolution(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return _alone("mutate", space, first)


@register("local", "local search")
def _local(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return _alone("hillclimb", space, first)


@register("random", "uniform draws")
def _random(space: "SearchSpace", first: int | None = None) -> dict[str, Any]:
    return _alone("uniform", space, first)


def _lanas_settings(variant: str, first: int | None) -> dict[str, Any]:
    """Return the settings of LaNAS, with rounds in proportion to its first networks as in the thesis.

    Rounds of 50 results would take all of a small budget.
    """
    from lamcts.neural.searches import lanas

    own = {} if first is None else {"first": first, "selects": max(1, first * lanas.SELECTS // lanas.FIRST)}
    made: dict[str, Any] = getattr(lanas, variant)(**own)
    return made


def _alone(name: str, space: "SearchSpace", first: int | None) -> dict[str, Any]:
    """Return the settings of a sampler that searches the whole space."""
    return {"sampler": samplers.make(name, space)} | _design(first)


def _design(first: int | None) -> dict[str, Any]:
    return {} if first is None else {"n_init": first}
