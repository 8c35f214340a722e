"""Ask and tell: tune a support vector machine that predicts the course of diabetes, four trials at a time.

The loop is yours: the trials of a batch may be evaluated in any order, anywhere. python examples/ask_tell.py
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import lamcts

PATIENTS, COURSE = load_diabetes(return_X_y=True)


def error(cost, width, kernel, scaled):
    """Return how far the machine is off on patients it has not seen, root mean square."""
    machine = SVR(C=cost, gamma=width, kernel=kernel)
    model = make_pipeline(StandardScaler(), machine) if scaled else machine
    return -cross_val_score(model, PATIENTS, COURSE, scoring="neg_root_mean_squared_error").mean()


space = lamcts.Space(
    {
        "cost": lamcts.Float(1e-3, 1e3, log=True),
        "width": lamcts.Float(1e-5, 1e2, log=True),
        "kernel": lamcts.Choice(["rbf", "sigmoid"]),
        "scaled": lamcts.Bool(),
    }
)
optimizer = lamcts.Optimizer(space, seed=0)
for batch in range(1, 16):
    trials = optimizer.ask(4)
    optimizer.tell(trials, [error(**trial.point) for trial in trials])
    print(f"after {4 * batch:2} machines the best is off by {optimizer.best.value:.3f}")
print("its settings:", optimizer.best.point)
