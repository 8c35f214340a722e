"""What the runs cost, and which of them failed."""

from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.registry import table
from benchmarks.tables.runs import Recorded


@table("time", "Own time")
def time(recorded: Recorded) -> str:
    """One line for each method and size: own milliseconds an evaluation."""
    found: dict[tuple[int, str, int], list[float]] = {}
    for place, methods in recorded.runs.items():
        for method, cell in methods.items():
            for run in cell.values():
                found.setdefault((int(run.row["dim"]), method, place.budget), []).append(float(run.row["own_ms"]))
    lines = [(str(d), name, str(n), spread(ms), str(len(ms))) for (d, name, n), ms in sorted(found.items())]
    return markdown(("d", "method", "evaluations", "own ms an evaluation", "runs"), lines)


@table("failures", "Failed runs")
def failures(recorded: Recorded) -> str:
    """Every run that failed or was too slow."""
    bad = [row for row in recorded.rows.values() if row["status"] != "ok"]
    lines = [(row["problem"], row["method"], row["seed"], row["status"], row["message"]) for row in bad]
    return markdown(("problem", "method", "seed", "status", "message"), lines)
