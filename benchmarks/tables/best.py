"""How far does each method get?"""

from statistics import median

from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.registry import table
from benchmarks.tables.runs import Cell, Recorded


@table("best", "Best values")
def best(recorded: Recorded) -> str:
    """One line for each problem and method: the value and the score, medians and quartiles."""
    lines = []
    for place, methods in recorded.beside.items():
        for method, cell in sorted(methods.items(), key=lambda item: _middle(item[1])):
            values, scores = [run.value for run in cell.values()], [run.score for run in cell.values()]
            lines.append((str(place), method, spread(values), spread(scores), str(len(cell))))
    return markdown(("problem", "method", "value", "score", "runs"), lines)


def _middle(cell: Cell) -> float:
    return median(run.score for run in cell.values())
