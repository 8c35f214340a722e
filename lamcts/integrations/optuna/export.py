"""A recorded run as a study of Optuna: `lamcts export RUN --optuna sqlite:///x.db`, for optuna-dashboard."""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

import lamcts
from lamcts.integrations.optuna.proposer import CONSTRAINTS
from lamcts.journal import Journal
from lamcts.spaces import SearchSpace
from lamcts.spaces.base import EncodedSpace
from lamcts.types import Json, Point

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded
    from lamcts.optimizer.history import History

RUN, ROW = "lamcts:run", "lamcts:row"  # attributes by which a study and its trials are found again
SHORT = 16  # hexadecimal digits that tell runs apart
VALUE = "value"  # the name of an objective that was given none
PLAIN = (str, int, float, bool, type(None))  # options that every storage of Optuna keeps as they are


def export_study(
    run: str | os.PathLike[str],
    storage: Any,
    study_name: str | None = None,
    *,
    space: SearchSpace | None = None,
) -> optuna.Study:
    """Write the evaluations of a journal into a study of Optuna.

    Parameters
    ----------
    run : str or path
        The journal, or the folder of a run. The run may still be writing.
    storage : str or storage of Optuna
        Where the study goes, such as "sqlite:///x.db".
    study_name : str, default None
        Name of the study; None is the name of the objective with the seed.
    space : Space, default None
        The space of the run, as in `lamcts.load`; None takes it from the journal.

    Returns
    -------
    Study
        The study. A second export of a run adds new evaluations. User attributes such as `lamcts:trial`,
        `lamcts:message`, `lamcts:seconds` and `lamcts:proposer` have what Optuna has no field for.

    Raises
    ------
    ValueError
        If the storage has another study of this name, or the journal does not hold the space.
    """
    result = lamcts.load(run, space)
    history, found = result.history, Journal.read(_journal(run))
    storage = _opened(storage)
    study = _study(
        storage, study_name or f"{found.about.get('objective', 'lamcts')} seed {result.seed}", found, history
    )
    done = {trial.user_attrs.get(ROW) for trial in study.get_trials(deepcopy=False)}
    for row in range(len(history)):
        if row not in done:
            study.add_trial(_trial(history, found, row))
    return study


def _journal(run: str | os.PathLike[str]) -> str:
    path = os.fspath(run)
    return os.path.join(path, "journal.db") if os.path.isdir(path) else path


def _opened(storage: Any) -> Any:
    """Return a storage of Optuna, opened once."""
    try:
        return optuna.storages.get_storage(storage)
    except SQLAlchemyError as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"storage: expected one that can be opened, got {storage!r}: {why}") from None


def _study(storage: Any, name: str, run: "Recorded", history: "History") -> optuna.Study:
    """Create the study, or return that of an earlier export; ValueError where the name is taken."""
    goals = history.goals
    directions = [StudyDirection.MAXIMIZE if goal.maximize else StudyDirection.MINIMIZE for goal in goals.objectives]
    text = json.dumps([run.created, run.fingerprint], sort_keys=True, default=str)
    mark = hashlib.sha256(text.encode()).hexdigest()[:SHORT]
    try:
        study = optuna.create_study(storage=storage, study_name=name, directions=directions)
    except optuna.exceptions.DuplicatedStudyError:
        study = optuna.load_study(study_name=name, storage=storage)
        if study.user_attrs.get(RUN) != mark:
            raise ValueError(
                f"study_name: expected a new study or that of {run.path}, got {name!r}, which holds another; "
                "give another name"
            ) from None
        return study
    study.set_user_attr(RUN, mark)
    about: Json = {"version": run.version, "created": run.created, "sampler": run.sampler, "about": run.about}
    about["seed"] = run.fingerprint.get("seed")
    if history.goals.constraints:
        about["constraints"] = [*map(str, history.goals.constraints)]
    for key, value in about.items():
        study.set_user_attr(f"lamcts:{key}", value)
    if goals.names != (VALUE,):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the names are an experimental feature of Optuna
            study.set_metric_names([*goals.names])
    return study


def _trial(history: "History", run: "Recorded", row: int) -> FrozenTrial:
    """Return a row as a finished trial."""
    parameters = list(parameters_of(history.points.space, history.points[row]))
    reports = history.reports_of(row)
    state, values = _outcome(history, row, reports)
    trial = create_trial(
        state=state,
        values=values,
        params={each.name: each.value for each in parameters},
        distributions={each.name: each.distribution for each in parameters},
        intermediate_values={} if len(history.goals.objectives) > 1 else reports,
        user_attrs=dict(_attributes(history, run, row, len(parameters))),
        system_attrs={CONSTRAINTS: history.constraints[row].tolist()} if history.goals.constraints else None,
    )
    ended, seconds = float(run.times[row]), float(history.seconds[row])
    trial.datetime_complete = datetime.fromtimestamp(ended)
    trial.datetime_start = datetime.fromtimestamp(ended - (seconds if seconds > 0 else 0.0))
    return trial


