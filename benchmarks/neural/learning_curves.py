"""Learning curves of real models, recorded once, so that a benchmark of pruning or of fidelities takes seconds.

    python -m benchmarks.neural.learning_curves [--problems mlp convnet] [--configurations 200]

`mlp`: scikit-learn's network on 1,000 of its digits, 81 epochs, tested on the other 797. `convnet`: a small
convolutional network on 500 images of MNIST, 14 x 14 pixels (mnist_10k.npz in the folder LAMCTS_DATA), 27 epochs,
tested on 500 others. The loss is the mean log loss of the test images after each epoch, at most `WORST`.
Configurations are scrambled Sobol points. Curves go to results/curves-NAME.npz; a recording that was stopped goes on
where it was.

`digits4096` is the table of `lamcts.neural.nas` that ships, complete: 4,096 cells with their validation errors after
trainings of 3 and of 12 epochs (means of three seeds), taken as two reports of one training.

`Recorded` interpolates between configurations, so that a search may propose any point of the space.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS
from lamcts.neural.nas import Digits4096
from lamcts.neural.nas.formats import DIGITS4096
from lamcts.neural.nas.published import EPOCHS, SHIPPED
from lamcts.neural.nas.tables import read
from lamcts.types import Floats

WORST = 3.0  # the loss of whatever is worse; guessing is 2.3
NEAREST = 3  # configurations that a curve is interpolated from
TRAINED, TESTED = 500, 500  # images of MNIST
Point = dict[str, Any]
MLP_SPACE = lamcts.Space(
    {
        "layers": lamcts.Int(1, 3),
        "units": lamcts.Int(8, 64, log=True),
        "batch": lamcts.Int(32, 256, log=True),
        "solver": lamcts.Choice(["adam", "sgd"]),
        "alpha": lamcts.Float(1e-6, 1.0, log=True),
        "rate": lamcts.Float(1e-4, 1.0, log=True),
        "momentum": lamcts.Float(0.0, 0.99),
    }
)
CONVNET_SPACE = lamcts.Space(
    {
        "channels": lamcts.Int(2, 16, log=True),
        "kernel": lamcts.Choice((3, 5)),
        "batch": lamcts.Int(16, 256, log=True),
        "optimizer": lamcts.Choice(("adam", "sgd")),
        "rate": lamcts.Float(1e-4, 1.0, log=True),
        "decay": lamcts.Float(1e-6, 0.1, log=True),
        "dropout": lamcts.Float(0.0, 0.7),
    }
)


class Problem(NamedTuple):
    """A model: its parameters, the epochs after which it has a loss, and its losses by epoch at a point.

    train: None where the losses are those of a table.
    """

    space: lamcts.Space
    steps: Sequence[int]
    train: Callable[[Point, int], Iterator[float]] | None


def main() -> None:
    given = script.parser(__doc__, "", "two configurations of two epochs")
    given.add_argument("--problems", nargs="+", default=["mlp"], choices=["mlp", "convnet"])
    given.add_argument("--configurations", type=int, default=200)
    arguments = script.parsed(given, configurations=2)
    for name in arguments.problems:
        record(name, arguments.out, arguments.configurations, 2 if arguments.smoke else len(PROBLEMS[name].steps))


def record(name: str, folder: Path, n: int, epochs: int) -> None:
    """Train the configurations that the file of a problem lacks, and save every ten."""
    problem, path = PROBLEMS[name], folder / f"curves-{name}.npz"
    assert problem.train is not None
    x = _configurations(problem.space, n)
    losses = np.full((n, epochs), np.nan)
    if path.exists():
        before = np.load(path)["losses"].astype(float)[:n]
        losses[: len(before)] = before
    for i in np.flatnonzero(np.isnan(losses).any(1)):
        losses[i] = list(problem.train(problem.space.decode(x[i]), epochs))
        if i % 10 == 9 or i == n - 1:
            np.savez_compressed(path, x=x.astype(np.float32), losses=losses.astype(np.float32))
            print(f"{name}: {i + 1} of {n}, best {np.nanmin(losses[:, -1]):.4g}", flush=True)


def _configurations(space: lamcts.Space, n: int) -> Floats:
    from scipy.stats.qmc import Sobol

    drawn = Sobol(space.dim, seed=0).random(2 ** math.ceil(math.log2(n)))[:n]
    return np.array([space.encode(space.decode(row)) for row in drawn])


class Recorded:
    """Losses after `steps` epochs at any point, from the recorded configurations nearest to it; exact at these."""

    def __init__(self, name: str, folder: Path = RESULTS) -> None:
        self.space, steps, train = PROBLEMS[name]
        self.x, self.losses = _table(self.space) if train is None else _curves(folder / f"curves-{name}.npz")
        self.steps = steps[: self.losses.shape[1]]

    def __call__(self, point: Point) -> Floats:
        """Return the losses [steps] at a point: means of log losses, weighted by the distance to the power -3."""
        square = np.square(self.x - self.space.encode(point)).sum(1)
        near = np.argsort(square, kind="stable")[:NEAREST]
        weights = (square[near] + 1e-12) ** -1.5
        curve: Floats = np.exp(weights @ np.log(self.losses[near]) / weights.sum())
        return curve


def _curves(path: Path) -> tuple[Floats, Floats]:
    """Return the recorded configurations [n, d] and their losses [n, epochs]."""
    with np.load(path) as held:
        whole = np.isfinite(held["losses"]).all(1)
        return held["x"][whole].astype(float), held["losses"][whole].astype(float)


def _table(space: lamcts.Space) -> tuple[Floats, Floats]:
    """Return the cells of digits4096 [4096, d] and their validation errors [4096, steps]."""
    arrays = read(DIGITS4096, SHIPPED)
    points = [DIGITS.point(tuple(map(int, numbers))) for numbers in arrays["ops"]]
    return np.array([space.encode(point) for point in points]), 1 - arrays["val_right"].mean(2) / arrays["images"][0]


# Models ---------------------------------------------------------------------------------------------------------------


def _train_mlp(point: Point, epochs: int) -> Iterator[float]:
    from sklearn.neural_network import MLPClassifier

    train_x, train_y, test_x, test_y = _digits()
    network = MLPClassifier(
        (point["units"],) * point["layers"],
        solver=point["solver"],
        alpha=point["alpha"],
        batch_size=point["batch"],
        learning_rate_init=point["rate"],
        momentum=point["momentum"],
        random_state=0,
    )
    loss = WORST
    for _ in range(epochs):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                network.partial_fit(train_x, train_y, classes=np.arange(10))
                chance = network.predict_proba(test_x)[np.arange(len(test_y)), test_y]
                loss = float(np.nan_to_num(-np.log(np.clip(chance, 1e-15, 1)).mean(), nan=WORST))
            except ValueError:  # weights that are no numbers any more
                loss = WORST
        yield min(loss, WORST)


@cache
def _digits() -> tuple[Any, ...]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order] / 16, y[order]
    return x[:1000], y[:1000], x[1000:], y[1000:]


def _train_convnet(point: Point, epochs: int) -> Iterator[float]:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images, labels, test_images, test_labels = _mnist()
    width, kernel = point["channels"], point["kernel"]
    network = nn.Sequential(
        nn.Conv2d(1, width, kernel, stride=2, padding=kernel // 2),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, kernel, stride=2, padding=kernel // 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(point["dropout"]),
        nn.Linear(2 * width * 16, 10),
    )
    words = {"lr": point["rate"], "weight_decay": point["decay"]}
    parameters = network.parameters()
    adam = point["optimizer"] == "adam"
    steps: Any = torch.optim.Adam(parameters, **words) if adam else torch.optim.SGD(parameters, momentum=0.9, **words)
    for _ in range(epochs):
        network.train()
        order: Any = torch.randperm(len(images))
        for rows in order.split(point["batch"]):
            steps.zero_grad()
            loss: Any = nn.functional.cross_entropy(network(images[rows]), labels[rows])
            loss.backward()
            steps.step()
        network.eval()
        with torch.no_grad():
            end = float(nn.functional.cross_entropy(network(test_images), test_labels))
        yield min(end, WORST) if math.isfinite(end) else WORST


@cache
def _mnist() -> tuple[Any, ...]:
    import torch

    with np.load(Path(os.environ["LAMCTS_DATA"]) / "mnist_10k.npz") as held:
        parts = held["x_train"], held["y_train"], held["x_test"], held["y_test"]
    x, y, test_x, test_y = (torch.from_numpy(part) for part in parts)
    halves = (torch.nn.functional.avg_pool2d(rows[:, None].float() / 255, 2) for rows in (x[:TRAINED], test_x[:TESTED]))
    images, test_images = halves
    return images, y[:TRAINED].long(), test_images, test_y[:TESTED].long()


DIGITS = Digits4096()
PROBLEMS = {
    "mlp": Problem(MLP_SPACE, range(1, 82), _train_mlp),
    "convnet": Problem(CONVNET_SPACE, range(1, 28), _train_convnet),
    "digits4096": Problem(DIGITS.space, EPOCHS, None),
}

if __name__ == "__main__":
    main()
