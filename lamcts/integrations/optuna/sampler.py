"""The sampler that Optuna calls."""

import copy
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from lamcts.integrations.optuna.parameters import OptunaParameters
from lamcts.integrations.optuna.proposer import CONSTRAINTS, Proposer, Record, attributes
from lamcts.rng import fresh_seed
from lamcts.samplers import Sampler
from lamcts.types import whole_number

MOST_TRIES = 8  # in which another process proposed the same point at the same time: a bound, never met


class LamctsSampler(BaseSampler):
    """A sampler of Optuna that proposes trials by `lamcts.Optimizer`.

    It reads its results from the study, so several processes may share one. A study that is saved or copied with its
    sampler, by pickle or joblib, goes on with the same points as one that was not stopped.

    Parameters
    ----------
    seed : int, default None
        Seed of every draw; None: a fresh seed.
    n_startup_trials : int, default None
        Trials of the initial design; None: as many as `lamcts.Optimizer` starts with for the space (untuned).
    sampler : str or sampler, default "auto"
        The search, as in `lamcts.Optimizer`.
    several : bool, default False
        Whether the study may have several objectives. Optuna's tests of samplers for one objective expect an error.
    constraints_func : callable, default None
        Returns numbers of a complete or pruned trial that must be at most 0. Optuna 5 prefers `trial.set_constraint`.
    independent_sampler : optuna.samplers.BaseSampler, default None
        Draws the parameters of the first trial, and those whose options change; None: Optuna's `TPESampler`.

    Examples
    --------
    >>> import optuna
    >>> from lamcts.integrations.optuna import LamctsSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=LamctsSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=30)
    >>> study.best_value < 0.01
    True
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        sampler: Sampler | str = "auto",
        several: bool = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        whole_number(n_startup_trials, "n_startup_trials", least=0, optional=True)
        whole_number(seed, "seed", least=0, optional=True)
        self._seed = fresh_seed() if seed is None else int(seed)
        self._settings: dict[str, Any] = {"n_init": n_startup_trials, "sampler": sampler}
        self._several = several
        self._constraints_func = constraints_func
        self._independent = independent_sampler
        self._begin(None, (False,))

    def _begin(self, study_name: str | None, maximize: tuple[bool, ...]) -> None:
        """Discard the record of any study."""
        self._lock = threading.RLock()  # of threads that share a study: n_jobs=2
        self._study_name, self._maximize = study_name, maximize
        self._record = Record(maximize[0])
        self._proposer: Proposer | None = None
        self._made_of: tuple[dict[str, BaseDistribution], list[str]] | None = None  # parameters and constraints

    # What Optuna calls ----------------------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        with self._lock:
            self._read(study)
            known = sorted(self._record.distributions.items())
            return {name: one for name, one in known if one is not None and not one.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._check(study)
        if not search_space:
            return {}
        with self._lock:
            trials = self._read(study)
            made_of = (search_space, list(self._record.constraints))
            if self._proposer is None or self._made_of != made_of:
                settings = self._settings | {"seed": derived(self._seed, trial.number)}
                self._proposer = Proposer(OptunaParameters(search_space), self._maximize, made_of[1], settings)
                self._made_of = made_of
            self._proposer.tell(trials, self._record.outcomes)
            proposer = self._proposer
            for _ in range(MOST_TRIES):
                point = proposer.ask(trial.number, trials)
                for key, text in attributes(proposer.parameters.internal(point)).items():
                    study._storage.set_trial_system_attr(trial._trial_id, key, text)  # the other processes see it
                trials = study.get_trials(deepcopy=False)
                if not proposer.taken(trial.number, trials):  # by one that did not see it yet
                    break
            return proposer.parameters.values(point)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._check(study)
        return self._fallback(trial).sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._fallback(trial).before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            held = tuple(map(float, self._constraints_func(trial)))
            if any(map(math.isnan, held)):
                raise ValueError(f"constraints_func: expected numbers, got {held}")
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, held)
        self._fallback(trial).after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        with self._lock:
            self._seed, self._proposer = fresh_seed(), None
            if self._independent is not None:
                self._independent.reseed_rng()

    # What it knows --------------------------------------------------------------------------------------------------

    def _read(self, study: Study) -> list[FrozenTrial]:
        """Return all trials of a study, their finished ones recorded."""
        maximize = tuple(direction == StudyDirection.MAXIMIZE for direction in study.directions)
        trials = study.get_trials(deepcopy=False)
        if (self._study_name, self._maximize) != (study.study_name, maximize) or not self._record.is_of(trials):
            self._begin(study.study_name, maximize)
        self._record.read(trials)
        return trials

    def _fallback(self, trial: FrozenTrial) -> BaseSampler:
        if self._independent is None:
            self._independent = optuna.samplers.TPESampler(seed=derived(self._seed, trial.number) % 2**32)
        return self._independent

    def _check(self, study: Study) -> None:
        if len(study.directions) > 1 and not self._several:
            raise ValueError("expected a study of one objective; LamctsSampler(several=True) takes several")

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the lock: a copy goes on with the same points, after it has read the study."""
        with self._lock:
            own = {name: copy.deepcopy(vars(self)[name]) for name in ("_record", "_proposer")}
        return {name: value for name, value in vars(self).items() if name != "_lock"} | own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(None, (False,))
        vars(self).update(state)


def derived(seed: int, number: int) -> int:
    """Return the seed of a proposer that starts at a trial; processes with one seed start at different trials."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))
