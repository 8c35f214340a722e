"""How large is a report on a long run, and how long does it take to make, and the front of so many rows?

    python -m benchmarks.robustness.report_size

Journals of uniform draws of six parameters, so that the search takes no time: of one objective, and of two with a
constraint. A row a journal goes to results/report_size.csv: rows, megabytes of the page and how much of it is not
Plotly's script, seconds to read the journal and to write the page, and milliseconds of `Optimizer.front` there.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.harness import sheet
from benchmarks.harness.versions import commit
from lamcts.journal import Journal
from lamcts.report import LabelledRun, page

ROWS = (1_000, 20_000)
DIM = 6
COLUMNS = ("objectives", "rows", "on_front", "megabytes", "own_megabytes", "read_s", "page_s", "front_ms")
COLUMNS += ("version", "commit")
PLOTLY = 4.8  # megabytes of every page, as the command line says


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=sheet.RESULTS / "report_size.csv")
    parser.add_argument("--smoke", action="store_true", help="a hundred rows, into a temporary file")
    given = parser.parse_args()
    out = Path(tempfile.mkdtemp()) / "smoke.csv" if given.smoke else given.out
    for objectives in (1, 2):
        for rows in (100,) if given.smoke else ROWS:
            row = measured(objectives, rows)
            sheet.Sheet(out, (), COLUMNS).append(row)
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return 0


def measured(objectives: int, rows: int) -> dict[str, Any]:
    """Make a journal and a page on it, and return what both came to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        opt = written(path, objectives, rows)
        began = time.perf_counter()
        record = Journal.read(path)
        read = time.perf_counter()
        text = page([LabelledRun("run", record)])
        done = time.perf_counter()
    size = len(text.encode()) / 1e6
    front, seconds = timed(lambda: opt.front)
    numbers = (objectives, rows, len(front) if objectives > 1 else 1, f"{size:.2f}", f"{size - PLOTLY:.2f}")
    times = (f"{read - began:.2f}", f"{done - read:.2f}", f"{1e3 * seconds:.1f}")
    return dict(zip(COLUMNS, (*numbers, *times, lamcts.__version__, commit()), strict=True))


def written(path: Path, objectives: int, rows: int) -> lamcts.Optimizer:
    """Leave a journal of so many rows, every tenth of them failed, and return its optimizer."""
    goals: dict[str, Any] = {} if objectives == 1 else {"objectives": objectives, "constraints": ["g <= 0.9"]}
    opt = lamcts.Optimizer(lamcts.Box(-5, 10, dim=DIM), seed=0, sampler="uniform", **goals)
    with Journal.open(path, opt.fingerprint(), {"objective": "draws"}) as journal:
        while len(opt.seen) < rows:
            trials = opt.ask(min(500, rows - len(opt.seen)))
            opt.tell(trials, [value(trial, objectives) for trial in trials])
            journal.write(opt.delta(journal.mark))
    return opt


def value(trial: lamcts.Trial, objectives: int) -> Any:
    """Return a value of a point: mostly by its first two coordinates; None for a tenth of all."""
    if trial.id % 10 == 9:
        return None
    x = (np.asarray(trial.point) + 5) / 15
    rest = float(x[1:].mean())
    if objectives == 1:
        return (float(x[0]) - 0.3) ** 2 + 0.1 * rest
    near = 0.02 * rest  # so that hundreds are on the front
    return {"f1": float(x[0]), "f2": 1 - float(x[0]) ** 0.5 + near * (trial.id % 20 > 0), "g": float(x[1])}


def timed(call: Any) -> tuple[Any, float]:
    """Return a result and the least seconds of five calls."""
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - began)
    return found, min(seconds)


if __name__ == "__main__":
    sys.exit(main())
