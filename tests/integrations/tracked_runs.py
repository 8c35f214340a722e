"""Runs that trackers log: values, failures, pruned trials, constraints, several objectives, and what stops halfway."""

import lamcts
from lamcts.study import Study

SPACE = {"x": lamcts.Float(-1, 1), "k": lamcts.Choice(["a", "b", "c"]), "z": lamcts.Int(1, 3, when={"k": "a"})}


def reporting(point, trial):
    """Fail for option c, prune for option b."""
    trial.report(1, point["x"])
    if point["k"] == "c":
        raise ValueError("no c")
    trial.report(3, point["x"] - 1)
    if point["k"] == "b":
        raise lamcts.Pruned
    return point["x"] ** 2


def run(callback, budget=9, f=reporting, space=None, **options):
    """Return the result of a run with a callback; the sampler is uniform, so that few evaluations do."""
    return lamcts.minimize(
        f, SPACE if space is None else space, budget=budget, seed=0, sampler="uniform", callback=callback, **options
    )


def stopped(journal, budget, callback):
    """Do `budget` evaluations of a run with a journal, and leave it as a killed process would: nobody closes it."""
    study = Study(reporting, SPACE, False, 9, seed=0, sampler="uniform", journal=journal, callback=callback)
    evaluations = study.evaluations()
    for _ in range(budget):
        next(evaluations)
    evaluations.close()
    return study.result()


def goals(point, trial=None):
    if trial is not None:
        trial.report(2, {"gain": point["x"], "cost": 3.0})
    return {"cost": point["x"] ** 2, "gain": point["x"], "stress": point["x"]}


GOALS = {"objectives": {"cost": "min", "gain": "max"}, "constraints": ["stress <= 0.5"]}
