"""Does a search escape local optima, and what does the tree add? The default before and after, paired.

    python -m benchmarks.optimizer.restarts --list          the parts of the plan, and what each costs
    python -m benchmarks.optimizer.restarts --parts "old" "games, old" --jobs 2 --hours 2
    python -m benchmarks.optimizer.restarts --parts turned --as "trend starts"  a candidate under a name of its own
    python -m benchmarks.optimizer.restarts --parts turned --as portfolio --runs "lamcts portfolio, tree" --seeds 0 1 2
    python -m benchmarks.optimizer.restarts --table --new "trend starts"  medians at 500 to 5000, and who is better
    python -m benchmarks.optimizer.restarts --judge --parts ...  seeds from 100 on, once a commit has frozen it

Rows go to results/restarts.csv, one a run; what is there is not run again. "old default" is the search of commit
e838a28. Rows of that name need a checkout with both that search and this script.
Tuning seeds begin at 0, judging seeds at 100.
"""

import math
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from benchmarks import peers
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.comparison import KEY, Case
from benchmarks.harness.sheet import ROOT, Sheet
from benchmarks.harness.task import Result, Task
from benchmarks.plan import restarts as plan
from benchmarks.plan.restarts import PARTS, Part
from benchmarks.tables import restarts as tables
from benchmarks.tables.markdown import markdown

FROZEN = "e838a28"
PROPOSES = [f"lamcts/{part}" for part in ("optimizer", "samplers", "models", "tree", "regions", "rng.py")]
MARKS = (500, 1000, 2000, 3000, 5000)


COLUMNS = (
    *KEY, "dim", "best", *(f"best_{m}" for m in MARKS), "funnel", "own_ms", "objective_s", "commit", "versions"
)  # fmt: skip


def main() -> None:
    given = options()
    arguments = script.parsed(given, parts=["smoke"])
    if unknown := [name for name in arguments.parts if name not in PARTS]:
        given.error(f"expected parts out of {', '.join(PARTS)}, got {', '.join(unknown)}")
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.list:
        print(listed(arguments, sheet))
    elif arguments.table:
        print(told(arguments, sheet.rows()))
    else:
        cases = [case for name in arguments.parts for case in chosen(arguments, name)]
        if any(case.method == plan.OLD for case in cases) and (differs := changed()):
            given.error(differs)
        run(cases, sheet, arguments.jobs, arguments.hours)


def options() -> ArgumentParser:
    given = script.parser(__doc__, "restarts.csv", "the smallest part, tiny")
    names = [name for name in PARTS if name != "smoke"]
    given.add_argument("--parts", nargs="+", default=names, metavar="NAME", help="of the plan, in their order")
    given.add_argument("--judge", action="store_true", help="the seeds from 100 on")
    given.add_argument("--as", dest="label", default="", help="what the rows of the new default are called")
    given.add_argument("--runs", default="", metavar="METHOD", help="what the new default's rows are runs of")
    given.add_argument("--seeds", type=int, nargs="+", default=[], metavar="SEED", help="of the parts, these alone")
    given.add_argument("--problems", nargs="+", default=[], metavar="NAME", help="of the parts, these alone")
    given.add_argument("--jobs", type=int, default=1, help="runs at a time")
    given.add_argument("--hours", type=float, default=math.inf, help="start no run after so many")
    given.add_argument("--list", action="store_true")
    given.add_argument("--table", action="store_true", help="print tables of the rows that are there, run nothing")
    given.add_argument("--batch", type=int, default=10, help="of tables: that of ours")
    given.add_argument("--old", default=plan.OLD, metavar="NAME", help="of tables: what is compared with")
    given.add_argument("--new", default=plan.NEW, metavar="NAME", help="of tables: what is compared")
    given.add_argument(
        "--tree", default="", metavar="NAME", help="of tables: the same where a tree places its searches"
    )
    return given


