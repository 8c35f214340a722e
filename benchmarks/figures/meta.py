"""Thesis figure 5.8, from our runs: does the tree help the local search that it wraps?

    python -m benchmarks.figures.meta [--out DIR] [--problems NAME ...] [--rotated] [--seeds table] [--smoke]

Every sampler with the tree and without it, on the same seeds: one line of panels a problem, one column a sampler; where
there are runs, TuRBO fenced in by the tree's region too, as in the thesis, which shows TuRBO and BO. Reads
results/runs, runs nothing; the test of these differences is `tables harm`.
"""

from benchmarks import problems
from benchmarks.figures import comparison, sheets
from benchmarks.figures.comparison import Panels, Runs

PROBLEMS = ("ackley-20", "rosenbrock-20", "ackley-100", "rosenbrock-100")
SAMPLERS = {"turbo": "TuRBO", "bo": "GP-BO", "cma": "CMA-ES", "uniform": "uniform"}
ARMS = {"tree": sheets.look(0), "no tree": sheets.look(1), "fenced": sheets.look(2)}


def main() -> None:
    arguments = comparison.parsed(__doc__, PROBLEMS)
    found = pairs(comparison.panels_of(arguments))
    if not found:
        print("nothing to draw: no sampler has runs both with the tree and without")
        return
    names = [name for name in arguments.problems if name in found]
    samplers = [s for s in SAMPLERS if any(s in found[name] for name in names)]
    sheet, grid = sheets.panels(len(names), len(samplers), max(2.4 * len(samplers) + 0.6, 5.4), 2.2 * len(names) + 1.1)
    for name, line in zip(names, grid, strict=True):
        for sampler, axes in zip(samplers, line, strict=True):
            for arm, runs in found[name].get(sampler, {}).items():
                sheets.draw(axes, runs.n, runs.values, arm, ARMS[arm])
            sheets.named(axes, f"{name}, {SAMPLERS[sampler]}", "evaluations")
            if sampler in found[name]:
                comparison.dress(axes, problems.find(name), "best value so far")
            axes.set_visible(sampler in found[name])
        if problems.find(name).span is None:
            line[0].set_ylabel("regret of the best so far", fontsize=8)
    note = "median and quartiles over seeds"
    sheets.finish(
        sheet, "Local searches with the tree, and without", arguments.out / f"meta{arguments.suffix}.png", 2, note
    )


def pairs(found: Panels) -> dict[str, dict[str, dict[str, Runs]]]:
    """Return by problem, sampler and arm what has runs both with the tree and without."""
    result: dict[str, dict[str, dict[str, Runs]]] = {}
    for name, methods in found.items():
        for sampler in SAMPLERS:
            arms = {arm: methods.get(f"lamcts {sampler}, {arm}@1") for arm in ARMS}
            known = {arm: runs for arm, runs in arms.items() if runs is not None}
            if {"tree", "no tree"} <= known.keys():
                result.setdefault(name, {})[sampler] = known
    return result


if __name__ == "__main__":
    main()
