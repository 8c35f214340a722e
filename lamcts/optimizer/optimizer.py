"""The optimizer: ask for points, tell their values. START HERE: `ask`, `_search`, `tell` and `_add` are the loop.

From `ask` to the acquisition function: sessions.py, samplers/separable.py, local_global.py, bo.py, parts/bayesian.py,
models/local.py, surrogate.py, acquisition.py. Each change of state goes through `changes.complete`, which undoes it if
an exception is raised.
"""

import os
import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Never, Self

import numpy as np

from lamcts.errors import Exhausted
from lamcts.journal import Journal, begun_with
from lamcts.journal.settings import identity
from lamcts.journal.state import FORMAT, Delta, Mark, State
from lamcts.models.predictor import BestPredicted, Prediction
from lamcts.models.remaining_gain import RemainingGain
from lamcts.optimizer import again, arguments, changes, prediction, recording, records, saving
from lamcts.optimizer.design import Design, Kind, WarmStart, encoded
from lamcts.optimizer.export import dataframe_of
from lamcts.optimizer.incomplete import Incomplete
from lamcts.optimizer.records import Best
from lamcts.optimizer.sessions import Searches
from lamcts.optimizer.trials import CheckedResults, Trials
from lamcts.outcomes.front import Front
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.observations import CONFIRMING, Observations
from lamcts.outcomes.trial import AskedTrials, Trial
from lamcts.rng import Purpose, stream
from lamcts.samplers.base import DesignDependent, Proposal, Sampler
from lamcts.samplers.fidelities import open_at_full
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.point_keys import keys_of
from lamcts.spaces.regions.fill import draw_unseen, nothing_left
from lamcts.spaces.regions.region import Region
from lamcts.types import Json, Mask, Point, whole_number
from lamcts.utils.numerics import own_numerics

if TYPE_CHECKING:
    from pandas import DataFrame

    from lamcts.optimizer.history import History


