"""Did the optimiser's own time change? The working tree beside another commit, in turn, in fresh processes.

    python -m benchmarks.optimizer.compare_commits COMMIT [--pairs 5]

Shifted Ackley in batches of 10: 300 evaluations at d = 20, 200 at d = 100. A pair is one run of each on one seed, a
process of its own for each, the first of the pair by turns, since the load of a shared machine drifts. Counted are
CPU milliseconds an evaluation inside ask and tell, on one thread, imports and a short warm-up before. The commit is
checked out into a temporary folder, and gone afterwards. Medians, their ratio (below 1: quicker than the commit) and
whether both found the same best value on every seed go to the screen and to results/compare_commits.csv.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import script, sheet
from benchmarks.harness.versions import commit

BUDGETS = {20: 300, 100: 200}  # evaluations, by dimensions
BATCH = 10
COLUMNS = ("base", "commit", "dim", "batch", "budget", "pairs", "base_ms", "ours_ms", "ratio", "low", "high", "same")
PROGRAM = Path(__file__).parents[1] / "harness" / "commit_run.py"
PATIENCE = 600  # seconds for one run, of which the longest takes some ten


class Timed(NamedTuple):
    """One run: CPU milliseconds an evaluation, and the best value."""

    ms: float
    best: float


def main() -> None:
    parser = script.parser(__doc__, "compare_commits.csv", "one short pair, into a temporary file")
    parser.add_argument("base", nargs="?", default="HEAD", metavar="COMMIT", help="what to stand beside (HEAD)")
    parser.add_argument("--pairs", type=int, default=5, help="seeds 0 to PAIRS - 1")
    given = script.parsed(parser, pairs=1)
    if given.pairs < 1:
        parser.error(f"--pairs: expected at least 1, got {given.pairs}")
    with checked_out(given.base) as (base, name):
        for dim, budget in ({4: 20} if given.smoke else BUDGETS).items():
            runs = [pair(base, dim, budget, seed) for seed in range(given.pairs)]
            row = summary(runs) | {"base": name, "commit": commit(), "dim": dim, "batch": BATCH, "budget": budget}
            sheet.Sheet(given.out, (), COLUMNS).append(row)
            print(", ".join(f"{column} {row[column]}" for column in COLUMNS), flush=True)


@contextmanager
def checked_out(revision: str) -> Iterator[tuple[Path, str]]:
    """Check a commit out into a temporary folder; yield the folder and the short hash, and take both away again."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "--verify", "--quiet", f"{revision}^{{commit}}"],
        cwd=sheet.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if found.returncode:
        raise SystemExit(f"expected a commit of this repository, got {revision!r}; `git log` shows them")
    name = found.stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        _git("worktree", "add", "--detach", "--quiet", str(tree), name)
        try:
            yield tree, name
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=sheet.ROOT, check=True)


def pair(base: Path, dim: int, budget: int, seed: int) -> tuple[Timed, Timed]:
    """Return the run of the base and ours; which goes first changes from seed to seed."""
    trees = (base, sheet.ROOT)
    first, second = (timed(trees[i], dim, budget, seed) for i in ((0, 1) if seed % 2 == 0 else (1, 0)))
    return (first, second) if seed % 2 == 0 else (second, first)


def timed(tree: Path, dim: int, budget: int, seed: int) -> Timed:
    """Run the package of one tree in a process of its own; RuntimeError if another tree's answered."""
    # -P: the program's own folder is no place to import from, only the tree is
    words = [sys.executable, "-P", str(PROGRAM), *map(str, (dim, BATCH, budget, seed))]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"expected a run of {tree}, got exit status {done.returncode}: {done.stderr[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    if Path(told["package"]).resolve().parent.parent != tree.resolve():
        raise RuntimeError(f"expected the package in {tree}, got {told['package']}; is another one in the way?")
    return Timed(told["ms"], told["best"])


def summary(runs: list[tuple[Timed, Timed]]) -> dict[str, Any]:
    """Return medians, the median of the pairs' ratios with the least and the largest, and whether the bests agree."""
    ratios = [ours.ms / base.ms for base, ours in runs]
    base, ours = (statistics.median(run[i].ms for run in runs) for i in (0, 1))
    middle = {"base_ms": f"{base:.4g}", "ours_ms": f"{ours:.4g}", "ratio": f"{statistics.median(ratios):.3f}"}
    ends = {"low": f"{min(ratios):.3f}", "high": f"{max(ratios):.3f}", "pairs": len(runs)}
    return middle | ends | {"same": all(base.best == ours.best for base, ours in runs)}


if __name__ == "__main__":
    main()
