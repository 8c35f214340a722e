"""Which settings of compression are on the front of accuracy against received bits? A search by lamcts on digits.

    python -m benchmarks.neural.compress.tuning [--evaluations 60] [--seeds 100-101] [--figure FILE]

The search minimises the errors on the validation part and the logarithm of the received bits, over the scheme, its
kept share or rank, the bits of a value, the steps of warm-up (a kept share that falls from ten times its last value)
and momentum correction. Settings of its front are then trained with other seeds and judged on the test part, as is fp32
(`stage` is "search" or "test"). Network, data and workers are those of `accuracy.py`.

--figure draws both stages. Rows go to results/compress_front.csv; evaluations that have a row are not repeated.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.neural.compress import front_figure
from benchmarks.neural.compress.tasks import TASKS
from benchmarks.neural.compress.training import Method, Trained, falling, trained
from lamcts import Bool, Choice, Float, Int, Space

KEY = ("stage", "setting", "seed")
COLUMNS = (*KEY, "accuracy", "bits")
SEED = 0  # of the search
TOP = 10  # times the last kept share at the start of a warm-up
SPARSE = ["topk", "shared-topk"]
SPACE = Space(
    {
        "scheme": Choice([*SPARSE, "fft", "powersgd"]),
        "keep": Float(0.001, 0.1, log=True, when={"scheme": [*SPARSE, "fft"]}),
        "bits": Choice([4, 6, 8, 16], ordered=True, when={"scheme": ["topk", "fft"]}),
        "warmup": Int(0, 20, when={"scheme": [*SPARSE, "fft"]}),
        "correction": Bool(when={"scheme": SPARSE}),
        "rank": Int(1, 6, when={"scheme": "powersgd"}),
    }
)
Point = dict[str, Any]


def main() -> None:
    given = script.parser(__doc__, "compress_front.csv", "eight evaluations of two steps")
    script.many(given, "100-101")
    given.add_argument("--evaluations", type=int, default=60)
    given.add_argument("--figure", type=Path)
    arguments = script.parsed(given, seeds=[100], evaluations=8)
    torch.set_num_threads(1)
    sheet, steps = Sheet(arguments.out, KEY, COLUMNS), 2 if arguments.smoke else None
    search(sheet, arguments.evaluations, steps)
    for row in judged(sheet, arguments.seeds, steps):
        sheet.record(row)
    print(front_figure.table(sheet.rows()))
    if arguments.figure:
        front_figure.draw(sheet.rows(), arguments.figure)


def search(sheet: Sheet, evaluations: int, steps: int | None) -> None:
    """Search on from the rows that are there, up to so many evaluations."""

    def evaluate(point: Point) -> dict[str, float]:
        found = trained(TASKS["digits"], method(point), SEED, steps=steps, part="valid")
        row = row_of("search", text(point), SEED, found)
        sheet.record(row)
        return values(row)

    known = [(json.loads(row["setting"]), values(row)) for row in sheet.rows() if row["stage"] == "search"]
    if len(known) < evaluations:
        left = evaluations - len(known)
        lamcts.minimize(evaluate, SPACE, budget=left, seed=len(known), objectives=["error", "log_bits"], known=known)


def judged(sheet: Sheet, seeds: list[int], steps: int | None) -> Iterator[Row]:
    """Yield the rows of fp32 and of the front on the test part that are not there yet."""
    settings = {text({}): Method("none")} | {text(point): method(point) for point in front(sheet.rows())}
    for stage, setting, seed in sheet.missing(("test", name, seed) for seed in seeds for name in settings):
        found = trained(TASKS["digits"], settings[setting], seed, steps=steps)
        yield row_of(stage, setting, seed, found)


def front(rows: list[dict[str, str]]) -> list[Point]:
    """Return the settings that no other beats in both objectives of the search."""
    found = [(values(row), row["setting"]) for row in rows if row["stage"] == "search"]
    best: list[Point] = []
    least = math.inf
    for value, setting in sorted(found, key=lambda one: (one[0]["log_bits"], one[0]["error"])):
        if value["error"] < least:
            least = value["error"]
            best.append(json.loads(setting))
    return best


def row_of(stage: str, setting: str, seed: int, found: Trained) -> Row:
    numbers = {"accuracy": f"{found.accuracy:.3f}", "bits": f"{found.bits:.4g}"}
    return {"stage": stage, "setting": setting, "seed": seed, **numbers}


def values(row: Row) -> dict[str, float]:
    """Return the objectives of a row."""
    return {"error": 100 - float(row["accuracy"]), "log_bits": math.log2(float(row["bits"]))}


def method(point: Point) -> Method:
    """Return the method of a point."""
    options: dict[str, Any] = {"rank": point["rank"]} if "rank" in point else {"keep": point["keep"]}
    if point.get("warmup"):
        options["keep"] = falling(min(1.0, TOP * point["keep"]), point["keep"], point["warmup"])
    if "bits" in point:
        options["values"] = "fp16" if point["bits"] == 16 else f"range{point['bits']}"
    return Method(point["scheme"], options, point.get("correction", False))


def text(point: Point) -> str:
    """Return a point as JSON."""
    return json.dumps(point, sort_keys=True)


if __name__ == "__main__":
    main()
