"""Random sessions of ask and tell over random spaces, with a ledger kept beside the optimizer."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks import spaces
from benchmarks.robustness.attacks.refusals import REFUSALS
from benchmarks.robustness.attacks.values import Regime
from benchmarks.robustness.attacks.verdict import Broken, Case, brief, check_own, difference, expect, pick, unwarned

DEAR = {"bo": 40, "nevergrad": 100}  # asks of these cost the most: so many evaluations, others may have MOST
MOST = 250
NEVERGRAD = ("", ":OnePlusOne", ":TwoPointsDE", ":CMA", ":PSO")


def check(case: Case, folder: Path, make: Any = lamcts.Optimizer) -> int:
    """Play one session; return how many calls it made. `make` builds the optimizer (a test passes broken ones)."""
    return play(Session(case, make), case, (10, 50, 50, 200), folder)


def play(session: "Session", case: Case, lengths: Sequence[int], folder: Path) -> int:
    """Have a session do as many things as one of some lengths, looking at it after each; return how many calls."""
    with unwarned(session):
        for _ in range(int(pick(case.rng(1), lengths))):
            session.step()
            session.check()
        session.finish(folder)
    return session.calls


def settings(case: Case, fidelity: bool | None = None) -> dict[str, Any]:
    """Return what the optimizer of a case is made of, with a fidelity, without, or either; samplers take turns."""
    rng = case.rng()
    names = list(lamcts.samplers.names())
    sampler = names[case.number % len(names)]
    space = spaces.drawn(rng, 40 if sampler in DEAR else spaces.MANY, fidelity)
    options: dict[str, Any] = {"space": space, "seed": int(rng.integers(2**31))}
    options["sampler"] = sampler + (pick(rng, NEVERGRAD) if sampler == "nevergrad" else "")
    options["design"] = pick(rng, ("sobol", "lhs", "uniform"))
    options["n_init"] = pick(rng, (None, 0, 1, 7))
    options["repeat"] = bool(rng.random() < 0.15)
    if rng.random() < 0.2:
        options["x0"] = [space.decode(x) for x in space.sample(int(rng.integers(1, 4)), rng)]
    return options


class Session:
    """One optimizer, and what it should know by now: the points taken, and the number told for each row."""

    fidelity_drawn: bool | None = None  # whether its space has a fidelity; None: it may

    def __init__(self, case: Case, make: Any = lamcts.Optimizer) -> None:
        self.settings = settings(case, self.fidelity_drawn)
        self.space, self.repeat = self.settings["space"], self.settings["repeat"]
        self.opt = make(**self.settings)
        self.rng = case.rng(2)
        self.regime = Regime.drawn(self.rng)
        self.most = DEAR.get(self.settings["sampler"].partition(":")[0], MOST)
        self.rows: list[tuple[bytes, float, int]] = []  # x, the number (nan: failed), the trial
        self.pending: dict[int, Any] = {}
        self.late: dict[int, Any] = {}
        self.closed: list[Any] = []  # trials that may not be told any more
        self.issued = self.calls = 0
        self.fidelity = spaces.fidelity_of(self.space)
        self.pruned: set[int] = set()  # rows

    def __str__(self) -> str:
        shown = {name: value for name, value in self.settings.items() if name != "x0"}
        return f"a session with {shown} and values that are {self.regime.name}"[:700]

    def step(self) -> None:
        """Do one thing at random."""
        acts = (
            self.ask,
            self.ask,
            self.ask,
            self.ask,
            self.tell,
            self.tell,
            self.tell,
            self.tell,
            self.tell_late,
            self.forget,
            self.prune,
        )
        act = pick(self.rng, (*acts, self.tell_point, self.tell_points, self.refusal, self.refusal, self.look))
        try:
            act()
        except Broken as broken:
            raise Broken(f"{act.__name__}: {broken}; in {self}") from broken
        except Exception as error:
            raise Broken(f"{act.__name__}: expected no exception, got {brief(error)}; in {self}") from error
        self.calls += 1

    # What a user does -----------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask for a few points: new ones, and as many as asked for unless the space has no more."""
        n = int(pick(self.rng, (1, 1, 2, 5, 20)))
        if self.issued >= self.most:
            return
        before = self.taken()
        try:
            trials = self.opt.ask(n)
        except lamcts.Exhausted as error:
            check_own(error, "ask")
            trials = []
        for trial in trials:
            self._issued(trial, before)
        if len(trials) < n and self.fidelity is None:  # a configuration that failed is not proposed at other fidelities
            expect(len(before) >= spaces.size(self.space) and not self.repeat, f"{n} trials", f"{len(trials)}")

    def _issued(self, trial: Any, taken: set[bytes]) -> None:
        x = np.asarray(trial.x)
        expect(trial.id == self.issued, f"trial number {self.issued}", trial.id)
        expect(((x >= 0) & (x <= 1)).all() and (self.space.snap(x[None])[0] == x).all(), "a valid x", x)
        code = self.space.encode(trial.point)  # of a range a few ulps wide, only the point comes back, not the x
        expect(
            code.tobytes() == x.tobytes() or self.space.continuous.any(), "a point that encodes as its x", trial.point
        )
        expect(self.repeat or x.tobytes() not in taken, "a point that is not out and not told", trial.point)
        taken.add(x.tobytes())
        self.pending[trial.id] = trial
        self.issued += 1

    def tell(self) -> None:
        """Tell some pending trials, in any order, all at once or one on its own."""
        if not self.pending:
            return
        k = int(self.rng.integers(1, len(self.pending) + 1))
        chosen = [self.pending[i] for i in self.rng.permutation(list(self.pending))[:k].tolist()]
        drawn = [self.regime.draw(trial.x, self.rng) for trial in chosen]
        seconds = pick(self.rng, (None, [float(s) for s in self.rng.random(k)]))
        if k == 1 and self.rng.random() < 0.5 and not isinstance(drawn[0][0], np.ndarray):
            self.opt.tell(chosen[0], drawn[0][0])
        else:
            self.opt.tell(chosen, [value for value, _ in drawn], seconds)
        for trial, (_, number) in zip(chosen, drawn, strict=True):
            self._told(trial, number)

    def tell_late(self) -> None:
        """Bring a value for a trial that was told as failed."""
        if self.late:
            trial = pick(self.rng, self.late.values())
            number = self.regime.number(trial.x)
            self.opt.tell([trial], [number])
            self._told(trial, number)

    def _told(self, trial: Any, number: float) -> None:
        self.rows.append((trial.x.tobytes(), number, trial.id))
        self.pending.pop(trial.id, None)
        self.late.pop(trial.id, None)
        if math.isnan(number):
            self.late[trial.id] = trial
        else:
            self.closed.append(trial)

    def prune(self) -> None:
        """Tell that a trial was stopped on its way, with a prediction or without."""
        if self.pending:
            trial = self.pending.pop(pick(self.rng, self.pending))
            self.opt.tell(trial, lamcts.Pruned(pick(self.rng, (None, 0.5))))
            self.pruned.add(len(self.rows))
            self.rows.append((trial.x.tobytes(), math.nan, trial.id))
            self.closed.append(trial)

    def forget(self) -> None:
        if self.pending:
            trial = self.pending.pop(pick(self.rng, self.pending))
            self.opt.forget(trial)
            self.closed.append(trial)

    def tell_point(self) -> None:
        x = self.space.sample(1, self.rng)
        point = self.space.decode(x[0])
        value, number = self.regime.draw(x[0], self.rng)
        self.opt.tell_point(point, value)
        self._told_points([point], [number])

    def tell_points(self) -> None:
        """Tell points of all sources at once: new, told before, and those that are out."""
        drawn = [self.space.decode(x) for x in self.space.sample(int(self.rng.integers(0, 6)), self.rng)]
        out = [trial.point for trial in list(self.pending.values())[: int(self.rng.integers(0, 3))]]
        points = drawn + out + drawn[:1]
        values = [self.regime.draw(self.space.encode(point), self.rng) for point in points]
        self.opt.tell_points(points, [value for value, _ in values])
        self._told_points(points, [number for _, number in values])

    def _told_points(self, points: list[Any], numbers: list[float]) -> None:
        """A point that is equal to a pending trial's closes that trial, of several equal ones the last that is left."""
        out: dict[bytes, list[Any]] = {}
        for trial in self.pending.values():
            out.setdefault(self.space.encode(trial.point).tobytes(), []).append(trial)
        for point, number in zip(points, numbers, strict=True):
            code = self.space.encode(point)
            if same := out.get(code.tobytes()):
                self._told(same.pop(), number)
            else:
                self.rows.append((code.tobytes(), number, -1))

    def refusal(self) -> None:
        """Call what must be refused: in the package's own words, and with nothing taken in."""
        name = pick(self.rng, REFUSALS)
        if (call := REFUSALS[name](self)) is None:
            return
        before = self.opt.state_dict()
        try:
            call()
        except Exception as error:
            check_own(error, name)
        else:
            raise Broken(f"{name}: expected a refusal, got none")
        changed = difference(before, self.opt.state_dict())
        expect(not changed, f"nothing taken in by {name}", f"another {changed}")

    def confirm(self) -> None:
        """Take points of the model at full fidelity."""
        before = self.taken()
        for trial in self.opt.confirm(2) if self.issued < self.most else []:
            self._issued(trial, before)
            expect(self.full(trial.x.tobytes()), "a point at full fidelity", trial.point)

    def look(self) -> None:
        """What only looks must change nothing that a ledger can see."""
        lamcts.LatentTree().incremental(self.space, self.opt.seen).root()
        expect(self.opt.region().space.dim == self.space.dim, "a region of the space")
        expect(self.opt.fingerprint() == self.opt.fingerprint(), "one fingerprint")

    # What must hold -------------------------------------------------------------------------------------------------

    def taken(self) -> set[bytes]:
        """Return the points that are told or out, as bytes."""
        return {x for x, _, _ in self.rows} | {trial.x.tobytes() for trial in self.pending.values()}

    def check(self) -> None:
        expect(len(self.opt.seen) == len(self.rows), f"{len(self.rows)} rows in {self}", len(self.opt.seen))
        out = [trial.id for trial in self.opt.pending]
        expect(out == list(self.pending), f"the pending trials {list(self.pending)} in {self}", out)
        numbers = [number for x, number, _ in self.rows if not math.isnan(number) and self.full(x)]
        if numbers:
            best = self.opt.best
            expect(best.value == min(numbers), f"best {min(numbers)} in {self}", best.value)

    def full(self, x: bytes) -> bool:
        """Return whether a row is at full fidelity; without one all are."""
        if self.fidelity is None:
            return True
        return bool(self.space.decode(np.frombuffer(x))[spaces.FIDELITY] == self.fidelity.high)

    def finish(self, folder: Path) -> None:
        """Look at the whole of it once more, at the end."""
        self.compare()

    def compare(self) -> None:
        """Hold every row against the ledger."""
        seen = self.opt.seen
        theirs = [(x.tobytes(), float(f), int(t)) for x, f, t in zip(seen.x, seen.f[:, 0], seen.trial, strict=True)]
        found = difference(self.rows, theirs)
        expect(not found, f"the rows of the ledger in {self}", found)
        failed = [i for i, (_, number, _) in enumerate(self.rows) if math.isnan(number) and i not in self.pruned]
        expect(sorted(self.opt.failures) == failed, f"failures at rows {failed}", sorted(self.opt.failures))
