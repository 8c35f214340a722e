"""Other optimizers, from SciPy and from installed packages, as functions of a `Search`.

Local methods start at the best point of the initial design, and restart at random points after convergence. A method
ends when the search raises `Enough`, or no evaluations are left.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

RADIUS = 0.25  # first step of COBYLA and COBYQA in the unit cube; better than 0.1 on MA-BBOB
BOUNDED_RADIUS = 0.1  # the same under constraints; better than 0.25 on bbob-constrained. Their default is 1, the range
SIGMA = 0.1  # of the unit cube: up to 200 evaluations better than 0.3, which pycma recommends, on BBOB and MA-BBOB
DIAGONAL = 1000  # dimensions from which pycma's covariance is diagonal: a full matrix would not fit into memory
MEMBERS = 5  # least population of differential evolution in SciPy
STARTUP = 10  # random trials of Optuna's samplers, their default


class Enough(Exception):
    """Raised by a search beyond its budget, to stop a solver that owns its loop."""


class Search(Protocol):
    """A function on the unit cube to minimise, with its start and its budget. d coordinates, n points."""

    seed: int
    dim: int
    bounded: bool  # whether there are constraints

    @property
    def space(self) -> SearchSpace: ...
    @property
    def left(self) -> int:
        """Evaluations that are left."""

    def __call__(self, u: ArrayLike) -> float:
        """Return the loss at `u` [d]: under constraints that of a feasible point, or a penalty."""

    def many(self, u: ArrayLike) -> Floats:
        """Return the losses [n] at `u` [n, d]."""

    def loss(self, u: ArrayLike) -> float:
        """Return the loss at `u` [d], feasible or not."""

    def excesses(self, u: ArrayLike) -> Floats:
        """Return the violation of each constraint at `u` [d], at most 0 where it is satisfied."""

    def first(self) -> None:
        """Evaluate the objective's own start, if it has one."""

    def initial(self, n: int | None = None) -> Floats:
        """Return the initial design [n, d]."""

    def start(self) -> Floats:
        """Evaluate the initial design and return its best point [d]."""

    def rng(self) -> np.random.Generator:
        """Return the generator of the method."""


Run = Callable[[Search], None]


def random(search: Search) -> None:
    """Uniform draws."""
    search.first()
    rng = search.rng()
    while search.left:
        search(rng.random(search.dim))


def dual_annealing(search: Search) -> None:
    from scipy import optimize

    rng = search.rng()
    start = search.start()
    while search.left:
        optimize.dual_annealing(search, [(0, 1)] * search.dim, maxiter=10**6, maxfun=10**8, x0=start, rng=rng)
        start = rng.random(search.dim)


def differential_evolution(search: Search) -> None:
    from scipy import optimize

    rng = search.rng()
    population = search.initial()
    if len(population) < MEMBERS:
        population = np.vstack([population, rng.random((MEMBERS - len(population), search.dim))])
    bounds = optimize.Bounds(np.zeros(search.dim), np.ones(search.dim))
    while search.left:
        optimize.differential_evolution(search, bounds, init=population, maxiter=10**6, polish=False, rng=rng)
        population = rng.random(population.shape)


def local(search: Search, method: str) -> None:
    """Powell, or COBYLA and COBYQA, which take constraints."""
    from scipy import optimize

    rng = search.rng()
    start = search.start()
    radius = BOUNDED_RADIUS if search.bounded else RADIUS
    options = {
        "Powell": {"maxfev": 10**8, "maxiter": 10**8},
        "COBYLA": {"maxiter": 10**8, "rhobeg": radius},
        "COBYQA": {"maxfev": 10**8, "maxiter": 10**8, "initial_tr_radius": radius},
    }[method]
    arguments: dict[str, Any] = {"method": method, "bounds": [(0, 1)] * search.dim, "options": options}
    if search.bounded and method != "Powell":
        arguments["constraints"] = optimize.NonlinearConstraint(search.excesses, -np.inf, 0.0)
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stalled run warns, and restarts
            optimize.minimize(search.loss if "constraints" in arguments else search, start, **arguments)
        start = np.asarray(rng.random(search.dim))


