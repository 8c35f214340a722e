"""Wings: packages next to the optimizer that add commands, objectives, figures and settings to it.

A wing is an entry point of the group ``lamcts.wings`` whose value is a `Wing`. Wings are loaded when a name is looked
up that the optimizer itself does not have.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

GROUP = "lamcts.wings"
Listed = tuple[str, list[list[str]]]  # a title, and rows of a name and a line


class Command(NamedTuple):
    """A command of the command line: its module, and a description in one line."""

    module: str
    line: str


class Wing(NamedTuple):
    """What a package adds.

    `package`: its modules register objectives. `commands` by name. `figures`: module by function of `lamcts.plot`.
    `settings`: module by class of settings that a file may name. `lists`: returns what ``lamcts list`` shows of it.
    `searches`: a module whose `names()` has, by name, what returns arguments of `Optimizer` by `settings(space)`.
    """

    package: str
    commands: Mapping[str, Command]
    figures: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}
    lists: Callable[[], Sequence[Listed]] = tuple
    searches: str | None = None


@cache
def wings() -> tuple[Wing, ...]:
    """Return the wings that are installed, ordered by name."""
    return tuple(point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name))


def searches() -> dict[str, Any]:
    """Return the searches of all wings by name."""
    modules = [import_module(wing.searches) for wing in wings() if wing.searches]
    return {name: search for module in modules for name, search in module.names().items()}


def module_of_figure(name: str) -> str | None:
    """Return the module of a figure of a wing; None for an unknown name."""
    return next((wing.figures[name] for wing in wings() if name in wing.figures), None)


def module_of_settings(name: str) -> str | None:
    """Return the module of a class of settings of a wing; None for an unknown name."""
    return next((wing.settings[name] for wing in wings() if name in wing.settings), None)
