"""The options of `minimize`, `maximize` and `run`, checked before anything starts."""

import ast
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

import numpy as np

from lamcts import pruners
from lamcts.optimizer.again import share_of
from lamcts.optimizer.arguments import checked_seed
from lamcts.spaces.values import brief, scalar
from lamcts.study.devices import check_devices
from lamcts.study.scipy_constraints import Constraints
from lamcts.study.workers import ALL, check_timeout, check_workers, cores
from lamcts.types import Json, Point, whole_number
from lamcts.utils.argument_hints import hint

NOISE = "noise"  # a `min_gain`: the noise of one evaluation

if TYPE_CHECKING:
    from distributed import Client

    from lamcts.optimizer.design import Kind
    from lamcts.samplers.base import Sampler
    from lamcts.study.known import PriorResults
    from lamcts.study.result import Result


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The options of a run.

    The text below each field is its documentation in `help(lamcts.minimize)`; its first sentence is the help of the
    same option of `lamcts run`.
    """

    budget: int
    """Number of evaluations in all, failed ones included. With a `Fidelity` in the space, the cost of so many full
    ones, of which the last is kept for the best prediction."""
    seed: int | None = None
    """Number that determines every random draw. None draws a fresh one, kept in the result."""
    sampler: "str | Sampler" = "auto"
    """The search, by name or as an object. "auto" is the `recommended_sampler` of an `Objective` that has one, else
    depends on the space, see `lamcts.Optimizer`."""
    x0: Point = None
    """Point or list of points to evaluate first. None takes that of an `Objective`."""
    n_init: int | None = None
    """Number of points in the initial design. None depends on the sampler, see `lamcts.Optimizer`, and is at most a
    quarter of the budget. A resumed run keeps the number of its journal."""
    design: "Kind" = "sobol"
    """Kind of the initial design: "sobol", "lhs" or "uniform"."""
    repeat: bool = False
    """Whether points may be proposed again, which is useful only under noise."""
    batch: int = 1
    """Number of points that are proposed at a time."""
    workers: int | str | None = None
    """Number of evaluations at a time, each in a process of its own. -1 is one process per core, "threads" one thread
    per core. None evaluates one at a time in this process. The number affects which points are proposed."""
    executor: "Executor | Callable[[], Executor] | Client | None" = None
    """Where to evaluate: a `concurrent.futures` executor, a function that makes one, or a Dask client. `workers` is
    then the number of evaluations at a time. None is the number of workers, updated as a cluster grows or shrinks."""
    journal: "str | os.PathLike[str] | None" = None
    """File that records the run. The same call again resumes from the file, up to the budget."""
    about: Json | None = None
    """Notes that a new journal keeps for its readers, as JSON values by name."""
    seconds: float | None = None
    """Start no evaluation later than this many seconds after the call. Running evaluations are completed."""
    target: float | None = None
    """Stop at a feasible value at least as good as this one, in the user's sign. For one objective."""
    patience: int | None = None
    """Stop after this many evaluations without improvement. Before the first feasible evaluation, a smaller violation
    is an improvement; with several objectives, a new point of the front is. With a `Fidelity`, the cost of this many
    full evaluations, after the first one."""
    min_gain: float | str | None = None
    """Stop when less than this is left to gain, with probability 0.9 under the model. In the user's units:
    `remaining_gain.upper`. "noise" is the noise of one evaluation, as fitted by the model. It is looked at after 20
    evaluations and then whenever there are a tenth more. For one objective without constraints, and parameters that
    are numbers."""
    callback: "Callable[[Result], object] | None" = None
    """Function that is called with the `Result` so far after each evaluation. The run stops if it returns True."""
    progress: bool | TextIO | None = None
    """Whether to show progress, or a stream to show it on. None shows it on a terminal and in a notebook."""
    noisy: bool | float | None = None
    """Whether values are noisy: a model of all values chooses the result, and which points to evaluate again at the
    end. None is the attribute `noisy` of an objective that has one, else False; a resumed run keeps the choice of its
    journal. A number is the largest share of the budget for re-evaluations, at most 0.5; True is a tenth. What the
    model does not need goes to new points. A stop by `seconds` or `callback` skips re-evaluations. For one
    objective without constraints."""
    objectives: Iterable[str] | Mapping[str, str] | int | None = None
    """Objectives by name, by name with "min" or "max", or their number. The function then returns a dict by name, or
    the objectives and then the constrained quantities; None for all objectives means that a point was checked and not
    run. None takes the attribute of an objective, and else is one objective."""
    constraints: Constraints = None
    """Texts such as "stress <= 250" or "gap == 0 +- 1e-3", the number of quantities that must be at most 0, or SciPy's
    constraints, see `lamcts.study.scipy_constraints`. They add to those of an objective."""
    reference: Sequence[float] | Mapping[str, float] | None = None
    """Point from which hypervolumes are measured, a number for each objective. No search uses it. None takes the
    attribute of an objective."""
    valid: Callable[[Point], object] | None = None
    """Function that is False for points that must not be proposed. They cost no evaluation."""
    check_first: bool = False
    """Whether constraints that are functions are called first, and the function only where they are satisfied."""
    known: "PriorResults" = None
    """Evaluations to start from. Pairs (point, value), the path of a CSV file or of a journal, a `Result`, a DataFrame,
    an Optuna study or "sqlite:///study.db", or a list of several, see `lamcts.study.known`. They do not count towards
    the budget."""
    related: bool = False
    """Whether `known` holds results of related tasks, such as the same model on other data sets, each source one task.
    Their values are none of this task. The best point of each is evaluated early. For one objective without
    constraints, `MixedGp` takes their forecasts as its prior mean while they rank the evaluations of this task better
    than chance (Feurer et al. 2018). It is the default for real parameters then."""
    fix: Mapping[Any, Point] | None = None
    """Parameters that keep one value. By name, or by number from 0 for arrays. Points still include them."""
    vectorized: bool = False
    """Whether the function takes a list of `batch` points (and of seeds) and returns a list of values. If it raises,
    all of these evaluations have failed."""
    give_up: int | None = None
    """Stop if this many evaluations, the first of this call, fail with the same error. `InvalidPoint` does not
    count."""
    pruner: str | pruners.Pruner | None = None
    """Rule that stops trials by the intermediate values that they report. "median", "halving", "hyperband", "model",
    or an object, see `lamcts.pruners`. The function reports by a parameter `trial`: `trial.report(step, value)`. A
    pruned trial is no failure, and searches learn from its predicted value. With several objectives "model" judges a
    trial by its chance to end on the front, and the other rules stop one that is behind in every objective."""
    timeout: float | None = None
    """Seconds after which an evaluation is ended and has failed. With `workers=n` (1 is enough), its process is ended.
    Without workers a signal interrupts it, on Unix in the main thread alone, once compiled code returns."""
    devices: int | Sequence[int | str] | None = None
    """One device for each worker process: their number, or a list of them. `CUDA_VISIBLE_DEVICES` is set before the
    process imports anything. Without `workers` there is one process for each device. A function with a parameter
    `worker` gets `worker.index` and `worker.device`."""
    budget_unit: str | None = None
    """Name of the `Fidelity` whose units `budget` counts, such as "epochs". None counts full evaluations."""

    @classmethod
    def of(cls, options: Json) -> "RunSettings":
        """Return checked settings with Python's numbers for numpy's; an unknown option is a TypeError."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"unknown option {name!r}; {hint(name) or _nearest(name, known)}")
        return cls(**{name: scalar(value) for name, value in options.items()})

    def __post_init__(self) -> None:
        if self.seed is not None:
            checked_seed(self.seed)
        whole_number(self.budget, "budget")
        whole_number(self.batch, "batch")
        check_workers(self.workers, self.executor)
        check_devices(self.devices, cores() if self.workers == ALL else self.workers)
        check_timeout(self.timeout, self.workers)
        pruners.make(self.pruner)
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
        share_of(self.noisy)
        if self.valid is not None and not callable(self.valid):
            raise ValueError(f"valid: expected a function of a point, got {brief(self.valid)}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback: expected a function of the result so far, got {brief(self.callback)}")
        if self.journal is not None and not isinstance(self.journal, (str, os.PathLike)):
            raise ValueError(f"journal: expected the path of a file, got {type(self.journal).__name__}")


@cache
def documentation() -> dict[str, tuple[str, str]]:
    """Return the type with the default, and the text, of each option; empty without the source code."""
    try:
        (node,) = ast.parse(inspect.getsource(RunSettings)).body
    except OSError:
        return {}
    texts = {}
    for field, text in pairwise(node.body if isinstance(node, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            default = "" if field.value is None else f", default {ast.unparse(field.value)}"
            kind = ast.unparse(field.annotation).strip("'")
            texts[ast.unparse(field.target)] = kind + default, inspect.cleandoc(ast.literal_eval(text.value))
    return texts


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, [*known, "maximize"], 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
