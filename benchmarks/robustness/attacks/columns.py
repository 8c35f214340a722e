"""Random sessions with constraints and several objectives: the calls of `sessions`, and a ledger of columns.

A row below full fidelity is compared with no other row: it is neither the best nor on the front.

What is told comes in all the clothes that are taken: dicts, numbers in order, arrays, constraints with the value or
beside it, a failure with or without them, a check without a run. Letters: m objectives, c constraints, n rows.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.robustness.attacks import sessions
from benchmarks.robustness.attacks.verdict import Broken, Case, check_own, difference, expect, pick

OK, FAILED, CHECKED, PRUNED, PARTIAL = range(5)
MOST = 120  # evaluations: every search that models looks at all columns
FAILURES = (None, RuntimeError("lost"), TimeoutError(), KeyError())
SENSES = ("min", "max")


class Row(NamedTuple):
    """A row of the ledger: losses [m] and violations [c], nan where there are none, in the optimizer's own sense."""

    x: bytes
    f: tuple[float, ...]
    g: tuple[float, ...]
    kind: int
    trial: int


class Told(NamedTuple):
    """What is told of a point, and the row that it has to become."""

    value: Any
    held: Any
    f: tuple[float, ...]
    g: tuple[float, ...]
    kind: int


class Held(NamedTuple):
    """A constraint, written apart from the package's own reading of it."""

    name: str
    text: str
    violation: Callable[[float], float]


def check(case: Case, folder: Path, make: Any = lamcts.Optimizer) -> int:
    """Play one session; return how many calls it made. `make` builds the optimizer (a test passes broken ones)."""
    kind = WithFidelity if case.kind == "fidelities" else Session
    return sessions.play(kind(case, make), case, (10, 50, 50, 100), folder)


def drawn_constraints(rng: np.random.Generator, c: int) -> list[Held]:
    held = []
    for j in range(c):
        bound, room = float(rng.integers(-2, 4)) / 4, float(rng.integers(0, 3)) / 8
        below = Held(f"g{j}", f"g{j} <= {bound}", lambda v, b=bound: v - b)
        above = Held(f"g{j}", f"g{j}>={bound}", lambda v, b=bound: b - v)
        equal = Held(f"g{j}", f"g{j} == {bound} +- {room}", lambda v, b=bound, r=room: abs(v - b) - r)
        held.append(pick(rng, (below, below, above, equal)))
    return held


