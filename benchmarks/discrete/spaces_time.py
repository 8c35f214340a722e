"""What does a proposal cost in spaces with thousands of options, and in conditional ones? CPU milliseconds, one thread.

    python -m benchmarks.discrete.spaces_time [--cases options-10000 ...] [--code NAME]

The default search proposes until there are `rows` results. The goals: at most 500 ms an ask for any number of options,
and at most 100 ms a proposal where eight parameters depend on each other, in batches of 50. `code` names the code in
the rows: `before` is commit 08f7bb4, run with the same script. Rows go to results/spaces_time.csv.
"""

import math
import time
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from lamcts import Box, Choice, Float, Int, Optimizer, Space

KEY = ("case", "columns", "batch", "rows", "code")
COLUMNS = (*KEY, "ms_a_proposal", "worst_ms_a_proposal", "tell_ms")
# what the optimiser is told: of a loss, a quantity under a constraint, a second loss
TOLD: dict[str, dict[str, Any]] = {
    "loss": {},
    "constraint": {"objectives": {"loss": "min"}, "constraints": ["cost <= 1"]},
    "objectives": {"objectives": {"loss": "min", "cost": "min"}},
}


class Case(NamedTuple):
    case: str
    columns: str
    batch: int
    rows: int


CASES = (
    *(Case(f"options-{count}", "loss", 1, 60) for count in (100, 1000, 3000, 10_000)),
    Case("two-options-10000", "loss", 1, 60),
    Case("conditional-options-10000", "loss", 1, 60),
    *(Case("conditional-8", columns, 50, 200) for columns in TOLD),
    *(Case("box-10", columns, 1, 200) for columns in TOLD),
)


def main() -> None:
    given = script.parser(__doc__, "spaces_time.csv", "two tiny cases, to see that the script runs")
    given.add_argument("--cases", nargs="+", default=[case.case for case in CASES])
    given.add_argument("--code", default="now")
    arguments = script.parsed(given, cases=["options-1000", "conditional-8"])
    measure(CASES[0]._replace(rows=20))  # loads what loads late
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    cases = [case for case in CASES if case.case in arguments.cases]
    if arguments.smoke:
        cases = [case._replace(rows=15, batch=min(case.batch, 5)) for case in cases]
    for wanted in sheet.missing((*case, arguments.code) for case in cases):
        row = measure(Case(*wanted[:-1])) | {"code": arguments.code}
        sheet.append(row)
        script.tell(sheet, row)


def space_of(name: str) -> Any:
    """Return the space of a case."""
    count = int(name.rpartition("-")[2])
    words = [f"word {i}" for i in range(count)]
    if name.startswith("box"):
        return Box(-5, 5, dim=count)
    if name.startswith("two-options"):
        return Space({"a": Choice(words), "b": Choice(words)})
    if name.startswith("conditional-options"):
        some = {"a": words[:50]}
        return Space({"a": Choice(words), "x": Float(0, 1, when=some), "k": Int(1, 9, when=some)})
    if name.startswith("options"):
        return Space({"a": Choice(words), "x": Float(0, 1)})
    return _conditional()


def _conditional() -> Space:
    """Return eight parameters, five of which depend on others."""
    kinds = {"first": Choice(list("abc")), "second": Choice(list("xyz")), "always": Float(0, 1)}
    return Space(
        {
            **kinds,
            "r1": Float(0, 1, when={"first": "a"}),
            "r2": Float(0, 1, when={"first": "b"}),
            "r3": Float(1e-3, 1, log=True, when={"second": "x"}),
            "k1": Int(1, 100, when={"first": ["b", "c"]}),
            "k2": Int(1, 8, when={"second": ["y", "z"]}),
        }
    )


def measure(case: Case) -> Row:
    """Return what the proposals of one run cost."""
    optimizer = Optimizer(space_of(case.case), seed=0, **TOLD[case.columns])
    asks, tells, rows = list[float](), 0.0, 0
    while rows < case.rows:
        began = time.process_time()
        trials = optimizer.ask(case.batch)
        asks.append((time.process_time() - began) / len(trials))
        rows += len(trials)
        results = [_told(trial.point, case.columns) for trial in trials]
        began = time.process_time()
        for trial, result in zip(trials, results, strict=True):
            optimizer.tell(trial, result)
        tells += time.process_time() - began
    spent = {"ms_a_proposal": _ms(sum(asks) / len(asks)), "worst_ms_a_proposal": _ms(max(asks))}
    return {**case._asdict(), **spent, "tell_ms": _ms(tells / rows)}


def _told(point: Any, columns: str) -> Any:
    values = point.values() if isinstance(point, Mapping) else point
    loss = sum(map(_worth, values))
    return loss if columns == "loss" else {"loss": loss, "cost": 2.5 - loss}


def _worth(value: Any) -> float:
    """Return a loss of one value; options have losses that nothing foretells."""
    if isinstance(value, str):
        return zlib.crc32(value.encode()) % 1000 / 1000
    return math.log10(value) if value > 1 else (float(value) - 0.3) ** 2


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 2)


if __name__ == "__main__":
    main()
