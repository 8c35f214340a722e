"""Known results of a user, which are added once before the first ask and do not count towards the budget.

    minimize(f, space, budget=50, known=[({"lr": 0.1}, 0.32), study, "trials.csv", "run.db"])

Sources are pairs of a point and its value (None or nan: it failed), or triples with the quantities
that constraints bound; the path of a CSV file or of a journal; a `Result`, a DataFrame or a study of Optuna; or a list
of these. The same call again, with a journal, adds none twice; with more of them the run goes on with all. Known
results take the place of points of the initial design. With `fix=`, results with other values of the fixed parameters
are left out, with a warning. A known point comes back as it was given, to the last bit.

A table has a column for each parameter (x1, x2, ... where points are arrays or tuples), each objective (`value` where
there is one) and each quantity that is bounded, by its name; or how far beyond a bound it is, by the words of a
constraint, such as `stress <= 250`. An empty value is a failed evaluation, or with quantities one
that was checked. A column `sem` (or `sem.NAME` of an objective) has standard errors. Numbers and texts of other columns
are metrics.

Optuna's tables, `study.trials_dataframe()` and its CSV file, have columns `params_NAME`, `value` or `values_NAME`, and
`state`. Running and waiting trials are left out, and so are failed and pruned trials that lack parameters. Other failed
trials are failed evaluations. A list of trials has no directions: their values are in the sign of the run.

Pruned trials of a study, a `Result` or a journal are pruned evaluations, with their intermediate values. Pruned trials
without intermediate values, as in tables, are left out, with a warning. `sqlite:///study.db` is the only study of a
storage of Optuna, `sqlite:///study.db#NAME` one of several.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.optimizer.losses import outcomes_of
from lamcts.spaces.fixed import OtherValue, bare
from lamcts.spaces.values import brief
from lamcts.study.known.rows import PriorObservation, observations_of
from lamcts.study.known.sources import sources_of, table_of
from lamcts.study.problem import RunProblem
from lamcts.text import safe_text
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

PriorResults = Any  # str | path | Result | DataFrame | study of Optuna | pairs, or a list of these; None
Key = tuple[bytes, tuple[float | None, ...]]


def known_results(known: PriorResults, problem: "RunProblem | Optimizer") -> list[list[PriorObservation]]:
    """Return the checked known results of each source; ValueError names an invalid result and the reason."""
    by_source = []
    for source in [] if known is None else sources_of(known, bare(problem.space)):
        results = _read(source, problem)
        others: list[str] = []
        checked = [result for result in (_checked(item, problem, others) for item in results) if result is not None]
        if others:
            text = f"known: {len(others)} of {len(results)} results have other values than fix= and are left out"
            warnings.warn(f"{text}, the first {others[0]}", RuntimeWarning, stacklevel=5)
        by_source.append(checked)
    return by_source


def _read(source: PriorResults, problem: "RunProblem | Optimizer") -> list[PriorObservation]:
    names = [name for function in getattr(problem, "functions", ()) for name in function.names if name is not None]
    if (table := table_of(source, problem.space, problem.goals)) is None:
        return _pairs(source)
    observations = observations_of(table, problem.space, problem.goals, names)
    if short := sum(row.pruned and not row.curve for row in table.rows):
        text = f"known: {short} of {len(table.rows)} rows of {table.where} were pruned and have no intermediate values"
        cure = "they are left out; pass the study or the journal, which may have them"
        warnings.warn(f"{text}: {cure}", RuntimeWarning, stacklevel=6)
    if not observations:
        text = f"known: {table.where} has no evaluation: {len(table.rows)} rows were read"
        warnings.warn(text, RuntimeWarning, stacklevel=6)
    return observations


def _pairs(pairs: PriorResults) -> list[PriorObservation]:
    expected = "known: expected pairs of a point and its value, a CSV file, a journal, a Result, a DataFrame or a study"
    if not isinstance(pairs, Iterable) or isinstance(pairs, (Mapping, bytes)):
        raise ValueError(f"{expected}, got {brief(pairs)}")
    observations = []
    for i, item in enumerate(pairs):
        if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
            raise ValueError(f"{expected}; number {i} is {brief(item)}")
        point, value, *constraints_if_any = item
        constraints = constraints_if_any[0] if constraints_if_any else None
        observations.append(PriorObservation(point, value, constraints, f"number {i}"))
    return observations


def _measured(observation: PriorObservation, problem: "RunProblem | Optimizer") -> PriorObservation:
    """Fill in missing constraint values of a result by calling constraint functions."""
    functions = getattr(problem, "functions", ())
    constraints = observation.constraints
    value = observation.value
    if not functions or not isinstance(constraints, (Mapping, type(None))):
        return observation
    known_names = {*(constraints or ()), *(value if isinstance(value, Mapping) else ())}
    measured: dict[str, float] = {}
    for measure in functions:
        if any(name is not None and name not in known_names for name in measure.names):
            try:
                measured |= measure(observation.point)
            except Exception as error:
                raise ValueError(
                    f"known: {observation.where}: a constraint raised {type(error).__name__} there "
                    f"({safe_text(error)}); tell its numbers by name next to the value, or leave the point out"
                ) from error
    return observation._replace(constraints=measured | dict(constraints or {}))


def _checked(
    observation: PriorObservation, problem: "RunProblem | Optimizer", refused: list[str]
) -> PriorObservation | None:
    """Return a result with all constraint values; None, and a line of `refused`, where fixed parameters differ."""
    try:
        problem.space.encode(observation.point)
    except OtherValue as error:
        refused.append(f"{observation.where}: {error}")
        return None
    except ValueError as error:
        raise ValueError(f"known: {observation.where}: {error}") from None
    observation = _measured(observation, problem)
    try:
        outcomes_of([observation.value], [observation.constraints], problem.goals)
    except ValueError as error:
        raise ValueError(f"known: {observation.where}: {error}") from None
    return observation


def tell(known: list[PriorObservation], opt: "Optimizer") -> int:
    """Tell an optimizer all results that it lacks, and return their number."""
    return add(untold(known, opt), opt)


def add(new: list[PriorObservation], opt: "Optimizer") -> int:
    """Tell an optimizer results, and return their number."""
    if new:
        points, values, constraints, _, metrics, _ = zip(*new, strict=True)
        opt.tell_points(points, values, constraints, metrics)
    return len(new)


def untold(known: list[PriorObservation], opt: "Optimizer") -> list[PriorObservation]:
    """Return the results that an optimizer lacks; each row accounts for one of several equal results."""
    if not known or not len(opt.seen):
        return known
    rows: dict[Key, list[int]] = {}
    for row, x in enumerate(opt.seen.x):
        # a trial's code may differ in the last bit from that of its point, which users see
        for code in {x.tobytes(), opt.space.encode(opt.space.decode(x)).tobytes()}:
            rows.setdefault((code, _losses(opt.seen.f[row])), []).append(row)
    used: set[int] = set()
    new = []
    for observation in known:
        f = outcomes_of([observation.value], [observation.constraints], opt.goals).f[0]
        same = rows.get((opt.space.encode(observation.point).tobytes(), _losses(f)), [])
        free = [row for row in same if row not in used]
        used.update(free[:1])
        new += [] if free else [observation]
    return new


def _losses(f: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(number) else float(number) + 0.0 for number in f)
