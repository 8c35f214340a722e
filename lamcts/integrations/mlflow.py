"""A run in MLflow: `minimize(..., callback=MlflowCallback("tuning"))`."""

import json
import re
import time
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lamcts.errors import MissingExtra
from lamcts.integrations.tracker import TrackedTrial, Tracker

try:
    import mlflow
    from mlflow.entities import Metric, Param
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "mlflow":
        raise
    raise MissingExtra.of("mlflow-skinny", "mlflow") from None

if TYPE_CHECKING:
    from lamcts.study.result import Result

PARENT = "mlflow.parentRunId"  # the tag by which MLflow nests runs
NAME, SEED, TRIAL = "lamcts.name", "lamcts.seed", "lamcts.trial"  # tags of ours
STATUS = {"failed": "FAILED", "pruned": "KILLED"}  # of a trial's run; others are FINISHED
PAGE = 1000  # runs that are fetched at a time: MLflow's own default
MOST_METRICS, MOST_PARAMETERS = 800, 100  # in one request: MLflow takes 1,000 entries, 100 of them parameters
LONGEST = 500  # characters of a parameter: what all versions of MLflow take
ODD = re.compile(r"[^\w\-. /]")  # what names in MLflow may not contain


class MlflowCallback(Tracker):
    """Log a run to MLflow: a parent run, and a nested run for each trial.

    Parameters
    ----------
    experiment : str, default "lamcts"
        Name of the experiment; it is created if it does not exist.
    name : str, default None
        Name of the parent run. A run that resumes from its journal continues the parent run of this name in the
        experiment. None makes a new parent run, or takes the active run of `mlflow.start_run()`, which stays open.
    tracking_uri : str, default None
        Where MLflow keeps its runs, such as "sqlite:///mlflow.db". None is MLflow's own setting.
    tags : dict of str, default None
        Further tags of the parent run.

    Notes
    -----
    Errors of MLflow never end the run: the first is a RuntimeWarning, and after three failed calls in a row nothing
    more is logged. The parent run is finished at the end of `with MlflowCallback(...) as tracker:`, or by `close()`.
    """

    def __init__(
        self,
        experiment: str = "lamcts",
        name: str | None = None,
        *,
        tracking_uri: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        if name is not None and not (isinstance(name, str) and name and not {*name} & {*"\"'`\\"}):
            raise ValueError(
                f"name: expected text without quotes and backslashes, got {name!r}; rename it, or leave it out"
            )
        self._experiment, self._name, self._uri, self._tags = experiment, name, tracking_uri, dict(tags or {})

    def _begin(self, result: "Result") -> Collection[int]:
        self._client: Any = mlflow.MlflowClient(self._uri)
        self._best: float | None = None
        active = mlflow.active_run() if self._name is None and self._uri is None else None
        self._owned = active is None
        if active is not None:
            self._where, self._parent = active.info.experiment_id, active.info.run_id
        else:
            self._where = self._experiment_id()
            self._parent = self._named(result.seed) or self._created(result)
        return set(self._logged_before())

    def _experiment_id(self) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        return str(self._client.create_experiment(self._experiment) if found is None else found.experiment_id)

    def _named(self, seed: int) -> str | None:
        """Return the parent run of an earlier session; ValueError if it is of another run of lamcts."""
        for run in self._search(NAME, self._name) if self._name is not None else ():
            if run.data.tags.get(SEED) != str(seed):
                raise ValueError(
                    f"name: expected the run of seed {seed}, got that of seed {run.data.tags.get(SEED)} in "
                    f"{self._name!r}; give another name"
                )
            self._client.update_run(run.info.run_id, status="RUNNING")
            return str(run.info.run_id)
        return None

    def _created(self, result: "Result") -> str:
        goals = result.history.goals.objectives
        tags = {SEED: str(result.seed), **({} if self._name is None else {NAME: self._name}), **self._tags}
        tags["lamcts.objectives"] = ", ".join(f"{goal.name} ({'max' if goal.maximize else 'min'})" for goal in goals)
        name = self._name or f"lamcts seed {result.seed}"  # else MLflow draws one, from the user's generator
        return str(self._client.create_run(self._where, tags=tags, run_name=name).info.run_id)

    def _logged_before(self) -> Iterator[int]:
        """Yield the trials of the parent run; a nested run whose session was killed is deleted and logged again."""
        for run in self._search(PARENT, self._parent):
            number = run.data.tags.get(TRIAL)
            if number is not None and run.info.status == "RUNNING":
                self._client.delete_run(run.info.run_id)
            elif number is not None:
                yield int(number)

    def _search(self, tag: str, value: str | None) -> list[Any]:
        """Return all runs of the experiment with a tag."""
        found: list[Any] = []
        token = None
        while True:
            page = self._client.search_runs(
                [self._where], f"tags.`{tag}` = '{value}'", max_results=PAGE, page_token=token
            )
            found += page
            if not (token := page.token):
                return found

    def _log(self, trial: TrackedTrial) -> None:
        now = time.time()
        start = now - (trial.seconds if trial.seconds > 0 else 0)
        tags = {PARENT: self._parent, TRIAL: str(trial.number), "lamcts.state": trial.state}
        tags |= {} if trial.message is None else {"lamcts.message": trial.message}
        made = self._client.create_run(
            self._where, start_time=round(start * 1000), tags=tags, run_name=f"trial {trial.number}"
        )
        self._put(made.info.run_id, trial, round(now * 1000))
        self._client.set_terminated(made.info.run_id, STATUS.get(trial.state, "FINISHED"), round(now * 1000))
        if trial.best is not None:
            self._client.log_metric(self._parent, "best", trial.best, step=trial.count)

    def _put(self, run: str, trial: TrackedTrial, time_ms: int) -> None:
        """Log the parameters and numbers of a trial, in as many requests as MLflow wants."""
        texts = clean({name: str(value)[:LONGEST] for name, value in trial.parameters.items()})
        metrics = [Metric(name, value, time_ms, trial.count) for name, value in clean(trial.numbers).items()]
        for step, values in trial.reports.items():
            metrics += [Metric(name, value, time_ms, step) for name, value in clean(values).items()]
        parameters = [Param(name, text) for name, text in texts.items()]
        for i in range(0, len(parameters), MOST_PARAMETERS):
            self._client.log_batch(run, params=parameters[i : i + MOST_PARAMETERS])
        for i in range(0, len(metrics), MOST_METRICS):
            self._client.log_batch(run, metrics=metrics[i : i + MOST_METRICS])

    def _update(self, result: "Result") -> None:
        if "front" in result:
            self._client.log_metric(self._parent, "front", len(result.front), step=self._count)
        elif self._lead is not None and self._lead.best != self._best:
            self._client.set_tag(self._parent, "lamcts.best_trial", str(self._lead.number))
            self._client.set_tag(self._parent, "lamcts.best", json.dumps(self._lead.parameters, default=str))
            self._best = self._lead.best

    def _end(self, failed: bool) -> None:
        if self._owned:
            self._client.set_terminated(self._parent, "FAILED" if failed else "FINISHED")


def clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under names that MLflow takes, each of its own."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        own = ODD.sub("_", name) or "_"
        while own in found:
            own += "_"
        found[own] = value
    return found