def asked(part: Part, judge: bool, label: str = "", runs: str = "") -> list[Case]:
    """Return the runs of a part, seed by seed, so that a part which was stopped is paired all the same.

    runs: the method that the new default's are runs of, where it is not ours.
    """
    ours = plan.OURS | ({plan.NEW: runs} if runs else {})
    names = {plan.NEW: label, plan.TREE: f"{label}, tree"} if label else {}
    return [
        Case(names.get(method, method), problem, batch, seed, part.budget, ours.get(method, method))
        for seed in part.seeds(judge)
        for problem in part.problems
        for method, batch in part.methods
    ]


def chosen(arguments: Namespace, name: str) -> list[Case]:
    """Return those runs of a part that the arguments leave."""
    cases = asked(PARTS[name], arguments.judge, arguments.label, arguments.runs)
    seeds, of = arguments.seeds, arguments.problems
    return [case for case in cases if (not seeds or case.seed in seeds) and (not of or case.problem in of)]


def listed(arguments: Namespace, sheet: Sheet) -> str:
    """Return a line for each part: how many runs it has, how many are to be made, and the core-hours of those."""
    rows, lines, total = sheet.rows(), [], 0.0
    for name in arguments.parts:
        cases = chosen(arguments, name)
        todo = missing(cases, sheet)
        total += (cost := plan.hours(todo, rows))
        lines.append((name, str(len(cases)), str(len(todo)), str(PARTS[name].budget), f"{cost:.2f}"))
    return markdown(
        ("part", "runs", "to do", "evaluations", "core-hours"), [*lines, ("all", "", "", "", f"{total:.1f}")]
    )


def told(arguments: Namespace, rows: list[dict[str, str]]) -> str:
    """Return the tables of the rows of these seeds."""
    first = plan.JUDGING if arguments.judge else plan.TUNING
    names = {"old": arguments.old, "new": arguments.new, "tree": arguments.tree or f"{arguments.new}, tree"}
    kept = [row for row in rows if int(row["seed"]) in range(first, first + plan.MOST)]
    return tables.tables(kept, MARKS, names, arguments.batch)


def changed() -> str:
    """Return what keeps this checkout from making rows of the old default, "" where nothing does."""
    command = ["git", "-C", str(ROOT), "diff", "--quiet", FROZEN, "--", *PROPOSES]
    code = subprocess.run(command, capture_output=True).returncode
    if not code:
        return ""
    found = "this one differs" if code == 1 else "git does not know that commit"
    return f"expected the search of commit {FROZEN} for rows of {plan.OLD!r}, {found}: run it in a checkout that has it"


def run(cases: Sequence[Case], sheet: Sheet, jobs: int, hours: float) -> None:
    """Run what has no row yet and whose package is there; SystemExit where one failed."""
    absent = {case.runs: peers.missing(case.runs) for case in cases}
    for method, package in absent.items():
        if package:
            print(f"left for later: {method}, {package} is not installed", flush=True)
    todo = missing([case for case in cases if not absent[case.runs]], sheet)
    print(f"{len(cases)} runs, {len(todo)} to do: {plan.hours(todo, sheet.rows()):.2f} core-hours", flush=True)
    script.record(todo, sheet, "benchmarks.optimizer.restarts:measure", jobs, hours)


def missing(cases: Sequence[Case], sheet: Sheet) -> list[Case]:
    """Return the runs that have no row, each once."""
    done = sheet.keys()
    return [case for case in dict.fromkeys(cases) if case.key not in done]


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    row, curve = one_run.measure(**Task(case.runs, *case[1:-1])._asdict())
    improved = list(zip(curve["n"], curve["best"], strict=True))
    row |= {f"best_{m}": one_run.digits(one_run.best_after(improved, m)) for m in MARKS if m <= case.budget}
    row |= {"funnel": curve["funnel"][-1]} if "funnel" in curve else {}
    return {name: row[name] for name in COLUMNS if name in row} | {"method": case.method}, None


if __name__ == "__main__":
    main()
