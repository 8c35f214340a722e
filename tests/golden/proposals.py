"""Runs whose proposals are kept as records of truth, and how they are made: `python -m tests.golden.proposals --write`.

`--write NAME ...` makes those of some samplers alone: so a new one joins, and the others stay as they are.

A run asks for 200 points with everything on the way that happens to a search: failures, late values, lost trials,
points that nobody asked for, and in the middle a new process that goes on from the state.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lamcts import Box, Choice, Exhausted, Finite, Float, Int, Optimizer, Space, Trial, samplers
from lamcts.samplers import Cma, Coordinate, HillClimb, Portfolio, Quadratic, Turbo

RECORD = Path(__file__).parent / "proposals.json"
POINTS = 200
FIRST = 12  # points that do not yet depend on the last bits of the arithmetic
DIGITS = 6  # in the full lists
ROUNDING = 1e-3  # of the first points on another machine: they differed by up to 1.5e-4 between two processors
CLOSE = 9  # digits that are hashed

SPACES: dict[str, Callable[[int], object]] = {
    "continuous": lambda d: Box(-5.0, 10.0, dim=d),
    "mixed": lambda d: Space({f"p{i}": _parameter(i) for i in range(d)}),
    "finite": lambda d: Finite(np.random.default_rng(7).random((320, d))),
}
NAMES = ["auto", "turbo", "quadratic", "coordinate", "bo", "cma", "nevergrad:TwoPointsDE", "uniform"]
NAMES += ["mutate", "hillclimb", "mixed_gp"]
# Searches that give up soon, so that each begins again several times; and the ways to treat the tree's region.
IMPATIENT = {
    "auto-impatient": lambda: Portfolio(
        (Turbo(length_min=0.3, failure_tolerance=2, descent_share=1.0), Quadratic(length_min=0.2), Coordinate(8)),
        memory=12.0,
    ),
    "turbo-impatient": lambda: Turbo(length_min=0.2, failure_tolerance=2),
    "turbo-fenced": lambda: Turbo(length_min=0.2, failure_tolerance=3, scope="incumbent"),
    "turbo-unsettled": lambda: Turbo(length_min=0.2, failure_tolerance=3, scope="selected"),
    "quadratic-impatient": lambda: Quadratic(length_min=0.3, failure_tolerance=2),
    "coordinate-impatient": lambda: Coordinate(patience=12),
    "cma-impatient": lambda: Cma(tolx=0.05, tolfun=0.2),
    "hillclimb-impatient": lambda: HillClimb(patience=6),
    "hillclimb-fenced": lambda: HillClimb(patience=12, scope="incumbent"),
}


class Case(NamedTuple):
    sampler: str
    space: str
    dim: int
    batch: int

    @property
    def key(self) -> str:
        return f"{self.sampler} {self.space} d={self.dim} batch={self.batch}"


def cases() -> Iterator[Case]:
    for sampler in [*NAMES, *IMPATIENT]:
        for dim in (2, 5, 20) if sampler in NAMES else (2, 5):
            for space in SPACES:
                yield from (Case(sampler, space, dim, batch) for batch in (1, 10))


def _parameter(i: int) -> Float | Int | Choice:
    kinds = (Float(-1.0, 1.0), Int(0, 9), Choice(("a", "b", "c")), Float(1e-4, 1.0, log=True))
    return kinds[i % len(kinds)]


def loss(x: np.ndarray) -> float:
    """A rippled bowl with uneven axes, of a point [d] in the unit cube."""
    gap = x - np.linspace(0.2, 0.7, len(x))
    return float((np.linspace(1.0, 3.0, len(x)) * gap**2 + 0.05 * (1.0 - np.cos(12.0 * gap))).sum())


class Run(NamedTuple):
    """The points [n, d] of a run in the order of issue, and the number of its last search."""

    points: np.ndarray
    last: int


def run(case: Case) -> Run:
    """Return what a case asks for: 200 points, or the whole space's where it runs out."""
    space = SPACES[case.space](case.dim)

    def make() -> Optimizer:
        given = case.sampler
        sampler = IMPATIENT[given]() if given in IMPATIENT else samplers.make(given, space)
        return Optimizer(space, sampler=sampler, n_init=6, seed=len(case.key))

    opt, asked, turn = make(), list[np.ndarray](), 0
    waiting: list[tuple[int, Trial]] = []  # turn at which a value comes late, trial
    while len(asked) < POINTS:
        turn += 1
        try:
            trials = opt.ask(case.batch)
        except Exhausted:
            break
        asked += [trial.x for trial in trials]
        waiting += _first_tells(opt, trials, turn)
        for _, trial in [pair for pair in waiting if pair[0] <= turn]:
            opt.tell(trial, loss(trial.x))
        waiting = [pair for pair in waiting if pair[0] > turn]
        if turn % max(40 // case.batch, 1) == 0:
            x = space.sample(2, np.random.default_rng(turn))
            x = np.array([row for row in x if not any(np.array_equal(row, late.x) for _, late in waiting)])
            opt.tell_points([space.decode(row) for row in x], [loss(row) for row in x])
        if turn == POINTS // case.batch // 2:
            state = opt.state_dict()
            opt = make()
            opt.load_state_dict(state)
    return Run(np.array(asked)[:POINTS], int(opt.seen.source.max()))


def _first_tells(opt: Optimizer, trials: list[Trial], turn: int) -> list[tuple[int, Trial]]:
    """Forget some trials, fail some, keep some back, tell the others; return those whose value comes later."""
    later, now = list[tuple[int, Trial]](), list[Trial]()
    for trial in trials:
        if trial.id % 23 == 7:
            opt.forget(trial)
        elif trial.id % 13 == 4:
            later.append((turn + 2, trial))
        elif trial.id % 17 == 5:
            opt.tell(trial, None)
            later.append((turn + 3, trial))
        else:
            now.insert(0, trial)
    opt.tell(now, [loss(trial.x) for trial in now])
    return later


def digest(x: np.ndarray) -> str:
    """Return the hash of points [n, d], rounded."""
    return hashlib.sha256((np.round(x, CLOSE) + 0.0).tobytes()).hexdigest()[:16]


def arithmetic() -> str:
    """Return a hash of the last bits of this machine's arithmetic: BLAS, LAPACK, exponentials."""
    a = np.random.default_rng(0).standard_normal((60, 40))
    gram = np.exp(-0.01 * np.square(a[:, None] - a[None]).sum(2)) + 1e-3 * np.eye(60)
    factor = np.linalg.cholesky(gram)
    parts = [gram, factor, np.linalg.solve(factor, a), a @ a.T, np.cos(a), np.log1p(abs(a)), np.linalg.eigvalsh(gram)]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def load() -> dict[str, Any]:
    """Return the record, an entry a case."""
    record: dict[str, Any] = json.loads(RECORD.read_text())
    return record


def entry(case: Case) -> dict[str, Any]:
    """Return what is kept of a case: the hash, the first points, in two dimensions all of them, and the last search.

    With the arithmetic that it was made with: on a machine with another one, fewer points are compared.
    """
    points, last = run(case)
    kept = points if case.dim == 2 else points[:FIRST]
    rounded = [[round(v, DIGITS) for v in x] for x in kept.tolist()]
    return {"arithmetic": arithmetic(), "hash": digest(points), "last": last, "points": rounded}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write",
        nargs="*",
        metavar="NAME",
        help="make the record anew, of all or some samplers: where a change is meant",
    )
    chosen = parser.parse_args().write
    if chosen is None:
        parser.error("expected --write")
    kept = load() if chosen else {}
    for case in cases():
        if not chosen or case.sampler in chosen:
            start = time.process_time()
            kept[case.key] = entry(case)
            print(f"{case.key}: {time.process_time() - start:.1f} s", flush=True)
            save(kept)


def save(kept: dict[str, Any]) -> None:
    """Write the entries that there are, in the order of the cases, a line each."""
    lines = [f"{json.dumps(case.key)}: {json.dumps(kept[case.key])}" for case in cases() if case.key in kept]
    text = ",\n".join(lines)
    RECORD.write_text(f"{{\n{text}\n}}\n")


if __name__ == "__main__":
    main()
