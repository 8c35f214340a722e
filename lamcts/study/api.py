"""`minimize`, `maximize`, and `run`, a generator of evaluations. The loop is `Study._search` in `study.py`."""

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import wraps
from textwrap import indent
from typing import Any, ParamSpec, Protocol, TypeVar

from lamcts.study.options import RunSettings, documentation
from lamcts.study.result import Evaluation, Result
from lamcts.study.study import Study
from lamcts.types import Json
from lamcts.utils.argument_hints import TIMEOUT, hint

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
IN_ORDER = 2  # positional arguments: the function and the space
OPTIONS = "    **options\n        See `lamcts.study.options.RunSettings`.\n"  # the place of the options in a docstring


class _TakesOptions(Protocol[P, R_co]):
    """The type of `minimize`: `P` are the fields of `RunSettings`."""

    def __call__(self, f: Callable[..., object], space: Any = None, *args: P.args, **options: P.kwargs) -> R_co:
        """Run."""


def _with_options(settings: Callable[P, RunSettings]) -> Callable[[Callable[..., R]], _TakesOptions[P, R]]:
    """Return a decorator that adds the fields of `settings` to the type, signature and docstring of a function."""

    def decorate(function: Callable[..., R]) -> _TakesOptions[P, R]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> R:
            if len(args) > IN_ORDER:
                raise TypeError(
                    f"{function.__name__}: expected the function and the space in order and options by name, got "
                    f"{len(args)} arguments in order; write minimize(f, space, budget=100, x0=...)"
                )
            for name in kwargs:  # before Python says that `budget` is missing
                if name not in options and (cure := hint(name)) is not None:
                    timeout_hint = f"; {TIMEOUT}" if "timeout" in kwargs else ""
                    raise TypeError(f"unknown option {name!r}; {cure}{timeout_hint}")
            return function(*args, **kwargs)

        signature = inspect.signature(function)
        options = inspect.signature(settings).parameters
        named = [entry for entry in signature.parameters.values() if entry.kind is entry.POSITIONAL_OR_KEYWORD]
        wrapper.__signature__ = signature.replace(parameters=[*named, *options.values()])  # type: ignore[attr-defined]
        entries = [f"{name} : {kind}\n{indent(text, ' ' * 4)}\n" for name, (kind, text) in documentation().items()]
        wrapper.__doc__ = (function.__doc__ or "").replace(OPTIONS, indent("".join(entries), " " * 4))
        return wrapper

    return decorate


@dataclass(frozen=True, kw_only=True)
class _EitherSense(RunSettings):
    """The options of `run`."""

    maximize: bool | None = None


@_with_options(RunSettings)
def minimize(f: Callable[..., object], space: Any = None, *, budget: int, **options: Any) -> Result:
    """Minimise `f(point)` over `space` in `budget` evaluations.

    Parameters
    ----------
    f : callable
        Takes a point and returns a number; with several objectives or constraints, a dict of numbers by name or
        numbers in order. An exception, None, nan or an infinity is a failed evaluation. A parameter `seed`
        gets a number for the noise of `f`, which depends on the run's seed and the trial alone. A parameter `trial`
        reports intermediate values, and `worker` has the `index` and the `device` of the worker. These three are passed
        only where they have no default but None, and no value from `functools.partial`.
    space : Space, dict of parameters, or list of (low, high) pairs, default None
        The points to choose from. None takes the space of an `Objective`.
    **options
        See `lamcts.study.options.RunSettings`.

    Returns
    -------
    Result
        The best point `x`, its value `fun`, and the history. Ctrl-C returns what was found so far.

    Notes
    -----
    The same call with the same `journal` goes on where it was stopped. It ends as if it had never been, bit for bit,
    with evaluations in order (no workers), equal library versions and an equal number of BLAS threads
    (`OMP_NUM_THREADS`). What the journal holds is not evaluated again. A function of another name, or one that was
    edited since, is a RuntimeWarning. Lambdas are not told apart, nor are functions that differ only in what they call.

    Examples
    --------
    >>> import lamcts
    >>> result = lamcts.minimize(lambda x: ((x - 1) ** 2).sum(), [(-5, 10)] * 3, budget=40, seed=0)
    >>> result.nfev, result.fun < 0.1
    (40, True)
    """
    return Study(f, space, False, budget, **_without_sense(options)).solve()


@_with_options(RunSettings)
def maximize(f: Callable[..., object], space: Any = None, *, budget: int, **options: Any) -> Result:
    """Maximise `f(point)` over `space`: as `minimize`, with `fun` and `target` in the sign of `f`.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.maximize(lambda p: p["a"] * p["b"], {"a": lamcts.Int(0, 3), "b": lamcts.Bool()}, budget=8, seed=0).fun
    3.0
    """
    return Study(f, space, True, budget, **_without_sense(options)).solve()


@_with_options(_EitherSense)
def run(
    f: Callable[..., object],
    space: Any = None,
    *,
    budget: int,
    maximize: bool | None = None,
    **options: Any,
) -> Generator[Evaluation, None, Result]:
    """Return a generator of finished evaluations, which returns the `Result`: the loop body is yours.

    Parameters
    ----------
    f, space, budget, **options
        As in `minimize`.
    maximize : bool or None, default None
        Whether higher values are better. None takes the sense of an `Objective`, and else minimises.

    Yields
    ------
    Evaluation
        Each evaluation as it ends; it is in the journal already. To stop early, leave the loop.

    Examples
    --------
    >>> import lamcts
    >>> for evaluation in lamcts.run(lambda x: x[0] ** 2, [(-1, 1)], budget=50, seed=0):
    ...     if evaluation.best < 1e-2:
    ...         break
    >>> evaluation.count < 50
    True
    """
    return Study(f, space, maximize, budget, **options).evaluations()


def _without_sense(options: Json) -> Json:
    """Return the options; TypeError for `maximize`, which is a separate function."""
    for name in ("maximize", "maximise"):
        if name in options:
            raise TypeError(f"{name}: not here; call lamcts.maximize, or run(..., maximize=True)")
    return options