class Session(sessions.Session):
    """One optimizer of several columns, and the rows that it should hold by now."""

    rows: list[Row]  # type: ignore[assignment]
    fidelity_drawn: bool | None = False
    shapes = ((1, 1), (1, 2), (1, 6), (2, 0), (2, 0), (2, 1), (3, 0), (3, 2), (5, 0))  # m, c

    def __init__(self, case: Case, make: Any = lamcts.Optimizer) -> None:
        rng = case.rng(3)
        self.m, self.c = pick(rng, self.shapes)
        self.senses = [pick(rng, SENSES) for _ in range(self.m)]
        self.names = [f"f{j}" for j in range(self.m)]
        self.held = drawn_constraints(rng, self.c)
        goals = {"objectives": dict(zip(self.names, self.senses, strict=True))}
        goals["constraints"] = [held.text for held in self.held]
        super().__init__(case, lambda **settings: make(**settings, **goals))
        self.settings |= goals
        self.most = min(self.most, MOST)
        self.failing, self.checking, self.tied = (float(pick(rng, (0.0, 0.2, 0.9))) for _ in range(3))

    # What is told ---------------------------------------------------------------------------------------------------

    def drawn(self, x: Any, whole: bool = False) -> Told:
        """Draw what a point encoded as `x` [d] comes to; `whole`: all of it, by name."""
        rng = self.rng
        values = [self._number(x, j) for j in range(self.m)]
        quantities = [self._number(x, self.m + j) for j in range(self.c)]
        f = tuple(v if s == "min" else -v for v, s in zip(values, self.senses, strict=True))
        if not whole and rng.random() < 0.1:
            quantities = [math.nan if rng.random() < 0.5 else q for q in quantities]
        g = tuple(math.nan if math.isnan(q) else h.violation(q) for q, h in zip(quantities, self.held, strict=True))
        nothing, unknown = (math.nan,) * self.m, (math.nan,) * self.c
        beside = dict(zip((held.name for held in self.held), quantities, strict=True))
        if not whole and rng.random() < self.checking / 2 and not all(map(math.isnan, g)):
            return Told(None, pick(rng, (beside, quantities, np.array(quantities))), nothing, g, CHECKED)
        if not whole and rng.random() < self.failing:
            return self._failure(beside, nothing, g if self.c else unknown)
        named = dict(zip(self.names, values, strict=True))
        clothes = [(named | beside, None), ([*values, *quantities], None), (np.array(values), beside or None)]
        if self.c:
            clothes += [(named, quantities), (tuple(values), np.array(quantities))]
        value, held = clothes[0] if whole else pick(rng, clothes)
        return Told(value, held, f, g, OK)

    def _failure(self, beside: dict[str, float], nothing: tuple[float, ...], g: tuple[float, ...]) -> Told:
        failure, unknown = pick(self.rng, FAILURES), (math.nan,) * self.c
        if failure is None or not self.c or self.rng.random() < 0.5:
            missing = pick(self.rng, self.names)
            broken = {**dict.fromkeys(self.names, 1.0), missing: pick(self.rng, (math.inf, math.nan)), **beside}
            if failure is None and self.rng.random() < 0.5:
                signs = zip(self.names, self.senses, strict=True)
                kept = tuple(math.nan if n == missing else 1.0 if s == "min" else -1.0 for n, s in signs)
                return Told(broken, None, kept, g, FAILED)
            return Told(failure, None, nothing, unknown, FAILED)
        return Told(failure, beside, nothing, g, FAILED)

    def _number(self, x: Any, j: int) -> float:
        place = 0.5 + 0.4 * math.cos(1.0 + 2.0 * j)
        number = float(np.mean(np.abs(x - place)))
        return round(4 * number) / 4 if self.tied else number

    # What a user does -----------------------------------------------------------------------------------------------

    def tell(self) -> None:
        if not self.pending:
            return
        k = int(self.rng.integers(1, len(self.pending) + 1))
        chosen = [self.pending[i] for i in self.rng.permutation(list(self.pending))[:k].tolist()]
        told = [self.drawn(trial.x) for trial in chosen]
        if k == 1 and self.rng.random() < 0.5:
            self.opt.tell(chosen[0], told[0].value, constraints=told[0].held)
        else:
            self.opt.tell(chosen, [own.value for own in told], constraints=[own.held for own in told])
        for trial, own in zip(chosen, told, strict=True):
            self._enter(trial, own)

    def tell_late(self) -> None:
        """Bring all columns of a trial that failed, or was checked."""
        if self.late:
            trial = pick(self.rng, self.late.values())
            told = self.drawn(trial.x, whole=True)
            self.opt.tell([trial], [told.value])
            self._enter(trial, told)

    def _enter(self, trial: Any, told: Told) -> None:
        self._row(trial.x.tobytes(), told, trial.id)
        self.pending.pop(trial.id, None)
        self.late.pop(trial.id, None)
        if told.kind == OK:
            self.closed.append(trial)
        else:
            self.late[trial.id] = trial

    def _row(self, x: bytes, told: Told, trial: int) -> None:
        kind = PARTIAL if told.kind == OK and not self.full(x) else told.kind
        self.rows.append(Row(x, told.f, told.g, kind, trial))

    def prune(self) -> None:
        if self.pending:
            trial = self.pending.pop(pick(self.rng, self.pending))
            self.opt.tell(trial, lamcts.Pruned(pick(self.rng, (None, dict.fromkeys(self.names, 0.5)))))
            self.rows.append(Row(trial.x.tobytes(), (math.nan,) * self.m, (math.nan,) * self.c, PRUNED, trial.id))
            self.closed.append(trial)

    def tell_point(self) -> None:
        self._tell_all(1)

    def tell_points(self) -> None:
        self._tell_all(int(self.rng.integers(0, 6)))

    def _tell_all(self, k: int) -> None:
        x = self.space.sample(k, self.rng)
        points, told = [self.space.decode(row) for row in x], [self.drawn(row) for row in x]
        self.opt.tell_points(points, [own.value for own in told], [own.held for own in told])
        out: dict[bytes, list[Any]] = {}
        for trial in self.pending.values():
            out.setdefault(self.space.encode(trial.point).tobytes(), []).append(trial)
        for point, own in zip(points, told, strict=True):
            code = self.space.encode(point).tobytes()
            if same := out.get(code):
                self._enter(same.pop(), own)
            else:
                self._row(code, own, -1)

    def refusal(self) -> None:
        """Tell what must be refused: in the package's own words, and with nothing taken in."""
        if not self.pending:
            return
        trial = pick(self.rng, self.pending.values())
        name, value, held = pick(self.rng, self._wrong())
        before = self.opt.state_dict()
        try:
            self.opt.tell([trial], [value], constraints=held)
        except Exception as error:
            check_own(error, name)
        else:
            raise Broken(f"{name}: expected a refusal of {value!r}, {held!r}, got none")
        changed = difference(before, self.opt.state_dict())
        expect(not changed, f"nothing taken in by {name}", f"another {changed}")

    def _wrong(self) -> list[tuple[str, Any, Any]]:
        """Return what is wrong, and the value and the constraints that are."""
        whole = dict.fromkeys((*self.names, *(held.name for held in self.held)), 1.0)
        found = [
            ("too many numbers", [1.0] * (self.m + self.c + 1), None),
            ("a text", whole | {self.names[0]: "fast"}, None),
            ("a complex number", whole | {self.names[-1]: 1j}, None),
            ("constraints of an unknown name", whole, [{"speed": 1.0}]),
            ("too many constraints", whole, [[1.0] * (self.c + 1)]),
            ("constraints of another number of trials", whole, [None, None]),
        ]
        if self.m > 1:
            found.append(("too few numbers", [1.0] * (self.m - 1), None))
        return found

    # What must hold -------------------------------------------------------------------------------------------------

    def taken(self) -> set[bytes]:
        return {row.x for row in self.rows} | {trial.x.tobytes() for trial in self.pending.values()}

    def check(self) -> None:
        expect(len(self.opt.seen) == len(self.rows), f"{len(self.rows)} rows in {self}", len(self.opt.seen))
        out = [trial.id for trial in self.opt.pending]
        expect(out == list(self.pending), f"the pending trials {list(self.pending)} in {self}", out)
        front = self.front()
        if self.m > 1:
            expect(self.opt.seen.front.tolist() == front, f"the front {front} in {self}", self.opt.seen.front)
        elif front:
            best, least = self.opt.best, self.rows[front[0]].f[0]
            value = least if self.senses[0] == "min" else -least
            expect(best.feasible and best.value == value, f"best {value} in {self}", best)
        elif any(row.kind == OK for row in self.rows):
            expect(not self.opt.best.feasible, f"nothing feasible in {self}", self.opt.best)

    def front(self) -> list[int]:
        """Return the feasible rows that no other feasible row dominates: by comparing each with each."""
        rows = [i for i, row in enumerate(self.rows) if row.kind == OK and all(g <= 0 for g in row.g)]
        f = np.array([self.rows[i].f for i in rows]).reshape(len(rows), self.m)
        lower = (f[:, None] <= f).all(2) & (f[:, None] < f).any(2)
        return [row for row, beaten in zip(rows, lower.any(0), strict=True) if not beaten]

    def compare(self) -> None:
        """Hold every row against the ledger."""
        seen = self.opt.seen
        broken = self.opt.goals.per_constraint(seen.g)
        columns = zip(seen.x, seen.f, broken, seen.kind, seen.trial, strict=True)
        theirs = [(x.tobytes(), tuple(f.tolist()), tuple(g.tolist()), int(k), int(t)) for x, f, g, k, t in columns]
        found = difference([tuple(row) for row in self.rows], theirs)
        expect(not found, f"the rows of the ledger in {self}", found)
        failed = [i for i, row in enumerate(self.rows) if row.kind == FAILED]
        expect(sorted(self.opt.failures) == failed, f"failures at rows {failed}", sorted(self.opt.failures))

    def finish(self, folder: Path) -> None:
        super().finish(folder)
        self.again(folder)

    def again(self, folder: Path) -> None:
        """Write it, read it, and ask both for the same."""
        self.opt.save(folder / "saved.db")
        later = lamcts.Optimizer.load(folder / "saved.db", space=self.space)
        try:
            ours = [trial.x.tobytes() for trial in self.opt.ask(2)]
        except lamcts.Exhausted as error:
            check_own(error, "ask")
            return
        expect([trial.x.tobytes() for trial in later.ask(2)] == ours, f"equal points after a restart of {self}")


class WithFidelity(Session):
    """The same in a space with a `Fidelity`."""

    fidelity_drawn = True
    shapes = ((1, 1), (1, 6), (2, 0), (2, 0), (2, 1), (3, 0), (3, 2), (4, 1))

    def look(self) -> None:
        super().look()
        self.confirm()