def cma(search: Search) -> None:
    """pycma: restarts in doubled populations (Auger and Hansen 2005)."""
    import cma

    rng = search.rng()
    options = pycma_options(rng) | {"CMA_diagonal": search.dim >= DIAGONAL}
    start = search.start()
    population = None
    while search.left:
        if population:
            options["popsize"] = population
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strategy = cma.CMAEvolutionStrategy(start, SIGMA, options)
        while not strategy.stop():
            x = strategy.ask()
            strategy.tell(x, list(search.many(x)))
        start = rng.random(search.dim)
        population = 2 * strategy.popsize


def pycma_options(rng: np.random.Generator) -> dict[str, Any]:
    """Return pycma's options for draws from `rng` inside the unit cube, without its seeding of the global generator."""
    return {"bounds": [0, 1], "verbose": -9, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}


def optuna(search: Search, sampler: str) -> None:
    """One of Optuna's samplers, with the initial design enqueued; categories and levels have its distributions."""
    import optuna as library

    if search.bounded and not hasattr(library.Trial, "set_constraint"):
        raise ValueError(f"expected Optuna 5 or later for constraints, got {library.__version__}: update it")
    library.logging.set_verbosity(library.logging.ERROR)
    parameters = Parameters(search.space)
    names = [f"x{i:05}" for i in range(parameters.count)]
    space = {name: _distribution(parameters, i) for i, name in enumerate(names)}
    optuna_sampler = getattr(library.samplers, sampler)(seed=search.seed, n_startup_trials=STARTUP)
    study = library.create_study(sampler=optuna_sampler)
    levels = [None if kind is None else list(kind) for kind in parameters.levels]
    for z in parameters.codes(search.initial(STARTUP)):
        pairs = zip(names, z.tolist(), levels, strict=True)
        study.enqueue_trial({name: code if values is None else values.index(code) for name, code, values in pairs})
    while search.left:
        trial = study.ask(space)
        codes = [trial.params[name] for name in names]
        z = np.array([[code if values is None else values[code] for code, values in zip(codes, levels, strict=True)]])
        (u,) = parameters.rows(z)
        loss = search.loss(u)
        for i, excess in enumerate(search.excesses(u) if search.bounded else ()):
            trial.set_constraint(f"constraint {i}", float(excess))
        study.tell(trial, **({"state": library.trial.TrialState.FAIL} if loss != loss else {"values": loss}))


def _distribution(parameters: Parameters, i: int) -> Any:
    """Return Optuna's distribution of a parameter: of its code, or of the number of its level."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if (levels := parameters.levels[i]) is None:
        return FloatDistribution(0, 1)
    return (
        CategoricalDistribution([*range(len(levels))])
        if parameters.categorical[i]
        else IntDistribution(0, len(levels) - 1)
    )


class Peer(NamedTuple):
    """A method, its description, and the package that it needs."""

    run: Run
    line: str
    package: str = "scipy"

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


PEERS: Mapping[str, Peer] = {
    "random": Peer(random, "uniform draws", "numpy"),
    "cobyla": Peer(partial(local, method="COBYLA"), "linear models in a trust region, of SciPy, restarted"),
    "cobyqa": Peer(partial(local, method="COBYQA"), "quadratic models in a trust region, of SciPy, restarted"),
    "powell": Peer(partial(local, method="Powell"), "line searches along conjugate directions, of SciPy, restarted"),
    "dual annealing": Peer(dual_annealing, "simulated annealing with local searches, of SciPy"),
    "differential evolution": Peer(differential_evolution, "a population from the initial design, of SciPy"),
    "cma": Peer(cma, "pycma from the best initial point, sigma 0.1, doubled population a restart", "cma"),
    "tpe": Peer(partial(optuna, sampler="TPESampler"), "tree-structured Parzen estimators of Optuna", "optuna"),
    "optuna gp": Peer(partial(optuna, sampler="GPSampler"), "Gaussian process of Optuna", "optuna"),
}
