"""Tables from the files that NATS-Bench and HW-NAS-Bench publish, which are pickles. Once:

python -m lamcts.neural.nas.conversion NATS-tss-v1_0-3ffb9-simple nasbench201.npz
python -m lamcts.neural.nas.conversion NATS-sss-v1_0-50262-simple nats_size.npz
python -m lamcts.neural.nas.conversion HW-NAS-Bench-v1_0.pickle hw_nasbench201.npz

Letters: N networks, D data sets, M metrics.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.nas import plain_pickle
from lamcts.neural.nas.cells import NasBench201
from lamcts.neural.nas.chains import NatsSize
from lamcts.neural.nas.published import CIFAR10, DATASETS

NATS, HARDWARE = "NATS-Bench", "HW-NAS-Bench"
HARDWARE_SPACE = "nasbench201"  # of the spaces of HW-NAS-Bench; the other, of FBNet, has no accuracies
VALIDATION = {CIFAR10: ("cifar10-valid", "x-valid")}  # where the accuracies are: the training and the set of images
TEST = {CIFAR10: (CIFAR10, "ori-test")}
TRUSTED_SEED = 888  # where seeds have different sizes, as the package of NATS-Bench chooses
SIZE_DIGITS = 5  # of millions, in which sizes are equal
MEGA, KILO = 1e6, 1e3
STEP = 500  # networks between two lines of progress
PathLike = str | os.PathLike[str]
Columns = dict[str, NDArray[Any]]
Report = Callable[[int, int], object]


class Schedule(NamedTuple):
    """The schedules of a space of NATS-Bench: the key of the longest, and the array of encoded networks."""

    longest: str
    places: str
    numbers: Callable[[str], tuple[int, ...]]
    also: Columns


def convert_nats_bench(folder: PathLike, target: PathLike, report: Report | None = None) -> int:
    """Write the table of a folder of NATS-Bench.

    Parameters
    ----------
    folder : path
        The folder "NATS-tss-v1_0-3ffb9-simple" (topology space) or "NATS-sss-v1_0-50262-simple" (size space).
    target : path
        The table to write: "nasbench201.npz" or "nats_size.npz", which `lamcts.objectives.make` reads.
    report : callable, optional
        Called as ``report(done, total)`` after each network.

    Notes
    -----
    Accuracies are means over seeds, as `get_more_info(..., is_random=False)` of the authors' package returns them.
    Pickles are read without running code from the file.

    References
    ----------
    Dong et al. 2021, NATS-Bench: Benchmarking NAS Algorithms for Architecture Topology and Size.
    """
    meta = plain_pickle.load(Path(folder) / "meta.pickle.pbz2", NATS)
    try:
        texts = [str(text) for text in meta["meta_archs"]]
        schedule = _topology() if "|" in texts[0] else _size()
    except (TypeError, KeyError, IndexError):
        raise ValueError(f"{folder}: expected 'meta_archs' in meta.pickle.pbz2, got none: is it {NATS}?") from None
    rows = [_row(Path(folder) / f"{i:06d}.pickle.pbz2", text, schedule) for i, text in _counted(texts, report)]
    whole = {schedule.places: np.int8, "params": np.int32}
    columns = {name: np.array([row[name] for row in rows], whole.get(name, np.float32)) for name in rows[0]}
    _save(target, columns | schedule.also | {"datasets": np.array(DATASETS)})
    return len(rows)


def convert_hw_nas_bench(source: PathLike, target: PathLike) -> int:
    """Write the table of the costs of NAS-Bench-201's cells on devices.

    Parameters
    ----------
    source : path
        The file "HW-NAS-Bench-v1_0.pickle".
    target : path
        The table to write, "hw_nasbench201.npz": the setting `hardware` of the objective "nasbench201".

    Notes
    -----
    Latencies are in milliseconds, energies in millijoules. The costs of FBNet's operations in the file are left out.
    Pickles are read without running code from the file.

    References
    ----------
    Li et al. 2021, HW-NAS-Bench: Hardware-Aware Neural Architecture Search Benchmark.
    """
    held = plain_pickle.load(Path(source), HARDWARE)
    try:
        columns = _hardware({dataset: held[HARDWARE_SPACE][dataset] for dataset in DATASETS})
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{source}: expected costs of {', '.join(DATASETS)}, got {error!r}: is it {HARDWARE}?"
        ) from None
    _save(target, columns)
    return len(columns["ops"])


def _topology() -> Schedule:
    space = NasBench201()
    also = {"op_names": np.array(space.operations)}
    return Schedule("200", "ops", lambda text: space.numbers(space.parse(text)), also)


def _size() -> Schedule:
    space = NatsSize()
    return Schedule("90", "widths", lambda text: tuple([i + 1 for i in space.numbers(space.parse(text))]), {})


def _counted(texts: list[str], report: Report | None) -> Iterable[tuple[int, str]]:
    for i, text in enumerate(texts):
        yield i, text
        if report is not None:
            report(i + 1, len(texts))


def _row(file: Path, text: str, schedule: Schedule) -> dict[str, Any]:
    """Return the entries of a network, [D] each, by the names of the arrays."""
    held = plain_pickle.load(file, NATS)
    try:
        if (found := held[schedule.longest]["arch_str"]) != text:
            raise ValueError(f"the network {found}")
        row: dict[str, Any] = {schedule.places: schedule.numbers(text)}
        for epochs in (schedule.longest, "12"):
            row[f"test_acc_{epochs}"] = [_accuracy(held[epochs], *TEST.get(d, (d, "x-test"))) for d in DATASETS]
            row[f"val_acc_{epochs}"] = [_accuracy(held[epochs], *VALIDATION.get(d, (d, "x-valid"))) for d in DATASETS]
        return row | _costs(held[schedule.longest])
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{file}: expected the trainings of {text}, got {error!r}: download it again") from None


def _trainings(results: Mapping[str, Any], dataset: str) -> list[Mapping[str, Any]]:
    """Return the trainings of a network on a data set, one a seed."""
    return [results["all_results"][dataset, seed] for seed in results["dataset_seed"][dataset]]


def _accuracy(results: Mapping[str, Any], dataset: str, images: str) -> float:
    """Return the accuracy after the last epoch in per cent, the mean over seeds."""
    runs = _trainings(results, dataset)
    return float(np.mean([run["eval_acc1es"][f"{images}@{run['epochs'] - 1}"] for run in runs]))


def _costs(results: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return parameters, millions of operations and milliseconds, [D]; nan for a latency that was not measured."""
    found: dict[str, list[float]] = {"params": [], "mflops": [], "latency_ms": []}
    for dataset in DATASETS:
        runs, seeds = _trainings(results, dataset), results["dataset_seed"][dataset]
        found["params"].append(round(MEGA * _of_seeds([run["params"] for run in runs], seeds)))
        found["mflops"].append(_of_seeds([run["flop"] for run in runs], seeds))
        times = [float(np.mean(run["latency"])) for run in runs if run["latency"]]
        times = [time for time in times if time > 0]
        found["latency_ms"].append(KILO * float(np.mean(times)) if times else float("nan"))
    return found


