"""How many evaluations does the default save, beside the code that was published?"""

import numpy as np

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.registry import table
from benchmarks.tables.runs import DEFAULT, Cell, Recorded, longest

# Goals, not published figures: the share of a predecessor's evaluations within which the default reaches its final
# value. benchmarks/notes/portfolio-results.md lists what was met, under "Evaluations saved".
ALLOWED = {"reference LaMCTS-TuRBO@1": 1 / 3, "reference TuRBO-1@10": 2 / 3, "reference TuRBO-1@1": 2 / 3}


@table("saved", "Evaluations saved")
def saved(recorded: Recorded) -> str:
    """Evaluations after which the default is where a reference ends, over the reference's evaluations, seed by seed."""
    lines, shares = [], dict[tuple[str, str], list[float]]()
    for place, methods in recorded.runs.items():
        for reference, allowed in ALLOWED.items():
            for ours in DEFAULT:
                counts, share = _saved(methods.get(reference, {}), longest(recorded.runs, place.problem, ours))
                if counts:
                    shares.setdefault((reference, ours), []).append(share)
                    told = f"{share:.2f}", f"{allowed:.2f}", str(len(counts))
                    lines.append((str(place), reference, ours, spread(counts), *told))
    if not lines:
        return ""
    header = ("problem", "reference", "ours", "evaluations", "share", "at most", "pairs")
    over = "; ".join(f"{o} of {r}: {np.median(found):.2f}" for (r, o), found in shares.items())
    return markdown(header, lines) + f"\n\nMedian share over problems: {over}."


def _saved(theirs: Cell, ours: Cell) -> tuple[list[float], float]:
    """Return after how many evaluations ours is where theirs ends, by common seeds, and the median of the shares."""
    both = sorted(ours.keys() & theirs.keys())
    # Both by their curves: a re-scored value exists at the end only.
    counts = [stats.reached(ours[s].n, ours[s].scores, theirs[s].scores[-1]) for s in both]
    shares = [k / int(theirs[s].row["evaluations"]) for k, s in zip(counts, both, strict=True)]
    return counts, float(np.median(shares)) if shares else 0.0
