"""What do plans, checkpointing and the partitioner's budget cost on a GPU: peak memory and milliseconds a step?

    python -m benchmarks.memory.gpu [--networks resnet50 ...] [--ways eager "ours 0.4" ...] [--minutes 9]

Rows by network and way: peak of allocated memory in a step (with parameters and gradients), median milliseconds of a
step, simulated values of our plans, bytes moved to and from the host, and the share of copying time that overlaps
computing, by events on both streams. `--minutes` ends the script between two rows; run it again for the others. With
`--device cpu` copies are synchronous and peaks are empty: a check that it runs. Rows go to results/memory_gpu.csv.
"""

import gc
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.memory.networks import FULL, SMALL
from benchmarks.memory.ways import entered, planned, ways
from lamcts.neural.memory import Machine, Plan, Simulator
from lamcts.neural.memory.execution.link import STREAMS, Cuda
from lamcts.neural.trace import Trace, trace

BATCHES = {"alexnet": 512, "resnet50": 128, "resnet152": 64, "densenet121": 64, "transformer12": 8}
KEY = ("device", "network", "batch", "way")
COLUMNS = (
    *KEY,
    "status",
    "peak_bytes",
    "milliseconds",
    "predicted_bytes",
    "moved_bytes",
    "hidden_share",
    "planning_seconds",
    "versions",
)
WARM = 3  # warm-up steps: kernels are loaded, graphs compiled, memory is pinned
TIMED = 10


def main() -> None:
    given = script.parser(__doc__, "memory_gpu.csv", "two small networks, a few ways, on the CPU")
    given.add_argument("--networks", nargs="*", default=list(BATCHES), choices=[*FULL, *SMALL])
    given.add_argument("--ways", nargs="*", default=ways(), choices=ways())
    given.add_argument("--batch", type=int, help="another batch than the network's own")
    given.add_argument("--minutes", type=float, default=9.0, help="begin no row after so many")
    given.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    few = ["eager", "full checkpointing", "selective checkpointing", "ours offload", "ours 0.6"]
    arguments = script.parsed(given, networks=["resnet", "transformer"], ways=few, device="cpu")
    ends = time.monotonic() + 60 * arguments.minutes
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    device = torch.device(arguments.device)
    label = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    for name in arguments.networks:
        batch = arguments.batch or BATCHES.get(name, 2)
        for way in arguments.ways:
            if sheet.missing([(label, name, batch, way)]) and time.monotonic() < ends:
                key = dict(zip(KEY, (label, name, batch, way), strict=True))
                row = key | measured(name, batch, way, device) | {"versions": versions(("lamcts", "torch"))}
                sheet.append(row)
                script.tell(sheet, row)


def measured(name: str, batch: int, way: str, device: torch.device) -> Row:
    """Return the measurements of a way; "out of memory" is a status."""
    try:
        module, examples = made(name, batch, device)
        traced, plan, row = None, None, {}
        if way.startswith("ours"):
            traced = trace(module, examples)
            began = time.process_time()
            plan = planned(way, traced)
            row = {"planning_seconds": f"{time.process_time() - began:.2f}"}
            if plan is None:
                return row | {"status": "no plan"}
            row |= predicted(traced, plan)
        with watched(device) as copies, entered(way, module, traced, plan) as run:
            took = [timed(module, run, examples, device, copies) for _ in range(WARM + TIMED)][WARM:]
        peak = {"peak_bytes": torch.cuda.max_memory_allocated(device)} if device.type == "cuda" else {}
        hidden = {"hidden_share": f"{copies.hidden():.3f}"} if copies.pairs else {}
        return row | peak | hidden | {"status": "ok", "milliseconds": f"{statistics.median(took):.2f}"}
    except torch.OutOfMemoryError:
        return {"status": "out of memory"}
    finally:
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def made(name: str, batch: int, device: torch.device) -> tuple[nn.Sequential, Tensor]:
    torch.manual_seed(0)
    module, examples = FULL[name](batch) if name in FULL else SMALL[name]()
    examples = torch.randn_like(examples) if examples.is_floating_point() else examples
    return module.to(device), examples.to(device)  # type: ignore[return-value]


def predicted(traced: Trace, plan: Plan) -> Row:
    cost = Simulator(traced.graph, Machine()).cost(plan.actions)
    total = cost.peak_bytes + traced.graph.outside_bytes
    return {"predicted_bytes": total, "moved_bytes": cost.sent_bytes + cost.fetched_bytes}


def timed(module: nn.Module, run: Any, examples: Tensor, device: torch.device, copies: "Copies") -> float:
    """Return the milliseconds of a step; reset peak and copies first."""
    module.zero_grad()
    copies.clear()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    run(examples).float().sum().backward()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return 1e3 * (time.perf_counter() - began)


class Copies(Cuda):
    """CUDA streams whose copies, and the waits of the computing stream, are timed by events.

    pairs: begin and end of each copy. waits: of each wait.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self.waits: list[tuple[Any, Any]] = []

    def current(self, device: torch.device) -> Any:
        return Waiting(super().current(device), self.waits)

    def copy(self, target: Tensor, source: Tensor, stream: Any) -> Any:
        begin = stream.record_event(torch.cuda.Event(enable_timing=True))
        done = super().copy(target, source, stream)
        self.pairs.append((begin, stream.record_event(torch.cuda.Event(enable_timing=True))))
        return done

    def uses(self, tensor: Tensor, stream: Any) -> None:
        super().uses(tensor, getattr(stream, "stream", stream))

    def hidden(self) -> float:
        """Return the share of the copying time without waits."""
        copied, waited = (sum(a.elapsed_time(b) for a, b in pairs) for pairs in (self.pairs, self.waits))
        return 1 - min(waited / copied, 1) if copied else 1.0


class Waiting:
    """A stream that records its waits."""

    def __init__(self, stream: Any, waits: list[tuple[Any, Any]]) -> None:
        self.stream, self.waits = stream, waits

    def record_event(self) -> Any:
        return self.stream.record_event()

    def wait_event(self, event: Any) -> None:
        begin = self.stream.record_event(torch.cuda.Event(enable_timing=True))
        self.stream.wait_event(event)
        self.waits.append((begin, self.stream.record_event(torch.cuda.Event(enable_timing=True))))


@contextmanager
def watched(device: torch.device) -> Iterator[Copies]:
    """Time copies inside a `with` block, on devices with streams."""
    copies, before = Copies(), STREAMS["cuda"]
    STREAMS["cuda"] = copies if device.type == "cuda" else before
    try:
        yield copies
    finally:
        STREAMS["cuda"] = before


if __name__ == "__main__":
    main()
