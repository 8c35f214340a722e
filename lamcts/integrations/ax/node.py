"""The node: what Ax calls."""

from collections.abc import Iterator, Sequence
from typing import Any

from ax.exceptions.core import SearchSpaceExhausted
from ax.generation_strategy.external_generation_node import ExternalGenerationNode

import lamcts
from lamcts.integrations.ax.goals import AxGoals, goals_of
from lamcts.integrations.ax.space import space_of

FAILED = ("FAILED",)  # states of a trial
ENDED = ("COMPLETED", "EARLY_STOPPED", *FAILED)
GONE = ("ABANDONED", "STALE")


class LamctsNode(ExternalGenerationNode):  # type: ignore[misc]
    """Arms of an experiment of Ax chosen by `lamcts.Optimizer`, alone or after other nodes of a strategy.

    What it knows it reads from the experiment, trials of other nodes and of the user too, so that an experiment that
    was loaded goes on. Ranges, logarithms, choices, dependents, parameter and outcome constraints, weighted sums and
    several objectives are taken as they are. A trial that failed is a failure; one that was stopped early counts with
    its last step; one that was abandoned is forgotten.

    name: as in Ax ("lamcts").
    seed: one number governs every draw (None: a fresh one).
    transition_criteria: when the next node takes over (None: never).
    settings: others of `lamcts.Optimizer`, such as sampler, tree, n_init.
    """

    def __init__(
        self,
        name: str = "lamcts",
        seed: int | None = None,
        transition_criteria: Sequence[Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name=name, transition_criteria=transition_criteria)
        self._seed, self._settings = seed, settings
        self._search: lamcts.Optimizer | None = None
        self._goals: AxGoals | None = None
        self._told: set[str] = set()  # names of arms, which Ax gives to each parameterization once

    def update_generator_state(self, experiment: Any, data: Any) -> None:
        """Take in what the experiment says that is new."""
        search, goals = self._up_to_date(experiment)
        means = _means(data.df)
        for number, trial in experiment.trials.items():
            state = trial.status.name
            for arm in trial.arms:
                found = None if state in FAILED else means.get((number, arm.name), {})
                if arm.name in self._told:
                    continue
                if state in GONE:
                    self._forget(arm.parameters)
                elif state in ENDED and (found is None or goals.complete(found)):
                    value, held = goals.told(found)
                    search.tell_point(arm.parameters, value, held)
                    self._told.add(arm.name)

    def get_next_candidate(self, pending_parameters: list[Any]) -> Any:
        """Return a parameterization; those that are pending were asked for here, or Ax refuses them as repeated."""
        assert self._search is not None, "Ax updates the state first"
        try:
            return self._search.ask()[0].point
        except lamcts.Exhausted as error:
            raise SearchSpaceExhausted(str(error)) from None

    def _up_to_date(self, experiment: Any) -> tuple[lamcts.Optimizer, AxGoals]:
        """Return our optimizer and the goals; a new one where the space, or what is sought, is another."""
        space, goals = space_of(experiment.search_space), goals_of(experiment.optimization_config)
        search = self._search
        if search is None or (search.space.signature(), self._goals) != (space.signature(), goals):
            search = lamcts.Optimizer(space, seed=self._seed, **goals.arguments(), **self._settings)
            self._search, self._goals, self._told = search, goals, set()
        return search, goals

    def _forget(self, parameters: Any) -> None:
        assert self._search is not None, "called with it"
        for trial in self._search.pending:
            if trial.point == parameters:
                self._search.forget(trial)


def _means(table: Any) -> dict[tuple[int, str], dict[str, float]]:
    """Return the means of metrics by trial and arm; of several steps the last."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    for number, arm, metric, mean in _rows(table):
        found.setdefault((number, arm), {})[metric] = mean
    return found


def _rows(table: Any) -> Iterator[tuple[int, str, str, float]]:
    ordered = table.sort_values("step", kind="stable") if "step" in table.columns else table
    metric = "metric_signature" if "metric_signature" in table.columns else "metric_name"
    columns = (ordered[name] for name in ("trial_index", "arm_name", metric, "mean"))
    yield from ((int(number), arm, name, float(mean)) for number, arm, name, mean in zip(*columns, strict=True))
