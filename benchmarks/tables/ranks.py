"""Who is first? The default at one batch stands beside the others, not beside itself at another."""

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown
from benchmarks.tables.registry import table
from benchmarks.tables.runs import DEFAULT, Cell, Recorded


@table("ranks", "Who is first")
def ranks(recorded: Recorded) -> str:
    """One line for each problem and batch of the default: the best median, how sure, the default's place."""
    lines = []
    for place, methods in recorded.beside.items():
        for variant in [name for name in DEFAULT if name in methods] or [""]:
            scores = scores_by_method({m: cell for m, cell in methods.items() if m == variant or m not in DEFAULT})
            if len(scores) > 1:
                lines.append((str(place), *_line(variant, scores)))
    return markdown(("problem", "best median", "default's mean rank", "mean ranks", "seeds"), lines)


def _line(variant: str, scores: dict[str, list[float]]) -> tuple[str, ...]:
    name, word, share = stats.leading(scores)
    ranked = stats.ranks(scores)
    listed = ", ".join(f"{m} {rank:.1f}" for m, rank in sorted(ranked.items(), key=lambda item: item[1]))
    shown = f"{variant} {ranked[variant]:.1f} of {len(ranked)}" if variant in ranked else ""
    return f"{name} ({word}, {100 * share:.0f} %)", shown, listed, str(len(scores[name]))


def scores_by_method(methods: dict[str, Cell]) -> dict[str, list[float]]:
    """Return the scores on the seeds that all share; methods with less than half of the default's seeds are left out.

    Where the default has not run, less than half of the most seeds.
    """
    ours = [len(methods[name]) for name in DEFAULT if name in methods]
    most = max(ours or [len(cell) for cell in methods.values()])  # a pair of `harm` may have more, for its own sake
    full = {name: cell for name, cell in methods.items() if 2 * len(cell) >= most}
    seeds = sorted(set.intersection(*(set(cell) for cell in full.values())))
    return {name: [cell[seed].score for seed in seeds] for name, cell in full.items()} if seeds else {}
