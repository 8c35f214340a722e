"""The protocol of samplers: frozen settings that start sessions, and sessions that propose points in a region."""

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.types import Floats, Rows

Scope = Literal["selected", "incumbent", "space"]


class Proposal(NamedTuple):
    """Points [k, d] and a note to each: any JSON value, which comes back with the result."""

    x: Floats
    notes: list[Any]


class Session(Protocol):
    """The progress of one local search. All that it knows of the tree is its region."""

    log: list[Any]
    """Append-only JSON entries that belong to the state but grow with it; the journal stores each once. Often empty."""

    @property
    def incumbent(self) -> int | None:
        """The row of `seen` round which this session searches, None before its first success."""

    @property
    def done(self) -> bool:
        """Whether the search has converged and would rather be started afresh."""

    @property
    def scope(self) -> Scope:
        """Where it is to search next: the one thing that it says about it.

        "selected": in a region that the tree selects anew at every ask. "incumbent": it has found its place and must
        not be torn from it; it gets the roomy part of the tree round its incumbent. "space": it has found its place
        and looks across the whole space from there. It keeps the last two until it is done.
        """

    def ask(self, n: int) -> Proposal:
        """Return at most `n` snapped, fresh points inside the region, and a note to each.

        Fewer than `n` (down to none) only when the region holds no more fresh points that the sampler can
        find. Never waits for results: asked while some are out, it proposes further points. Points returned
        count as pending from then on (the caller notes them in `seen`).
        """

    def tell(self, notes: list[Any], rows: Rows) -> None:
        """Take the results of some points, in any order: `seen.x[rows]`, and `seen.y[rows]`, nan for a failure."""

    def forget(self, notes: list[Any]) -> None:
        """Take note that the points of these notes will never be told."""

    def move(self, region: Region) -> None:
        """Go on inside `region`, which contains the incumbent."""

    def state(self) -> dict[str, Any]:
        """Return all progress except `log` as JSON values: numbers, text, lists, dicts; rows by their numbers."""


class Sampler(Protocol):
    """Frozen settings of a kind of local search. A dataclass of plain values; its `repr` is its signature.

    One that begins elsewhere by itself says `relocates = True`: by default no tree tells it where to search then.
    One that needs no other points than a first guess says `starts_at_centre = True`: by default the initial design
    is then `x0`, or the centre of the space, for one objective without constraints.
    """

    @property
    def resumable(self) -> bool:
        """Whether sessions can be restored from their state; False is refused by journalled runs."""

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        """Begin a search in `region`. The session keeps `seen` (it grows as results come) and `rng`.

        `region.rows` are offered as first results. None are offered where another search has converged: from the
        same rows it would converge there again. `move` follows at once, with all the rows of the region.
        """

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Session:
        """Return the session whose `state()` and `log` these are: it goes on bit for bit."""
