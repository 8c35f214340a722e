"""How much host time does carrying out a plan add to a training step? On the CPU.

    python -m benchmarks.neural.memory.overhead [--networks transformer resnet ...] [--ways eager keep half checkpoint]

One thread. A network is small, so that host time shows, or as published. Rows by way:
- "eager": ordinary steps.
- "keep": a plan that keeps everything.
- "half": the greedy plan at half the peak of activations, without offloading, as host and device share one memory.
- "least": the greedy plan at the least share of that peak, in steps of 5 % from 10 %, that such a plan reaches.
- "checkpoint": each child of the network in `torch.utils.checkpoint`.
- "equal": the searched plan of least time whose real peak is at most that of "checkpoint".
- "equal, hostless": the same, but the search counts no host time: on the default machine.

Plans but the last are for the measured machine, see `memory.measured_machine`.

Columns: CPU milliseconds of a step (the least over rounds in which the ways take turns), modelled on the measured
machine, and of the first under a plan, the share over eager, microseconds over eager for each operation of an eager
step, recomputations, and the real peak of storages in bytes without parameters, their gradients and the batch. The
time of recomputations is in all of these.

Rows go to results/memory_overhead.csv.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.neural.memory.alive import Lives
from benchmarks.neural.memory.networks import FULL, resnet, transformer
from benchmarks.neural.memory.ways import checkpointed
from lamcts.neural import memory
from lamcts.neural.memory import Action, Machine, Plan, Simulator, measured_machine
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.trace import Trace, trace

WAYS = ("eager", "keep", "half", "least", "checkpoint", "equal", "equal, hostless")
UNPLANNED = ("eager", "checkpoint")
STAYING = tuple(one for one in Action if "offload" not in one.word)  # host and device share one memory here
SHARES = tuple(one / 100 for one in range(10, 100, 5))
TRIES = 4  # budgets of "equal": real peaks may be above simulated ones
STEPS = 4  # of a way in a round; the first one is apart
KEY = ("network", "batch", "way")
COLUMNS = (
    *KEY,
    "operations",
    "milliseconds",
    "modelled_milliseconds",
    "first_milliseconds",
    "over_eager",
    "microseconds_per_operation",
    "recomputations",
    "peak_bytes",
    "versions",
)
Step = Callable[[], None]


def words(rows: int, length: int) -> Tensor:
    """Return a batch of random words."""
    return torch.randint(11, (rows, length))


NETWORKS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "transformer": lambda: (transformer(12, 64, 4, 11), words(4, 32)),
    "transformer, wider": lambda: (transformer(12, 256, 4, 11), words(4, 64)),
    "resnet": lambda: (resnet((2, 2, 2, 2), 8, 10), torch.randn(4, 3, 32, 32)),
    "transformer12": lambda: FULL["transformer12"](1),
}


def main() -> None:
    given = script.parser(__doc__, "memory_overhead.csv", "one small network, two rounds")
    given.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    given.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    given.add_argument("--rounds", type=int, default=10)
    arguments = script.parsed(given, networks=["transformer"], ways=["eager", "keep", "checkpoint"], rounds=2)
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.networks:
        torch.manual_seed(0)
        module, batch = NETWORKS[name]()
        if sheet.missing([(name, len(batch), way) for way in arguments.ways]):
            for row in compared(module, batch, arguments.ways, arguments.rounds):
                row |= {"network": name, "batch": len(batch), "versions": versions(("lamcts", "torch"))}
                if sheet.missing([(name, len(batch), row["way"])]):
                    sheet.record(row)


def compared(module: nn.Module, batch: Tensor, ways: list[str], rounds: int) -> list[Row]:
    """Return a row for each way; in each round all ways run once, in turn."""
    traced = trace(module, batch)
    operations = operations_of(module, batch)
    plans = {way: planned(way, module, batch, traced) for way in ways}
    ways = [way for way in ways if plans[way] is not None or way in UNPLANNED]
    took: dict[str, list[float]] = {way: [] for way in ways}
    firsts: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            first, *others = timed(module, batch, way, plans[way], traced)
            firsts[way].append(first)
            took[way] += others
    milliseconds = {way: min(some) for way, some in took.items()}
    return [
        {
            "way": way,
            "operations": operations,
            "milliseconds": f"{milliseconds[way]:.2f}",
            **(over(milliseconds[way], milliseconds["eager"], operations) if "eager" in milliseconds else {}),
            **modelled(traced, plans[way]),
            "peak_bytes": peak(module, batch, way, plans[way], traced),
            "first_milliseconds": f"{min(firsts[way]):.2f}",
        }
        for way in ways
    ]


def over(milliseconds: float, eager: float, operations: int) -> Row:
    extra = milliseconds - eager
    return {"over_eager": f"{extra / eager:.3f}", "microseconds_per_operation": f"{1e3 * extra / operations:.2f}"}


def modelled(traced: Trace, plan: Plan | None) -> Row:
    """Return the recomputations of a plan in a step, and its time on the measured machine."""
    if plan is None:
        return {"recomputations": "", "modelled_milliseconds": ""}
    cost = Simulator(traced.graph, measured_machine()).cost(plan.actions)
    return {"recomputations": cost.recomputes, "modelled_milliseconds": f"{1e3 * cost.seconds:.2f}"}


def planned(way: str, module: nn.Module, batch: Tensor, traced: Trace) -> Plan | None:
    """Return the plan of a way; None for a way without a plan."""
    if way in UNPLANNED:
        return None
    if way.startswith("equal"):
        return equal(module, batch, traced, Machine() if "hostless" in way else measured_machine())
    everything = memory.keep_all(traced.graph)
    if way == "keep":
        return everything
    whole = Simulator(traced.graph).cost(everything.actions).peak_bytes
    shares = (0.5, *SHARES) if way == "half" else SHARES
    found = (memory.greedy(traced.graph, int(share * whole), measured_machine(), choices=STAYING) for share in shares)
    return next(plan for plan in found if plan is not None)


def equal(module: nn.Module, batch: Tensor, traced: Trace, machine: Machine) -> Plan | None:
    """Return the plan of least time with at most the real peak of checkpointing; None if none is found."""
    room = most = peak(module, batch, "checkpoint", None, traced)
    words, outside = tuple(one.word for one in STAYING), traced.graph.outside_bytes
    starts: tuple[Plan, ...] = ()
    for _ in range(TRIES):
        try:
            plan = least_time(
                traced.graph, room + outside, evaluations=0, machine=machine, options=words, starts=starts
            )
        except ValueError:
            return None
        over = peak(module, batch, "equal", plan, traced) - most
        if over <= 0:
            return plan
        room, starts = room - over, (plan,)
    return None


def stepped(stack: ExitStack, module: nn.Module, batch: Tensor, way: str, plan: Plan | None, traced: Trace) -> Step:
    """Return a training step of a way, inside the contexts that it needs."""
    if plan is not None:
        stack.enter_context(memory.apply(module, plan, traced))

    def step() -> None:
        total(module, batch, way).backward()  # type: ignore[no-untyped-call]
        module.zero_grad()

    return step


def total(module: nn.Module, batch: Tensor, way: str) -> Tensor:
    """Return the sum of the output."""
    if way == "checkpoint" and isinstance(module, nn.Sequential):
        output: Tensor = checkpointed(module, False, batch)
    else:
        output = module(batch)
    return output.sum()


def timed(module: nn.Module, batch: Tensor, way: str, plan: Plan | None, traced: Trace) -> list[float]:
    """Return the CPU milliseconds of each step."""
    took = []
    with ExitStack() as stack:
        step = stepped(stack, module, batch, way, plan, traced)
        for _ in range(STEPS):
            began = time.process_time()
            step()
            took.append(1e3 * (time.process_time() - began))
    return took


def peak(module: nn.Module, batch: Tensor, way: str, plan: Plan | None, traced: Trace) -> int:
    """Return the most bytes of storages during a second step, without parameters, gradients and the batch."""
    with ExitStack() as stack:
        lives = Lives()
        module.zero_grad(set_to_none=False)
        step = stepped(stack, module, batch, way, plan, traced)
        step()
        stack.enter_context(lives)
        outside = [*module.parameters(), *module.buffers(), batch]
        lives.see(outside)
        total(module, batch, way).backward()  # type: ignore[no-untyped-call]
        gradients = [one.grad for one in module.parameters() if one.grad is not None]
        found = lives.peak([*outside, *gradients])
    module.zero_grad()
    return found


class Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count the operations of a step."""

    count: int = 0

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations_of(module: nn.Module, batch: Tensor) -> int:
    """Return the number of operations of a training step, views included."""
    calls = Calls()  # type: ignore[no-untyped-call]
    with calls:
        module(batch).sum().backward()
    module.zero_grad()
    return calls.count


if __name__ == "__main__":
    main()