class Optimizer:
    """Minimise or maximise a black-box function by ask and tell.

    Parameters
    ----------
    space : Space, dict of parameters, or list of (low, high) pairs
        The points to choose from.
    maximize : bool, default False
        Whether higher values are better.
    sampler : str or Sampler, default "auto"
        Search within regions. "auto" depends on the space, see `samplers.default`; the paper uses TuRBO-1.
    seed : int or None, default None
        Determines every random draw. None draws a fresh seed, kept in `self.seed`.
    n_init : int or None, default None
        Number of points in the initial design. None is 1, the centre, for `GpCma`; else 2 d as in TuRBO, 10 to 100. It
        is d + 2, 8 to 12, if half of the d parameters are discrete, or some of at most 20, and with constraints or
        several objectives in more than 40 dimensions; else d + 1 under constraints. LaNAS has 200.
    design : {"sobol", "lhs", "uniform"}, default "sobol"
        Kind of the initial design, of which "uniform" is the least even. TuRBO uses "lhs". From one `x0` under
        constraints, in at most 40 real parameters, "sobol" is a step along each parameter.
    x0 : point or list of points, default None
        Points to evaluate first; they count in `n_init`.
    repeat : bool, default False
        Whether points may be proposed again, which is useful only under noise.
    objectives : list of names, dict of names and "min" or "max", or int, default None
        The objectives, by name or number. None is one objective.
    constraints : list of texts or int, default None
        Texts such as "stress <= 250" or "gap == 0 +- 1e-3", or the number of quantities that must be at most 0.
    reference : list or dict of numbers, default None
        The point from which hypervolumes are measured, a number for each objective. No search uses it.
    related : list of lists of (point, value), default None
        Evaluations of related tasks, such as other data sets: a list for each, see `lamcts.outcomes.related`.
    noisy : bool or float, default False
        Whether values are noisy: of the evaluations that `ask` is told are left, the last ones evaluate promising
        points again. At most a tenth of all does so, or this share.
    journal : path or None, default None
        File of a journal that records what is asked and told. The same call reopens it: with the evaluations and the
        pending trials that it holds, and its seed. One optimizer writes it at a time.

    Notes
    -----
    Latent action Monte Carlo tree search is due to Wang, Fonseca and Tian (2020).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, seed=0)
    >>> for _ in range(20):
    ...     trials = opt.ask(2)
    ...     opt.tell(trials, [sum(trial.point**2) for trial in trials])
    >>> opt.best.value < 1
    True
    """

    def __init__(
        self,
        space: Any,
        *extra: Never,
        maximize: bool = False,
        sampler: str | Sampler = "auto",
        seed: int | None = None,
        n_init: int | None = None,
        design: Kind = "sobol",
        x0: Point = None,
        repeat: bool = False,
        objectives: Any = None,
        constraints: Any = None,
        reference: Any = None,
        related: Any = None,
        noisy: bool | float = False,
        journal: str | os.PathLike[str] | None = None,
        **unknown: Any,
    ) -> None:
        arguments.refuse_in_order(extra)
        arguments.refuse_unknown(unknown, ("space", *(Optimizer.__init__.__kwdefaults__ or ())), "Optimizer", True)
        if journal is not None:
            recorded = begun_with(journal)
            seed = recorded[0] if seed is None else seed
            n_init = recorded[1] if n_init is None else n_init
        self.space = arguments.checked_space(space)
        self.repeat = bool(repeat)
        self.goals = Goals.of(bool(maximize), objectives, constraints, reference)
        self.maximize = self.goals.objectives[0].maximize if self.goals.plain else bool(maximize)
        self.seed = arguments.checked_seed(seed)
        self.noisy = arguments.checked_noisy(noisy, self.space, self.goals)
        self.related = arguments.related_tasks(related, self.space, self.goals)
        if isinstance(sampler, DesignDependent):
            n_init, sampler = sampler.after_design(n_init)
        self.sampler = arguments.checked_sampler(sampler, self.space, self.goals, bool(self.related))
        is_centred = self.sampler.supports.centre
        codes, points = encoded(self.space, x0)
        self.design = Design(self.space, design, n_init, codes, self.seed, self.goals, is_centred, points)
        self._journal: Journal | None = None
        self._unfinished: changes.Moment | None = None  # the state before an incomplete change
        self._has_corrections = False  # whether a change has replaced rows
        self._widths = len(self.goals.objectives), self.goals.columns
        self.seen = Observations(self.space.dim, self.repeat, keys_of(self.space), *self._widths)
        self._begin()
        if journal is not None:
            self._record_in(journal)

    def _begin(self) -> None:
        self.seen.clear()
        self.seen.related = self.related
        self._warm_start = WarmStart(self.related, self.space)
        self.failures: dict[int, str] = {}  # row -> message
        self.metrics: dict[int, Metrics] = {}  # row -> metrics by name
        self._n_designed = 0  # points of the design, issued or skipped
        self._searches = Searches(self.sampler, self.seen, self.seed)
        self._trials = Trials(self.space, self.seen, self.seed, self.goals, self.design.exact)
        self._rng = stream(self.seed, Purpose.SELECT)
        self._models = prediction.Models(self.space, self.goals, self.seen, self.noisy > 0)

    # The loop -------------------------------------------------------------------------------------------------------

    @own_numerics()
    def ask(self, n: int = 1, left: int | None = None) -> list[Trial]:
        """Return new trials to evaluate.

        Parameters
        ----------
        n : int, default 1
            Number of trials.
        left : int, default None
            Number of evaluations that are left, these included, for `noisy`. None says that it is not known.

        Returns
        -------
        list of Trial
            `n` trials with distinct points, fewer where a finite space runs out. Some may be at known points, if
            `noisy`.

        Raises
        ------
        Exhausted
            If no point of a finite space is left.
        """
        n = whole_number(n, "ask")
        left = None if left is None else whole_number(left, "ask: left")
        return AskedTrials(changes.complete(self, lambda: self._ask(n, left)))

    def _ask(self, n: int, left: int | None) -> list[Trial]:
        trials: list[Trial] = []
        n_failed = len(self._searches.failed)
        while len(trials) < n:
            try:
                (x, notes, _), search = self._next(n - len(trials), None if left is None else left - len(trials))
            except Exception:  # a sampler may raise anything; trials issued before are still returned
                if not trials or len(self._searches.failed) == n_failed:
                    raise
                break
            if not len(x):
                break
            trials += [self._trials.issue(point, search, note) for point, note in zip(x, notes, strict=True)]
        if not trials:
            raise Exhausted(nothing_left(self.space, self.seen))
        return trials

    def _next(self, n: int, left: int | None) -> tuple[Proposal, int]:
        """Return at most `n` points and their source: the design, a search, or re-evaluations under noise."""
        n_issued = int(np.count_nonzero(self.seen.trial >= 0)) + len(self._trials.pending)
        n_new = n if left is None else left - again.reserve(n_issued + left, self.noisy)
        if n_new <= 0 and len(x := self._models.again(n)):
            return Proposal(x, [None] * len(x)), CONFIRMING
        n = min(n, n_new) if n_new > 0 else n
        proposed = self._initial_points(n) or self._search(n)
        if len(proposed[0].x) or not len(x := self._models.again(n)):
            return proposed
        return Proposal(x, [None] * len(x)), CONFIRMING  # all points of the finite space are known

    def _search(self, n: int) -> tuple[Proposal, int]:
        """Return points of a search and its number; where it finds none, unseen points from anywhere in the space."""
        proposal, search = self._searches.propose(self.region(), n)
        if len(proposal.x):
            return proposal, search
        x = draw_unseen(self.space, self.seen, n, self._rng)
        return Proposal(x, [None] * len(x)), -1

    @own_numerics()
    def tell(
        self,
        trials: Trial | Sequence[Trial],
        values: object,
        seconds: object = None,
        *,
        constraints: object = None,
        metrics: object = None,
        point: Point = None,
    ) -> None:
        """Add the values of pending trials, in any order; nothing is added if anything is wrong.

        Parameters
        ----------
        trials : Trial or list of Trial
            Trials that `ask` returned.
        values : number, dict or list
            A value for each trial. None, nan, an infinity or an exception is a failed evaluation, `Pruned` a stopped
            one; a failed trial may be told once more with a value. With several objectives or constraints, a value is
            a dict by name, or numbers in the order of the objectives. Without one of them (None or nan) the evaluation
            has failed, and the others are kept. Other names of a dict are metrics. A constrained quantity that is not
            known is None or nan. What a dict without metrics leaves out is pending: the trial stays pending, too, until
            a later call has the rest, and models of the other columns use their values. `(value, sem)` or
            `Measured(value, sem)` is a value with its standard error, which models take as known noise.
        seconds : number or list of numbers, default None
            Duration of each evaluation.
        constraints : dict or list, default None
            Values of the constrained quantities. A value of None with them says that the point was checked, not run.
        metrics : dict or list of dict, default None
            Numbers and texts by name that are stored with each evaluation, failed ones too. No search uses them. What
            cannot be stored is left out, with a warning.
        point : point of the space, default None
            Where a single trial was evaluated, if not at its own point. The value counts there.

        Warns
        -----
        RuntimeWarning
            If a search raises on its results. The search is ended, the results stay.
        """
        changes.finish(self)
        results = self._checked(trials, values, seconds, constraints, metrics, point)
        changes.complete(self, lambda: self._add(results))

    def _checked(
        self,
        trials: Trial | Sequence[Trial],
        values: object,
        seconds: object,
        constraints: object,
        metrics: object,
        point: Point,
    ) -> CheckedResults:
        """Check the arguments of `tell`."""
        if point is None:
            return self._trials.check(trials, values, constraints, seconds, metrics)
        return self._trials.check_elsewhere(trials, point, values, constraints, seconds, metrics)

    def _add(self, results: CheckedResults) -> None:
        """Store results as rows, and route them to their searches."""
        if results.moved is not None and results.moved in self._trials.pending:
            self._drop(self._trials.pending[results.moved])
        self._trials.keep(results.incomplete)
        f, g, kind, messages, predicted, _, sems = results.outcomes
        rows = self.seen.append(results.x, f, results.seconds, results.numbers, results.sources, g, kind)
        self.failures |= {int(row): text for row, text in zip(rows, messages, strict=True) if text is not None}
        self.metrics |= {int(row): value for row, value in zip(rows, results.metrics, strict=True) if value}
        self.seen.predicted |= {int(rows[i]): value for i, value in predicted.items()}
        self.seen.sems |= {int(rows[i]): value for i, value in sems.items()}
        self.seen.exact |= {
            int(row): point for row, point in zip(rows, results.points, strict=True) if point is not None
        }
        self._searches.tell(self._trials.settle(results, rows))

    # Unsolicited results, corrections -------------------------------------------------------------------------------

    def tell_point(self, point: Point, value: object, constraints: object = None) -> None:
        """Add the value of an unsolicited point; at a pending trial's point, it closes that trial.

        Parameters
        ----------
        point : point of the space
            Where it was evaluated.
        value, constraints : number, dict or list
            What `tell` takes for one trial.
        """
        self.tell_points([point], [value], None if constraints is None else [constraints])

    @own_numerics()
    def tell_points(
        self,
        points: Sequence[Point],
        values: Sequence[object],
        constraints: object = None,
        metrics: object = None,
        seconds: object = None,
    ) -> None:
        """Add many unsolicited points and their values at once; nothing is added if anything is wrong.

        Parameters
        ----------
        points : list of points
            Where they were evaluated.
        values : list
            A value for each point, as in `tell`.
        constraints, metrics, seconds : list, default None
            Those of each point, as in `tell`.
        """
        changes.finish(self)
        results = self._trials.check_points(points, values, constraints, metrics, seconds)
        changes.complete(self, lambda: self._add(results))

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial without a value that will never be told, such as that of a lost worker.

        Parameters
        ----------
        trial : Trial
            The trial.
        """
        trial = self._trials.record_of(trial)
        if trial.id in self._trials.late:
            raise ValueError(f"trial {trial.id} was told as failed or checked: it is not pending any more")
        if trial.id in self.incomplete:
            known = ", ".join(self.incomplete[trial.id].values)
            cure = "tell None, or a message in its sheet, where the other values will never be known"
            raise ValueError(
                f"forget: expected a trial without a value, got trial {trial.id}, whose {known} is known; {cure}"
            )
        changes.complete(self, lambda: self._drop(trial))

    @own_numerics()
    def correct(self, trial: int, value: object, constraints: object = None, point: Point = None) -> None:
        """Replace the value of an evaluation that was told; the search begins again with all evaluations.

        Parameters
        ----------
        trial : int
            Number of its trial, as in `rows()`.
        value, constraints : number, dict or list
            What `tell` takes for one trial. The former values become metrics of the evaluation.
        point : point of the space, default None
            Where it was evaluated; None leaves that as it is.

        Raises
        ------
        ValueError
            If no such trial was told, or the value is none; nothing is changed then.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
        >>> opt.tell(opt.ask(2), [12.0, 3.0])
        >>> opt.correct(0, 1.2)
        >>> opt.best.value, opt.rows()[0]["value before correction"]
        (1.2, 12.0)
        """
        changes.finish(self)
        state = saving.corrected(self, trial, value, constraints, point)
        changes.complete(self, lambda: changes.correct(self, state))

    @property
    def best(self) -> Best:
        """The best feasible evaluation, or the least infeasible one if none is feasible.

        Raises
        ------
        RuntimeError
            Before the first success, and with several objectives (see `front`).
        """
        return records.best(self.space, self.seen, self.goals)

    @property
    def front(self) -> Front:
        """The non-dominated feasible evaluations, in the order of the first objective."""
        return records.front(self.space, self.seen, self.goals)

    @property
    def pending(self) -> list[Trial]:
        """Trials that were asked and not yet told, in order of their numbers."""
        return list(self._trials.pending.values())

    @property
    def incomplete(self) -> dict[int, Incomplete]:
        """Results of pending trials of which some values are known, by trial: their `values`, `metrics`, `seconds`."""
        return dict(self._trials.incomplete)

    def region(self) -> Region:
        """Return the region of a search: the whole space with all successful rows."""
        return Region(self.space, (), self.seen.good)

    @property
    def confirmed(self) -> Mask:
        """Which rows are re-evaluations under noise, [n]."""
        return again.re_evaluations(self.space, self.seen)

    @property
    def n_init(self) -> int:
        """Number of points in the initial design."""
        return self.design.n

    @own_numerics()
    def confirm(self, n: int = 1) -> list[Trial]:
        """Return trials of known points: promising ones again if `noisy`, or with a `Fidelity` at full fidelity.

        Parameters
        ----------
        n : int, default 1
            Largest number of trials.

        Returns
        -------
        list of Trial
            Under noise, the points that a model of all values may still prefer. With a `Fidelity`, the configurations
            with the largest expected improvement on the best full evaluation; before one, with the best prediction.
            Empty where the best is decided, and without either.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}, seed=0)
        >>> for _ in range(6):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, trial.point["x"] + 1 / trial.point["epochs"])
        >>> opt.confirm()[0].point["epochs"]
        9
        """
        n = whole_number(n, "confirm")
        axis = FidelityAxis.of(self.space)

        def issued() -> list[Trial]:
            x = self._models.again(n) if axis is None else open_at_full(axis, self.seen, n)
            return [self._trials.issue(point, CONFIRMING, None) for point in x]

        return changes.complete(self, issued)

    # Evaluations ------------------------------------------------------------------------------------------------------

    @property
    def history(self) -> "History":
        """All evaluations as columns."""
        from lamcts.optimizer.history import RunState, history_of

        return history_of(RunState.of(self))

    def rows(self) -> list[Json]:
        """Return a dict for each evaluation: trial, values, constraints, parameters, metrics, seconds, message."""
        return self.history.rows()

    def to_dataframe(self) -> "DataFrame":
        """Return all evaluations as a pandas DataFrame, a row each; MissingExtra where pandas is not installed."""
        return dataframe_of(self.history)

    # Predictions ------------------------------------------------------------------------------------------------------

    def predict(self, points: Iterable[Point]) -> Prediction:
        """Return what a model of all evaluations expects at some points.

        Parameters
        ----------
        points : list of points of the space
            Where to predict.

        Returns
        -------
        Prediction
            Posterior means, standard deviations and probabilities of feasibility, in the user's units and sign.

        Raises
        ------
        ValueError
            For points outside the space, with fewer than 5 values, and if all values are equal.

        Notes
        -----
        The model is a Gaussian process for each objective and constraint, over at most 1000 evaluations. It is fitted
        at the first call after a change. Pruned evaluations and missing values are left out. No search uses this
        model.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer([(-1, 1)] * 2, seed=0)
        >>> for _ in range(15):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, sum(trial.point**2))
        >>> prediction = opt.predict([[0.5, 0.5]])
        >>> bool(abs(prediction.mean[0] - 0.5) < 3 * prediction.std[0] + 0.05)
        True
        """
        return prediction.predicted(self._models.of(), points)

    @property
    @own_numerics()
    def best_predicted(self) -> BestPredicted:
        """The evaluated feasible point with the best posterior mean, and the leave-one-out quality of the model.

        Raises
        ------
        RuntimeError
            With several objectives.
        ValueError
            With fewer than 5 values, and if all values are equal.
        """
        prediction.refuse_several(self.goals)
        seen = self.seen
        best = prediction.best_of(
            self._models.of(), prediction.evaluations_of(self.goals, seen, len(seen)), seen.feasible, seen.trial
        )
        return best._replace(point=seen.point(best.point, self.space))

    @property
    def remaining_gain(self) -> RemainingGain | None:
        """How much better than the best point the optimum may be, as a model of all evaluations expects.

        None with several objectives or constraints, with categories or conditional parameters, and with fewer than 10
        values. The model knows nothing of optima far from all evaluations: on functions with many, the gain is larger.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer([(-1, 1)] * 2, seed=0)
        >>> for _ in range(30):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, sum(trial.point**2))
        >>> 0 <= opt.remaining_gain.mean < 0.01
        True
        """
        return prediction.remaining_gain_after(self.space, self.goals, self.seen, len(self.seen), self.seed)

    # State ------------------------------------------------------------------------------------------------------------

    def fingerprint(self) -> Json:
        """Return the settings that two runs must share for one to continue the other, as JSON values."""
        return {
            "format": FORMAT,
            "space": self.space.signature(),
            "maximize": self.maximize,
            "sampler": identity(self.sampler),
            "seed": self.seed,
            "design": self.design.signature(),
            "repeat": self.repeat,
            **({"related": self.related.digest()} if self.related else {}),
        } | self.goals.signature()

    def state_dict(self) -> Json:
        """Return the state as JSON values; an optimizer that loads it continues bit for bit.

        Returns
        -------
        dict
            `json.dumps` writes it and `json.loads` reads it. nan is an unknown number, which `json` writes as NaN.
        """
        return saving.state_of(self).to_json()

    @own_numerics()
    def load_state_dict(self, state: Json) -> None:
        """Load the state of an optimizer with equal settings; only a fresh optimizer can.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        ValueError
            For a state of other settings, or anything else. The optimizer is then as fresh as before.
        RuntimeError
            If this optimizer was used.
        """
        if isinstance(fingerprint := (state if isinstance(state, dict) else {}).get("fingerprint"), dict):
            # before the columns are read, whose width depends on the space
            arguments.check_fingerprint(fingerprint, self.fingerprint())
        self.restore(State.of(state, self.space.dim, *self._widths))

    @own_numerics()
    def restore(self, state: State) -> None:
        """Load a state as `load_state_dict` does, from a journal."""
        saving.restore(self, state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all into one file, whole or not at all: a journal, which `Optimizer.load` and the commands read.

        Parameters
        ----------
        path : str or path
            The file. A journal of this run is replaced; where this optimizer writes it already, it is left as it is.

        Raises
        ------
        JournalError
            If the file is of another run, in use, or no journal.
        ValueError
            If the sampler cannot be resumed.

        Warns
        -----
        UserWarning
            If `load` will need a part that no file can hold, such as a class of the user's own.

        Examples
        --------
        >>> import lamcts, tempfile
        >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     opt.save(f"{folder}/run.db")
        ...     point = lamcts.Optimizer.load(f"{folder}/run.db").ask()[0].point
        >>> point.tolist() == opt.ask()[0].point.tolist()
        True
        """
        changes.finish(self)
        if foreign := recording.save(self, path):
            given = ", ".join(f"{name}=..." for name in foreign)
            text = f"save: the file does not hold the {' and the '.join(foreign)}; load it by"
            warnings.warn(f"{text} Optimizer.load(path, {given})", UserWarning, stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parts: Any) -> Self:
        """Return the optimizer of a journal, or of a file of `save`, which it goes on writing; bit for bit.

        Parameters
        ----------
        path : str or path
            The file.
        **parts : space or sampler
            Parts of that run that the file does not hold (own classes); `save` warned about them.

        Raises
        ------
        ValueError
            If the file does not hold the space or the sampler.
        JournalError
            For other parts than the run's, and if the file is no journal, damaged or in use.
        """
        arguments.refuse_unknown(parts, recording.PARTS, "Optimizer.load")
        return recording.optimizer_of(cls, path, parts)

    def delta(self, since: Mark | None = None) -> Delta:
        """Return the changes since a mark (None: the whole state), with the next mark."""
        return saving.delta(self, since or Mark())

    # Helpers, in order of call --------------------------------------------------------------------------------------

    def __getstate__(self) -> Json:
        if self._journal is not None:
            cure = f"call Optimizer(..., journal={self._journal.path!r}) there, or save(path) and Optimizer.load(path)"
            raise TypeError(f"pickle, copy: expected an optimizer without journal=, got one that writes it; {cure}")
        return vars(self)

    def _record_in(
        self, path: str | os.PathLike[str], objective: Json | None = None, about: Json | None = None
    ) -> None:
        """Restore the state of a journal, and record all changes there until this optimizer is deleted."""
        journal = recording.resume(path, self, about, objective, held=False)
        weakref.finalize(self, journal.close)
        self._journal = journal

    def _drop(self, trial: Trial) -> None:
        self._trials.close([trial])
        self._searches.forget(trial.session, trial.note)

    def _initial_points(self, n: int) -> tuple[Proposal, int] | None:
        """Return at most `n` unevaluated points of the initial design or of related tasks; None without any."""
        x, self._n_designed = self.design.fresh(self.seen, self._n_designed, n)
        if not len(x):
            x = self._warm_start.fresh(self.seen, n)
        return (Proposal(x, [None] * len(x)), -1) if len(x) else None
