"""The optimiser: ask for points, tell their values. START HERE: `ask`, `_search`, `tell` and `_take` are the loop."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Never

import numpy as np

from lamcts.errors import Exhausted
from lamcts.models.hamming import Coding
from lamcts.models.hamming_fit import HammingPrior
from lamcts.models.prior_mean import RelatedModels
from lamcts.observations import Observations
from lamcts.optimizer import arguments, records
from lamcts.optimizer.design import Design, Kind, encoded
from lamcts.optimizer.full_fidelity import Confirming
from lamcts.optimizer.persistence import Persistent
from lamcts.optimizer.placement import REASONS, place
from lamcts.optimizer.prediction import Predicting
from lamcts.optimizer.records import Best
from lamcts.optimizer.sessions import LocalSearches
from lamcts.optimizer.trials import Told, Trials
from lamcts.outcomes.front import Front
from lamcts.outcomes.goals import Goals
from lamcts.regions.fill import draw_unseen, nothing_left
from lamcts.regions.region import Region
from lamcts.related import RelatedTasks
from lamcts.rng import Purpose, stream
from lamcts.samplers.base import Proposal, Sampler
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.point_keys import keys_of
from lamcts.threads import one_blas_thread
from lamcts.tree import LatentTree
from lamcts.tree.node import Node
from lamcts.trial import Trial
from lamcts.types import Floats, Point, whole_number


class Optimizer(Persistent, Predicting, Confirming):
    """Minimise or maximise a black-box function by ask and tell.

    Parameters
    ----------
    space : Space, dict of parameters, or list of (low, high) pairs
        The points to choose from.
    maximize : bool, default False
        Whether higher values are better.
    sampler : str or Sampler, default "auto"
        Search within regions. "auto" depends on the space, see `samplers.default`; the paper uses TuRBO-1.
    tree : LatentTree or "auto" or None, default "auto"
        How the space is split; None uses no tree. With the default for reals the tree is a map only.
    seed : int or None, default None
        Determines every random draw. None draws a fresh seed, kept in `self.seed`.
    n_init : int or None, default None
        Number of points in the initial design. None is 1, the centre, for `GpCma`; else 2 d as in TuRBO, 10 to 100. It
        is d + 2, 8 to 12, if half of the d parameters are discrete, or some of at most 20; d + 1 under constraints.
    design : {"sobol", "lhs", "uniform"}, default "sobol"
        Kind of the initial design; untuned. TuRBO uses "lhs".
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
        Evaluations of related tasks, such as other data sets: a list for each, see `lamcts.related`.

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
        *in_order: Never,
        maximize: bool = False,
        sampler: str | Sampler = "auto",
        tree: LatentTree | str | None = "auto",
        seed: int | None = None,
        n_init: int | None = None,
        design: Kind = "sobol",
        x0: Point = None,
        repeat: bool = False,
        objectives: Any = None,
        constraints: Any = None,
        reference: Any = None,
        related: Any = None,
        **unknown: Any,
    ) -> None:
        arguments.refuse_in_order(in_order)
        arguments.refuse_unknown(unknown, ("space", *(Optimizer.__init__.__kwdefaults__ or ())), "Optimizer", True)
        self.space, self.maximize, self.repeat = arguments.checked_space(space), bool(maximize), bool(repeat)
        self.goals = Goals.of(self.maximize, objectives, constraints, reference)
        self.maximize = self.goals.objectives[0].maximize if self.goals.plain else self.maximize
        self.seed = arguments.checked_seed(seed)
        self.related = arguments.related_tasks(related, self.space, self.goals)
        self.sampler = arguments.checked_sampler(sampler, self.space, self.goals, bool(self.related))
        self.tree, first = arguments.checked_tree(tree, self.sampler), bool(self.sampler.starts_at_centre)
        codes, points = encoded(self.space, x0)
        self.design = Design(self.space, design, n_init, codes, self.seed, self.goals, first, points)
        self._begin()

    def _begin(self) -> None:
        self._widths = len(self.goals.objectives), self.goals.columns
        self.seen = Observations(self.space.dim, self.repeat, keys_of(self.space), *self._widths)
        self.seen.related, self._warm = self.related, WarmStart(self.related, self.space)
        self.failures, self.metrics = {}, {}  # row -> what went wrong; what was told next to its value, by name
        self.placements: dict[str, int] = dict.fromkeys(REASONS, 0)  # how often each reason said where to search
        self._designed = 0  # points of the design that were issued or skipped
        self._growth = self.tree.incremental(self.space, self.seen, self.seed) if self.tree else None
        self._searches = LocalSearches(self.sampler, self.seen, self.seed)
        self._trials = Trials(self.space, self.seen, self.seed, self.goals, self.design.exact)
        self._rng = stream(self.seed, Purpose.SELECT)

    # The loop -------------------------------------------------------------------------------------------------------

    @one_blas_thread()
    def ask(self, n: int = 1) -> list[Trial]:
        """Return new trials to evaluate.

        Parameters
        ----------
        n : int, default 1
            Number of trials.

        Returns
        -------
        list of Trial
            `n` trials with distinct points, fewer where a finite space runs out.

        Raises
        ------
        Exhausted
            If no point of a finite space is left.
        """
        n, trials = whole_number(n, "ask"), list[Trial]()
        while len(trials) < n:
            try:
                (x, notes), search = self._given_points(n - len(trials)) or self._search(n - len(trials))
            except Exception:  # a sampler may raise anything; trials issued before are still returned
                if not trials:
                    raise
                break
            if not len(x):
                break
            trials += [self._trials.issue(point, search, note) for point, note in zip(x, notes, strict=True)]
        if not trials:
            raise Exhausted(nothing_left(self.space, self.seen))
        return trials

    def _search(self, n: int) -> tuple[Proposal, int]:
        """Data -> tree -> region, and the search that goes on there -> points, and that search's number."""
        whole = Region(self.space, (), self.seen.good)
        where = place(self._growth, whole, self._searches, self._rng)
        proposal, search = self._searches.propose(where.region, where.search, n)
        if not len(proposal.x):
            return self._leftovers(n)
        self.placements[where.why] += 1
        return proposal, search

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
            a dict by name, or numbers in the order of the objectives. Other names of a dict are metrics. A constrained
            quantity that is not known is None or nan. `(value, sem)` or `Measured(value, sem)` is a value with its
            standard error, which models take as known noise.
        seconds : number or list of numbers, default None
            Duration of each evaluation.
        constraints : dict or list, default None
            Values of the constrained quantities. A value of None with them says that the point was checked, not run.
        metrics : dict or list of dict, default None
            Numbers and texts by name that are stored with each evaluation, failed ones too. No search uses them. What
            cannot be stored is left out, with a warning.
        point : point of the space, default None
            Where a single trial was evaluated, if not at its own point. The value counts there, and the trial is
            dropped.

        Warns
        -----
        RuntimeWarning
            If a search raises on its results. The search is ended, the results stay.
        """
        if point is None:
            self._take(self._trials.told(trials, values, constraints, seconds, metrics))
            return
        trial, told = self._trials.told_elsewhere(trials, point, values, constraints, seconds, metrics)
        if trial.id in self._trials.pending and told.trials != [trial]:
            self.forget(trial)
        self._take(told)

    @one_blas_thread()
    def _take(self, told: Told) -> None:
        """What was told -> rows -> the searches that asked."""
        f, g, kind, messages, predicted, _, sems = told.outcome
        rows = self.seen.append(told.x, f, told.seconds, told.numbers, told.sources, g, kind)
        self.failures |= {int(row): text for row, text in zip(rows, messages, strict=True) if text is not None}
        self.metrics |= {int(row): each for row, each in zip(rows, told.metrics, strict=True) if each}
        self.seen.predicted |= {int(rows[i]): each for i, each in predicted.items()}
        self.seen.sems |= {int(rows[i]): each for i, each in sems.items()}
        self.seen.exact |= {int(row): point for row, point in zip(rows, told.points, strict=True) if point is not None}
        self._searches.tell(self._trials.settle(told, rows))

    # The same in other words ----------------------------------------------------------------------------------------

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

    def tell_points(
        self, points: Sequence[Point], values: Sequence[object], constraints: object = None, metrics: object = None
    ) -> None:
        """Add many unsolicited points and their values at once; nothing is added if anything is wrong.

        Parameters
        ----------
        points : list of points
            Where they were evaluated.
        values : list
            A value for each point, as in `tell`.
        constraints, metrics : list, default None
            Those of each point, as in `tell`.
        """
        self._take(self._trials.told_points(points, values, constraints, metrics))

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told, such as that of a lost worker.

        Parameters
        ----------
        trial : Trial
            The trial.
        """
        trial = self._trials.own_record(trial)
        if trial.id in self._trials.late:
            raise ValueError(f"trial {trial.id} was told as failed or checked: it is not pending any more")
        self._trials.close([trial])
        self._searches.forget(trial.session, trial.note)

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

    def tree_root(self) -> Node | None:
        """Return the root of the tree over all rows, None without a tree."""
        return self._growth.root() if self._growth else None

    def region(self) -> Region:
        """Return the region that the next `ask` searches, apart from the initial design. Changes nothing."""
        return place(self._growth, Region(self.space, (), self.seen.good), self._searches, deepcopy(self._rng)).region

    # Helpers, in order of call --------------------------------------------------------------------------------------

    def _given_points(self, n: int) -> tuple[Proposal, int] | None:
        """Return at most `n` unevaluated points of the initial design, or of related tasks; None if there are none."""
        designed, self._designed = self.design.fresh(self.seen, self._designed, n)
        x = designed if len(designed) else self._warm.fresh(self.seen, n)
        return (Proposal(x, [None] * len(x)), -1) if len(x) else None

    def _leftovers(self, n: int) -> tuple[Proposal, int]:
        """Return unseen points from anywhere in the space: no search found one near its incumbent."""
        x = draw_unseen(self.space, self.seen, n, self._rng)
        return Proposal(x, [None] * len(x)), -1


class WarmStart:
    """Proposes the best point of each related task. Nothing but the evaluations decides when: it has no state."""

    def __init__(self, tasks: RelatedTasks, space: SearchSpace) -> None:
        self._space, self._tasks = space, tasks
        self._models: RelatedModels | None = None  # fitted when they are first asked

    def fresh(self, seen: Observations, n: int) -> Floats:
        """Return the best points of at most `n` tasks that rank the evaluations well, unless they are seen, [k, d]."""
        x = np.array([task.x[np.argmin(task.y)] for task in self._tasks]).reshape(-1, seen.dim)
        new = seen.unseen(x) if len(x) else np.zeros(0, bool)
        if new.any():
            parameters = Parameters(self._space)
            coding = Coding(parameters)
            self._models = self._models or RelatedModels(self._tasks, parameters, coding, HammingPrior())
            new &= self._models.rank_correlations(coding(parameters.codes(seen.x[seen.good])), seen.y[seen.good]) > 0
        return x[new][:n]
