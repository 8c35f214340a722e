"""Which compression of gradients keeps the accuracy of fp32, and how many bits does it receive?

    python -m benchmarks.neural.compress.accuracy [--seeds 100-104] [--tasks digits mnist cifar10 text] [--table]

Eight simulated workers train a network with SGD, momentum 0.9: a convolutional network on scikit-learn's digits, one
on MNIST of 14 x 14 pixels, a ResNet-8 on the CIFAR-10 subset of 16 x 16 pixels, and a transformer on tinyshakespeare.
The last three need the folder LAMCTS_DATA. All methods of a seed begin with the same weights and see the same examples.
The learning rate is that of fp32.

`accuracy` is the percentage of correct test examples, of the text of the next characters. `bits` are those that a
worker receives for a number of the gradient in a step, as its group counts them; a ring all-reduce in fp32 takes 56.
--table prints means, paired differences with their limits, and the goals. Rows go to results/compress.csv.
"""

from collections.abc import Iterator

import torch

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.neural.compress import tables
from benchmarks.neural.compress.tasks import TASKS
from benchmarks.neural.compress.training import Method, falling, trained

KEY = ("task", "method", "seed", "steps")
COLUMNS = (*KEY, "accuracy", "bits", "versions")
SMOKE_STEPS = 3


METHODS = {
    "fp32 ring": Method("none"),
    "PowerSGD r1": Method("powersgd", {"rank": 1}),
    "PowerSGD r2": Method("powersgd", {"rank": 2}),
    "PowerSGD r4": Method("powersgd", {"rank": 4}),
    "top-k 1 %": Method("topk", {"keep": 0.01, "values": "range8"}),
    "top-k 1 %, momentum": Method("topk", {"keep": 0.01, "values": "range8"}, correction=True),
    "top-k 1.4 %, 4 bits, momentum": Method("topk", {"keep": 0.014, "values": "range4"}, correction=True),
    "top-k 0.8 %, momentum, warm-up": Method(
        "topk", {"keep": falling(0.1, 0.008, 8), "values": "range8"}, correction=True
    ),
    "shared top-k 3 %": Method("shared-topk", {"keep": 0.03, "values": "fp16"}),
    "FFT 15 %, no feedback": Method("fft", {"keep": 0.15, "values": "range10", "feedback": False}),
    "top-k 15 %, no feedback": Method("topk", {"keep": 0.15, "values": "range10", "feedback": False}),
    "QSGD 3 bits": Method("qsgd", {"bits": 3}),
    "TernGrad": Method("terngrad"),
}


def main() -> None:
    given = script.parser(__doc__, "compress.csv", "three steps of digits")
    script.many(given, "100-104")
    given.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    given.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS), metavar="METHOD")
    given.add_argument("--table", action="store_true", help="print tables of the rows that are there, run nothing")
    arguments = script.parsed(given, seeds=[0], tasks=["digits"])
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    steps = {name: SMOKE_STEPS if arguments.smoke else task.steps for name, task in TASKS.items()}
    keys = [
        (task, method, seed, steps[task])
        for seed in arguments.seeds
        for task in arguments.tasks
        for method in arguments.methods
    ]
    for row in measured(sheet, [] if arguments.table else keys):
        sheet.record(row)
    if arguments.table:
        print(tables.text([row for row in sheet.rows() if row["task"] in arguments.tasks]))


def measured(sheet: Sheet, keys: list[tuple[str, str, int, int]]) -> Iterator[Row]:
    """Yield the rows that are not there yet, seed by seed."""
    for name, method, seed, steps in sheet.missing(keys):
        found = trained(TASKS[name], METHODS[method], seed, steps=steps)
        yield {
            "task": name,
            "method": method,
            "seed": seed,
            "steps": steps,
            "accuracy": f"{found.accuracy:.3f}",
            "bits": f"{found.bits:.4g}",
            "versions": versions(("lamcts", "torch")),
        }


if __name__ == "__main__":
    main()
