"""How large a share of a training step is the hook's own time, by batch size?

    python -m benchmarks.compress.hook_share [--batches 4 16 64]

A ResNet-8 of width 16 on CIFAR-10 images of 32 x 32 pixels and eight simulated workers, on one thread. A worker
compresses its own gradient and decompresses all payloads. `hook_ms` and `step_ms` are CPU times of one worker, the
least of the steps after the first; communication is not in them. Rows go to results/compress_hook_share.csv.
"""

from collections.abc import Iterator

import torch

from benchmarks.compress.accuracy import METHODS
from benchmarks.compress.tasks import Task, batches
from benchmarks.compress.training import MOMENTUM, WORKERS, Clock, by_worker, own_share
from benchmarks.evolve.networks import ResNet
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions

KEY = ("batch", "method")
COLUMNS = (*KEY, "numbers", "hook_ms", "step_ms", "share", "versions")
SHOWN = ("top-k 1 %, momentum", "shared top-k 3 %", "PowerSGD r1")
STEPS = 3  # the first is not timed


def main() -> None:
    given = script.parser(__doc__, "compress_hook_share.csv", "batches of 2 of digits")
    given.add_argument("--batches", type=int, nargs="+", default=[4, 16, 64])
    arguments = script.parsed(given, batches=[2])
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.batches, "digits" if arguments.smoke else "cifar10"):
        sheet.append(row)
        script.tell(sheet, row)


def measured(sheet: Sheet, sizes: list[int], data: str) -> Iterator[Row]:
    """Yield the rows of each batch size that is not there yet; the methods see the same gradients."""
    for batch in sizes:
        methods = [method for _, method in sheet.missing((batch, name) for name in SHOWN)]
        if methods:
            yield from rows(batch, methods, data)


def rows(batch: int, methods: list[str], data: str) -> Iterator[Row]:
    """Yield the rows of a batch size."""
    task = Task(data, lambda: ResNet(16, channels=1 if data == "digits" else 3), STEPS, batch, 0.1, side=None)
    torch.manual_seed(0)
    net, source = task.network(), batches(task, WORKERS, 0)
    exchanges = {name: METHODS[name].workers(WORKERS, 0) for name in methods}
    optimizer = torch.optim.SGD(net.parameters(), lr=task.rate, momentum=MOMENTUM)
    gradient_ms, hooks = list[float](), {name: list[float]() for name in methods}
    for _ in range(STEPS):
        clock = Clock()
        with clock("gradients"):
            gradients = by_worker(net, next(source))
        for name, exchange in exchanges.items():
            before = dict(exchange.report().seconds)
            with clock(name):
                means = exchange.step(gradients)
            spent = {stage: value - before.get(stage, 0.0) for stage, value in exchange.report().seconds.items()}
            hooks[name].append(1000 * clock.seconds[name] * own_share(spent, WORKERS))
        with clock("optimizer"):
            for parameter, mean in zip(net.parameters(), means, strict=True):
                parameter.grad = mean
            optimizer.step()
        gradient_ms.append(1000 * (clock.seconds["gradients"] / WORKERS + clock.seconds["optimizer"]))
    numbers = sum(one.numel() for one in net.parameters())
    for name in methods:
        hook = min(hooks[name][1:])
        step = hook + min(gradient_ms[1:])
        row = {"batch": batch, "method": name, "numbers": numbers, "hook_ms": f"{hook:.3g}", "step_ms": f"{step:.3g}"}
        yield row | {"share": f"{100 * hook / step:.1f}", "versions": versions(("lamcts", "torch"))}


if __name__ == "__main__":
    main()
