"""The finished runs of `benchmarks.run`: one CSV row and one line of curve a run, in two files a problem.

results/runs/PROBLEM.csv holds the rows, results/runs/PROBLEM.jsonl the curves. Where a run has several rows (it failed
and was tried again) the last one counts.
"""

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import sheet
from benchmarks.harness.task import MARKS, Curve, Key, Row, Task

RUNS = sheet.RESULTS / "runs"
KEY = Task._fields
COLUMNS = (
    *KEY, "dim", "status", "evaluations", "optimum", "best", *(f"best_{m}" for m in MARKS), "rescored",
    "rescored_sd", "own_s", "own_ms", "objective_s", "wall_s", "message", "commit", "versions",
)  # fmt: skip


@dataclass(frozen=True)
class Ledger:
    """The runs in a folder. retry: runs that failed are wanted again."""

    folder: Path = RUNS
    retry: bool = False

    def rows(self, problem: str = "*") -> dict[Key, dict[str, str]]:
        """Return every run's last row by its key; of one problem if it is given."""
        paths = sorted(self.folder.glob(f"{problem}.csv"))
        return {tuple(row[name] for name in KEY): row for path in paths for row in sheet.read(path)}

    def curves(self) -> dict[Key, Curve]:
        """Return every run's curve by its key: `n`, where the best improved, and `best`.

        Of several funnels also `funnel`, in which the best lay (0: the deepest). At the marks reached: `own_s` and,
        where incumbents are re-scored, `rescored` (None: nothing had succeeded).
        """
        found = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_text().splitlines():
                curve = json.loads(line)
                found[tuple(curve.pop("run"))] = curve
        return found

    def wants(self, task: Task) -> bool:
        """Return whether a task has to run: it has no row, or a failed one that is to be tried again."""
        return self.lacks(task, self.rows(task.problem))

    def lacks(self, task: Task, rows: dict[Key, dict[str, str]]) -> bool:
        """The same of rows that were read before."""
        row = rows.get(task.key)
        return row is None or (self.retry and row["status"] != "ok")

    def claim(self, task: Task) -> AbstractContextManager[bool]:
        """Hold the claim on a run while entered; False where another process holds it."""
        return sheet.claim(self.folder, task.key)

    def add(self, row: Row, curve: Curve | None) -> None:
        """Add a finished run; the curve goes first, for the row is what says that it is there."""
        if curve is not None:
            line = json.dumps({"run": [str(row[name]) for name in KEY], **curve}, separators=(",", ":"))
            sheet.add_line(self.folder / f"{row['problem']}.jsonl", line + "\n")
        path = self.folder / f"{row['problem']}.csv"
        sheet.add_line(path, sheet.cells(row.get(name, "") for name in COLUMNS), sheet.cells(COLUMNS))
