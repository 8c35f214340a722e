"""A sampler's session with the bookkeeping that an optimizer does round it, checking every answer."""

import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region, Step
from lamcts.types import Floats, Rows
from lamcts.utils.numerics import own_numerics

Loss = Callable[[Floats], float]


class ContractError(AssertionError):
    """A part breaks its contract; the message has what was expected and what came."""


def expect(condition: object, expected: str, got: object = "otherwise") -> None:
    """Raise ContractError unless `condition` holds."""
    if not condition:
        raise ContractError(f"expected {expected}, got {got}")


@contextmanager
def watched(what: str) -> Iterator[None]:
    """Expect of the code inside: no exception, no warning, and global random generators left as they were."""
    before = _global_generators()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except ContractError as error:
        raise ContractError(f"{what}: {error}") from error
    except Warning as warning:
        raise ContractError(f"{what}: expected no warning, got {type(warning).__name__}: {warning}") from warning
    except Exception as error:
        raise ContractError(f"{what}: expected no exception, got {type(error).__name__}: {error}") from error
    after = _global_generators()
    touched = [name for name in before if before[name] != after[name]]
    if touched:
        raise ContractError(f"{what}: expected global random generators to stay untouched, got draws from {touched}")


def _global_generators() -> dict[str, object]:
    """Return the states of the global generators in a form that `==` compares."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002  (only looked at)
    states: dict[str, object] = {"random": random.getstate(), "numpy.random": (name, bytes(np.asarray(keys)), rest)}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes()
    return states


def bowl(x: Floats) -> float:
    """Return a loss that every sampler should be able to lower: the squared distance from a point inside."""
    return float(np.sum((x - 0.3) ** 2))


def through_json(value: object) -> Any:
    """Return a value as it comes back from JSON text; None where it is no JSON value."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return None


