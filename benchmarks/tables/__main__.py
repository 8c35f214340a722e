"""The tables of recorded runs: best values, ranks, own time, failed runs.

    python -m benchmarks.tables [best ranks rescored time failures] [--problems NAME ...]

Scores are log10 of the regret where the optimum is known, else the missing share of the problem's span, from the
re-scored incumbent where there is one: lower is better. All rows are those of results/runs.
"""

import argparse
from pathlib import Path

from benchmarks.harness.ledger import RUNS, Ledger
from benchmarks.harness.task import seeds_of
from benchmarks.tables.runs import recorded
from benchmarks.tables.summaries import TABLES


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}")
    parser.add_argument("--problems", nargs="+", default=[])
    parser.add_argument("--seeds", nargs="+", default=["100-119"], help="as in benchmarks.run")
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--smoke", action="store_true", help="the same: it is quick")
    arguments = parser.parse_args()
    for name in arguments.tables or TABLES:
        if name not in TABLES:
            parser.error(f"expected tables out of {', '.join(TABLES)}, got {name!r}")
    found = recorded(Ledger(arguments.runs), set(seeds_of(arguments.seeds)), arguments.problems)
    for name in arguments.tables or TABLES:
        if text := TABLES[name].make(found):
            print(f"\n### {TABLES[name].title}\n\n{text}")


if __name__ == "__main__":
    main()
