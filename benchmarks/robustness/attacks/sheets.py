"""Sheets of `lamcts ask`, filled in as people do and told by `lamcts tell`, with a ledger of what was told.

Names of parameters, objectives and constraints are hostile. Sheets are told in parts, twice, with other separators and
decimal commas, and with corrections. Of a sheet with a wrong line nothing is told. Ctrl-C in the middle of
`lamcts tell` leaves all or nothing told.
"""

import contextlib
import csv
import io
import signal
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks.calls import within
from benchmarks.robustness.attacks.sheet_cells import Names, spoiled
from benchmarks.robustness.attacks.sheet_ledger import Ledger
from benchmarks.robustness.attacks.sheet_lines import Line, Plan
from benchmarks.robustness.attacks.verdict import Case, expect, pick
from lamcts.cli import main

STEPS = (5, 10, 20)
SECONDS = 0.15  # of CPU time, within which a command is interrupted
INTERRUPTED, MISTAKE = 130, 2  # exit codes
DIALECTS = ((",", False), (",", False), (";", False), (";", True), ("\t", True))  # separator, decimal commas


def check(case: Case, folder: Path, run: Any = main) -> int:
    """Play one laboratory; return how many commands it ran. `run` is the command line (a test passes broken ones)."""
    rng = case.rng()
    laboratory = Laboratory(Plan.drawn(rng), rng, folder, run)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored after `&`
    timer = signal.signal(signal.SIGVTALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        for _ in range(int(pick(rng, STEPS))):
            laboratory.step()
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGVTALRM, timer)
    return laboratory.commands