def _outcome(history: "History", row: int, reports: dict[int, float]) -> tuple[TrialState, list[float] | None]:
    """Return the state and the values; a pruned trial has its last intermediate value, as in Optuna."""
    if history.pruned[row]:
        several = len(history.goals.objectives) > 1
        last = list(reports.values())[-1] if reports and not several else math.nan
        return TrialState.PRUNED, None if math.isnan(last) else [last]
    values = history.values[row : row + 1].ravel().tolist()
    if any(map(math.isnan, values)):
        return TrialState.FAIL, None
    if history.partial[row]:  # else a value below full fidelity could be the best of the study
        return TrialState.PRUNED, values
    return TrialState.COMPLETE, values


def _attributes(history: "History", run: "Recorded", row: int, parameters: int) -> Iterator[tuple[str, Any]]:
    """Yield the user attributes of a row."""
    yield ROW, row
    yield from history.metrics.get(row, {}).items()
    number, point = int(history.trial[row]), history.parameters(row)
    yield ("lamcts:trial", number) if number >= 0 else ("lamcts:known", True)
    if (message := history.message(row)) is not None:
        yield "lamcts:message", message
    measured = dict(zip(history.goals.names, history.values[row : row + 1].ravel().tolist(), strict=True))
    if history.failed[row] and (known := {name: each for name, each in measured.items() if not math.isnan(each)}):
        yield "lamcts:measured", known  # a failed trial of Optuna has no values
    if not math.isnan(history.seconds[row]):
        yield "lamcts:seconds", float(history.seconds[row])
    if len(history.goals.objectives) > 1 and (reports := history.reports_of(row)):
        yield "lamcts:intermediate", {str(step): values for step, values in reports.items()}
    if row in run.proposers:
        yield "lamcts:proposer", run.proposers[row]
    if history.checked[row]:
        yield "lamcts:checked", True
    if parameters < len(point):
        yield "lamcts:point", json.dumps(point, default=str)


class OptunaParameter(NamedTuple):
    """A value and its distribution, under a name that a point of lamcts has too (`net.layers` where it is nested)."""

    name: str
    value: Any
    distribution: BaseDistribution


def parameters_of(space: SearchSpace, point: Point, name: str = "") -> Iterator[OptunaParameter]:
    """Yield the active parameters of a point; a part that Optuna has no distribution for is left out."""
    if (found := _single(space, point, name or "x")) is not None:
        yield found
    elif isinstance(space, EncodedSpace):
        for key, member, part in space.split(point):
            yield from parameters_of(member, part, _joined(name, key))


def _single(space: SearchSpace, value: Point, name: str) -> OptunaParameter | None:
    """Return one number or category; None for a kind of space that is not known here."""
    if isinstance(space, lamcts.Float):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna warns that it drops the last value: then without the step
            made = FloatDistribution(space.low, space.high, log=space.log, step=space.step)
        made = made if made.high == space.high else FloatDistribution(space.low, space.high)
        return OptunaParameter(name, float(value), made)
    if isinstance(space, lamcts.Int):
        ends = int(space.low), int(space.high)
        return OptunaParameter(name, int(value), IntDistribution(*ends, log=space.log, step=space.step or 1))
    if isinstance(space, lamcts.Bool):
        return _category(name, bool(value), (False, True))
    return _category(name, value, space.options) if isinstance(space, lamcts.Choice) else None


def _category(name: str, value: object, options: Sequence[object]) -> OptunaParameter:
    """Return a category; its options are texts unless all are plain values that Optuna tells apart."""
    plain = all(type(option) in PLAIN for option in options) and len(set(options)) == len(options)
    choice = lamcts.Choice(tuple(options))
    kept: tuple[Any, ...] = choice.options if plain else choice.labels
    return OptunaParameter(name, kept[choice.place(value)], CategoricalDistribution(kept))


def _joined(name: str, key: object) -> str:
    """Return the name of a part: of numbered ones x1, x2, ... where the whole has no name."""
    if key is None:
        return name
    return f"{name}.{key}" if name else f"x{key}" if isinstance(key, int) else str(key)
