"""The sampler contract can fail: each of these samplers breaks it in one way, and is caught for it."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from lamcts import rng as streams
from lamcts.outcomes.observations import Floats, Observations, Rows
from lamcts.samplers import LocalSampler
from lamcts.spaces import Box, Int
from lamcts.spaces.regions.region import Region
from lamcts.testing import ContractError, check_sampler


class Session:
    """A correct session of the plainest kind: draws of the space, kept where they are inside."""

    done = False
    scope = "selected"

    def __init__(self, region: Region, seen: Observations, rng: np.random.Generator) -> None:
        self.log: list[Any] = []
        self.incumbent: int | None = None
        self.region, self.seen, self.rng = region, seen, rng
        self.note(row for row in region.rows if seen.source[row] == -1)

    def ask(self, n: int) -> tuple[Floats, list[Any]]:
        x = np.empty((0, self.seen.dim))
        for _ in range(100):
            x = np.vstack([x, self.draw(4 * n)])
            x = x[self.keep(x)][:n]
            if len(x) == n:
                break
        return x, [None] * len(x)

    def draw(self, n: int) -> Floats:
        return self.region.space.sample(n, self.rng)

    def keep(self, x: Floats) -> Any:
        return self.region.contains(x) & self.seen.unseen(x)

    def note(self, rows: Iterable[int]) -> None:
        good = [int(row) for row in rows if np.isfinite(self.seen.y[row])]
        best = [] if self.incumbent is None else [self.incumbent]
        self.incumbent = min(best + good, key=lambda row: float(self.seen.y[row]), default=None)

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self.log.append([int(row) for row in rows])
        self.note(rows)

    def forget(self, notes: list[Any]) -> None:
        pass

    def move(self, region: Region) -> None:
        self.region = region

    def recenter(self, row: int) -> None:
        pass

    def proposer(self, note: Any) -> str | None:
        return None

    def state(self) -> dict[str, Any]:
        return {"rng": streams.save(self.rng), "incumbent": self.incumbent}


@dataclass(frozen=True)
class Plain(LocalSampler):
    """Correct, and the base of the broken ones, which differ in their session."""

    session: ClassVar[type[Session]] = Session
    resumable: bool = field(default=True, repr=False)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        return self.session(region, seen, rng)

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Session:
        session = self.session(region, seen, streams.restore(state["rng"]))
        session.log, session.incumbent = list(log), state["incumbent"]
        return session


class Repeats(Session):
    def keep(self, x: Floats) -> Any:
        return self.region.contains(x)

    def draw(self, n: int) -> Floats:
        return self.region.space.sample(n, np.random.default_rng(0))


class Leaves(Session):
    def keep(self, x: Floats) -> Any:
        return self.seen.unseen(x)


class Stays(Session):
    """Does not follow when it is moved."""

    def move(self, region: Region) -> None:
        pass


class Waits(Session):
    def ask(self, n: int) -> tuple[Floats, list[Any]]:
        return super().ask(min(n, 100 - len(self.seen.pending)))


class NoJson(Session):
    """Notes what JSON does not know."""

    def ask(self, n: int) -> tuple[Floats, list[Any]]:
        x, _ = super().ask(n)
        return x, [(1, 2)] * len(x)


class OwnEntropy(Session):
    def draw(self, n: int) -> Floats:
        return self.region.space.sample(n, np.random.default_rng())


class Spawns(Session):
    """Its draws depend on the seed of its generator, which is lost when it is saved."""

    def __init__(self, region: Region, seen: Observations, rng: np.random.Generator) -> None:
        super().__init__(region, seen, rng.spawn(1)[0])


class Forgetful(Session):
    """Its draws depend on a count that it does not save."""

    asked = 0

    def draw(self, n: int) -> Floats:
        self.asked += 1
        return self.region.space.sample(n, np.random.default_rng(self.asked))


class Rewrites(Session):
    def tell(self, notes: list[Any], rows: Rows) -> None:
        super().tell(notes, rows)
        self.log[0] = len(self.log)


class Global(Session):
    def draw(self, n: int) -> Floats:
        np.random.random()  # noqa: NPY002
        return super().draw(n)


class RawValues(Session):
    def draw(self, n: int) -> Floats:
        best = 0.0 if self.incumbent is None else float(self.seen.y[self.incumbent])
        return (super().draw(n) + best % 1.0) % 1.0


class Poisoned(Session):
    """Takes a failure for the best."""

    def note(self, rows: Iterable[int]) -> None:
        for row in rows:
            self.incumbent = int(row)


class Hopeful(Session):
    """Claims an incumbent before any."""

    def note(self, rows: Iterable[int]) -> None:
        super().note(rows)
        self.incumbent = 0 if self.incumbent is None else self.incumbent


class Fragile(Session):
    def tell(self, notes: list[Any], rows: Rows) -> None:
        super().tell(notes, rows)
        if not np.isfinite(self.seen.y[rows]).any():
            raise RuntimeError("nothing to fit")


class Noisy(Session):
    def tell(self, notes: list[Any], rows: Rows) -> None:
        super().tell(notes, rows)
        if np.ptp(self.seen.y[rows]) == 0:
            warnings.warn("constant", RuntimeWarning, stacklevel=2)


class ArrayState(Session):
    def state(self) -> dict[str, Any]:
        return {**super().state(), "best": np.zeros(2)}


BROKEN = {
    Repeats: "never asked or seen before",
    Leaves: "points inside the region",
    Stays: "inside the region",
    Waits: "infinitely many",
    NoJson: "notes that are JSON values",
    OwnEntropy: "same points from the same seed",
    Spawns: "same points from a restored generator",
    Forgetful: "restore: the points",
    Rewrites: "log: earlier entries",
    Global: r"untouched, got draws from \['numpy.random'\]",
    RawValues: "every loss is multiplied",
    Poisoned: "incumbent: a row that succeeded",
    Hopeful: "incumbent: ",
    Fragile: "no exception, got RuntimeError: nothing to fit",
    Noisy: "no warning, got RuntimeWarning: constant",
    ArrayState: "no exception, got TypeError",
}


def of(session: type[Session]) -> Plain:
    kind = dataclass(frozen=True)(type(f"Plain{session.__name__}", (Plain,), {"session": session}))
    sampler: Plain = kind()
    return sampler


def test_the_plain_sampler_holds_the_contract() -> None:
    check_sampler(Plain())


@pytest.mark.parametrize("session", BROKEN)
def test_a_broken_sampler_is_caught(session: type[Session]) -> None:
    before = np.random.get_state()  # noqa: NPY002
    with pytest.raises(ContractError, match=BROKEN[session]):
        check_sampler(of(session), Box(0.0, 1.0, dim=2))
    np.random.set_state(before)  # noqa: NPY002  (what `Global` did)


def test_points_that_are_not_snapped_are_caught() -> None:
    class Raw(Session):
        def draw(self, n: int) -> Floats:
            return self.rng.random((n, self.seen.dim))

    with pytest.raises(ContractError, match="snap leaves as they are"):
        check_sampler(of(Raw))


def test_a_session_that_leaves_points_of_a_small_space_is_caught() -> None:
    class Lazy(Session):
        def keep(self, x: Floats) -> Any:
            return super().keep(x) & (x[:, 0] > 0.1)

    check_sampler(of(Session), Int(0, 11))
    with pytest.raises(ContractError, match="every point of a small space, got none with 2 left"):
        check_sampler(of(Lazy), Int(0, 11))


def test_settings_that_can_be_changed_are_caught() -> None:
    class Loose(Plain):
        pass

    Loose.__dataclass_params__ = dataclass(type("Changeable", (), {})).__dataclass_params__  # type: ignore[attr-defined]
    with pytest.raises(ContractError, match="frozen"):
        check_sampler(Loose())
