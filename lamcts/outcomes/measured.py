"""Values with a standard error: `Measured(value, sem)`, or a tuple `(value, sem)` where one number is expected."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.text import safe_repr
from lamcts.types import Floats, Mask, number_of

Sems = tuple[float, ...]  # of the objectives of one evaluation, nan where unknown


@dataclass(frozen=True)
class Measured:
    """A value with its standard error, for `tell` and as the return value of an objective.

    Parameters
    ----------
    value : number
        The value, such as a mean over repeats.
    sem : number or None, default None
        Standard error of the value, at least 0. 0 is an exact value, None an unknown error.

    Notes
    -----
    Gaussian processes add `sem ** 2` to the variance that they fit as noise. With one objective and no constraint, the
    tuple `(value, sem)` is the same. So it is as an item of a list of several objectives, and as an entry of a dict.

    Examples
    --------
    >>> import lamcts
    >>> def f(x):
    ...     return lamcts.Measured(x[0] ** 2, sem=0.1)
    >>> lamcts.minimize(f, [(-1, 1)], budget=12, seed=0).rows()[0]["sem"]
    0.1
    """

    value: object
    sem: object = None


class SeparatedValue(NamedTuple):
    """A value without its standard errors, and the standard errors, None if none was told."""

    value: object
    sems: Sems | None


Predicted = tuple[tuple[float, float], ...]  # final losses of a pruned trial with their standard deviations, or nan


class StandardErrors(dict[int, Sems]):
    """Standard errors of the losses by row; rows of unknown errors are missing."""

    def of(self, rows: Iterable[int], losses: int) -> Floats | None:
        """Return the standard errors of rows [k], [k, m], nan where unknown; None if no row has one."""
        if not self:
            return None
        unknown = (math.nan,) * losses
        return np.array([self.get(int(row), unknown) for row in rows]).reshape(-1, losses)


def sem_of(sem: object) -> float:
    """Return a standard error as a float, nan for None; ValueError for anything but a finite number from 0 on."""
    if sem is None:
        return math.nan
    try:
        number = number_of(sem)
    except TypeError:
        number = math.nan
    if not (0 <= number < math.inf):
        expected = "sem: expected a finite standard error of at least 0, or None where it is unknown"
        raise ValueError(f"{expected}, got {safe_repr(sem):.60}")
    return number


def sems_where(sems: Sems | None, measured: Mask) -> Sems | None:
    """Return the standard errors of the measured objectives [m], nan for others; None where none has one."""
    return None if sems is None else _known(np.where(measured, sems, math.nan).tolist())


def sems_to_json(sems: Sems) -> list[float | None]:
    """Return standard errors as JSON values, None where unknown."""
    return [None if math.isnan(sem) else sem for sem in sems]


def sems_of(sems: Sequence[object], losses: int) -> Sems:
    """Return the standard errors of `losses` objectives from JSON values; ValueError for anything else."""
    if not isinstance(sems, list) or len(sems) != losses:
        raise ValueError(f"sem: expected {losses} standard errors, got {safe_repr(sems):.60}")
    return tuple(map(sem_of, sems))


def predicted_to_json(predicted: Predicted) -> list[list[float | None]]:
    """Return a prediction as JSON values, None for an unknown deviation."""
    return [[loss, None if math.isnan(sd) else sd] for loss, sd in predicted]


def predicted_of(predicted: Sequence[Sequence[object]], losses: int) -> Predicted:
    """Return the prediction of `losses` objectives from JSON values; ValueError for anything else."""
    pairs = predicted if isinstance(predicted, list) and len(predicted) == losses else []
    if not (pairs and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)):
        raise ValueError(f"predicted: expected {losses} losses with their deviations, got {safe_repr(predicted):.60}")
    checked = tuple((number_of(loss), sem_of(sd)) for loss, sd in pairs)
    if not all(math.isfinite(loss) for loss, _ in checked):
        raise ValueError(f"predicted: expected finite losses, got {safe_repr(predicted):.60}")
    return checked


def separate_sems(value: object, goals: Goals) -> SeparatedValue:
    """Return the value of one evaluation separated from its standard errors."""
    names = goals.names
    if isinstance(value, tuple) and goals.plain and len(value) == 2:
        value = Measured(*value)
    if isinstance(value, Measured):
        if len(names) > 1:
            expected = f"values: expected a value for each of {', '.join(names)}"
            raise ValueError(f"{expected}, got one {safe_repr(value):.60}; pass a list of them")
        return SeparatedValue(value.value, _known([sem_of(value.sem)]))
    if isinstance(value, Mapping):
        measured = {name: _measured(value[name]) for name in names if name in value}
        sems = _known([measured[name].sem if name in measured else math.nan for name in names])
        return SeparatedValue({**value, **{name: item.value for name, item in measured.items()}}, sems)
    if isinstance(value, (list, tuple)) and not goals.plain:
        items = [_measured(item) for item in value[: len(names)]]
        values = [*(item.value for item in items), *value[len(names) :]]
        return SeparatedValue(values, _known([item.sem for item in items]))
    return SeparatedValue(value, None)


class _Checked(NamedTuple):
    value: object
    sem: float


def _measured(value: object) -> _Checked:
    """Return the value of one objective with its standard error, checked, nan where unknown."""
    if isinstance(value, tuple) and len(value) == 2:
        value = Measured(*value)
    return _Checked(value.value, sem_of(value.sem)) if isinstance(value, Measured) else _Checked(value, math.nan)


def _known(sems: Sequence[float]) -> Sems | None:
    """Return standard errors, None where all are unknown."""
    return None if all(map(math.isnan, sems)) else tuple(sems)
