"""The registry that finds an objective by its name."""

import difflib
import importlib
import importlib.util
import inspect
import math
import os
import pkgutil
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lamcts.errors import MissingExtra
from lamcts.objectives.protocol import Objective
from lamcts.utils.removed import hint
from lamcts.utils.wings import wings

ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?:: | : [^\n]*\n +)(.*(?:\n +.*)*)", re.MULTILINE)  # or NumPy's form
PHRASE = re.compile(r'((?:"[^"]*"|.)*?)(?: \(|; |\. |: |[.;]?$)')  # describes a setting; a quotation is whole
SAME = re.compile(r"as in `(\w+)`")
Other = Callable[[str], "dict[str, Setting] | None"]
BUDGET = 500  # evaluations of a first run from the command line unless an objective sets another number (untuned)
NEAR_NAMES = 3  # names that a message suggests for an unknown one


@dataclass(frozen=True)
class Setting:
    """A setting: the types that it accepts (values of a `Literal`), its default, and a phrase that describes it."""

    name: str
    kinds: tuple[object, ...]
    default: object
    text: str

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def is_path(self) -> bool:
        """Whether a value may be the path of a file."""
        return any((get_origin(kind) or kind) is os.PathLike for kind in self.kinds)


@dataclass(frozen=True)
class Entry:
    """A row of the registry of objectives; the parameters of `build` are the objective's settings.

    It may need a `package`, which an `extra` of lamcts installs.
    """

    name: str
    line: str
    build: Callable[..., Objective]
    package: str | None = None
    extra: str | None = None
    budget: int = BUDGET

    @cached_property
    def parameters(self) -> dict[str, Setting]:
        """The settings that `build` takes, with their types, defaults and descriptions."""
        return settings_of(self.build, _settings_by_function)

    @property
    def settings(self) -> dict[str, object]:
        """The settings that `build` takes, with their defaults."""
        return {name: setting.default for name, setting in self.parameters.items()}

    @property
    def missing(self) -> bool:
        """Whether the package that this objective needs is not installed."""
        return self.package is not None and importlib.util.find_spec(self.package) is None

    @property
    def group(self) -> str:
        """The package whose modules register such objectives, `lamcts.objectives.synthetic` for example."""
        module = function_of(self.build).__module__
        return module.rpartition(".")[0] or module

    def makes(self, kind: type) -> bool:
        """Return whether `build` is annotated to return an object of class `kind`."""
        returned = get_type_hints(function_of(self.build)).get("return")
        return isinstance(returned, type) and issubclass(returned, kind)


@dataclass(frozen=True)
class Family:
    """Objectives whose names are "PREFIX:REST"; `like` matches a REST that was typed without its prefix."""

    prefix: str
    line: str
    entry: Callable[[str], Entry]
    like: str | None = None


Build = TypeVar("Build", bound=Callable[..., Objective])
_entries: dict[str, Entry] = {}
_families: dict[str, Family] = {}  # by prefix


def register(
    name: str, line: str, *, package: str | None = None, extra: str | None = None, budget: int = BUDGET
) -> Callable[[Build], Build]:
    """Return a decorator that registers a function as the builder of an objective.

    The parameters of the function become options of ``lamcts run NAME``.

    Parameters
    ----------
    name : str
        The name of the objective.
    line : str
        A description in one line, which ``lamcts list`` prints.
    package : str, optional
        A package that the function imports.
    extra : str, optional
        The extra of lamcts that installs this package.
    budget : int, default 500
        Evaluations of a first run from the command line.
    """

    def add(build: Build) -> Build:
        if name in _entries:
            raise ValueError(f"expected a new objective name, got {name!r}, which is taken: choose another")
        _entries[name] = Entry(name, line, build, package, extra, budget)
        return build

    return add


def family(
    prefix: str, line: str, *, like: str | None = None
) -> Callable[[Callable[[str], Entry]], Callable[[str], Entry]]:
    """Return a decorator for a function that returns the entry of any name "PREFIX:REST" from its REST.

    like: an unknown name that this regular expression matches is answered with "did you mean 'PREFIX:NAME'?".
    """

    def add(made: Callable[[str], Entry]) -> Callable[[str], Entry]:
        _families[prefix] = Family(prefix, line, made, like)
        return made

    return add


def families() -> dict[str, str]:
    """Return the prefixes of families of objectives, each with a line that describes it."""
    names()
    return {prefix: family.line for prefix, family in sorted(_families.items())}


def names() -> dict[str, Entry]:
    """Return every registered objective by name, sorted.

    Examples
    --------
    >>> from lamcts import objectives
    >>> objectives.names()["branin"].budget
    100
    """
    _load_own()
    _load_wings()
    return dict(sorted(_entries.items()))


