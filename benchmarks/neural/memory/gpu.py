"""Check and measure memory plans on a GPU: gradients, peaks, time, races and leaks.

    python -m benchmarks.neural.memory.gpu [--only resnet training ...] [--ways eager "fit 0.5" ...] [--minutes 4.5]
    python -m benchmarks.neural.memory.gpu --device cpu --small --out dry.csv     # the same checks on the CPU

- Training (`--only training`): SGD with dropout, accumulation, GradScaler, a side stream, growth of memory over 20
  steps, a process with little memory, rates by dtype, and `nn.DataParallel` where there are two GPUs.
- Races: all storages of two networks are offloaded; copies or computation are delayed, and fetched memory is poisoned.
- Ways of a network: eager steps; checkpointing; `torch.compile` with a budget of saved bytes; "fit", the plan of
  `memory.fit` within a share of the activations or within checkpointing's peak. Columns: peaks of a step by the
  allocator, milliseconds, predicted values, and the share of copying time that overlaps computing.

Hard checks: gradients equal those of eager steps, verified plans stay within their budget, and nothing leaks. A row
that fails one has the status "failed: ..."; the exit code is 1 while the file has such a row of the device. No row
begins when `--minutes` are over; another run continues. On the CPU copies are synchronous, and peaks are those of
torch's profiler. Rows go to results/memory_gpu.csv.
"""

import gc
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import commit, versions
from benchmarks.neural.memory import gpu_training
from benchmarks.neural.memory.gpu_networks import (
    BATCHES,
    NAMES,
    NOT_SEQUENTIAL,
    SMALL_BATCH,
    Case,
    case,
    difference,
    difference_row,
    entered,
)
from benchmarks.neural.memory.gpu_streams import Copies, Delayed, streams
from lamcts.neural import memory
from lamcts.neural.memory import ALL_OPTIONS, Action, Plan, Report, Simulator
from lamcts.neural.memory.execution.link import Cuda
from lamcts.neural.memory.fitting import action_counts
from lamcts.neural.trace import Trace

DEFAULT = ("gpt-bf16", "resnet", "gpt-fp32", "unet", "lstm")
RACED = ("gpt-bf16", "resnet")
COMPILED = ("gpt-bf16", "resnet")  # compilation takes a good part of a minute
COMPILED_WAYS = ["compiled 1.0", "compiled 0.5", "compiled 0.2"]
CHECKPOINTED = ["full checkpointing", "selective checkpointing"]
PLAIN_FITS = ["fit 0.75", "fit 0.5", "fit 0.35"]
AT_CHECKPOINTING = "fit at checkpointing's peak"
SEARCHED = "fit at checkpointing's peak, 12 s of search"
# Share of the activations (None: checkpointing's peak), and settings of `memory.fit`.
FITS: dict[str, tuple[float | None, dict[str, Any]]] = {way: (float(way.split()[1]), {}) for way in PLAIN_FITS} | {
    AT_CHECKPOINTING: (None, {}),
    SEARCHED: (None, {"evaluations": None, "seconds": 12}),
    "fit 0.6, offloading alone": (0.6, {"options": tuple(w for w in ALL_OPTIONS if not w.startswith("recompute"))}),
    "fit 0.6, recomputing alone": (0.6, {"options": tuple(w for w in ALL_OPTIONS if not w.startswith("offload"))}),
}
CYCLES = int(2e6)  # of a delay, a millisecond
TOLERANCE = {"cuda": 1e-5}  # of gradients, relative: cuDNN may choose another algorithm
OVER, OVER_BYTES = 1.02, 2**20  # what a verified plan may exceed its budget by
LEAST_SECONDS = 8  # no row begins with less time
KEY = ("device", "network", "batch", "way")
COLUMNS = (
    *KEY,
    "status",
    "static_bytes",
    "peak_bytes",
    "requested_static_bytes",
    "requested_bytes",
    "reserved_bytes",
    "milliseconds",
    "gradient_error",
    "eager_error",
    "budget_bytes",
    "verified",
    "held_bytes",
    "predicted_held_bytes",
    "predicted_bytes",
    "predicted_milliseconds",
    "moved_bytes",
    "hidden_share",
    "planning_seconds",
    "details",
    "versions",
)


