"""Random attacks on the package, drawn by seed, until the time is over.

    python -m benchmarks.robustness.soak --minutes 30 [--seed 1]
    python -m benchmarks.robustness.soak --seed 1 --only sessions:17        the same case again

- kills: a journalled run is killed at random moments (KILL, TERM, Ctrl-C), its first evaluation among them, and called
  again until it ends. The result is that of a run without kills. No complete evaluation is lost or done twice. With
  workers, no row is lost or changed, and each trial is told once.
- flips: a journal with flipped, overwritten or missing bytes gives a JournalError or the right values.
- sessions: asks, tells of all sorts, late tells, forgets and wrong calls over random spaces, with every sampler,
  compared with a ledger.
- columns: sessions with constraints and several objectives.
- fidelities: columns in spaces with a `Fidelity`. Rows below full fidelity are compared with no other rows.
- restarts: a state loaded by a new process goes on with equal points.
- interrupts: Ctrl-C at a random moment of `lamcts run`, on functions and programs, with one and two workers. The run
  ends without a traceback, with the points of a run without Ctrl-C.
- calls: the calls of sessions, columns and fidelities, interrupted at random moments and repeated, with a journal that
  other processes read.
- sheets: sheets of `lamcts ask` are filled in and told, in parts, twice, corrected or wrong. Ctrl-C in the middle of
  `lamcts tell` leaves all or nothing told.
- compression: simulated workers reduce gradients of any scale, with zeros and nan. With error feedback all gradients
  arrive.
- hydra: sweeps launch the jobs of Hydra's own sweeper, each once. Some sweeps are interrupted and go on.

Each kind has the same share of the time. A kind whose library is missing is left out. A row for each kind goes to
results/soak.csv. The exit status is 1 if anything failed.
"""

import importlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import lamcts
from benchmarks.harness import script, sheet
from benchmarks.harness.versions import commit
from benchmarks.robustness.attacks import calls, columns, flips, interrupts, kills, restarts, sessions, sheets
from benchmarks.robustness.attacks.verdict import Broken, Case, brief

Check = Callable[[Case, Path], int]  # returns how many attacks a case made; raises where one succeeded


def of_library(name: str) -> Check:
    """Return the check of a module of attacks that is imported at the first case, as it needs a library."""

    def check(case: Case, folder: Path) -> int:
        found: Check = importlib.import_module(f"benchmarks.robustness.attacks.{name}").check
        return found(case, folder)

    return check


KINDS: dict[str, Check] = {
    "kills": kills.check,
    "flips": flips.check,
    "sessions": sessions.check,
    "columns": columns.check,
    "fidelities": columns.check,
    "restarts": restarts.check,
    "interrupts": interrupts.check,
    "calls": calls.check,
    "sheets": sheets.check,
    "compression": of_library("compression"),
    "hydra": of_library("hydra_sweeps"),
}
NEEDS = {"compression": "torch", "hydra": "hydra"}  # libraries
FEW = {"kills": 1, "sessions": 8, "columns": 8, "interrupts": 1, "compression": 14, "hydra": 10}
SMOKE = dict.fromkeys(KINDS, 2) | FEW  # cases
HANG = 900.0  # seconds after which a case counts as one that never ends
COLUMNS = ("kind", "cases", "attacks", "failures", "seconds", "seed", "version", "commit")


@dataclass
class Tally:
    """What became of one kind of attack."""

    cases: int = 0
    attacks: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


class TimeUp(BaseException):
    """Raised in the middle of a case, past everything that catches exceptions."""


def main() -> int:
    parser = script.parser(__doc__, "soak.csv", "a few cases of each kind, into a temporary file")
    parser.add_argument("--minutes", type=float, default=10.0, help="no case goes on after this long")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="of each kind at most")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--only", metavar="KIND[:CASE]", help="one kind of attack, or one case of it again")
    given = script.parsed(parser)
    kind, _, number = (given.only or "").partition(":")
    if kind and (kind not in KINDS or (number and not number.isdigit())):
        parser.error(f"--only: expected one of {', '.join(KINDS)} and a case, such as sessions:17, got {given.only!r}")
    if number:
        return replay(Case(kind, given.seed, int(number)))
    most = SMOKE if given.smoke else dict.fromkeys(KINDS, given.cases)
    kinds = installed({kind: KINDS[kind]} if kind else KINDS)
    tallies = soak(kinds, given.seed, time.monotonic() + 60 * given.minutes, most)
    report(tallies, given.seed, given.out)
    return int(any(tally.failures for tally in tallies.values()))


def installed(kinds: dict[str, Check]) -> dict[str, Check]:
    """Return the kinds whose libraries are installed, and print a line for each other one."""
    missing = [kind for kind in kinds if kind in NEEDS and find_spec(NEEDS[kind]) is None]
    for kind in missing:
        print(f"{kind}: left out, {NEEDS[kind]} is not installed")
    return {kind: check for kind, check in kinds.items() if kind not in missing}


def soak(kinds: dict[str, Check], seed: int, deadline: float, most: dict[str, int]) -> dict[str, Tally]:
    """Try cases until the deadline (of the monotonic clock), or until each kind has had its `most`."""
    tallies = {kind: Tally() for kind in kinds}
    while open_kinds := [k for k, t in tallies.items() if t.cases < most.get(k, sys.maxsize)]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        kind = min(open_kinds, key=lambda k: tallies[k].seconds)
        tally, case = tallies[kind], Case(kind, seed, tallies[kind].cases)
        began = time.monotonic()
        try:
            attacks, failure = attempt(kinds[kind], case, min(HANG, left))
        except TimeUp:
            break
        tally.seconds += time.monotonic() - began
        tally.cases, tally.attacks = tally.cases + 1, tally.attacks + attacks
        if failure:
            tally.failures.append(failure)
            print(f"{recipe(case)}\n    {failure}", flush=True)
    return tallies


def attempt(check: Check, case: Case, seconds: float) -> tuple[int, str | None]:
    """Return how many attacks the case made, and what went wrong; TimeUp where it was cut short by the deadline."""
    over = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        try:
            with limited(seconds):
                return check(case, Path(folder)), None
        except (Exception, TimeUp) as error:
            late = time.monotonic() >= over  # a finalizer may have dropped TimeUp, which Python prints
            if late and seconds < HANG:
                raise TimeUp from error
            if late:
                return 1, f"expected an end within {HANG:.0f} s, got none"
            return 1, str(error) if isinstance(error, Broken) else f"expected no exception, got {brief(error)}"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeUp in the code inside after so many seconds."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def recipe(case: Case) -> str:
    return f"python -m benchmarks.robustness.soak --seed {case.seed} --only {case.kind}:{case.number}"


def replay(case: Case) -> int:
    """Try one case again, with the traceback where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"{case.kind}, seed {case.seed}, case {case.number}: {KINDS[case.kind](case, Path(folder))} attacks held")
    return 0


def report(tallies: dict[str, Tally], seed: int, out: Path) -> None:
    """Print and append a row a kind."""
    version, measured = lamcts.__version__, commit()
    for kind, tally in tallies.items():
        counts = (tally.cases, tally.attacks, len(tally.failures), f"{tally.seconds:.1f}")
        sheet.Sheet(out, (), COLUMNS).append(dict(zip(COLUMNS, (kind, *counts, seed, version, measured), strict=True)))
        print(
            f"{kind:11} {counts[0]:6} cases {counts[1]:8} attacks {counts[2]:4} failures {counts[3]:>8} s", flush=True
        )


if __name__ == "__main__":
    sys.exit(main())
