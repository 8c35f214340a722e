"""A network that is worse than others half way is not trained to its end: `python examples/pruning.py`."""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import lamcts

x, y = load_digits(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(x / 16, y, test_size=0.4, random_state=0)
space = lamcts.Space(
    {
        "units": lamcts.Int(4, 64, log=True),
        "rate": lamcts.Float(1e-4, 1e-1, log=True),
        "alpha": lamcts.Float(1e-6, 1, log=True),
    }
)


def error(point, trial):
    network = MLPClassifier((point["units"],), learning_rate_init=point["rate"], alpha=point["alpha"], random_state=0)
    for epoch in range(20):
        network.partial_fit(train_x, train_y, classes=np.arange(10))
        wrong = 1 - network.score(test_x, test_y)
        trial.report(epoch, wrong)  # raises lamcts.Pruned where it should stop
    return wrong


warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, of networks that have not converged
result = lamcts.minimize(error, space, budget=30, seed=0, pruner="median")
epochs = sum(len(curve) for curve in result.history.reports.values())
print(f"error {result.fun:.3f} at {result.x}")
print(f"{result.pruned} of {result.nfev} trials pruned, {epochs} epochs instead of {20 * result.nfev}")
