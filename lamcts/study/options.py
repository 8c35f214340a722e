"""The options of `minimize`, `maximize` and `run`, checked before anything starts."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypedDict, TypeGuard, TypeVar

import numpy as np

from lamcts import pruners
from lamcts.argument_hints import TIMEOUT, hint
from lamcts.optimizer.arguments import checked_seed
from lamcts.outcomes.goals import Goals
from lamcts.spaces.values import brief
from lamcts.study import replicates
from lamcts.study.scipy_constraints import Constraints
from lamcts.study.workers import check_timeout, check_workers
from lamcts.types import Json, Point, whole_number

if TYPE_CHECKING:
    from distributed import Client

    from lamcts.optimizer.design import Kind
    from lamcts.samplers.base import Sampler
    from lamcts.study.prior_observations import PriorResults
    from lamcts.study.result import Result
    from lamcts.tree import LatentTree

P = ParamSpec("P")
R = TypeVar("R")
IN_ORDER = 2  # arguments that may be given without a name: the function and the space


class RunOptions(TypedDict, total=False):
    """The same names as in `RunSettings`, for type checkers."""

    seed: int | None
    sampler: "str | Sampler"
    tree: "LatentTree | str | None"
    x0: Point
    n_init: int | None
    design: "Kind"
    repeat: bool
    batch: int
    workers: int | str | None
    executor: "Executor | Callable[[], Executor] | Client | None"
    journal: "str | os.PathLike[str] | None"
    about: Json | None
    seconds: float | None
    target: float | None
    patience: int | None
    callback: "Callable[[Result], object] | None"
    progress: bool | TextIO | None
    noisy: bool | float
    objectives: Iterable[str] | Mapping[str, str] | int | None
    constraints: Constraints
    reference: Sequence[float] | Mapping[str, float] | None
    valid: Callable[[Point], object] | None
    check_first: bool
    known: "PriorResults"
    fix: Mapping[Any, Point] | None
    vectorized: bool
    give_up: int | None
    pruner: str | pruners.Pruner | None
    timeout: float | None


@dataclass(frozen=True)
class RunSettings:
    """How a run goes.

    budget: evaluations in all, failed ones included.
    seed, sampler, tree, x0, n_init, design, repeat: as in `Optimizer`; but without `n_init` the design takes at most a
        quarter of the budget, and a run that goes on keeps that of its journal.
    objectives, constraints, reference: as in `Optimizer` (None: those of the objective, where it has such attributes;
        `constraints` come beside its own). With several columns the function returns a dict by name, in which other
        names are ignored, or numbers in order: the objectives, then what constraints bound. None for all objectives,
        beside the others, says that a point was checked and not run. `constraints` may also hold SciPy's: see
        `lamcts.study.scipy_constraints`.
    valid: Callable[[Point], object] | None
    check_first: call constraints that are functions before the function, and run it only where they are kept (False).
    known: "PriorResults"
        `lamcts.study.prior_observations`. They are told first, each once, and are no part of the budget.
    fix: Mapping[Any, Point] | None
        the same.
    vectorized: the function gets a list of `batch` points, with `seed` a list of seeds, and returns a list of values
        (False). One that raises has failed at all of them.
    give_up: stop when so many evaluations, the first of this call, have failed in the same way (None: never;
        evaluations). `InvalidPoint` is no such failure.
    pruner: str | pruners.Pruner | None
        ahead of them (None: none is stopped): "median", "halving", "hyperband", "extrapolation", a rule of
        `lamcts.pruners`, or any object with `prune(number, curves)`. A pruned trial is no failure. For one objective.
    timeout: after this long an evaluation is ended, and told failed (None: never; seconds). With `workers=n` (1 is
        enough) its process is ended and replaced, whatever it does. Without, a signal interrupts it, which waits for
        compiled code to return, and is there on Unix and in the main thread alone. A value that comes later
        than this is none.
    batch: how many points are asked for at a time (1; points).
    workers: evaluations at a time, each in a process of its own (None: one, in this process); -1: one a core;
        "threads": one a core, in threads of this process. How many there are has a say in what is proposed.
    executor: "Executor | Callable[[], Executor] | Client | None"
        Dask client; `workers` then says how many evaluations it is given at a time (None: as many as it has workers,
        those of a cluster being counted again as it grows and shrinks).
    journal: path of the file that keeps the run (None: no file); the same call again goes on where it stopped, up to
        the budget.
    about: Json | None
    seconds: no evaluation starts later than this after the call (None: any time; seconds); those under way are waited
        for.
    target: stop when a value as good as this is found that keeps all constraints (None: never; a value in the user's
        sign); there is none with several objectives.
    patience: stop after this many without a better one (None: never; evaluations): before a feasible one, a less
        infeasible one; with several objectives, one that is on the front.
    callback: "Callable[[Result], object] | None"
    progress: whether it is shown: True always, False never, or a stream to write to (None: on a terminal and in a
        notebook, with tqdm's bar where that is installed).
    noisy: keep a share of the budget for re-evaluations of the best points, and return the best of those by mean
        (False; True: a tenth; or the share, at most 0.5); untuned. Left out after a stop by `seconds` or `callback`.
        For one objective without constraints.
    """

    budget: int
    seed: int | None = None
    sampler: "str | Sampler" = "auto"
    tree: "LatentTree | str | None" = "auto"
    x0: Point = None
    n_init: int | None = None
    design: "Kind" = "sobol"
    repeat: bool = False
    batch: int = 1
    workers: int | str | None = None
    executor: "Executor | Callable[[], Executor] | Client | None" = None
    journal: "str | os.PathLike[str] | None" = None
    about: Json | None = None
    seconds: float | None = None
    target: float | None = None
    patience: int | None = None
    callback: "Callable[[Result], object] | None" = None
    progress: bool | TextIO | None = None
    noisy: bool | float = False
    objectives: Iterable[str] | Mapping[str, str] | int | None = None
    constraints: Constraints = None
    reference: Sequence[float] | Mapping[str, float] | None = None
    valid: Callable[[Point], object] | None = None
    check_first: bool = False
    known: "PriorResults" = None
    fix: Mapping[Any, Point] | None = None
    vectorized: bool = False
    give_up: int | None = None
    pruner: str | pruners.Pruner | None = None
    timeout: float | None = None

    @classmethod
    def of(cls, budget: int, options: Json) -> "RunSettings":
        """Return checked settings; an unknown option is a TypeError naming the nearest known one."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"unknown option {name!r}; {hint(name) or _nearest(name, known)}")
        return cls(budget, **options)

    def __post_init__(self) -> None:
        if self.seed is not None:
            checked_seed(self.seed)
        whole_number(self.budget, "budget")
        whole_number(self.batch, "batch")
        check_workers(self.workers, self.executor, self.vectorized)
        check_timeout(self.timeout, self.workers, self.executor, self.vectorized)
        if pruners.make(self.pruner) is not None and self.vectorized:
            raise ValueError("pruner: expected none with vectorized=True: its points come to an end together")
        whole_number(self.patience, "patience", optional=True)
        whole_number(self.give_up, "give_up", optional=True)
        for name in ("seconds", "target"):
            value = getattr(self, name)
            if value is not None and (not _number(value) or np.isnan(value)):
                raise ValueError(f"{name}: expected a number or None, got {brief(value)}")
        if self.seconds is not None and self.seconds < 0:
            raise ValueError(f"seconds: expected at least 0, got {self.seconds}")
        if not isinstance(self.noisy, bool) and not (_number(self.noisy) and 0 <= self.noisy <= 0.5):
            raise ValueError(
                f"noisy: expected True, False or a share of the budget in [0, 0.5], got {brief(self.noisy)}"
            )
        if self.valid is not None and not callable(self.valid):
            raise ValueError(f"valid: expected a function of a point, got {brief(self.valid)}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback: expected a function of the result so far, got {brief(self.callback)}")
        if self.journal is not None and not isinstance(self.journal, (str, os.PathLike)):
            raise ValueError(f"journal: expected the path of a file, got {type(self.journal).__name__}")

    def check_goals(self, goals: Goals) -> None:
        """Raise ValueError where the options make no sense for what is sought and bounded."""
        if len(goals.objectives) > 1 and self.target is not None:
            raise ValueError(
                f"target: expected none with the objectives {', '.join(goals.names)}, got {self.target:g}: "
                "bound them by constraints, or stop by patience or by the callback"
            )
        if len(goals.objectives) > 1 and self.pruner is not None:
            raise ValueError(
                f"pruner: expected none with the objectives {', '.join(goals.names)}: trials are compared by one value "
                "on their way; leave it out"
            )
        if not goals.plain and self.checks:
            what = "constraints" if len(goals.objectives) == 1 else f"the objectives {', '.join(goals.names)}"
            raise ValueError(
                f"noisy: expected False with {what}, got {self.noisy}: one mean says nothing there; "
                "leave it out, and evaluate the best points again yourself"
            )

    @property
    def checks(self) -> int:
        """How many evaluations of the budget are kept for re-evaluations."""
        share = replicates.SHARE if self.noisy is True else float(self.noisy)
        return replicates.reserve(self.budget, share) if share > 0 else 0

    @property
    def searches(self) -> int:
        """How many evaluations of the budget go to new points."""
        return self.budget - self.checks


def without_sense(options: RunOptions) -> RunOptions:
    """Return the options; TypeError where `maximize` is among them, which is a function of its own."""
    for name in ("maximize", "maximise"):
        if name in options:
            raise TypeError(f"{name}: not here; call lamcts.maximize, or run(..., maximize=True)")
    return options


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, [*known, "maximize"], 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


# The signature of `minimize`, `maximize` and `run` --------------------------------------------------------------------


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` with every option in its signature; it refuses argument names of other libraries.

    The check comes before Python's own: a caller with `n_trials=100` should not read that `budget` is missing.
    """

    known = {each.name for each in fields(RunSettings)}

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > IN_ORDER:
            raise TypeError(
                f"{function.__name__}: expected the function and the space in order and options by name, got "
                f"{len(args)} arguments in order; write minimize(f, space, budget=100, x0=...)"
            )
        for name in kwargs:
            if name not in known and (cure := hint(name)) is not None:
                more = f"; {TIMEOUT}" if "timeout" in kwargs else ""
                raise TypeError(f"unknown option {name!r}; {cure}{more}")
        return function(*args, **kwargs)

    wrapper.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return wrapper


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """Return the signature of a function with the fields of `RunSettings` for its `**options`."""
    own = inspect.signature(function)
    kept = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    names = {each.name for each in kept}
    more = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(RunSettings)
        if each.name not in names
    ]
    return own.replace(parameters=[*kept, *more])
