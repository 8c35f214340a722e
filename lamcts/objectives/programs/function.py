"""A Python function as an objective, by its name: `path/to/file.py:function` or `package.module:function`."""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from lamcts.objectives.programs.process import Reporting
from lamcts.outcomes.goals import ConstraintsLike, ObjectivesLike, ReferenceLike
from lamcts.outcomes.trial import free_parameter
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_text
from lamcts.types import Json, Point

GOALS = ("objectives", "constraints", "reference")
STATED = ("space", "maximize", "x0", *GOALS)  # what a function may state in attributes of these names


@dataclass(frozen=True, eq=False)
class Function:
    """A Python function that is named by a text, as an objective; only the name travels to another process.

    The function takes a point of `space`, and `seed=`, `trial=` and `worker=` if it has such parameters.

    Parameters
    ----------
    target : str
        "path/to/file.py:function" or "package.module:function".
    space : SearchSpace
        The space of its points.
    maximize : bool, default False
        Whether higher values are better.
    x0 : point, list of points or None, default None
        Points to start from.
    objectives, constraints, reference : default None
        As in `Optimizer`; None: the function returns one number.

    Examples
    --------
    >>> import lamcts
    >>> f = lamcts.objectives.Function.of("math:cosh", lamcts.Float(-1, 1))
    >>> f(0.0)
    1.0
    """

    target: str
    space: SearchSpace
    maximize: bool = False
    x0: Point | None = None
    objectives: ObjectivesLike = None
    constraints: ConstraintsLike = None
    reference: ReferenceLike = None

    optimum = None

    @classmethod
    def of(
        cls, target: str, space: SearchSpace | None = None, maximize: bool | None = None, **goals: Any
    ) -> "Function":
        """Return the function called `target`; what is left out is taken from its attributes of the same names."""
        where, _, name = target.rpartition(":")
        if where.endswith(".py"):
            target = f"{Path(where).absolute()}:{name}"  # a worker may start in another folder
        f = load(target)
        _check_one_point(f, target)
        stated = {attribute: getattr(f, attribute, None) for attribute in STATED}
        x0 = stated["x0"] if space is None else None  # its own start may not fit another space
        space = stated["space"] if space is None else space
        if space is None:
            cure = f"give one (--param, --space), or set {name}.space = ..."
            raise ValueError(f"expected a space of points for {name}, got none: {cure}")
        sense = stated["maximize"]
        if maximize is not None and sense is not None and maximize != bool(sense):
            raise ValueError(f"expected one sense, got maximize={maximize} and {name}.maximize = {sense}")
        given = {goal: stated[goal] if goals.get(goal) is None else goals[goal] for goal in GOALS}
        return cls(target, space, bool(sense if maximize is None else maximize), x0, **given)

    @property
    def name(self) -> str:
        return self.target.rpartition(":")[2]

    @property
    def reports(self) -> bool:
        """Whether it may report intermediate values: it has a parameter called `trial`."""
        return free_parameter(load(self.target), "trial") is not None

    def __call__(
        self, point: Point, *, seed: int | None = None, trial: Reporting | None = None, worker: object = None
    ) -> object:
        f = load(self.target)
        given = {"seed": seed, "trial": trial, "worker": worker}
        return f(point, **{name: given[name] for name in given if free_parameter(f, name)})

    def fingerprint(self) -> Json:
        """Return what two runs must share for one to go on where the other stopped: the file's name, not its folder."""
        return {"function": os.path.basename(self.target)}

    def sources(self) -> list[object]:
        """Return what the values depend on and the fingerprint does not contain."""
        return [load(self.target)]


def load(target: str) -> Callable[..., object]:
    """Return the function that `target` names."""
    found = named(target)
    if not callable(found):
        raise ValueError(f"expected a function, got {target} of type {type(found).__name__}")
    return found


def named(target: str) -> object:
    """Return what `target` names, loaded once a process. It can import from its folder, or the current one."""
    where, _, name = target.rpartition(":")
    if not where or not name:
        raise ValueError(f"expected path/to/file.py:function or package.module:function, got {target!r}")
    found: object = _from_file(Path(where).absolute()) if where.endswith(".py") else _from_path(where)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            public = [key for key, value in vars(found).items() if callable(value) and not key.startswith("_")]
            cure = f"there are {', '.join(public) or 'none'}"
            raise ValueError(f"expected a function of {where}, got {name!r}: {cure}") from None
    return found


def value_named(option: str, target: str) -> Any:
    """Return what `target` names, or what it returns if it is a function."""
    found: Any = named(target)
    if not callable(found):
        return found
    try:
        return found()
    except Exception as error:
        raise ValueError(f"{option}: {target} raised {type(error).__name__}: {safe_text(error)}") from error


@cache
def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"expected a Python file, got {path}: there is none")
    _import_from(str(path.parent))
    name = f"_lamcts_function_{path.stem}"  # not the stem itself, which may be a library's
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"expected a Python file, got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script may exit where it is not the main program
        del sys.modules[name]
        raise ValueError(f"{path} cannot be loaded ({type(error).__name__}: {safe_text(error)})") from error
    return module


def _from_path(name: str) -> ModuleType:
    _import_from(os.getcwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a script may exit where it is not the main program
        raise ValueError(
            f"the module {name!r} cannot be loaded ({type(error).__name__}: {safe_text(error)})"
        ) from error


def _import_from(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _check_one_point(f: Callable[..., object], target: str) -> None:
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, **{name: None for name in ("seed", "trial", "worker") if free_parameter(f, name)})
    except TypeError as error:
        name = target.rpartition(":")[2]
        raise ValueError(
            f"expected a function of one point (a dict where parameters have names), got {name}{signature}: {error}"
        ) from None
