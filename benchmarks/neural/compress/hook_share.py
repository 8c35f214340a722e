"""How large a share of a training step is the hook's own time, by method and batch size?

    python -m benchmarks.neural.compress.hook_share [--settings NAME ...]

The settings are the tasks of `accuracy.py`, and a ResNet-8 of width 16 on CIFAR-10 images of 32 x 32 pixels with 16 and
64 examples a worker. Of eight simulated workers, one compresses its own gradient and decompresses all payloads:
`hook_ms`. `step_ms` is the CPU time of a worker's step on one thread, hook included, communication not. Both are the
least of the steps after the first. Rows go to results/compress_hook_share.csv.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.neural.compress.accuracy import METHODS
from benchmarks.neural.compress.tasks import TASKS, Task, batches
from benchmarks.neural.compress.training import MOMENTUM, WORKERS, by_worker
from benchmarks.neural.evolve.networks import ResNet
from lamcts.neural import compress
from lamcts.neural.compress.bucket import Clock

KEY = ("setting", "method")
COLUMNS = (*KEY, "numbers", "hook_ms", "step_ms", "share", "versions")
STEPS = 4  # the first is not timed
WIDE = {
    f"ResNet-8, batch {batch}": Task("cifar10", lambda: ResNet(16), STEPS, batch, 0.1, side=32) for batch in (16, 64)
}
SETTINGS = {f"{name}, batch {task.batch}": task for name, task in TASKS.items()} | WIDE


def main() -> None:
    given = script.parser(__doc__, "compress_hook_share.csv", "digits alone")
    given.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS), metavar="NAME")
    arguments = script.parsed(given, settings=["digits, batch 16"])
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.settings:
        methods = [method for _, method in sheet.missing((name, method) for method in METHODS if method != "fp32 ring")]
        for row in rows(name, methods) if methods else ():
            sheet.record(row)


def rows(setting: str, methods: list[str]) -> Iterator[Row]:
    """Yield the rows of a setting; the methods compress the same gradients."""
    task = SETTINGS[setting]
    torch.manual_seed(0)
    net, source = task.network(), batches(task, WORKERS, 0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=MOMENTUM)
    exchanges = {name: METHODS[name].workers(WORKERS, 0) for name in methods}
    for exchange in exchanges.values():
        exchange.state.clock = Clock(time.process_time)
    training, hooks = list[float](), {name: list[float]() for name in methods}
    for _ in range(STEPS):
        gradients, seconds = timed(lambda: by_worker(net, next(source)))
        for name, exchange in exchanges.items():
            hooks[name].append(own_seconds(exchange, gradients))
        for parameter, one in zip(net.parameters(), gradients[0], strict=True):
            parameter.grad = one
        training.append(seconds / WORKERS + timed(optimizer.step)[1])
    for name in methods:
        hook = 1000 * min(hooks[name][1:])
        step = hook + 1000 * min(training[1:])
        row = {"setting": setting, "method": name, "numbers": sum(one.numel() for one in net.parameters())}
        row |= {"hook_ms": f"{hook:.3g}", "step_ms": f"{step:.3g}", "share": f"{100 * hook / step:.1f}"}
        yield row | {"versions": versions(("lamcts", "torch"))}


def own_seconds(exchange: compress.SimulatedWorkers, gradients: list[list[torch.Tensor | None]]) -> float:
    """Return the CPU seconds of one worker: a share of all but the decoding, and all of that."""
    before = dict(exchange.report().seconds)
    _, whole = timed(lambda: exchange.step(gradients))
    after = exchange.report().seconds
    send, decode = (after.get(stage, 0.0) - before.get(stage, 0.0) for stage in ("send", "decode"))
    return (whole - send - decode) / WORKERS + decode


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


if __name__ == "__main__":
    main()
