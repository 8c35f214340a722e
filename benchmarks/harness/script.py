"""The options that all scripts share: --out, the CSV under results/, and --smoke, a tiny run into a temporary file."""

import argparse
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.pool import Pool
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.harness.task import Row, seeds_of


def parser(about: str | None, out: Path | str, smoke: str) -> argparse.ArgumentParser:
    """Return a parser of --out, by default `out` in the folder of the results, and of --smoke, which `smoke` explains.

    Where `out` is a folder, --smoke puts a temporary one in its place.
    """
    result = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--out", type=Path, default=RESULTS / out, metavar="FILE" if Path(out).suffix else "DIR")
    result.add_argument("--smoke", action="store_true", help=smoke)
    return result


def many(given: argparse.ArgumentParser, seeds: str) -> None:
    """Add what scripts of many runs take: --seeds, in words, and --jobs."""
    given.add_argument("--seeds", nargs="+", default=[seeds], help=f"such as 3, 100-104, table; default: {seeds}")
    given.add_argument("--jobs", type=int, default=1, help="runs at a time")


def parsed(given: argparse.ArgumentParser, **smoke: Any) -> argparse.Namespace:
    """Return the arguments, `seeds` as numbers where they are words; with --smoke those of `smoke` and a new --out."""
    arguments = given.parse_args()
    if arguments.smoke:
        folder = Path(tempfile.mkdtemp())
        out = folder / "smoke.csv" if arguments.out.suffix else folder
        vars(arguments).update({"out": out, **smoke})
    if isinstance(getattr(arguments, "seeds", None), list):
        try:
            arguments.seeds = seeds_of([str(word) for word in arguments.seeds])
        except ValueError as error:
            given.error(str(error))
    return arguments


def record(tasks: list[Any], sheet: Sheet, measure: str, jobs: int, hours: float = math.inf) -> None:
    """Run the tasks that have no row in `sheet` yet and say how each went; SystemExit where one failed.

    hours: after which none starts.
    """
    failed = []

    def report(task: Any, row: Row) -> None:
        if row.get("status", "ok") == "ok":
            sheet.show(row)
        else:
            failed.append(task)
            print(f"{dict(task._asdict())}: {row['message']}", flush=True)

    Pool(jobs, until=time.monotonic() + 3600 * hours, measure=measure).run(tasks, sheet, report)
    if failed:
        raise SystemExit(f"{len(failed)} of {len(tasks)} runs failed")