class Search:
    """One session over its own observations. Every answer is held against the protocol."""

    def __init__(
        self,
        sampler: Sampler,
        space: SearchSpace,
        seed: int,
        *,
        steps: Sequence[Step] = (),
        given: int = 8,
        loss: Loss = bowl,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.space, self.loss = space, loss
        self.steps = tuple(steps)
        self.seen = self._nothing()
        self.sampler = adapt_to_goals(sampler, self.seen)
        self.out: dict[int, object] = {}  # trial -> note
        self.trials = 0
        x = space.sample(given, np.random.default_rng([seed, 1]))
        x = x[self.seen.unseen(x)]
        self._append(x, np.array([loss(row) for row in x]), np.full(len(x), -1), -1)
        rng = np.random.default_rng([seed, 2]) if rng is None else rng
        self.session: Session = self.sampler.start(self.region(), self.seen, rng)
        self._log = ""
        self.check_session()

    def region(self) -> Region:
        """Return the region of the current steps with all good rows inside."""
        region, good = Region(self.space, self.steps, self.seen.good), self.seen.good
        return Region(self.space, self.steps, good[region.contains(self.seen.x[good])])

    @own_numerics()
    def ask(self, n: int) -> list[int]:
        """Ask for `n` points, check them, and return the numbers of their trials."""
        x, notes, gains = Proposal(*self.session.ask(n))
        expect(isinstance(x, np.ndarray) and x.dtype == np.float64, "ask: an array of float64", f"{x!r:.80}")
        expect(x.ndim == 2 and x.shape[1] == self.space.dim, f"ask: shape [k, {self.space.dim}]", x.shape)
        expect(len(x) <= n, f"ask: at most {n} points", len(x))
        expect(len(x) == len(notes), "ask: one note to each point", f"{len(x)} points, {len(notes)} notes")
        expect(through_json(notes) == list(notes), "ask: notes that are JSON values", notes[:5])
        known = [] if gains is None else [gain for gain in gains if gain is not None]
        expect(gains is None or len(gains) == len(x), "ask: one gain to each point, or gains of None", gains)
        expect(all(isinstance(gain, float) and gain >= 0 for gain in known), "ask: gains of at least 0.0", known[:5])
        if self.space.size == np.inf:
            expect(len(x) == n, f"ask: {n} points of a region that holds infinitely many", len(x))
        expect(np.array_equal(self.space.snap(x), x), "ask: points that the space's snap leaves as they are")
        inside = self.region().contains(x)
        expect(inside.all(), "ask: points inside the region", f"{np.count_nonzero(~inside)} of {len(x)} outside")
        fresh = self.seen.unseen(x)
        expect(fresh.all(), "ask: points never asked or seen before", f"{np.count_nonzero(~fresh)} known or repeated")
        numbers = list(range(self.trials, self.trials + len(x)))
        self.trials += len(x)
        for number, point, note in zip(numbers, x, notes, strict=True):
            self.seen.expect(number, point.copy())
            self.out[number] = note
        self.check_session()
        return numbers

    @own_numerics()
    def tell(self, numbers: Sequence[int], failed: Sequence[bool] | None = None) -> None:
        """Tell the losses of some trials in the order given; those that `failed` are told as nan."""
        if not numbers:
            return
        x = np.array([self.seen.pending[number] for number in numbers])
        failed = failed if failed is not None else [False] * len(x)
        y = np.array([np.nan if bad else self.loss(row) for row, bad in zip(x, failed, strict=True)])
        self.seen.close(numbers)
        rows = self._append(x, y, np.array(numbers), 0)
        self.session.tell([self.out.pop(number) for number in numbers], rows)
        self.check_session()

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop some trials for ever."""
        self.seen.close(numbers)
        self.session.forget([self.out.pop(number) for number in numbers])
        self.check_session()

    def move(self, steps: Sequence[Step]) -> None:
        """Go on in the region of other steps, which must contain the incumbent."""
        self.steps = tuple(steps)
        self.session.move(self.region())
        self.check_session()

    def go(self, rounds: int, batch: int) -> Floats:
        """Ask and tell `batch` points, `rounds` times, as an optimizer does; return all points asked, [k, d]."""
        asked = [np.empty((0, self.space.dim))]
        for _ in range(rounds):
            self.session.move(self.region())
            numbers = self.ask(batch)
            asked += [self.seen.pending[number][None] for number in numbers]
            self.tell(numbers)
        return np.vstack(asked)

    def saved(self) -> str:
        """Return the session's state and log as JSON text."""
        return json.dumps({"state": self.session.state(), "log": self.session.log}, allow_nan=False)

    def resumed(self) -> "Search":
        """Return a search that goes on from this one's saved state, over observations of its own."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        seen = self._nothing()
        seen.append(*self.seen.columns())
        for number, x in self.seen.pending.items():
            seen.expect(number, x)
        other.seen, other.out = seen, dict(through_json(list(self.out.items())))
        saved = json.loads(self.saved())
        other.session = self.sampler.restore(saved["state"], saved["log"], other.region(), seen)
        other.check_session()
        return other

    def check_session(self) -> None:
        """Hold what the session says of itself against the protocol."""
        session, seen = self.session, self.seen
        expect(isinstance(session.done, bool), "done: True or False", repr(session.done))
        row = session.incumbent
        if row is not None:
            expect(isinstance(row, int) and 0 <= row < len(seen), "incumbent: a row number or None", repr(row))
            expect(np.isfinite(seen.y[row]), "incumbent: a row that succeeded", f"row {row} of loss {seen.y[row]}")
            expect(self.region().contains(seen.x[[row]])[0], "incumbent: a row inside the region", f"row {row}")
        log = json.dumps(session.log, allow_nan=False)
        expect(
            log == self._log or self._log in ("", "[]") or log.startswith(self._log[:-1] + ","),
            "log: earlier entries as they were, new ones behind them",
            f"{self._log[-60:]} followed by {log[-60:]}",
        )
        self._log = log

    def _nothing(self) -> Observations:
        """Return observations without a row."""
        return Observations(self.space.dim)

    def _append(self, x: Floats, y: Floats, trials: Rows, source: int) -> Rows:
        k = len(x)
        return self.seen.append(x, y, np.full(k, np.nan), trials, np.full(k, source))
