"""The beginning of a run: a fresh optimizer, or the state of a journal."""

import ast
import hashlib
import inspect
import textwrap
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lamcts.journal.intermediate_values import Reported
from lamcts.journal.recorded import Recorded
from lamcts.samplers.default import WIDE
from lamcts.spaces.parameters import Parameters
from lamcts.study.known.rows import PriorObservation
from lamcts.study.options import RunSettings
from lamcts.study.problem import RunProblem
from lamcts.study.shared_state import SharedState
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal import Journal
    from lamcts.optimizer.optimizer import Optimizer

DESIGN_SHARE = 0.25  # largest share of the budget for a design of the default size: the rest is left for the search


@dataclass
class Beginning:
    """An optimizer with the further state of its journal."""

    optimizer: "Optimizer"
    journal: "Journal | None" = None
    asks: int = 0
    memory: SharedState | None = None
    curves: Sequence[Reported] = ()  # by objective: trial -> step -> loss


def begin(
    problem: RunProblem,
    settings: RunSettings,
    stack: ExitStack,
    evaluations: int,
    related: Sequence[Sequence[PriorObservation]] = (),
) -> Beginning:
    """Return a fresh optimizer, or the optimizer of the journal; `stack` closes the journal."""
    from lamcts.optimizer.optimizer import Optimizer
    from lamcts.samplers.registry import AUTO

    seed = settings.seed
    n_init = settings.n_init
    goals = problem.goals
    sampler = settings.sampler
    if isinstance(sampler, str) and sampler == AUTO and not related:
        sampler = problem.declared.recommended_sampler or AUTO
    if settings.journal is not None and None in (seed, n_init):
        from lamcts.journal import begun_with

        recorded_seed, recorded_n_init = begun_with(settings.journal)
        seed = recorded_seed if seed is None else seed
        n_init = recorded_n_init if n_init is None else n_init
    share = max(1, int(evaluations * DESIGN_SHARE))
    if n_init is None and (sampler_n_init := getattr(sampler, "n_init", None)) is not None:
        n_init = min(sampler_n_init, share)
    optimizer = Optimizer(
        problem.space,
        maximize=problem.maximize,
        sampler=sampler,
        seed=seed,
        n_init=n_init,
        design=settings.design,
        x0=problem.x0,
        repeat=settings.repeat,
        noisy=_noisy(problem, settings),
        related=[[observation[:3] for observation in task] for task in related],
        **({"objectives": goals.names} if goals.plain else goals.arguments()),
    )
    if n_init is None:
        optimizer.design.limit(share)
    start = Beginning(optimizer) if settings.journal is None else _resumed(optimizer, problem, settings, stack)
    if start.memory is None:
        start.memory = SharedState.of(problem.f)
    return start


def _noisy(problem: RunProblem, settings: RunSettings) -> bool | float:
    """Return whether values are noisy: as given, else as in the journal, else as declared."""
    from lamcts.journal.journal import recorded_in

    if settings.noisy is not None:
        return settings.noisy
    record = None if settings.journal is None else recorded_in(settings.journal)
    return problem.noisy if record is None else float(record.about.get("noisy", 0.0))


def warn_of_small_budget(budget: int, optimizer: "Optimizer") -> None:
    """Warn of a fresh run that ends before a model of all parameters can be fitted, or within its initial design."""
    parameters = Parameters(optimizer.space)
    d = int(np.count_nonzero(parameters.non_constant))
    limit = min(d, WIDE)  # beyond, a model is fitted to fewer evaluations than parameters
    least = min(limit + 2, optimizer.space.size) - len(optimizer.seen)
    if budget < least:
        text = (
            f"budget: expected at least {least:.0f} evaluations, got {budget}: a model of {d} parameters needs "
            f"{limit + 2}; raise the budget, or give some parameters one value (fix=)"
        )
        warnings.warn(text, UserWarning, stacklevel=2)
    elif len(optimizer.design.given) < budget <= min(optimizer.n_init - len(optimizer.seen), optimizer.space.size - 1):
        text = (
            f"n_init: expected fewer than the budget of {budget} evaluations, got {optimizer.n_init}: the initial "
            "design is all of the run; leave it out for at most a quarter of the budget"
        )
        warnings.warn(text, UserWarning, stacklevel=2)


def _resumed(optimizer: "Optimizer", problem: RunProblem, settings: RunSettings, stack: ExitStack) -> Beginning:
    from lamcts.optimizer import recording

    about = {"objective": problem.name, "budget": int(settings.budget), **(settings.about or {})}
    if "objective" not in (settings.about or {}) and (code := source_hash(problem.f)) is not None:
        about["source"] = code
    if problem.declared.noisy:
        about["declared_noisy"] = True
    if settings.budget_unit is not None:
        about["budget_unit"] = settings.budget_unit
    fingerprint = problem.declared.fingerprint
    journal = recording.resume(
        settings.journal or "", optimizer, about, None if fingerprint is None else {"objective": fingerprint()}
    )
    stack.enter_context(journal)
    if not journal.started:
        return Beginning(optimizer, journal)
    recorded = journal.recorded()
    memory = SharedState.of(problem.f)
    if memory is not None:
        memory.load(recorded.memory, journal.path)
    _warn_of_another_function(problem, recorded, about)
    return Beginning(optimizer, journal, recorded.asks, memory, recorded.curves)


def _warn_of_another_function(problem: RunProblem, recorded: Recorded, about: Json) -> None:
    """Warn if the journal has values of a function of another name or source code, unless it has a fingerprint."""
    if problem.declared.fingerprint is not None:
        return
    ours = str(about["objective"])
    theirs = str(recorded.about.get("objective", about["objective"]))
    text = ""
    if theirs != ours:
        text = f"values of {theirs!r}, this run is of {ours!r}, and goes on with them: where they are not the same "
        text += "function under two names, give another journal"
    elif recorded.n and len({recorded.about.get("source"), about.get("source")} - {None}) > 1:
        text = f"values of {ours!r} from before it was edited, and this run goes on with them: where the edit changes "
        text += "values, give another journal"
    if text:
        warnings.warn(f"the journal {recorded.path} holds {text}", RuntimeWarning, stacklevel=2)


def source_hash(f: Callable[..., object]) -> str | None:
    """Return a hash of a function's code without comments and docstrings; None for lambdas and other callables."""
    f = inspect.unwrap(f)
    if not (inspect.isfunction(f) or inspect.ismethod(f)) or f.__name__ == "<lambda>":
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(f)))
    except (OSError, TypeError, SyntaxError):  # a function defined at a prompt or by exec has no source
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]