class Laboratory:
    """A journal, the sheets that were asked for, and what was told."""

    def __init__(self, plan: Plan, rng: np.random.Generator, folder: Path, run: Any) -> None:
        self.plan, self.rng, self.folder, self.run = plan, rng, folder, run
        self.journal, self.commands = folder / "lab.db", 0
        self.ledger = Ledger(plan, [], {})
        self.sheets: list[list[Line]] = []
        lamcts.Optimizer(plan.space, journal=self.journal, **plan.settings)

    def step(self) -> None:
        """Ask for a sheet, or fill one in and tell it, right or wrong."""
        acts = (self.ask, self.fill, self.fill, self.fill, self.swap, self.correct, self.again, self.wrong)
        (pick(self.rng, acts) if self.sheets else self.ask)()

    def ask(self) -> None:
        """Ask for new points, or for those that are pending again."""
        again = bool(self.ledger.pending) and self.rng.random() < 0.2
        out = self.folder / f"asked{self.commands}.csv"
        words = ["--pending"] if again else ["-n", str(int(self.rng.integers(1, 6)))]
        code, errors = self._command("ask", *words, "-o", str(out))
        expect(code == 0, f"a sheet in {self.plan}", errors)
        pending = {trial.id: trial.point for trial in lamcts.Optimizer.load(self.journal).pending}
        with out.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        expect(len({*head}) == len(head) == len(rows[0]), f"columns of their own in {self.plan}", head)
        self.names = Names(head, self.plan, rows[0][-1])
        lines = [Line(int(row[0]), pending[int(row[0])], row[1 : self.names.values]) for row in rows]
        wanted = [each for each in pending if again or each not in self.ledger.pending]
        expect([line.trial for line in lines] == wanted, f"lines of the trials {wanted} in {self.plan}", rows)
        self.ledger.pending = pending
        self.sheets.append(lines)

    def fill(self) -> None:
        """Fill in some lines of a sheet, and tell it."""
        sheet = pick(self.rng, self.sheets)
        for line in sheet:
            if line.empty and self.rng.random() < 0.5:
                line.fill(self.plan, self.rng)
                if self.rng.random() < 0.15:
                    line.change(self.plan, self.rng)
        if self.rng.random() < 0.2:
            sheet.append(Line.of_others(pick(self.rng, sheet), self.plan, self.rng))
        self.tell(sheet)

    def swap(self) -> None:
        """Exchange the points of two lines that are pending."""
        sheet = pick(self.rng, self.sheets)
        waiting = [line for line in sheet if line.empty]
        if len(waiting) > 1:
            one, other = waiting[:2]
            (one.point, one.cells), (other.point, other.cells) = (other.point, other.cells), (one.point, one.cells)
            one.fill(self.plan, self.rng)
            other.fill(self.plan, self.rng)
        self.tell(sheet)

    def correct(self) -> None:
        """Write other values into lines that were told."""
        sheet = pick(self.rng, self.sheets)
        for line in sheet:
            if not line.empty and line.trial is not None and self.rng.random() < 0.3:
                line.fill(self.plan, self.rng)
        self.tell(sheet)

    def again(self) -> None:
        self.tell(pick(self.rng, self.sheets))

    def tell(self, sheet: list[Line]) -> None:
        """Tell a sheet: with --correct where that is needed, after a refusal without; now and then interrupted."""
        words, after = [self._written(sheet)], self.ledger.told(sheet)
        if self.ledger.corrects(sheet):
            self._refused(words, "other values without --correct")
            words.append("--correct")
        while self.rng.random() < 0.4:
            code, errors = self._command("tell", *words, seconds=float(self.rng.random()) * SECONDS)
            held = Ledger.read(self.journal, self.plan)
            whole, none = after.difference(held), self.ledger.difference(held)
            expect(not whole or not none, f"all or nothing of an interrupted sheet in {self.plan}", (whole, none))
            tracebacks = errors.count("Traceback") - errors.count("Exception ignored in")  # Python's own
            expect(code in (0, INTERRUPTED) and not tracebacks, "exit code 0 or 130", (code, errors[-250:]))
            expect(code or not whole, f"a sheet that is told with exit code 0 in {self.plan}", whole)
            if not whole:
                break
        code, errors = self._command("tell", *words)
        expect(code == 0, f"a sheet that is told in {self.plan}", errors)
        self._hold(after)

    def wrong(self) -> None:
        """Tell a sheet with a wrong line."""
        rows = self.names.rows(pick(self.rng, self.sheets))
        what = spoiled(rows, self.names, self.rng)
        self._refused([self._file(rows, ",", "utf-8"), "--correct"], what)

    def _refused(self, words: list[str], what: str) -> None:
        code, errors = self._command("tell", *words)
        lines = [line for line in errors.splitlines() if ": warning: " not in line]
        expect(
            code == MISTAKE and len(lines) == 1,
            f"one line and exit code 2 for {what} in {self.plan}",
            (code, errors[-250:]),
        )
        self._hold(self.ledger)

    def _hold(self, ledger: Ledger) -> None:
        """Compare the journal with a ledger, which is the one from now on."""
        found = ledger.difference(Ledger.read(self.journal, self.plan))
        expect(not found, f"the rows of the ledger in {self.plan}", found)
        self.ledger = ledger

    def _written(self, sheet: list[Line]) -> str:
        """Write a sheet as a program for spreadsheets does."""
        separator, comma = pick(self.rng, DIALECTS)
        return self._file(self.names.rows(sheet, comma), separator, pick(self.rng, ("utf-8", "utf-8-sig")))

    def _file(self, rows: list[list[str]], separator: str, encoding: str) -> str:
        path, odd = self.folder / f"told{self.commands}.csv", any(mark in "".join(rows[0]) for mark in ";\t")
        with path.open("w", newline="", encoding=encoding) as file:
            quoting = csv.QUOTE_ALL if odd or self.rng.random() < 0.3 else csv.QUOTE_MINIMAL
            csv.writer(file, delimiter=separator, quoting=quoting).writerows(rows)
        return str(path)

    def _command(self, name: str, *words: str, seconds: float | None = None) -> tuple[int, str]:
        """Return the exit code and the errors of a command, which may be interrupted."""
        self.commands += 1
        errors, argv = io.StringIO(), [name, str(self.journal), *words]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            try:
                code = self.run(argv) if seconds is None else within(seconds, lambda: self.run(argv))
            except KeyboardInterrupt:  # before the command began
                code = INTERRUPTED
        return code, errors.getvalue()
