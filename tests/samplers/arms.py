"""What the tests of the default sampler share: small settings, and who of its arms asked for what."""

import numpy as np

from lamcts.samplers.portfolio import Portfolio
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box
from lamcts.testing.search import Search

FAST = Turbo()
AUTO = Portfolio((FAST, Quadratic()))
# soon converged
BRIEF = Portfolio(
    (FAST, Quadratic(length=0.4, length_min=0.15, failure_tolerance=2)), least=0.3, base=0.3
)  # soon converged
CUBE = Box(0.0, 1.0, dim=4)


def best(search: Search) -> float:
    return float(np.nanmin(search.seen.y))


def arms(search: Search, numbers: list[int]) -> list[int]:
    """Return the arm that asked for each trial."""
    return [search.out[number][0] for number in numbers]


def of(search: Search, arm: int, batch: int) -> int:
    """Ask until an arm proposes a point; forget the others'. Return the trial."""
    for _ in range(30):
        numbers = search.ask(batch)
        mine = [number for number, owner in zip(numbers, arms(search, numbers), strict=True) if owner == arm]
        search.forget([number for number in numbers if number not in mine[:1]])
        if mine:
            return mine[0]
    raise AssertionError(f"arm {arm} never proposed a point")


def part(search: Search, arm: int) -> dict[str, object]:
    state: dict[str, object] = search.session.state()["arms"][arm]
    return state


def failures(search: Search, arm: int) -> int:
    return int(part(search, arm)["box"]["failures"])  # type: ignore[index]


def length(search: Search, arm: int) -> float:
    return float(part(search, arm)["box"]["length"])  # type: ignore[index]


def tell(search: Search, number: int, loss: float) -> int:
    """Tell one trial a loss of our choice; return its row."""
    kept, search.loss = search.loss, lambda x: loss
    search.tell([number])
    search.loss = kept
    return len(search.seen) - 1
