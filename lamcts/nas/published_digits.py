"""The table of `digits4096` as an objective, without a file of yours: `lamcts.objectives.make("digits4096")`."""

from importlib.resources import files
from pathlib import Path as File

import numpy as np

from lamcts.nas import formats
from lamcts.nas.digits import OPERATIONS, Digits4096
from lamcts.nas.objective import TableObjective
from lamcts.nas.published import BUDGET, PERCENT, Path, of_places
from lamcts.nas.tables import one_of, read
from lamcts.objectives.base import register

SHIPPED = File(str(files("lamcts.nas") / formats.DIGITS4096.file))  # a file of the package
EPOCHS = (3, 12)  # of the two trainings of each cell
GUIDES = ("val", "test")


@register(
    "digits4096", "cells of 6 edges and 4 operations on digits, 4,096 networks, no file needed; maximize", budget=BUDGET
)
def digits4096(
    epochs: int = EPOCHS[-1], guide: str = "val", training: int | None = None, table: Path = None, keyed: bool = False
) -> TableObjective:
    """Every cell of `Digits4096`, trained here on scikit-learn's digits, three seeds; `report` gives the test accuracy.

    epochs: of the training, 3 or 12, each with a schedule of its own (12): what a cheap evaluation is, and a dear one.
    guide: the accuracy that is searched, "val" or "test" ("val").
    training: the seed of the one that is looked up, 0, 1 or 2 (None: the mean of all).
    table: a file in the same form, or its folder (None: the one that ships).
    keyed: cells that differ in edges that no path passes count as one (False: each has a row, with the same values).
    """
    one_of(guide, GUIDES, "guide")
    arrays, space = read(formats.DIGITS4096, SHIPPED if table is None else table), Digits4096()
    if tuple(arrays["op_names"].tolist()) != OPERATIONS:
        raise ValueError(f"op_names: expected {', '.join(OPERATIONS)}, got {', '.join(arrays['op_names'])}")
    place = one_of(str(epochs), arrays["epochs"], "epochs")
    runs = slice(None) if training is None else [one_of(str(training), arrays["seeds"], "training")]
    right = {name: arrays[f"{name}_right"][:, place, runs] for name in GUIDES}  # [N, R]
    found = {name: PERCENT * right[name].mean(1) / arrays["images"][i] for i, name in enumerate(GUIDES)}
    reported = {f"{name}_accuracy_percent": found[name] for name in reversed(GUIDES)}
    others = {"params": arrays["params"], "flops": arrays["flops"]}
    settings = {"epochs": str(epochs), "guide": guide, "training": "mean" if training is None else str(training)}
    return of_places(space, arrays, np.asarray(found[guide]), reported, others, keyed, settings)
