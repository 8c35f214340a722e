"""Words of other libraries where one of ours was meant: what to say to who types them.

Ours first, then what others call it; a word that has no counterpart has a sentence instead.
"""

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
    "tol": "stop by patience=, after so many evaluations without a better value, or by target=, a value good enough",
    "jac": "no gradient is used: leave it out, or call SciPy's L-BFGS-B, which is the better choice where there is one",
    "options": "give them by name: minimize(f, space, budget=100, seed=0)",
    "popsize": "there is no population: leave it out; batch= says how many points are asked for at a time",
}
OURS = {word: ours for ours, words in RENAMED.items() for word in words.split()}


def hint(name: str) -> str | None:
    """Return what to say to somebody who typed another library's word; None where it is none that is known."""
    if name in OURS:
        return f"here it is called {OURS[name]!r}"
    return OTHERWISE.get(name)
