"""A run in Weights & Biases: `minimize(..., callback=WandbCallback("project"))`."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from lamcts.errors import MissingExtra
from lamcts.integrations.tracker import TrackedTrial, Tracker

try:
    import wandb
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "wandb":
        raise
    raise MissingExtra.of("wandb", "wandb") from None

if TYPE_CHECKING:
    from lamcts.study.result import Result

STEP = "evaluation"  # the column along which W&B draws all others
COLUMNS = ["trial", "step"]  # of the table of intermediate values, before the values


class WandbCallback(Tracker):
    """Log a run to Weights & Biases: a step for each trial, or a run for each trial.

    Parameters
    ----------
    project : str, default None
        Name of the project. None is the setting of `wandb`, or the project of the active run.
    multirun : bool, default False
        Whether each trial is a run of its own, in one group. Starting a run takes about a second.
    **init
        Further arguments of `wandb.init`, such as `name`, `id`, `group`, `tags`, `config`, `dir`, or `mode="offline"`.

    Notes
    -----
    An active run (`wandb.run`) is used and left open. Otherwise the first call starts a run, which `close()` or the end
    of `with WandbCallback(...) as tracker:` finishes. To resume, give `id` and `resume="allow"`.
    Errors of W&B never end the run: after three failed calls in a row nothing more is logged.
    """

    def __init__(self, project: str | None = None, *, multirun: bool = False, **init: Any) -> None:
        super().__init__()
        self._project, self._multirun, self._init = project, multirun, init
        self._run: Any = None
        self._result: Result | None = None

    def _begin(self, result: "Result") -> Collection[int]:
        goals = result.history.goals
        self._config = {"seed": result.seed}
        self._config |= {f"direction of {goal.name}": "max" if goal.maximize else "min" for goal in goals.objectives}
        if self._multirun:
            self._group = self._init.get("group") or f"lamcts-{result.seed}"
            return ()
        self._owned = wandb.run is None
        self._run = self._started(**self._init) if self._owned else wandb.run
        self._run.config.update(self._config, allow_val_change=True)
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP)
        for goal in goals.objectives:
            self._run.define_metric(goal.name, step_metric=STEP, summary="max" if goal.maximize else "min")
        done = int(self._run.summary.get(STEP) or 0)
        return [number for number in result.history.trial.tolist() if number >= 0][:done]

    def _started(self, **words: Any) -> Any:
        return wandb.init(**({} if self._project is None else {"project": self._project}), **words)

    def _log(self, trial: TrackedTrial) -> None:
        if not self._multirun:
            self._run.log({name: _loggable(value) for name, value in trial.row().items()})
            return
        own = {"group": self._group, "name": f"trial {trial.number}", "id": f"{self._group}-{trial.number}"}
        config = {**(self._init.get("config") or {}), **self._config, **trial.parameters}
        run = self._started(**{**self._init, **own, "config": config, "reinit": "create_new"})
        try:
            for step, values in trial.reports.items():
                run.log(values, step=step)
            run.summary.update({name: _loggable(value) for name, value in trial.row().items()})
        finally:
            run.finish(exit_code=int(trial.state == "failed"))

    def _update(self, result: "Result") -> None:
        self._result = result

    def _end(self, failed: bool) -> None:
        if self._run is None:
            return
        run, self._run = self._run, None
        if self._result is not None and (told := _intermediate(self._result)):
            names = self._result.history.goals.names
            columns = [*COLUMNS, *(names if len(names) > 1 else ["value"])]
            run.log({"intermediate": wandb.Table(columns=columns, data=told)})
        if self._owned:
            run.finish(exit_code=int(failed))


def _intermediate(result: "Result") -> list[list[float]]:
    """Return trial, step and values of each report."""
    history = result.history
    return [
        [int(history.trial[row]), step, *values.values()]
        for row in range(len(history))
        for step, values in history.named_reports(row).items()
    ]


def _loggable(value: object) -> Any:
    """Return a value that W&B draws or shows: a number, a text, or a list as text."""
    return value if isinstance(value, (bool, int, float, str)) else str(value)