def _of_seeds(sizes: list[float], seeds: list[int]) -> float:
    """Return the size of a network that its seeds agree on, else that of the trusted seed."""
    if len({round(size, SIZE_DIGITS) for size in sizes}) > 1 and TRUSTED_SEED in seeds:
        return float(sizes[seeds.index(TRUSTED_SEED)])
    return float(np.mean(sizes))


def _hardware(held: Mapping[str, Mapping[str, Any]]) -> Columns:
    """Return the arrays of a table of costs; all data sets have the cells in one order."""
    space = NasBench201()
    texts = [[config["arch_str"] for config in held[dataset]["config"]] for dataset in DATASETS]
    if any(other != texts[0] for other in texts):
        raise ValueError("cells in another order for each data set")
    metrics = [name for name in held[CIFAR10] if name != "config"]
    values = [[np.asarray(held[dataset][name], np.float32) for name in metrics] for dataset in DATASETS]  # [D][M][N]
    return {
        "ops": np.array([space.numbers(space.parse(text)) for text in texts[0]], np.int8),
        "datasets": np.array(DATASETS),
        "hw_metrics": np.array(metrics),
        "hw": np.array(values).transpose(2, 0, 1),
    }


def _save(target: PathLike, columns: Columns) -> None:
    """Write a table, at once."""
    file = Path(target)
    part = file.with_name(f".{file.name}.part.npz")
    np.savez_compressed(part, **columns)  # type: ignore[arg-type]
    part.replace(file)


def main(argv: Sequence[str] | None = None) -> int:
    """Convert what the command line names, and return the exit code."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("source", help=f"a folder of {NATS}, or the file of {HARDWARE}")
    given.add_argument("target", help="the table to write, .npz")
    named = given.parse_args(argv)
    try:
        if Path(named.source).is_dir():
            count = convert_nats_bench(named.source, named.target, _progress)
        else:
            count = convert_hw_nas_bench(named.source, named.target)
    except (ValueError, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{count} networks in {named.target}\n")
    return 0


def _progress(done: int, total: int) -> None:
    if done % STEP == 0:
        sys.stdout.write(f"{done} of {total} networks\n")


if __name__ == "__main__":
    sys.exit(main())
