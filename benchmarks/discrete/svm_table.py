"""Make results/svm_digits.npz: a support vector machine with each of 15,360 settings, some minutes of one core.

    python -m benchmarks.discrete.svm_table [--out FILE]

The table behind the problem `svm-digits` of `benchmarks.discrete.runs`: how many of 599 digits three folds get wrong.
Settings that differ in parameters which their kernel does not use are fitted once.
"""

from itertools import product
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.base import Point
from benchmarks.discrete.discrete_problems.svm_digits import FILE, SPACE, USES, place, values
from benchmarks.harness import script

FOLDS, EVERY = 3, 3  # every third digit, 599 of them: all settings are fitted in minutes (untuned)
LONGEST = 20_000  # steps of the solver: some settings never end
READY = ("roots", "scaling", "selected", "whitened")  # what happens before the machine
NAMES = tuple(SPACE.names or ())


def main() -> None:
    given = script.parser(__doc__, FILE.name, "four settings of each kernel")
    arguments = script.parsed(given)
    levels = dict(zip(NAMES, map(values, SPACE.members), strict=True))
    if arguments.smoke:
        levels |= {"selected": [8], "cost": [1.0], "scaling": ["none"], "roots": [False], "gamma": [1.0]}
    wrong = np.zeros([len(values(member)) for member in SPACE.members], np.uint16)
    images, digits = _data()
    for ready in product(*(levels[name] for name in READY)):
        folds = list(_folds(dict(zip(READY, ready, strict=True)), images, digits))
        for point in _points(dict(zip(READY, ready, strict=True)), levels):
            wrong[place(point)] = sum(_wrong(point, *fold) for fold in folds)
        print(ready, flush=True)
    np.savez_compressed(arguments.out, wrong=_spread(wrong), of=len(digits))


def _points(ready: Point, levels: dict[str, list]) -> Any:
    """Yield one point of each group that a kernel cannot tell apart: the first of what it does not use."""
    for kernel, used in USES.items():
        names = ("cost", "gamma", "degree", "offset")
        each = (levels[name] if name == "cost" or name in used else levels[name][:1] for name in names)
        for chosen in product(*each):
            yield ready | {"kernel": kernel} | dict(zip(names, chosen, strict=True))


def _spread(wrong: np.ndarray) -> np.ndarray:
    """Copy to all of a group what its first says."""
    for i, kernel in enumerate(values(SPACE.members[NAMES.index("kernel")])):
        of_kernel = np.moveaxis(wrong, NAMES.index("kernel"), 0)[i]  # a view: the axes after it move one down
        for name in set(NAMES[5:]) - {"cost", *USES[kernel]}:
            axis = NAMES.index(name) - 1
            of_kernel[...] = of_kernel.take([0], axis)
    return wrong


def _data() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return images[::EVERY], digits[::EVERY]


def _folds(ready: Point, images: np.ndarray, digits: np.ndarray) -> Any:
    """Yield training rows and digits, and those that are to be recognised, all made ready by what training says."""
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    x = np.sqrt(images) if ready["roots"] else images
    scalers = {"none": [], "deviation": [StandardScaler()], "range": [MinMaxScaler()]}
    fold = np.arange(len(x)) % FOLDS
    for k in range(FOLDS):
        train = fold != k
        steps = [VarianceThreshold(), *scalers[ready["scaling"]]]
        columns = steps[0].fit(x[train]).get_support().sum()
        steps.append(SelectKBest(f_classif, k=min(ready["selected"], columns)))
        steps += [PCA(whiten=True, random_state=0)] if ready["whitened"] else []
        pipeline = make_pipeline(*steps).fit(x[train], digits[train])
        yield pipeline.transform(x[train]), digits[train], pipeline.transform(x[~train]), digits[~train]


def _wrong(point: Point, x: np.ndarray, y: np.ndarray, new: np.ndarray, true: np.ndarray) -> int:
    from sklearn.svm import SVC

    gamma = point["gamma"] / (x.shape[1] * x.var())
    machine = SVC(
        C=point["cost"],
        kernel=point["kernel"],
        gamma=gamma,
        degree=point["degree"],
        coef0=point["offset"],
        max_iter=LONGEST,
    )
    return int((machine.fit(x, y).predict(new) != true).sum())


if __name__ == "__main__":
    main()
