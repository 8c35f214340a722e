"""`minimize`, `maximize`, and `run`, which yields each evaluation. The loop is `Study._search` in `study.py`."""

import inspect
from collections.abc import Callable, Generator
from dataclasses import fields
from functools import wraps
from typing import Any, ParamSpec, TypeVar, Unpack

from lamcts.argument_hints import TIMEOUT, hint
from lamcts.study.options import RunOptions, RunSettings
from lamcts.study.result import Evaluation, Result
from lamcts.study.study import Study

P = ParamSpec("P")
R = TypeVar("R")
IN_ORDER = 2  # arguments that may be given without a name: the function and the space


def _with_options(function: Callable[P, R]) -> Callable[P, R]:
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


@_with_options
def minimize(f: Callable[..., object], space: Any = None, *, budget: int, **options: Unpack[RunOptions]) -> Result:
    """Minimise `f(point)` over `space` in `budget` evaluations.

    Parameters
    ----------
    f : callable
        Takes a point and returns a number; with several objectives or constraints, a dict of numbers by name or
        numbers in order. An exception, None, nan or an infinity is a failed evaluation. A parameter `seed`
        gets a number for the noise of `f`, which depends on the run's seed and the trial alone. A parameter `trial`
        reports intermediate values, and `worker` has the `index` and the `device` of the worker. These three are passed
        only where they have no default but None, and no value from `functools.partial`. An `Objective` brings its own
        space and x0.
    space : Space, dict of parameters, or list of (low, high) pairs
        The points to choose from.
    budget : int
        Number of evaluations.
    **options
        seed, sampler, tree, x0, n_init, design, repeat, batch, workers, executor, journal, about, seconds, target,
        patience, min_gain, callback, progress, noisy, objectives, constraints, reference, valid, check_first, known,
        related, fix, vectorized, give_up, pruner, timeout, devices, budget_unit: see
        `lamcts.study.options.RunSettings`.

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


@_with_options
def maximize(f: Callable[..., object], space: Any = None, *, budget: int, **options: Unpack[RunOptions]) -> Result:
    """Maximise `f(point)` over `space`: as `minimize`, with `fun` and `target` in the sign of `f`.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.maximize(lambda p: p["a"] * p["b"], {"a": lamcts.Int(0, 3), "b": lamcts.Bool()}, budget=8, seed=0).fun
    3.0
    """
    return Study(f, space, True, budget, **_without_sense(options)).solve()


@_with_options
def run(
    f: Callable[..., object],
    space: Any = None,
    *,
    budget: int,
    maximize: bool | None = None,
    **options: Unpack[RunOptions],
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


def _without_sense(options: RunOptions) -> RunOptions:
    """Return the options; TypeError where `maximize` is among them, which is a function of its own."""
    for name in ("maximize", "maximise"):
        if name in options:
            raise TypeError(f"{name}: not here; call lamcts.maximize, or run(..., maximize=True)")
    return options
