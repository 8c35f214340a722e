"""Results that a user has already: told before the first point is asked for, each once, and not counted.

    minimize(f, space, budget=50, known=[({"lr": 0.1}, 0.32), ({"lr": 0.01}, 0.25)])

They are pairs of a point and what the function returns there (None or nan: it failed), or triples with the quantities
that constraints bound; the path of a CSV file (prior_table.py) or of a journal; a `Result`, a DataFrame or a study of
Optuna (prior_sources.py), but for what was pruned; or a list of these. A run that goes on from its journal tells those
not in it yet: the same call again tells none twice, and with more of them the run goes on with all; what a journal has
stays there. PriorObservation results take the place of points of the initial design.

With `fix=`, results with other values of the fixed parameters are left out, with a warning. A known point comes back as
it was told, to the last bit.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.optimizer.losses import taken
from lamcts.spaces.fixed import OtherValue, bare
from lamcts.spaces.values import brief
from lamcts.study.prior_sources import sources_of, table_of
from lamcts.study.prior_table import PriorObservation, parsed
from lamcts.study.problem import RunProblem
from lamcts.study.scipy_constraints import ConstraintFunction
from lamcts.text import safe_text
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

PriorResults = Any  # str | path | Result | DataFrame | study of Optuna | pairs, or a list of these; None
Key = tuple[bytes, tuple[float | None, ...]]


def prior_observations(given: PriorResults, problem: RunProblem) -> list[list[PriorObservation]]:
    """Return the known results of each source, checked; ValueError says which of them does not fit, and why."""
    found = []
    for source in [] if given is None else sources_of(given, bare(problem.space)):
        results = [_measured(one, problem) for one in _left_free(_read(source, problem), problem)]
        for one in results:
            _checked(one, lambda one: problem.space.encode(one.point))
            _checked(one, lambda one: taken([one.value], [one.constraints], problem.goals))
        found.append(results)
    return found


def _left_free(known: list[PriorObservation], problem: RunProblem) -> list[PriorObservation]:
    """Return the results with the values that are fixed; RuntimeWarning where others are left out."""
    kept, said = [], ""
    for one in known:
        try:
            problem.space.encode(one.point)
        except OtherValue as error:
            said = said or f"{one.where}: {error}"
            continue
        except ValueError:  # what is wrong is said later
            pass
        kept.append(one)
    if said:
        text = f"known: {len(known) - len(kept)} of {len(known)} results have other values than fix= and are left out"
        warnings.warn(f"{text}, the first {said}", RuntimeWarning, stacklevel=6)
    return kept


def _read(given: PriorResults, problem: RunProblem) -> list[PriorObservation]:
    names = [name for each in problem.functions for name in each.names if name is not None]
    if (table := table_of(given, problem.space, problem.goals)) is None:
        return _pairs(given)
    if not (found := parsed(table, problem.space, problem.goals, names)):
        text = f"known: {table.where} has no evaluation: {len(table.rows)} rows were read"
        warnings.warn(text, RuntimeWarning, stacklevel=6)
    return found


def _pairs(given: PriorResults) -> list[PriorObservation]:
    expected = "known: expected pairs of a point and its value, a CSV file, a journal, a Result, a DataFrame or a study"
    if not isinstance(given, Iterable) or isinstance(given, (Mapping, bytes)):
        raise ValueError(f"{expected}, got {brief(given)}")
    found = []
    for i, item in enumerate(given):
        if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
            raise ValueError(f"{expected}; number {i} is {brief(item)}")
        point, value, *rest = item
        constraints = rest[0] if rest else None
        found.append(PriorObservation(point, value, constraints, f"number {i}"))
    return found


def _measured(one: PriorObservation, problem: RunProblem) -> PriorObservation:
    """Fill in missing constraint values of a result by calling constraint functions."""
    if not problem.functions or not isinstance(one.constraints, (Mapping, type(None))):
        return one
    told = {*(one.constraints or ()), *(one.value if isinstance(one.value, Mapping) else ())}
    found: dict[str, float] = {}
    for measure in problem.functions:
        if any(name is not None and name not in told for name in measure.names):
            found |= _called(measure, one)
    return one._replace(constraints=found | dict(one.constraints or {}))


def _called(measure: ConstraintFunction, one: PriorObservation) -> dict[str, float]:
    try:
        return measure(one.point)
    except Exception as error:
        raise ValueError(
            f"known: {one.where}: a constraint raised {type(error).__name__} there ({safe_text(error)}); "
            "tell its numbers by name beside the value, or leave the point out"
        ) from error


def _checked(one: PriorObservation, check: Callable[[PriorObservation], object]) -> None:
    try:
        check(one)
    except ValueError as error:
        raise ValueError(f"known: {one.where}: {error}") from None


def tell(known: list[PriorObservation], opt: "Optimizer") -> int:
    """Tell an optimizer those results that it has not seen, all at once, and return how many they are."""
    new = untold(known, opt)
    if new:
        points, values, held, _, metrics = zip(*new, strict=True)
        opt.tell_points(points, values, held, metrics)
    return len(new)


def untold(known: list[PriorObservation], opt: "Optimizer") -> list[PriorObservation]:
    """Return the results that are not among the rows of an optimizer; of equal ones as many as it lacks."""
    if not known or not len(opt.seen):
        return known
    rows: dict[Key, list[int]] = {}
    for row, x in enumerate(opt.seen.x):
        # a trial's own code may differ in the last bit from that of its point, which is what users see
        for code in {x.tobytes(), opt.space.encode(opt.space.decode(x)).tobytes()}:
            rows.setdefault((code, _losses(opt.seen.f[row])), []).append(row)
    used: set[int] = set()
    new = []
    for one in known:
        f = taken([one.value], [one.constraints], opt.goals).f[0]
        same = rows.get((opt.space.encode(one.point).tobytes(), _losses(f)), [])
        free = [row for row in same if row not in used]
        used.update(free[:1])
        new += [] if free else [one]
    return new


def _losses(f: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(number) else float(number) + 0.0 for number in f)
