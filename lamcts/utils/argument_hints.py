"""Hints for argument names and ranges of other libraries.

RENAMED maps our names to theirs; OTHERWISE has a sentence for names without a counterpart. An `Optimizer` takes only
some of our names: STEPWISE and WHOLE answer the others.
"""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

RENAMED = {
    "budget": "maxiter maxfev maxfun max_evals max_evaluations max_nfev evals n_trials n_calls n_iter num_samples",
    "workers": "n_jobs num_workers max_workers n_workers jobs",
    "seed": "rng random_state random_seed rstate",
    "seconds": "max_time maxtime time_budget time_limit",
    "x0": "initial_guess start points_to_evaluate guess",
    "n_init": "n_startup_trials n_initial_points init_points n_random_starts n_init_points",
    "journal": "storage checkpoint resume study_name",
    "callback": "callbacks",
    "progress": "verbose disp show_progress_bar verbosity",
    "target": "f_min fatol f_target ftarget stop_value",
    "sampler": "algo algorithm optimizer optimiser strategy",
    "batch": "batch_size q",
    "known": "evaluated_rewards enqueue previous initial_data data_in",
    "reference": "ref_point reference_point",
}
SPACE = "the space is the second argument"
OTHERWISE = {
    "bounds": f"{SPACE}, and bounds are one: minimize(f, [(low, high), ...], budget=100)",
    "dimensions": f"{SPACE}: minimize(f, lamcts.Space({{'lr': lamcts.Float(1e-5, 1e-1, log=True)}}), budget=100)",
    "search_space": f"{SPACE}: minimize(f, lamcts.Space({{'lr': lamcts.Float(1e-5, 1e-1, log=True)}}), budget=100)",
    "args": "give them in the function: minimize(lambda x: f(x, a, b), space, budget=100); lamcts.scipy.minimize "
    "takes args=",
    "kwargs": "give them in the function: minimize(lambda x: f(x, a=1), space, budget=100)",
    "direction": "call lamcts.minimize or lamcts.maximize, or lamcts.run(..., maximize=True)",
    "directions": "say objectives={'cost': 'min', 'range': 'max'}",
    "integrality": "say it in the space, lamcts.Space([lamcts.Int(1, 8), ...]); lamcts.scipy.minimize takes it",
    "method": "name a sampler: sampler='turbo'; or call scipy.optimize.minimize(..., method=lamcts.scipy.method)",
    "tree": "wrap the sampler: sampler=lamcts.samplers.LaMcts(lamcts.samplers.Turbo(), tree); else leave it out",
    "tol": "stop by patience=, after so many evaluations without a better value, or by target=, a value good enough",
    "jac": "no gradient is used: leave it out, or call SciPy's L-BFGS-B, which is the better choice where there is one",
    "options": "give them by name: minimize(f, space, budget=100, seed=0)",
    "popsize": "there is no population: leave it out; batch= says how many points are asked for at a time",
    "polish": "leave it out: the search refines its best point; for gradients call scipy.optimize.minimize(f, x0)",
    "catch": "leave it out: any exception is a failed evaluation; give_up= ends a run whose first evaluations all fail",
}
TIMEOUT = "timeout= limits one evaluation here; seconds= limits the whole run, as Optuna's timeout= does"
STEPWISE = {
    **dict.fromkeys(
        ("bounds", "dimensions", "search_space"),
        "the space is the first argument, and bounds are one: Optimizer([(low, high), ...])",
    ),
    "direction": "say maximize=True, or leave it out to minimize",
    "directions": OTHERWISE["directions"],
    "integrality": "say it in the space: Optimizer(lamcts.Space([lamcts.Int(1, 8), ...]))",
    "method": "name a sampler: sampler='turbo'",
    "tree": OTHERWISE["tree"],
    "popsize": "there is no population: leave it out; ask(n) says how many points are asked for at a time",
    "polish": OTHERWISE["polish"].replace("result.x", "opt.best.point"),
    "catch": "leave it out, and tell exceptions as values: they are failed evaluations",
    "timeout": "the loop is yours: leave it when the time is over; lamcts.minimize(..., seconds=600) does so",
    "batch": "say it where points are asked for: opt.ask(4)",
    "known": "tell them: opt.tell_points(points, values)",
}
PRUNERS = {  # Optuna's
    "MedianPruner": "it is 'median' here, lamcts.pruners.Median(startup=5, warmup=0, interval=1)",
    "SuccessiveHalvingPruner": "it is 'halving' here, lamcts.pruners.Halving(reduction=4, first=None)",
    "HyperbandPruner": "it is 'hyperband' here, lamcts.pruners.Hyperband(most=None)",
    "PercentilePruner": "there is no such rule here; the nearest is 'median'",
    "NopPruner": "leave it out, or say None: no trial is stopped then",
}
OF_A_STUDY = "Optuna's rules read its study: write one that reads curves, or search with LamctsSampler in a study"
PRIORS = {"uniform": "", "log-uniform": ", log=True"}  # of ranges of scikit-optimize
OURS = {word: ours for ours, words in RENAMED.items() for word in words.split()}
WHOLE = "{} belongs to a whole run, lamcts.minimize(f, space, ...); here the loop is yours: opt.ask(4), opt.tell(...)"


def hint(name: str) -> str | None:
    """Return the hint for an argument name of another library; None for an unknown name."""
    if name in OURS:
        return f"here it is called {OURS[name]!r}"
    return OTHERWISE.get(name)


def hint_pruner(pruner: Any) -> str | None:
    """Return the hint for a pruner of Optuna's, or a class derived from one; None for any other object."""
    kind = pruner if isinstance(pruner, type) else type(pruner)
    theirs = next((each for each in kind.__mro__ if each.__module__.partition(".")[0] == "optuna"), None)
    if theirs is None:
        return None
    return PRUNERS.get(theirs.__name__, OF_A_STUDY)


def hint_stepwise(name: str, known: Collection[str]) -> str | None:
    """Return the hint for an argument that `Optimizer` lacks, options of whole runs included; None if unknown."""
    ours = OURS.get(name, name)
    if ours in known:
        return f"here it is called {ours!r}"
    if ours in STEPWISE:
        return STEPWISE[ours]
    return WHOLE.format(f"{ours}=") if ours in RENAMED else None


def hint_range(given: Any) -> str | None:
    """Return the call for a range of scikit-optimize, (1, 8) or (1e-6, 1e6, "log-uniform"); None for another value.

    A list of two numbers is no range: it may hold two options.
    """
    if all(hasattr(given, name) for name in ("low", "high", "prior")):
        given = (given.low, given.high, given.prior)
    if not isinstance(given, (tuple, list)) or len(given) < 2:
        return None
    low, high, *rest = given
    prior = rest[0] if rest else None if isinstance(given, list) else "uniform"
    numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in (low, high))
    if not (numbers and low < high) or not isinstance(prior, str) or prior not in PRIORS:
        return None
    kind = "Int" if isinstance(low, Integral) and isinstance(high, Integral) else "Float"
    return f"lamcts.{kind}({low}, {high}{PRIORS[prior]})"
