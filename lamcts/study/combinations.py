"""Tables of the options of a run that exclude each other, or that need something else, and their check."""

from lamcts.models.remaining_gain import refusal
from lamcts.optimizer.again import share_of
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.values import brief
from lamcts.study.devices import VISIBLE
from lamcts.study.evaluation import required, takes
from lamcts.study.options import RunSettings
from lamcts.study.problem import RunProblem
from lamcts.study.shared_state import SharedState
from lamcts.study.workers import THREADS
from lamcts.utils.argument_hints import TIMEOUT

THREADED = f"workers={THREADS!r}"
ELSEWHERE = ("executor", "vectorized", THREADED)
CHOSEN = "the run chooses how long an evaluation is; leave one of them out"
EXCLUSIVE = (  # an option, the options and properties that exclude it, and the reason or the cure
    ("executor", (THREADED,), "pass a number, or leave one of them out"),
    (
        "timeout",
        ELSEWHERE,
        "one evaluation cannot be ended there without others; pass workers=n, whose processes can be ended; " + TIMEOUT,
    ),
    (
        "devices",
        ELSEWHERE,
        "they are set as a process starts; pass workers=n, or start the workers of the executor with "
        f"{VISIBLE} of their own",
    ),
    ("pruner", ("vectorized",), "its points come to an end together"),
    ("vectorized", ("workers", "executor"), "the function has all points"),
    ("vectorized", ("a StatefulObjective", "a parameter trial", "a parameter worker"), "one call has many points"),
    ("pruner", ("a Fidelity",), CHOSEN),
    ("noisy", ("a Fidelity",), CHOSEN),
    (
        "noisy",
        ("several objectives", "constraints"),
        "one mean says nothing there; leave it out, and evaluate the best points again yourself",
    ),
    ("target", ("several objectives",), "bound them by constraints, or stop by patience or by the callback"),
)
NEEDED = (  # an option, its requirement, and the cure
    ("related", "known results", "pass known=RESULTS of related tasks"),
    ("check_first", "constraints that are functions", "leave it out"),
    (
        "pruner",
        "a function that reports on its way",
        "write def f(point, trial): ... trial.report(step, value), or a program with --report; or leave out the pruner",
    ),
)


def check_combination(settings: RunSettings, problem: RunProblem) -> None:
    """Raise ValueError for the first option that conflicts with another option or with the problem."""
    present = _present(settings, problem)
    for option, others, why in EXCLUSIVE:
        if option in present and (conflicts := [other for other in others if other in present]):
            default = "False" if option in ("vectorized", "noisy") else "none"
            got = brief(getattr(settings, option))
            raise ValueError(f"{option}: expected {default} with {conflicts[0]}, got {got}; {why}")
    for option, need, cure in NEEDED:
        if option in present and need not in present:
            raise ValueError(f"{option}: expected {need}, got none; {cure}")
    if settings.min_gain is not None and (reason := refusal(problem.space, problem.goals)) is not None:
        raise ValueError(f"min_gain: expected one objective and numbers alone, got {reason}; stop by patience=")


def _present(settings: RunSettings, problem: RunProblem) -> set[str]:
    """Return the options in use and the properties of the problem, by their names in the tables."""
    goals = problem.goals
    f = problem.f
    reports = problem.declared.reports
    several = len(goals.objectives) > 1
    is_present = {
        "vectorized": settings.vectorized,
        "executor": settings.executor is not None,
        "workers": settings.workers not in (None, 1),
        THREADED: settings.workers == THREADS,
        "timeout": settings.timeout is not None,
        "devices": settings.devices is not None,
        "pruner": settings.pruner is not None,
        "noisy": bool(share_of(settings.noisy)),
        "target": settings.target is not None,
        "related": settings.related,
        "check_first": settings.check_first,
        "a StatefulObjective": SharedState.of(f) is not None,
        "a parameter trial": required(f, "trial"),
        "a parameter worker": required(f, "worker"),
        "a Fidelity": FidelityAxis.of(problem.space) is not None,
        "several objectives": several,
        "constraints": not several and not goals.plain,
        "known results": settings.known is not None,
        "constraints that are functions": bool(problem.functions),
        "a function that reports on its way": takes(f, "trial") if reports is None else reports,
    }
    return {name for name, present in is_present.items() if present}
