"""A run that dies goes on where it stopped: tune boosted trees with two workers and a journal.

The first run ends in its midst, as by a power cut; the same call does what is left. python examples/resume.py
"""

import multiprocessing
import os
import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import cross_val_score

import lamcts

SPACE = lamcts.Space({"learning_rate": lamcts.Float(1e-3, 1, log=True), "n_estimators": lamcts.Int(2, 60)})


def error(point):
    """Return how far the trees are off on patients they have not seen, root mean square."""
    trees = GradientBoostingRegressor(**point, max_depth=2, random_state=0)
    return -cross_val_score(trees, *load_diabetes(return_X_y=True), scoring="neg_root_mean_squared_error").mean()


def run(journal, last=None):
    for done in lamcts.run(error, SPACE, budget=24, workers=2, seed=0, journal=journal):
        print(f"evaluation {done.count:2} of 24: off by {done.value:.2f}, the best by {done.best:.2f}", flush=True)
        if done.count == last:
            os._exit(1)  # at once: nothing is closed, no other process is told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.db"
        first = multiprocessing.get_context("spawn").Process(target=run, args=(journal, 10))
        first.start(), first.join()
        print("-- the run is dead; the same call again:")
        run(journal)