def main() -> int:
    given = script.parser(__doc__, "memory_gpu.csv", "small networks and a few ways, on the CPU")
    parts = [*NAMES, "training"]
    given.add_argument("--only", nargs="+", default=["training", *DEFAULT], choices=parts, metavar="NAME")
    given.add_argument(
        "--ways",
        nargs="+",
        choices=["eager", *CHECKPOINTED, *COMPILED_WAYS, *FITS],
        metavar="WAY",
        help="default: by network",
    )
    given.add_argument("--batch", type=int, help="another batch than the network's own")
    given.add_argument("--small", action="store_true", help="small networks")
    given.add_argument("--minutes", type=float, default=4.5, help="begin no row after so many")
    given.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    smoke = {"only": ["training", "resnet"], "ways": ["eager", CHECKPOINTED[0], "fit 0.75"]}
    arguments = script.parsed(given, **smoke, small=True, device="cpu")
    device = torch.device(arguments.device)
    label = prepared(device)
    print(torch.__version__, label)
    ends, made = time.monotonic() + 60 * arguments.minutes, f"commit {commit()} {versions(('lamcts', 'torch'))}"
    recorder = Recorder(Sheet(arguments.out, KEY, COLUMNS), label, ends, made)

    def batch_of(name: str) -> int:
        return arguments.batch or (SMALL_BATCH if arguments.small else BATCHES.get(name, SMALL_BATCH))

    networks = [name for name in arguments.only if name != "training"]
    if "training" in arguments.only:
        training(recorder, batch_of, arguments.small, device)
    for name in [name for name in networks if name in RACED]:
        NetworkCheck(recorder, name, batch_of(name), arguments.small, device).races()
    for name in networks:
        NetworkCheck(recorder, name, batch_of(name), arguments.small, device).compare(arguments.ways)
    failed = recorder.failed()
    print(f"{len(recorder.sheet.rows())} rows, {len(failed)} failed", *failed, sep="\n  ")
    return bool(failed)


def prepared(device: torch.device) -> str:
    """Make cuDNN's kernels deterministic and return the name of the device."""
    warnings.simplefilter("ignore")
    if device.type == "cpu":
        torch.set_num_threads(1)
        return "cpu"
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.cuda.init()
    return torch.cuda.get_device_name()


@dataclass(frozen=True)
class Recorder:
    """Run checks that have no row yet while time is left, and write their rows."""

    sheet: Sheet
    device: str
    ends: float
    versions: str

    def record(self, network: str, batch: int, way: str, check: Callable[[], Row | None]) -> None:
        """Run a check; None writes no row, and an exception fails the row, except that memory runs out."""
        key = (self.device, network, batch, way)
        if not self.sheet.missing([key]):
            return
        if self.ends - time.monotonic() < LEAST_SECONDS:
            print(f"{network}, {way}: skipped, no time left")
            return
        try:
            found = check()
        except torch.OutOfMemoryError:
            found = {"status": "out of memory"}
        except Exception as error:
            traceback.print_exc()
            found = {"status": f"failed: {type(error).__name__}: {str(error)[:220]}"}
        if found is None:
            print(f"{network}, {way}: skipped, a row that it needs is missing")
        else:
            self.sheet.record(dict(zip(KEY, key, strict=True)) | {"status": "ok"} | found | {"versions": self.versions})
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def found(self, network: str, batch: int, way: str) -> dict[str, str] | None:
        """Return a row that succeeded."""
        key = dict(zip(KEY, map(str, (self.device, network, batch, way)), strict=True)) | {"status": "ok"}
        return next((row for row in self.sheet.rows() if key.items() <= row.items()), None)

    def failed(self) -> list[str]:
        """Return the failed rows of the device."""
        rows = [row for row in self.sheet.rows() if row["device"] == self.device]
        return [
            f"{row['network']}, {row['way']}: {row['status']}" for row in rows if row["status"].startswith("failed")
        ]


def training(recorder: Recorder, batch_of: Callable[[str], int], small: bool, device: torch.device) -> None:
    """Check training loops, the rates of the device and `nn.DataParallel`."""
    name = gpu_training.NAME
    checks = gpu_training.Training(small, batch_of(name), device)
    for way, check in checks.rows.items():
        recorder.record(name, batch_of(name), way, check)
    if device.type == "cuda":
        recorder.record("machine", 0, "rates", partial(gpu_training.rates, device))
        if torch.cuda.device_count() > 1:
            batch = batch_of("resnet")
            check = partial(gpu_training.data_parallel, batch, small, device)
            recorder.record("resnet", batch, "DataParallel", check)


