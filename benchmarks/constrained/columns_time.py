"""What do several columns cost Turbo? CPU milliseconds a proposal at a given number of rows, fits and tells included.

    python -m benchmarks.constrained.columns_time [--rows 1000] [--dim 20]

Batches of ten on one thread; half of the rows break each constraint, so that none is left out. The goals: two losses at
most 10 ms a proposal, fifty constraints at most three times what none cost. Rows go to results/columns_time.csv.
"""

import time
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Session
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Rows

CASES = ((1, 0), (1, 50), (2, 0), (2, 5), (3, 0), (4, 0), (6, 0))  # losses and constraints
BATCH = 10
KEY = ("losses", "constraints", "rows", "dim")
COLUMNS = (*KEY, "batches", "ms_a_proposal")


def main() -> None:
    given = script.parser(__doc__, "columns_time.csv", "two tiny cases, to see that the script runs")
    given.add_argument("--rows", type=int, default=1000)
    given.add_argument("--dim", type=int, default=20)
    given.add_argument("--batches", type=int, default=10)
    arguments = script.parsed(given, rows=40, dim=3, batches=1)
    n, d = arguments.rows, arguments.dim
    cases = CASES[:3] if arguments.smoke else CASES
    measure(1, 0, 40, d, 1)  # loads what loads late
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for case in sheet.missing((m, c, n, d) for m, c in cases):
        row = measure(*case, arguments.batches)
        sheet.append(row)
        script.tell(sheet, row)


def measure(m: int, c: int, n: int, d: int, batches: int) -> Row:
    """Return what some batches cost a search that has `n` rows, its first fit apart."""
    rng = np.random.default_rng(0)
    ends = rng.random((m + c, d))  # each column is a distance
    seen = Observations(d, losses=m, constraints=c)
    _append(seen, rng.random((n, d)), ends, m)
    session = Turbo().start(Region(Box(0, 1, dim=d), (), seen.good), seen, rng)
    session.tell(*_asked(session, seen, ends, m))  # the first fit is that of a long run's beginning
    began = time.process_time()
    for _ in range(batches):
        session.tell(*_asked(session, seen, ends, m))
    spent = time.process_time() - began
    sizes = {"losses": m, "constraints": c, "rows": n, "dim": d, "batches": batches}
    return {**sizes, "ms_a_proposal": round(1e3 * spent / (batches * BATCH), 2)}


def _asked(session: Session, seen: Observations, ends: Floats, m: int) -> tuple[list[Any], Rows]:
    """Ask for a batch, evaluate it, and return what the session is told."""
    x, notes = session.ask(BATCH)
    return notes, _append(seen, x, ends, m)


def _append(seen: Observations, x: Floats, ends: Floats, m: int) -> Rows:
    far = np.linalg.norm(x[:, None] - ends, axis=2)  # [k, m + c]
    none = np.full(len(x), -1)
    within = np.sqrt(x.shape[1] / 6)  # the distance of two random points, so that half of the rows break each
    return seen.append(x, far[:, :m], np.full(len(x), np.nan), none, none, far[:, m:] - within)


if __name__ == "__main__":
    main()