def find(name: str) -> Entry | None:
    """Return the entry of `name`, or None; no wing is loaded for an objective of this package."""
    prefix, colon, rest = str(name).partition(":")
    for load in (_load_own, _load_wings):
        if name not in _entries:
            load()
        if colon and prefix in _families:
            return _families[prefix].entry(rest)
        if name in _entries:
            return _entries[name]
    return None


@cache
def _load_own() -> None:
    """Import all modules of this package, whose decorators register objectives."""
    package = importlib.import_module("lamcts.objectives")
    for module in pkgutil.walk_packages(package.__path__, "lamcts.objectives."):
        importlib.import_module(module.name)


@cache
def _load_wings() -> None:
    """Import the modules of wings that register objectives."""
    for module in (module for wing in wings() for module in wing.objectives):
        importlib.import_module(module)


def entry(name: str) -> Entry:
    """Return the entry of `name`; the ValueError for an unknown name suggests similar ones."""
    found = find(name)
    if found is None:
        known = names()
        near = difflib.get_close_matches(str(name), known, n=NEAR_NAMES)
        near += [f"{one.prefix}:{name}" for one in _families.values() if one.like and re.fullmatch(one.like, str(name))]
        cure = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"expected the name of an objective, got {name!r}{hint('objective', name) or f': {cure}'}")
    return found


def make(name: str, **settings: Any) -> Objective:
    """Return the objective called `name`, built with `settings`.

    Parameters
    ----------
    name : str
        A name that ``lamcts list`` shows, such as "ackley".
    **settings
        Settings of this objective; ``lamcts run NAME --help`` lists them.

    Raises
    ------
    ValueError
        If the name or a setting is unknown.
    MissingExtra
        If the package that the objective needs is not installed.

    Examples
    --------
    >>> from lamcts import objectives
    >>> f = objectives.make("ackley", dim=3)
    >>> f.space.dim, f.optimum
    (3, 0.0)
    """
    row = entry(name)
    for setting in settings:
        if setting not in row.parameters:
            near = difflib.get_close_matches(setting, row.parameters, n=1)
            cure = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(row.parameters)}"
            gone = hint(name, f"--{setting.replace('_', '-')}")
            raise ValueError(f"expected a setting of objective {name!r}, got {setting!r}{gone or f': {cure}'}")
    if row.missing:
        raise MissingExtra.of(str(row.package), str(row.extra))
    return row.build(**settings)


def _settings_by_function(name: str) -> dict[str, Setting] | None:
    """Return the settings of a registered objective by the name of its function."""
    found = find(name.replace("_", "-"))
    return None if found is None else found.parameters


def settings_of(build: Callable[..., object], other: Other) -> dict[str, Setting]:
    """Return the settings of a function that builds an objective; `other` resolves "as in `nasbench101`"."""
    texts = _texts_in(_module(build).__doc__) | _texts_in(function_of(build).__doc__)
    found = {}
    for name, parameter in inspect.signature(build, eval_str=True).parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        text = texts.get(name, "")
        if same := SAME.match(text):
            text = _text_elsewhere(build, name, same[1], other) or text
        kinds = _kinds(parameter.annotation) or ((bool,) if isinstance(parameter.default, bool) else (int, float, str))
        phrase = PHRASE.match(text)
        found[name] = Setting(name, kinds, parameter.default, phrase[1] if phrase else text)
    return found


def _text_elsewhere(build: Callable[..., object], name: str, place: str, other: Other) -> str:
    """Return the text on a setting in the docstring of another function, or of a class of the same module."""
    neighbour = vars(_module(build)).get(place)
    if neighbour is not None:
        return _texts_in(neighbour.__doc__).get(name, "")
    theirs = other(place) or {}
    return theirs[name].text if name in theirs else ""


def function_of(build: Callable[..., object]) -> Callable[..., object]:
    """Return the function inside a `functools.partial`, or the function itself."""
    return build.func if isinstance(build, partial) else build


def _module(build: Callable[..., object]) -> types.ModuleType:
    return sys.modules[function_of(build).__module__]


def _texts_in(doc: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for names, text in ENTRY.findall(inspect.cleandoc(doc or "")):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def _kinds(annotation: object) -> tuple[object, ...]:
    """Return the members of a union, the values of a literal, or the type itself; None is left out."""
    if annotation is inspect.Parameter.empty:
        return ()
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(kind for part in get_args(annotation) for kind in _kinds(part))
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if annotation is type(None):
        return ()
    kind = get_origin(annotation) or annotation
    return (annotation,) if isinstance(kind, type) and kind is not Any else ()


def checked_noise(noise: float) -> float:
    """Return a standard deviation of noise; ValueError unless it is finite and at least 0."""
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise: expected a standard deviation of at least 0, got {noise}")
    return float(noise)
