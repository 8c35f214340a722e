"""How a run begins: with nothing, or where its journal ends."""

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

DESIGN_SHARE = 0.25  # of the budget, at most, goes into a design that is not asked for by size (untuned)


@dataclass
class Beginning:
    """An optimizer as its journal knows it, and what the journal knows beside."""

    optimizer: "Optimizer"
    journal: "Journal | None" = None
    asks: int = 0
    memory: SharedState | None = None
    curves: Sequence[Reported] = ()  # by objective: trial -> step -> loss there


def begin(
    problem: RunProblem,
    settings: RunSettings,
    stack: ExitStack,
    evaluations: int,
    related: Sequence[Sequence[PriorObservation]] = (),
) -> Beginning:
    """Return a fresh optimizer, or the one that the journal holds; `stack` closes the journal."""
    from lamcts.optimizer.optimizer import Optimizer
    from lamcts.samplers.registry import AUTO

    seed, n_init, goals, sampler = settings.seed, settings.n_init, problem.goals, settings.sampler
    if isinstance(sampler, str) and sampler == AUTO and not related:
        sampler = problem.declared.recommended_sampler or AUTO
    if settings.journal is not None and None in (seed, n_init):
        from lamcts.journal import begun_with

        known, begun = begun_with(settings.journal)
        seed, n_init = known if seed is None else seed, begun if n_init is None else n_init
    share = max(1, int(evaluations * DESIGN_SHARE))
    if n_init is None and (wanted := getattr(sampler, "n_init", None)) is not None:
        n_init = min(wanted, share)
    optimizer = Optimizer(
        problem.space,
        maximize=problem.maximize,
        sampler=sampler,
        seed=seed,
        n_init=n_init,
        design=settings.design,
        x0=problem.x0,
        repeat=settings.repeat,
        noisy=settings.noisy,
        related=[[one[:3] for one in task] for task in related],
        **({"objectives": goals.names} if goals.plain else goals.arguments()),
    )
    if n_init is None:
        optimizer.design.limit(share)
    start = Beginning(optimizer) if settings.journal is None else _resumed(optimizer, problem, settings, stack)
    if start.memory is None:
        start.memory = SharedState.of(problem.f)
    return start


def warn_of_small_budget(budget: int, optimizer: "Optimizer") -> None:
    """Warn where a fresh run ends before a model of all parameters can be made, or within its initial design."""
    parameters = Parameters(optimizer.space)
    d = int(np.count_nonzero(parameters.non_constant))
    most = min(d, WIDE)  # beyond, a model learns from fewer evaluations than parameters
    least = min(most + 2, optimizer.space.size) - len(optimizer.seen)
    if budget < least:
        text = (
            f"budget: expected at least {least:.0f} evaluations, got {budget}: a model of {d} parameters needs "
            f"{most + 2}; raise the budget, or give some parameters one value (fix=)"
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
    if settings.budget_unit is not None:
        about["budget_unit"] = settings.budget_unit
    own = problem.declared.fingerprint
    journal = recording.resume(settings.journal or "", optimizer, about, None if own is None else {"objective": own()})
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
    """Warn if the journal has values of a function of another name or source code, unless fingerprints compare it."""
    if problem.declared.fingerprint is not None:
        return
    ours, theirs = str(about["objective"]), str(recorded.about.get("objective", about["objective"]))
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
    except (OSError, TypeError, SyntaxError):  # defined at a prompt or by exec: there is no source
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]
