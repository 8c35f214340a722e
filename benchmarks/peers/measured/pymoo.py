"""NSGA-II of pymoo, with its own treatment of constraints (feasible first) and of categories (mixed variables).

Its first population is the shared design. It proposes a whole generation at a time, whatever the run's batch.
"""

from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.measured import MeasuredSearch


def nsga2(search: MeasuredSearch, size: int) -> None:
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.termination import NoTermination
    from pymoo.problems.static import StaticProblem

    problem = _problem(search)
    algorithm = _algorithm(search, size)
    algorithm.setup(problem, termination=NoTermination(), seed=search.seed, verbose=False)
    while search.left:
        asked = algorithm.ask()
        f, g = search.outcomes([_point(search, x) for x in asked.get("X")])
        Evaluator().eval(StaticProblem(problem, F=f, G=g), asked)
        algorithm.tell(infills=asked)


def _mixed(search: MeasuredSearch) -> bool:
    return not search.objective.space.continuous.all()


def _algorithm(search: MeasuredSearch, size: int) -> Any:
    from pymoo.algorithms.moo.nsga2 import NSGA2

    if not _mixed(search):
        return NSGA2(pop_size=size, sampling=search.design(size))
    from pymoo.core.mixed import MixedVariableDuplicateElimination as Different
    from pymoo.core.mixed import MixedVariableMating
    from pymoo.core.population import Population

    first = Population.new("X", [search.objective.space.decode(x) for x in search.design(size)])
    mating = MixedVariableMating(eliminate_duplicates=Different())
    return NSGA2(pop_size=size, sampling=first, mating=mating, eliminate_duplicates=Different())


def _problem(search: MeasuredSearch) -> Any:
    from pymoo.core.problem import Problem
    from pymoo.core.variable import Choice

    counts = {"n_obj": len(search.goals.objectives), "n_ieq_constr": search.goals.columns}
    if not _mixed(search):
        return Problem(n_var=search.dim, xl=0.0, xu=1.0, **counts)
    members = parameters(search.objective.space)
    return Problem(vars={name: Choice(options=list(member.options)) for name, member in members}, **counts)


def _point(search: MeasuredSearch, x: Any) -> Any:
    """Return the point of what pymoo proposes: a row of the cube, or a dict of options."""
    return dict(x) if _mixed(search) else search.objective.space.decode(np.clip(np.asarray(x, float), 0, 1))
