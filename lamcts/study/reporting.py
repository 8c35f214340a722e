"""The parameter `trial` of an objective: `trial.report(step, value)` may prune it, `trial.note` stores metrics."""

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from lamcts.errors import Pruned
from lamcts.optimizer.losses import each_of
from lamcts.outcomes.metrics import Metrics, storable
from lamcts.text import safe_repr
from lamcts.types import number_of

Value = float | tuple[float, ...]  # value of one objective, or of each objective
Judge = Callable[[int, int, Value, bool], bool]
"""`judge(number, step, value, is_first)` returns whether a trial should stop after a report."""


class Reporter:
    """The trial of an evaluation, which the objective gets as its parameter `trial`.

    Attributes
    ----------
    id : int
        The number of the trial.
    reports : list of (step, value)
        All intermediate values so far; with several objectives tuples of values, in order.
    metrics : dict
        All that was noted so far, by name.

    Examples
    --------
    >>> import lamcts
    >>> def f(point, trial):
    ...     for epoch in range(1, 4):
    ...         trial.report(epoch, point[0] / epoch)
    ...     return point[0] / 3
    >>> lamcts.minimize(f, [(0, 1)], budget=12, seed=0, pruner="median").nfev
    12
    """

    def __init__(
        self, number: int, judge: Judge | None = None, names: Sequence[str] = (), folder: Path | None = None
    ) -> None:
        self.id = number
        self._folder = folder
        self.reports: list[tuple[int, Value]] = []
        self.metrics: Metrics = {}
        self._judge = judge
        self._names = names
        self._behind = False

    @property
    def folder(self) -> Path:
        """A folder for checkpoints, made when it is first asked for.

        Each configuration has one: a trial that is evaluated again, at a higher `Fidelity` or after a stop of the run,
        gets its folder back. Folders lie next to the journal, `run.db.folders/0` and so on, and stay there. Without a
        journal they are removed when the run ends. Workers on other machines need a common file system.
        """
        if self._folder is None:
            raise RuntimeError("trial.folder: expected a trial of a run, got one without; evaluate it by minimize")
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(exist_ok=True)
        return self._folder

    def report(self, step: int, value: object) -> None:
        """Report an intermediate value.

        Parameters
        ----------
        step : int
            At least 0: an epoch, an iteration, a fold. A report of a step that is not higher than the last one is
            ignored, with a warning.
        value : float, or list or dict of float for several objectives
            In the sign of the objective, comparable at equal steps. nan and both infinities are worse than any number.
            Several objectives have a number each, in order or by name.

        Raises
        ------
        Pruned
            If the trial should stop.
        """
        step = _step(step)
        number = _values(value, self._names) if len(self._names) > 1 else _number(value)
        is_first = not self.reports
        if not is_first and step <= (last := self.reports[-1][0]):
            text = f"report: expected a step after {last}, got {step}, which is ignored"
            warnings.warn(f"{text}; report each step once, in order", RuntimeWarning, stacklevel=2)
            return
        self.reports.append((step, number))
        self._behind = self._judge is not None and self._judge(self.id, step, number, is_first)
        if self._behind:
            raise Pruned(f"pruned at step {step}")

    def note(self, **metrics: object) -> None:
        """Store metrics with the evaluation; no search uses them.

        Failed and pruned trials keep theirs. An evaluation whose process was killed loses them.

        Parameters
        ----------
        **metrics : number, text, bool or None
            Values by name. A name that is noted again has its last value. Names are columns of `result.rows()`, and
            those of parameters, objectives and constraints are refused.

        Raises
        ------
        ValueError
            For an array, a list, or another object.

        Examples
        --------
        >>> import lamcts
        >>> def f(point, trial):
        ...     trial.note(device="cpu")
        ...     return {"value": point[0] ** 2, "accuracy": 1 - point[0]}  # as good as trial.note(accuracy=...)
        >>> row = lamcts.minimize(f, [(0, 1)], budget=12, seed=0).rows()[0]
        >>> row["device"], row["accuracy"] == 1 - row["x1"]
        ('cpu', True)
        """
        self.metrics |= storable(metrics, {})

    def should_prune(self) -> bool:
        """Return whether the last report raised `Pruned`, for code that catches it to clean up."""
        return self._behind

    def close(self) -> None:
        """Close the channel of reports after the evaluation."""
        if (close := getattr(self._judge, "close", None)) is not None:
            close()


def _step(step: object) -> int:
    """Return the int of a whole number of any type, such as 3.0 or a tensor."""
    try:
        number = math.nan if isinstance(step, bool) else number_of(step)
    except TypeError:
        number = math.nan
    if not (number >= 0 and number.is_integer()):
        raise ValueError(
            "report: expected report(step, value) with a whole number of at least 0 as step, got "
            f"{safe_repr(step):.60}; the step comes first"
        )
    return int(number)


def _values(value: object, names: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of several objectives, in order."""
    numbers = each_of(value, names, "report")
    return tuple(_number(numbers[name]) for name in names)


def _number(value: object) -> float:
    try:
        number = number_of(value)
    except TypeError:
        raise ValueError(f"report: expected a number as value, got {safe_repr(value):.60}") from None
    return number if math.isfinite(number) else math.nan
