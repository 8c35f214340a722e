"""Is every input either taken or refused in our own words? Space files, known files, journals and command lines, drawn.

    python -m benchmarks.robustness.fuzz --minutes 20 [--seed 1]
    python -m benchmarks.robustness.fuzz --seed 1 --only journals

Hypothesis draws the inputs, in rounds, each kind with the same share of the time; what fails is printed, and the
round ends. spaces: JSON and TOML of parameters. known: CSV of all kinds; what is well formed is read in full.
journals: other values under right checksums, pages cut, swapped and doubled; a journal keeps its rows whatever comes.
commands: every subcommand, in this process, with options that fit and such that do not. A failure is a traceback, an
error that the package did not write itself, more than one line for a mistake, a row that is lost, or no end within a
minute. A row a kind goes to results/fuzz.csv; the exit status says whether anything failed.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

import lamcts
from benchmarks.harness import script, sheet
from benchmarks.harness.versions import commit
from benchmarks.robustness.attacks.verdict import Broken, brief
from benchmarks.robustness.fuzzing import command_lines, journals, known_files, space_files
from benchmarks.robustness.soak import TimeUp, limited


class Kind(NamedTuple):
    """What is drawn, what says of a case in its folder whether it was taken, and how many make a round."""

    inputs: SearchStrategy[Any]
    check: Callable[[Any, Path], bool]
    round: int


KINDS = {
    "spaces": Kind(space_files.files(), space_files.check, 1000),
    "known": Kind(known_files.files(), known_files.check, 1000),
    "journals": Kind(journals.inputs, journals.check, 100),
    "commands": Kind(command_lines.lines(), command_lines.check, 100),
}
PLAN = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
SMOKE = 8  # inputs of each kind
HANG = 60.0  # seconds after which an input counts as one that never ends
COLUMNS = ("kind", "inputs", "taken", "refused", "failures", "seconds", "seed", "version", "commit")


@dataclass
class Tally:
    """What became of the inputs of one kind."""

    taken: int = 0
    refused: int = 0
    rounds: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def main() -> int:
    parser = script.parser(__doc__, "fuzz.csv", "a few inputs of each kind, into a temporary file")
    parser.add_argument("--minutes", type=float, default=10.0, help="no round begins after this long")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs")
    parser.add_argument("--only", choices=KINDS, help="one kind of input")
    given = script.parsed(parser)
    kinds = {given.only: KINDS[given.only]} if given.only else KINDS
    if given.smoke:
        kinds = {name: kind._replace(round=SMOKE) for name, kind in kinds.items()}
    tallies = fuzz(kinds, given.seed, 0.0 if given.smoke else 60 * given.minutes)
    report(tallies, given.seed, given.out)
    return int(any(tally.failures for tally in tallies.values()))


def fuzz(kinds: dict[str, Kind], seed: int, seconds: float) -> dict[str, Tally]:
    """Draw rounds of inputs for so many seconds, at least one of each kind."""
    tallies, deadline = {name: Tally() for name in kinds}, time.monotonic() + seconds
    while time.monotonic() < deadline or not all(tally.rounds for tally in tallies.values()):
        name = min(tallies, key=lambda name: (tallies[name].rounds > 0, tallies[name].seconds))
        tally, began = tallies[name], time.monotonic()
        failure = play(kinds[name], seed + 1000 * tally.rounds, tally)
        tally.seconds += time.monotonic() - began
        tally.rounds += 1
        if failure:
            tally.failures.append(failure)
            print(f"{name}: {failure}", flush=True)
    return tallies


def play(kind: Kind, seed: int, tally: Tally) -> str | None:
    """Draw a round, up to the first input that fails, and return what went wrong with it."""
    last: list[Any] = []

    @seeded(seed)
    @settings(PLAN, max_examples=kind.round)
    @given(kind.inputs)
    def one(drawn: Any) -> None:
        last[:] = [drawn]
        taken = attempt(kind, drawn)
        tally.taken, tally.refused = tally.taken + taken, tally.refused + (not taken)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a run that evaluates nothing but failures, for one
            one()
    except Exception as error:
        return f"{brief(error)}\n    {last[0]!r:.2000}"
    return None


def attempt(kind: Kind, drawn: Any) -> bool:
    """Return whether an input was taken, within a minute."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with limited(HANG):
                return kind.check(drawn, Path(folder))
        except TimeUp:
            raise Broken(f"expected an end within {HANG:.0f} s, got none") from None


def report(tallies: dict[str, Tally], seed: int, out: Path) -> None:
    """Print and append a row a kind."""
    version, measured = lamcts.__version__, commit()
    for name, tally in tallies.items():
        inputs = tally.taken + tally.refused
        counts = (inputs, tally.taken, tally.refused, len(tally.failures), f"{tally.seconds:.1f}")
        sheet.Sheet(out, (), COLUMNS).append(dict(zip(COLUMNS, (name, *counts, seed, version, measured), strict=True)))
        print(f"{name:9} {inputs:7} inputs {tally.taken:7} taken {counts[3]:4} failures {counts[4]:>8} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
