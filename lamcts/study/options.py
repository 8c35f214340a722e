"""The options of `minimize`, `maximize` and `run`, checked before anything starts."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TextIO, TypedDict, TypeGuard

import numpy as np

from lamcts import pruners
from lamcts.argument_hints import hint
from lamcts.models.remaining_gain import refusal
from lamcts.optimizer.arguments import checked_seed
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.values import brief, scalar
from lamcts.study import replicates
from lamcts.study.devices import check_devices
from lamcts.study.scipy_constraints import Constraints
from lamcts.study.workers import ALL, check_timeout, check_workers, cores
from lamcts.types import Json, Point, whole_number

NOISE = "noise"  # a `min_gain`: the noise of one evaluation

if TYPE_CHECKING:
    from distributed import Client

    from lamcts.optimizer.design import Kind
    from lamcts.samplers.base import Sampler
    from lamcts.study.prior_observations import PriorResults
    from lamcts.study.result import Result
    from lamcts.tree import LatentTree


class RunOptions(TypedDict, total=False):
    """The same names as in `RunSettings`, for type checkers."""

    seed: int | None
    sampler: "str | Sampler"
    tree: "LatentTree | str | None"
    x0: Point
    n_init: int | None
    design: "Kind"
    repeat: bool
    batch: int
    workers: int | str | None
    executor: "Executor | Callable[[], Executor] | Client | None"
    journal: "str | os.PathLike[str] | None"
    about: Json | None
    seconds: float | None
    target: float | None
    patience: int | None
    min_gain: float | str | None
    callback: "Callable[[Result], object] | None"
    progress: bool | TextIO | None
    noisy: bool | float
    objectives: Iterable[str] | Mapping[str, str] | int | None
    constraints: Constraints
    reference: Sequence[float] | Mapping[str, float] | None
    valid: Callable[[Point], object] | None
    check_first: bool
    known: "PriorResults"
    related: bool
    fix: Mapping[Any, Point] | None
    vectorized: bool
    give_up: int | None
    pruner: str | pruners.Pruner | None
    timeout: float | None
    devices: int | Sequence[int | str] | None
    budget_unit: str | None


@dataclass(frozen=True)
class RunSettings:
    """The options of a run. `budget` is the only one without a default.

    Parameters
    ----------
    budget : int
        Number of evaluations in all, failed ones included. With a `Fidelity` in the space, the cost of so many full
        ones, of which the last is kept for the best prediction.
    seed, sampler, tree, x0, n_init, design, repeat : various
        As in `Optimizer`. Without `n_init`, the design takes at most a quarter of the budget. A resumed run keeps the
        `n_init` of its journal.
    batch : int, default 1
        Number of points that are asked for at a time.
    workers : int, "threads" or None, default None
        Number of evaluations at a time, each in a process of its own. -1 is one process per core, "threads" one thread
        per core. None evaluates one at a time in this process. The number affects which points are proposed.
    executor : executor, Dask client or callable, default None
        Where to evaluate: a `concurrent.futures` executor, a function that makes one, or a Dask client. `workers` is
        then the number of evaluations at a time. None is the number of workers, updated as a cluster grows or shrinks.
    journal : str or path, default None
        File that records the run. The same call again resumes from the file, up to the budget.
    about : dict of JSON values, default None
        Notes that a new journal keeps for its readers.
    seconds : float, default None
        No evaluation starts later than this many seconds after the call. Running evaluations are completed.
    target : float, default None
        Stop at a feasible value at least as good as this one, in the user's sign. For one objective.
    patience : int, default None
        Stop after this many evaluations without improvement. Before the first feasible evaluation, a smaller violation
        is an improvement; with several objectives, a new point of the front is. With a `Fidelity`, the cost of this
        many full evaluations, after the first one.
    min_gain : float, "noise" or None, default None
        Stop when P(remaining gain < min_gain) >= 0.9 under the model, in the user's units: `remaining_gain.upper`.
        "noise" is the noise of one evaluation, as fitted by the model. It is looked at after 20 evaluations and then
        whenever there are a tenth more. For one objective without constraints, and parameters that are numbers.
    callback : callable, default None
        Called with the `Result` so far after each evaluation. The run stops if it returns True.
    progress : bool, stream or None, default None
        Whether to show progress, or where. None shows it on a terminal and in a notebook.
    noisy : bool or float, default False
        Whether values are noisy: a model of all values chooses the result, and which points to evaluate again. A number
        is the largest share of the budget for re-evaluations, at most 0.5; True is a tenth, untuned. What the model
        does not need goes to new points. A stop by `seconds` or `callback` skips re-evaluations. For one objective
        without constraints.
    objectives, constraints, reference : various
        As in `Optimizer`; None takes the attributes of an objective, and `constraints` add to its own. With several
        quantities, the function returns a dict by name, or the objectives and then the constrained quantities. None
        for all objectives means that a point was checked and not run. `constraints` may include SciPy's, see
        `lamcts.study.scipy_constraints`.
    valid : callable, default None
        `valid(point)` is False for points that must not be proposed. They cost no evaluation.
    check_first : bool, default False
        Call constraints that are functions first, and the function only where they are satisfied.
    known : list of (point, value), path, Result, DataFrame, Optuna study or None, default None
        Prior observations, or a list of several sources, see `lamcts.study.prior_sources`. A path is that of a CSV file
        or of a journal. They do not count towards the budget.
    related : bool, default False
        Whether `known` holds results of related tasks, such as the same model on other data sets, each source one task.
        Their values are none of this task. The best point of each is evaluated early. For one objective without
        constraints, `MixedGp` takes their forecasts as its prior mean while they rank the evaluations of this task
        better than chance (Feurer et al. 2018). It is the default for real parameters then.
    fix : dict, default None
        Parameters that keep one value, by name, or by number from 0 for arrays. Points still include them.
    vectorized : bool, default False
        Whether the function takes a list of `batch` points (and of seeds) and returns a list of values. If it raises,
        all of these evaluations have failed.
    give_up : int, default None
        Stop if this many evaluations, the first of this call, fail with the same error. `InvalidPoint` does not count.
    pruner : str or Pruner, default None
        Stops trials that report intermediate values, `def f(point, trial): ... trial.report(step, value)`: "model",
        "median", "halving", "hyperband", "extrapolation", or a rule of `lamcts.pruners`. A pruned trial is no failure,
        and searches learn from its predicted value. With several objectives "model" judges a trial by its chance to end
        on the front, and the other rules stop one that is behind in every objective.
    timeout : float, default None
        Seconds after which an evaluation is ended and has failed. With `workers=n` (1 is enough), its process is ended.
        Without workers a signal interrupts it, on Unix in the main thread alone, once compiled code returns.
    devices : int or list of int or str, default None
        Give each worker process a device of its own: a number of devices, or a list of them. `CUDA_VISIBLE_DEVICES` is
        set before the process imports anything. Without `workers` there is one process for each device. A function
        with a parameter `worker` gets `worker.index` and `worker.device`.
    budget_unit : str, default None
        Name of the `Fidelity` whose units `budget` counts, such as "epochs". None counts full evaluations.
    """

    budget: int
    seed: int | None = None
    sampler: "str | Sampler" = "auto"
    tree: "LatentTree | str | None" = "auto"
    x0: Point = None
    n_init: int | None = None
    design: "Kind" = "sobol"
    repeat: bool = False
    batch: int = 1
    workers: int | str | None = None
    executor: "Executor | Callable[[], Executor] | Client | None" = None
    journal: "str | os.PathLike[str] | None" = None
    about: Json | None = None
    seconds: float | None = None
    target: float | None = None
    patience: int | None = None
    min_gain: float | str | None = None
    callback: "Callable[[Result], object] | None" = None
    progress: bool | TextIO | None = None
    noisy: bool | float = False
    objectives: Iterable[str] | Mapping[str, str] | int | None = None
    constraints: Constraints = None
    reference: Sequence[float] | Mapping[str, float] | None = None
    valid: Callable[[Point], object] | None = None
    check_first: bool = False
    known: "PriorResults" = None
    related: bool = False
    fix: Mapping[Any, Point] | None = None
    vectorized: bool = False
    give_up: int | None = None
    pruner: str | pruners.Pruner | None = None
    timeout: float | None = None
    devices: int | Sequence[int | str] | None = None
    budget_unit: str | None = None

    @classmethod
    def of(cls, budget: int, options: Json) -> "RunSettings":
        """Return checked settings with Python's numbers for numpy's; an unknown option is a TypeError."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"unknown option {name!r}; {hint(name) or _nearest(name, known)}")
        return cls(scalar(budget), **{name: scalar(value) for name, value in options.items()})

    def __post_init__(self) -> None:
        if self.seed is not None:
            checked_seed(self.seed)
        whole_number(self.budget, "budget")
        whole_number(self.batch, "batch")
        check_workers(self.workers, self.executor, self.vectorized)
        workers = cores() if self.workers == ALL else self.workers
        check_devices(self.devices, workers, self.executor, self.vectorized)
        check_timeout(self.timeout, self.workers, self.executor, self.vectorized)
        if pruners.make(self.pruner) is not None and self.vectorized:
            raise ValueError("pruner: expected none with vectorized=True: its points come to an end together")
        whole_number(self.patience, "patience", optional=True)
        whole_number(self.give_up, "give_up", optional=True)
        least = self.min_gain
        if least is not None and least != NOISE and not (_number(least) and 0 < least < np.inf):
            raise ValueError(f"min_gain: expected a number above 0, {NOISE!r} or None, got {brief(least)}")
        for name in ("seconds", "target"):
            value = getattr(self, name)
            if value is not None and (not _number(value) or np.isnan(value)):
                raise ValueError(f"{name}: expected a number or None, got {brief(value)}")
        if self.seconds is not None and self.seconds < 0:
            raise ValueError(f"seconds: expected at least 0, got {self.seconds}")
        if not isinstance(self.noisy, bool) and not (_number(self.noisy) and 0 <= self.noisy <= 0.5):
            raise ValueError(
                f"noisy: expected True, False or a share of the budget in [0, 0.5], got {brief(self.noisy)}"
            )
        if self.valid is not None and not callable(self.valid):
            raise ValueError(f"valid: expected a function of a point, got {brief(self.valid)}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback: expected a function of the result so far, got {brief(self.callback)}")
        if self.related and self.known is None:
            raise ValueError("related: expected known results, got none; pass known=RESULTS of related tasks")
        if self.journal is not None and not isinstance(self.journal, (str, os.PathLike)):
            raise ValueError(f"journal: expected the path of a file, got {type(self.journal).__name__}")

    def check_goals(self, goals: Goals, space: SearchSpace) -> None:
        """Raise ValueError where the options make no sense for what is sought and bounded, and where."""
        if self.min_gain is not None and (reason := refusal(space, goals)) is not None:
            raise ValueError(f"min_gain: expected one objective and numbers alone, got {reason}; stop by patience=")
        if len(goals.objectives) > 1 and self.target is not None:
            raise ValueError(
                f"target: expected none with the objectives {', '.join(goals.names)}, got {self.target:g}: "
                "bound them by constraints, or stop by patience or by the callback"
            )
        if not goals.plain and self.checks:
            what = "constraints" if len(goals.objectives) == 1 else f"the objectives {', '.join(goals.names)}"
            raise ValueError(
                f"noisy: expected False with {what}, got {self.noisy}: one mean says nothing there; "
                "leave it out, and evaluate the best points again yourself"
            )

    @property
    def checks(self) -> int:
        """How many evaluations of the budget are kept for re-evaluations."""
        share = replicates.SHARE if self.noisy is True else float(self.noisy)
        return replicates.reserve(self.budget, share) if share > 0 else 0

    @property
    def searches(self) -> int:
        """How many evaluations of the budget go to new points."""
        return self.budget - self.checks


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, [*known, "maximize"], 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
