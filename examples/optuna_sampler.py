"""Our search as a sampler of Optuna: a support vector machine, some of whose settings depend on others.

The study is in a file: any number of processes may run this at once, and a new run goes on where the last one stopped.
python examples/optuna_sampler.py (needs the extra: pip install '.[optuna]')
"""

import tempfile
from pathlib import Path

import optuna
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from lamcts.integrations.optuna import LamctsSampler

PATIENTS, COURSE = load_diabetes(return_X_y=True)


def error(trial):
    """Return how far the machine is off on patients it has not seen, root mean square."""
    settings = {"C": trial.suggest_float("cost", 1e-3, 1e3, log=True)}
    settings["kernel"] = trial.suggest_categorical("kernel", ["linear", "rbf"])
    if settings["kernel"] == "rbf":
        settings["gamma"] = trial.suggest_float("width", 1e-5, 1e2, log=True)
    model = make_pipeline(StandardScaler(), SVR(**settings))
    return -cross_val_score(model, PATIENTS, COURSE, scoring="neg_root_mean_squared_error").mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
with tempfile.TemporaryDirectory() as folder:  # a folder that stays, for a study that goes on
    storage = f"sqlite:///{Path(folder) / 'study.sqlite3'}"
    for run in range(2):  # the second one begins with a new sampler, which reads the study
        sampler = LamctsSampler(seed=0)
        study = optuna.create_study(study_name="svm", storage=storage, sampler=sampler, load_if_exists=True)
        study.optimize(error, n_trials=15)
        print(f"after {15 * (run + 1)} machines the best is off by {study.best_value:.3f}: {study.best_params}")
