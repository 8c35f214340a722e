"""How large a batch, and how deep a ResNet, can be trained in 12 GB? (thesis tables 8.4 and 8.5)

    python -m benchmarks.neural.memory.gpu_limits [--networks resnet50 ...] [--ways eager ours] [--gigabytes 12]

By doubling, then bisection, to a sixteenth. Ways: "eager", "full checkpointing", and "ours": the thesis's plan, or the
offloading of everything, whichever has the lowest peak. With `--device cuda` the allocator is capped and steps are run;
with `--device cpu` a step fits where the simulated peak does (accounting "traced", parameters and gradients included;
"full checkpointing" is `checkpoint_plans.checkpointing`), and no step is run: workspaces, fragmentation and rounding
are left out. A search that `--minutes` cut short starts again. Rows go to results/memory_gpu_limits.csv.
"""

import gc
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from benchmarks.neural.memory.gpu_networks import entered
from benchmarks.neural.memory.networks import FULL, images, resnet
from lamcts.neural import memory
from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory import Plan, Simulator
from lamcts.neural.memory.checkpoint_plans import checkpointing
from lamcts.neural.trace import Trace, trace

GB = 2**30
WAYS = ("eager", "full checkpointing", "ours")
THESIS = {"alexnet": 1792, "resnet50": 384, "resnet152": 176, "deep": 1920}  # SuperNeurons, 12 GB
SECOND = {"alexnet": 1408, "resnet50": 128, "resnet152": 48, "deep": 592}  # best competitor in the thesis, TensorFlow
DEEP = (6, 32, 6)  # blocks of the stages that table 8.4 fixes; the third varies
DEEP_BATCH = 16
START = {"alexnet": 256, "resnet50": 32, "resnet152": 16, "densenet121": 16, "transformer12": 2, "deep": 32, "small": 4}
STEP = 16  # resolution of the search, relative to the largest size that fits
KEY = ("device", "gigabytes", "network", "way")
COLUMNS = (*KEY, "largest", "thesis", "thesis_second", "tried", "versions")

Made = tuple[nn.Sequential, Tensor]


def main() -> None:
    given = script.parser(__doc__, "memory_gpu_limits.csv", "a small ResNet in a megabyte, on the CPU")
    given.add_argument("--networks", nargs="*", default=list(START)[:-1], choices=START)
    given.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    given.add_argument("--gigabytes", type=float, default=12.0)
    given.add_argument("--minutes", type=float, default=9.0, help="begin no trial after so many")
    given.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    arguments = script.parsed(given, networks=["small"], gigabytes=1 / 1024, device="cpu")
    ends = time.monotonic() + 60 * arguments.minutes
    cuda = arguments.device == "cuda"
    if cuda:
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(arguments.gigabytes * GB / whole, 1.0))
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    label = torch.cuda.get_device_name() if cuda else "cpu"
    for name in arguments.networks:
        for way in arguments.ways:
            key = (label, arguments.gigabytes, name, way)
            if sheet.missing([key]) and time.monotonic() < ends:
                fits = trained(name, way) if cuda else simulated(name, way, int(arguments.gigabytes * GB))
                found = largest(fits, START[name], ends)
                if found:
                    row = dict(zip(KEY, key, strict=True)) | told(name, *found)
                    sheet.record(row | {"versions": versions(("lamcts", "torch"))})


def told(name: str, size: int, tried: int) -> dict[str, int]:
    largest = 3 * (sum(DEEP) + size) + 2 if name == "deep" and size else size
    thesis = {"thesis": THESIS[name], "thesis_second": SECOND[name]} if name in THESIS else {}
    return {"largest": largest, "tried": tried, **thesis}


def largest(fits: Callable[[int], bool], start: int, ends: float) -> tuple[int, int] | None:
    """Return the largest size that fits (0: none) and the number of trials; None if time ran out."""
    low, high, size, tried = 0, 0, start, 0
    while not high or high - low > max(1, low // STEP):
        if time.monotonic() > ends:
            return None
        tried += 1
        if fits(size):
            low = size
        else:
            high = size
        if high == 1:
            return 0, tried
        size = (low + high) // 2 if high else 2 * low
    return low, tried


def made(name: str, size: int) -> Made:
    """Return a network and a batch of a size; for "deep", the size is the number of blocks in the third stage."""
    if name == "deep":
        first, second, last = DEEP
        return resnet((first, second, size, last)), images(DEEP_BATCH)  # type: ignore[return-value]
    if name == "small":
        return resnet((1, 1), 4, 5), images(size, 32)  # type: ignore[return-value]
    return FULL[name](size)  # type: ignore[return-value]


def simulated(name: str, way: str, budget: int) -> Callable[[int], bool]:
    """Return whether a size fits by simulation."""

    def fits(size: int) -> bool:
        with FakeTensorMode():
            module, batch = made(name, size)
        traced = trace(module, batch)
        plan = {"eager": memory.keep_all, "full checkpointing": checkpointing}.get(way, lowest)(traced.graph)
        return Simulator(traced.graph).cost(plan.actions).peak_bytes + traced.graph.outside_bytes <= budget

    return fits


def trained(name: str, way: str) -> Callable[[int], bool]:
    """Return whether two steps of a size run."""

    def fits(size: int) -> bool:
        try:
            module, batch = made(name, size)
            module, batch = module.cuda(), batch.cuda()
            traced = trace(module, batch) if way == "ours" else None
            two_steps(module, batch, way, traced)
        except torch.OutOfMemoryError:
            return False
        finally:
            module = batch = traced = None  # type: ignore[assignment]
            gc.collect()
            torch.cuda.empty_cache()
        return True

    return fits


def two_steps(module: nn.Sequential, batch: Tensor, way: str, traced: Trace | None) -> None:
    ours = nullcontext(module) if traced is None else memory.apply(module, lowest(traced.graph), traced)
    with ours, entered("eager" if traced else way, module) as run:
        for _ in range(2):
            module.zero_grad()
            run(batch).float().sum().backward()
    torch.cuda.synchronize()


def lowest(graph: StepGraph) -> Plan:
    """Return the plan with the lowest peak among the thesis's and offloading everything."""
    simulator = Simulator(graph)
    everything = (memory.Action.OFFLOAD_AGAIN,) * len(graph.movable)
    plans = [allowed(simulator, memory.preset(name, graph)) for name in ("memory", "cost-aware")]
    plans.append(Plan(everything, name="all offloaded"))
    return min(plans, key=lambda plan: simulator.cost(plan.actions).peak_bytes)


def allowed(simulator: Simulator, plan: Plan) -> Plan:
    """Return the plan; storages that cannot be recomputed are kept."""
    keep = memory.Action.KEEP
    pairs = zip(plan.actions, simulator.tables.recomputable, strict=True)
    actions = (keep if one.word.startswith("recompute") and not free else one for one, free in pairs)
    return Plan(tuple(actions), plan.frees, plan.name)


if __name__ == "__main__":
    main()