class NetworkCheck:
    """The races and the ways of one network. expected: gradients of eager steps."""

    def __init__(self, recorder: Recorder, name: str, batch: int, small: bool, device: torch.device) -> None:
        self.recorder, self.name, self.batch, self.small, self.device = recorder, name, batch, small, device
        self.tolerance = TOLERANCE.get(device.type, 0.0)

    @cached_property
    def case(self) -> Case:
        return case(self.name, self.small, self.batch, self.device)

    @cached_property
    def expected(self) -> list[Tensor]:
        return self.case.gradients(self.case.module)

    @cached_property
    def traced(self) -> Trace:
        return self.case.traced()

    def races(self) -> None:
        """Check gradients with all storages offloaded, with copies and computation delayed in turn."""
        stand_ins = {
            "plain": Cuda(),
            "copies begin late": Delayed(before=CYCLES),
            "copies end late": Delayed(after=CYCLES),
            "computation late": Delayed(computing=CYCLES),
            "copies timed": Copies(),
        }
        for name, stand_in in stand_ins.items():
            way = f"race: all offloaded, {name}"
            self.recorder.record(self.name, self.batch, way, partial(self.race, stand_in))

    def race(self, stand_in: Cuda) -> Row:
        plan, expected = all_offloaded(self.traced), self.expected
        noise = difference(self.case.gradients(self.case.module), expected)
        with streams(stand_in), memory.apply(self.case.module, plan, self.traced):
            found = self.case.gradients(self.case.module)
        row = difference_row(difference(found, expected), noise, self.tolerance)
        return row | {"eager_error": f"{noise:.2g}"} | hidden_row(stand_in)

    def compare(self, wanted: list[str] | None) -> None:
        """Measure ways, by default those that suit the network and the device."""
        for way in wanted or self.default_ways():
            if way not in CHECKPOINTED or self.name not in NOT_SEQUENTIAL:
                self.recorder.record(self.name, self.batch, way, partial(self.row, way))

    def default_ways(self) -> list[str]:
        cuda = self.device.type == "cuda"
        found = ["eager", *CHECKPOINTED]
        if cuda and self.name in COMPILED:
            found += COMPILED_WAYS
        found += [*PLAIN_FITS, AT_CHECKPOINTING] if self.name not in NOT_SEQUENTIAL else PLAIN_FITS
        if cuda and self.name == "gpt-bf16":
            found.append(SEARCHED)
        if cuda and self.name != "lstm":
            found += [way for way in FITS if way.endswith("alone")]
        return found

    def row(self, way: str) -> Row | None:
        """Return the measurements of a way; None if eager steps, or those that set the budget, have no row."""
        module, expected = self.case.module, self.expected
        if way == "eager":
            noise = difference(self.case.gradients(module), expected)
            return self.case.measured(module) | {"gradient_error": f"{noise:.2g}"}
        eager = self.recorder.found(self.name, self.batch, "eager")
        if eager is None:
            return None
        if way in FITS:
            return self.fit(way, eager)
        with entered(way, module) as run:
            # Checkpointing updates the statistics of BatchNorm twice, so its error is no hard check.
            found = self.case.measured(run)
            if way.startswith("compiled"):  # its random numbers are others
                return found
            return found | {"gradient_error": f"{difference(self.case.gradients(run), expected):.2g}"}

    def fit(self, way: str, eager: dict[str, str]) -> Row | None:
        """Return the measurements of the plan of `memory.fit`."""
        share, settings = FITS[way]
        static, peak = int(eager["static_bytes"]), int(eager["peak_bytes"])
        if share is None:
            checkpointed = self.recorder.found(self.name, self.batch, CHECKPOINTED[0])
            if checkpointed is None:
                return None
            budget = int(checkpointed["peak_bytes"])
        else:
            budget = int(static + share * (peak - static))
        fitted = self.case.fitted(budget, **settings)
        row = self.under_plan(fitted, fitted.report, float(eager["gradient_error"]))
        limit, counts = fitted.budget_bytes, action_counts(fitted.report)
        if fitted.verified and row["peak_bytes"] > OVER * limit + OVER_BYTES:
            over = f"failed: a peak of {row['peak_bytes']} bytes although the budget was verified"
            row["status"] = "; ".join([over, *([row["status"]] if "status" in row else [])])
        if fitted.measured is not None:
            row["held_bytes"], row["predicted_held_bytes"] = fitted.measured.held_bytes, fitted.measured.predicted_bytes
        least = f"smallest budget with a plan, {budget} were asked for; " if limit != budget else ""
        return row | {
            "budget_bytes": limit,
            "verified": fitted.verified,
            "planning_seconds": f"{fitted.planned_seconds:.1f}",
            "details": f"{least}{counts}; {fitted.report.recomputes} recomputations",
        }

    def under_plan(self, context: AbstractContextManager[Any], report: Report, noise: float) -> Row:
        """Return what is measured, and what is simulated, of steps under a plan."""
        moved, copies = report.sent_bytes + report.fetched_bytes, Copies()
        module, expected = self.case.module, self.expected
        with context:
            error = difference(self.case.gradients(module), expected)
            found = self.case.measured(module)
            if moved:
                with streams(copies):
                    self.case.gradients(module, steps=1)
        found |= difference_row(error, noise, self.tolerance) | hidden_row(copies)
        return found | {
            "predicted_bytes": report.total_bytes,
            "predicted_milliseconds": f"{1e3 * report.seconds:.2f}",
            "moved_bytes": moved,
        }


def all_offloaded(traced: Trace) -> Plan:
    """Return the plan that offloads each storage with a backward need."""
    needs = Simulator(traced.graph).last_needs(memory.keep_all(traced.graph).actions)
    return Plan(tuple(Action.OFFLOAD if need >= 0 else Action.KEEP for need in needs), name="all offloaded")


def hidden_row(stand_in: Cuda) -> Row:
    """Return the share of copying time that overlaps computing, if copies were timed."""
    timed = isinstance(stand_in, Copies) and stand_in.pairs
    return {"hidden_share": f"{stand_in.hidden():.3f}"} if timed else {}  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
