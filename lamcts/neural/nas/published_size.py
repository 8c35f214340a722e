"""The size space of NATS-Bench as an objective: `lamcts.objectives.make("nats-size", table=FILE)`."""

from functools import partial

import numpy as np

from lamcts.neural.nas import formats
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.nats_size import WIDTHS, NatsSize
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.published import BUDGET, Numbers, Path
from lamcts.neural.nas.published201 import CIFAR10, DATASETS
from lamcts.neural.nas.tables import one_of, read
from lamcts.objectives.base import register

ARRAYS = {"test": "test_acc_90", "val": "val_acc_90", "test12": "test_acc_12", "val12": "val_acc_12"}  # by the guide


@register("nats-size", "widths of 5 parts of a network on three data sets, 32,768 networks; maximize", budget=BUDGET)
def nats_size(dataset: str = CIFAR10, guide: str = "test", table: Path = None) -> TableObjective:
    """The size space of NATS-Bench; `report` gives the test accuracy after 90 epochs.

    Parameters
    ----------
    dataset : str, default "cifar10"
        The data set: cifar10, cifar100 or ImageNet16-120.
    guide : str, default "test"
        The accuracy that is searched: "test" or "val" after 90 epochs, "test12" or "val12" after 12 epochs of their
        own schedule.
    table : path, default None
        The file or its folder; None: the folder that LAMCTS_DATA names.
    """
    one_of(dataset, DATASETS, "dataset")  # before the table: who has none yet sees the mistake too
    one_of(guide, ARRAYS, "guide")
    arrays, space = read(formats.SIZE, table), NatsSize()
    place = one_of(dataset, arrays["datasets"], "dataset")
    widths = arrays["widths"].astype(np.int64)
    columns = {
        name: arrays[name][:, place].astype(float) for name in arrays if arrays[name].ndim == 2 and name != "widths"
    }
    codes = (widths - 1) @ WIDTHS ** np.arange(widths.shape[1])  # [N]
    reported = {"test_accuracy_percent": columns[ARRAYS["test"]]}
    others = {name: columns[name] for name in ("params", "mflops", "latency_ms")}
    cell, settings = partial(_point, space, widths), {"dataset": dataset, "guide": guide}
    return TableObjective(space, codes, columns[ARRAYS[guide]], reported, others, cell, False, settings)


def _point(space: NatsSize, widths: Numbers, row: int) -> Point:
    return space.point(tuple(map(int, widths[row])))
