"""Samplers by name: each is registered in its file or folder, which is imported on the first use of the name."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from lamcts.samplers.parts.session import LocalSampler

S = TypeVar("S", bound="type[LocalSampler]")

AUTO = "auto"
AUTO_LINE = "the default: separable for reals, mixed_gp for discrete parameters and several objectives"

FILES = {  # class -> file or folder: looking up a class imports no other sampler
    "Cma": "cma",
    "Coordinate": "coordinate",
    "GpBo": "bo",
    "GpCma": "gp_cma",
    "HillClimb": "hillclimb",
    "LaMcts": "la_mcts",
    "LocalGlobal": "local_global",
    "MixedGp": "mixed_gp",
    "Mutate": "mutate",
    "Nevergrad": "nevergrad",
    "Quadratic": "quadratic",
    "Separable": "separable",
    "Turbo": "turbo",
    "Uniform": "uniform",
}

_classes: "dict[str, type[LocalSampler]]" = {}
_lines: dict[str, str] = {}


def register(name: str, line: str) -> Callable[[S], S]:
    """Return a class decorator that registers a sampler; `name` is its file or folder in `lamcts.samplers`."""

    def add(cls: S) -> S:
        _classes[name] = cls
        _lines[name] = line
        return cls

    return add


@cache
def files() -> list[str]:
    """Return the names of the files and folders of lamcts.samplers."""
    package = import_module("lamcts.samplers")
    return [module.name for module in iter_modules(package.__path__)]


def find(name: str) -> "type[LocalSampler] | None":
    """Return the class of a sampler; None for an unknown name."""
    if name not in _classes and name in files():
        import_module(f"lamcts.samplers.{name}")
    return _classes.get(name)


def name_of(cls: str) -> str | None:
    """Return the name of a sampler given the name of its class; None for an unknown class."""
    if cls in FILES:
        return FILES[cls]
    return next((name for name, kind in classes().items() if kind.__name__ == cls), None)


def classes() -> "dict[str, type[LocalSampler]]":
    """Return the class of every sampler by its name.

    >>> import lamcts
    >>> lamcts.samplers.classes()["uniform"].__name__
    'Uniform'
    """
    return {name: cls for name in files() if (cls := find(name)) is not None}


def names() -> dict[str, str]:
    """Return the name of every sampler, with a description of one line.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.samplers.names()["uniform"]
    'scrambled Sobol draws inside the region'
    """
    return {AUTO: AUTO_LINE} | {name: _lines[name] for name in classes()}
