"""CPU time of a training step at its real peak: our ways within a budget, checkpointing, and torch.compile's budget.

    python -m benchmarks.neural.memory.overhead [--networks gpt resnet small] [--ways eager "fit 0.5" ...]

One thread. Rows by way, in a process of its own each, which repeats eager steps in turn:
- "eager", "compiled": ordinary steps, and `torch.compile` with all that the backward pass needs saved.
- "checkpoint", "selective": each child of the network in `torch.utils.checkpoint`, keeping nothing or products.
- "compiled B": `torch.compile` with `activation_memory_budget=B`.
- "fit S", "fit_compiled S": `memory.fit` and `fit_compiled` with the budget of S times all of an eager step.

Compiled steps use the backend "aot_eager": graphs as eager kernels, so that planning is compared and not fusion; with
--backend inductor the kernels are compiled.

Columns: CPU milliseconds of a step (the least over rounds in which it takes turns with an eager one), of the eager one,
their ratio; and the real peak of a step in bytes: what it allocates above what was there before, gradients included.
"plan": what was planned, or why nothing was. Rows go to results/memory_overhead.csv.
"""

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import commit, versions
from benchmarks.neural.memory.networks import residual, transformer
from benchmarks.neural.memory.ways import checkpointed
from lamcts.neural import memory
from lamcts.neural.memory.execution.measure import measured_peak

SHARES = (0.8, 0.7, 0.6, 0.5)
BUDGETS = (0.5, 0.3, 0.1)
WAYS = (
    "eager",
    "checkpoint",
    "selective",
    "compiled",
    *(f"compiled {budget}" for budget in BUDGETS),
    *(f"{way} {share}" for way, share in product(("fit", "fit_compiled"), SHARES)),
)
WARM = 2  # steps before the ones that count
Call = Callable[[Tensor], Tensor]


class Case(NamedTuple):
    """One row; its fields are its key."""

    network: str
    way: str
    backend: str
    rounds: int


COLUMNS = (*Case._fields, "milliseconds", "eager_milliseconds", "ratio", "peak_bytes", "plan", "versions")
NETWORKS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "gpt": lambda: (transformer(4, 192, 4, 256), torch.randint(256, (4, 128))),
    "resnet": lambda: (residual(24, 6, 10), torch.randn(8, 3, 32, 32)),
    "small": lambda: (transformer(4, 64, 4, 11), torch.randint(11, (4, 32))),  # where host time shows
}


def main() -> None:
    given = script.parser(__doc__, "memory_overhead.csv", "three ways, two rounds")
    given.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    given.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS, metavar="NAME")
    given.add_argument("--backend", default="aot_eager")
    given.add_argument("--rounds", type=int, default=10)
    script.many(given, "0")
    ways = ["checkpoint", "fit 0.8", "fit_compiled 0.8"]
    arguments = script.parsed(given, networks=["small"], ways=ways, rounds=2)
    cases = [Case(*one, arguments.backend, arguments.rounds) for one in product(arguments.networks, arguments.ways)]
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    script.record(cases, sheet, "benchmarks.neural.memory.overhead:measure", arguments.jobs)


def measure(**fields: Any) -> Result:
    """Return the row of a way."""
    case = Case(**fields)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module, batch = NETWORKS[case.network]()
    plain = copy.deepcopy(module)
    row: dict[str, Any] = case._asdict() | {"versions": f"commit {commit()} {versions(('lamcts', 'torch'))}"}
    try:
        with entered(case, module, batch) as (call, plan):
            mine, eager = least((module, call), (plain, plain), batch, case.rounds)
            peak = measured_peak(module, call, batch, None, added=False)
    except ValueError as error:
        return row | {"plan": str(error)}, None
    times = {"milliseconds": f"{mine:.2f}", "eager_milliseconds": f"{eager:.2f}", "ratio": f"{mine / eager:.3f}"}
    return row | times | {"peak_bytes": peak, "plan": plan}, None


@contextmanager
def entered(case: Case, module: nn.Module, batch: Tensor) -> Iterator[tuple[Call, str]]:
    """Yield the callable of a way and what was planned."""
    from torch._functorch import config

    way, _, number = case.way.partition(" ")
    if way in ("checkpoint", "selective"):
        assert isinstance(module, nn.Sequential)
        children = module
        yield lambda one: checkpointed(children, way == "selective", one), ""
    elif way == "compiled":
        with config.patch(activation_memory_budget=float(number or 1)):
            yield torch.compile(module, backend=case.backend), ""
    elif way == "eager":
        yield module, ""
    else:
        whole = memory.fit(module, batch, "1TiB", machine=memory.Machine())
        budget = int(float(number) * (whole.measured_bytes or 0))
        if way == "fit":
            with memory.fit(module, batch, budget) as fitted:
                yield module, str(fitted.chosen.report)
        else:
            found = memory.fit_compiled(module, batch, budget, backend=case.backend)
            yield found.model, f"limit {found.limit_bytes}"


def least(
    one: tuple[nn.Module, Call], other: tuple[nn.Module, Call], batch: Tensor, rounds: int
) -> tuple[float, float]:
    """Return the least CPU milliseconds of a step of two modules, each called by its callable, in turn."""
    took = [(timed(*one, batch), timed(*other, batch)) for _ in range(WARM + rounds)][WARM:]
    return min(mine for mine, _ in took), min(eager for _, eager in took)


def timed(module: nn.Module, call: Call, batch: Tensor) -> float:
    """Return the CPU milliseconds of a step."""
    module.zero_grad()
    began = time.process_time()
    call(batch).sum().backward()
    return 1e3 * (time.process_time() - began)


if __name__ == "__main__":
    main()
