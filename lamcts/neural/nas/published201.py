"""NAS-Bench-201 as an objective: `lamcts.objectives.make("nasbench201", dataset="cifar100", table=FILE)`."""

from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.nas import formats
from lamcts.neural.nas.cells import NasBench201
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.published import BUDGET, CIFAR10, DATASETS, IMAGENET16, Path, of_places
from lamcts.neural.nas.tables import Arrays, one_of, read
from lamcts.objectives.base import register
from lamcts.types import Floats

VALIDATION = {CIFAR10: "cifar10_val_acc_200", IMAGENET16: "imagenet16_val_acc_200"}  # none on cifar100
UNITS = {"latency": "ms", "energy": "mj"}  # of the metrics of HW-NAS-Bench, by their last word
UNKNOWN = -1  # what HW-NAS-Bench has for a network that could not be measured
TENTHS = 10.0  # in which the table of robustness holds per cent
ON_PATHS = FilePath(__file__).with_name("nasbench201_operations.npz")  # `operations_of` each cell
GUIDES = ("test", "val", "val12", "test12")


@register(
    "nasbench201", "cells of 6 edges and 5 operations on three data sets, 15,625 networks; maximize", budget=BUDGET
)
def nasbench201(
    dataset: str = CIFAR10,
    guide: str = "test",
    table: Path = None,
    latency: Path = None,
    robustness: Path = None,
    hardware: Path = None,
    keyed: bool = False,
) -> TableObjective:
    """NAS-Bench-201, the topology space of NATS-Bench; `report` gives the mean test accuracy after 200 epochs.

    Parameters
    ----------
    dataset : str, default "cifar10"
        The data set: cifar10, cifar100 or ImageNet16-120.
    guide : str, default "test"
        The accuracy that is searched. "test" is the mean over seeds after 200 epochs. "val" is the validation accuracy
        after 200 epochs, if the table has it: a table made by `lamcts.neural.nas.convert_nats_bench` has it for all
        cells. "val12" and "test12" come after the 12 epochs of their own schedule.
    table : path, default None
        The file or its folder; None: the folder that LAMCTS_DATA names.
    latency : path, default None
        File or folder of the latencies on 27 devices, for `cost`; None: left out.
    robustness : path, default None
        File or folder of the CIFAR-10 accuracies under 32 attacks, for `cost`; None: left out.
    hardware : path, default None
        File or folder of the costs of HW-NAS-Bench on six devices, for `cost`; None: those of the table, if any.
    keyed : bool, default False
        Whether cells that compute the same function count as one; each was trained and has a row.
    """
    one_of(dataset, DATASETS, "dataset")  # before the table: who has none yet sees the mistake too
    one_of(guide, GUIDES, "guide")
    arrays, space = read(formats.NASBENCH201, table), NasBench201()
    place = one_of(dataset, arrays["datasets"], "dataset")
    whole = {"test": "test_acc_200", "val12": "val_acc_12", "test12": "test_acc_12"}
    whole |= {"val": "val_acc_200"} if "val_acc_200" in arrays else {}
    name = whole.get(guide) or VALIDATION.get(dataset, "")
    if name not in arrays:
        known = "got none: try 'val12' or 'test'"
        raise ValueError(f"guide: expected values of {guide!r} for {dataset} in the table, {known}")
    values = arrays[name].astype(float)
    searched = values[:, place] if guide in whole else values
    reported = {"test_accuracy_percent": arrays["test_acc_200"][:, place].astype(float)}
    found: dict[str, Any] = {"params": arrays["params"][:, place]} if "params" in arrays else {}
    mflops = {CIFAR10: "mflops_cifar10", IMAGENET16: "mflops_imagenet16"}.get(dataset, "")
    found |= {"mflops": arrays[mflops]} if mflops in arrays else {}
    found |= {name: arrays[name][:, place] for name in ("mflops", "latency_ms") if name in arrays}
    others = found | _device_costs(arrays, place) | _operations(space, arrays["ops"])
    others |= {} if latency is None else _latencies(latency, len(searched))
    others |= {} if robustness is None else _robustness(robustness, arrays["ops"])
    others |= {} if hardware is None else _hardware(hardware, arrays["ops"], dataset)
    return of_places(space, arrays, searched, reported, others, keyed, {"dataset": dataset, "guide": guide})


def _device_costs(arrays: Arrays, place: int) -> dict[str, Floats]:
    """Return the metrics of HW-NAS-Bench in a table [N], by names with units; nan where one was not measured."""
    found: dict[str, Any] = {}
    for i, metric in enumerate(arrays.get("hw_metrics", np.empty(0)) if "hw" in arrays else ()):
        values = arrays["hw"][:, place, i].astype(float)
        unit = UNITS.get(str(metric).rpartition("_")[2])
        found[f"{metric}_{unit}" if unit else str(metric)] = np.where(values == UNKNOWN, np.nan, values)
    return found


def _operations(space: NasBench201, ops: NDArray[Any]) -> dict[str, Floats]:
    """Return the number of operations on a path of each cell, [N]."""
    with np.load(ON_PATHS) as columns:
        codes = ops.astype(np.int64) @ len(space.operations) ** np.arange(ops.shape[1])
        return {"operations": columns["operations"][codes].astype(float)}


def _latencies(path: Path, rows: int) -> dict[str, Floats]:
    arrays = read(formats.LATENCY201, path)
    if len(arrays["latency_ms"]) != rows:
        raise ValueError(f"latency: expected the {rows} rows of the table, got {len(arrays['latency_ms'])}")
    return {f"{device}_measured_ms": arrays["latency_ms"][:, i] for i, device in enumerate(arrays["devices"])}


def _same_cells(arrays: Arrays, ops: NDArray[Any], name: str) -> Arrays:
    """Return a table of further values; ValueError where its rows are other cells."""
    if not np.array_equal(arrays["ops"], ops):
        raise ValueError(f"{name}: expected the cells of the table in the same order, got others")
    return arrays


def _robustness(path: Path, ops: NDArray[Any]) -> dict[str, Floats]:
    arrays = _same_cells(read(formats.ROBUSTNESS201, path), ops, "robustness")
    return {f"{attack}_percent": arrays["robust_acc_x10"][:, i] / TENTHS for i, attack in enumerate(arrays["attacks"])}


def _hardware(path: Path, ops: NDArray[Any], dataset: str) -> dict[str, Floats]:
    arrays = _same_cells(read(formats.HARDWARE201, path), ops, "hardware")
    return _device_costs(arrays, one_of(dataset, arrays["datasets"], "hardware, dataset"))
