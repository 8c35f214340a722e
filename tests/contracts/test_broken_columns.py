"""The contract of samplers where rows have several columns can fail: each of these breaks it, and is caught for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from test_broken_samplers import Plain, Session, of

from lamcts.outcomes.observations import Floats, Rows
from lamcts.samplers import Supports
from lamcts.spaces import Box
from lamcts.testing import ContractError, check_columns


class Columnar(Session):
    """Correct where rows have several columns, too."""


class ByLoss(Session):
    """Takes the latest row, though it may have failed."""

    def note(self, rows: Iterable[int]) -> None:
        self.incumbent = max(map(int, rows), default=self.incumbent)


class Feasible(Session):
    """Waits for what may never come."""

    def tell(self, notes: list[Any], rows: Rows) -> None:
        super().tell(notes, rows)
        self.seen.f[self.seen.feasible].min(0)


class RawExcesses(Session):
    def draw(self, n: int) -> Floats:
        g = self.seen.g if self.seen.g.shape[1] else self.seen.f
        jump = int(np.nansum(np.abs(g))) % 7
        self.rng.random(jump)
        return super().draw(n)


class Uncounted(Session):
    """Its draws depend on how many fronts it has looked at, which it does not save."""

    looks = 0

    def draw(self, n: int) -> Floats:
        self.looks += len(self.seen.front) > 1
        self.rng.random(self.looks)
        return super().draw(n)


BROKEN_COLUMNS = {
    ByLoss: "incumbent: a row that succeeded",
    Feasible: "no exception, got ValueError: zero-size array",
    RawExcesses: "multiplied by powers of 2",
    Uncounted: "restore: the",
}


def of_columns(session: type[Session]) -> Plain:
    both = {"supports": Supports(constraints=True, fronts=True)}
    kind = dataclass(frozen=True)(type(f"MultiOutput{session.__name__}", (type(of(session)),), both))
    sampler: Plain = kind()
    return sampler


@pytest.mark.dear
@pytest.mark.parametrize("several", [of, of_columns])
def test_the_plain_sampler_holds_the_contract_of_columns(several: Any) -> None:
    check_columns(several(Columnar))


@pytest.mark.parametrize("session", BROKEN_COLUMNS)
def test_a_sampler_that_is_broken_where_there_are_columns_is_caught(session: type[Session]) -> None:
    with pytest.raises(ContractError, match=BROKEN_COLUMNS[session]):
        check_columns(of_columns(session), Box(0.0, 1.0, dim=2))
