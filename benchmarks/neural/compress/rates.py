"""How many numbers a second does each compression scheme encode and decode on this CPU?

    python -m benchmarks.neural.compress.rates [--numbers 4194304] [--repeats 10]

One simulated worker compresses a square matrix of heavy-tailed numbers by each scheme with its default options, on one
thread. Rates are millions of numbers a second of CPU time, the best of the repeats. `step` is everything that the hook
does, error feedback included. Rows go to results/compress_rates.csv.
"""

import math
import time
from collections.abc import Iterator

import torch

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.neural import compress
from lamcts.neural.compress.bucket import Clock

KEY = ("numbers", "scheme")
COLUMNS = (*KEY, "encode", "decode", "step", "versions")
STAGES = {"encode": ("pick", "encode"), "decode": ("decode",)}


def main() -> None:
    given = script.parser(__doc__, "compress_rates.csv", "a small matrix")
    given.add_argument("--numbers", type=int, default=2**22)
    given.add_argument("--repeats", type=int, default=10)
    arguments = script.parsed(given, numbers=2**10, repeats=2)
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.numbers, arguments.repeats):
        sheet.append(row)
        script.tell(sheet, row)


def measured(sheet: Sheet, numbers: int, repeats: int) -> Iterator[Row]:
    """Yield the rows that are not there yet."""
    side = math.isqrt(numbers)
    gradient = torch.randn(side, side, generator=torch.Generator().manual_seed(0)) ** 3
    for _, scheme in sheet.missing((numbers, name) for name in compress.SCHEMES):
        workers, times = compress.SimulatedWorkers(scheme, workers=1), list[dict[str, float]]()
        workers.state.clock = Clock(time.process_time)
        for _ in range(repeats):
            before, start = workers.report().seconds, time.process_time()
            workers.step([[gradient]])
            own, after = time.process_time() - start, workers.report().seconds
            took = {stage: after[stage] - before.get(stage, 0) for stage in after}
            sums = {name: sum(took.get(stage, 0) for stage in stages) for name, stages in STAGES.items()}
            times.append({"step": own} | {name: seconds for name, seconds in sums.items() if seconds})
        least = {name: min(one[name] for one in times) for name in times[0]}
        rates = {name: f"{gradient.numel() / seconds / 1e6:.3g}" for name, seconds in least.items()}
        yield {"numbers": numbers, "scheme": scheme, "versions": versions(("lamcts", "torch")), **rates}


if __name__ == "__main__":
    main()
