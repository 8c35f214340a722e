"""The protocol of samplers: frozen settings that start sessions, and sessions that propose points in a region."""

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.types import Floats, Rows

Scope = Literal["selected", "incumbent", "space"]
Several = bool | Literal["constraints"]


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

    def recenter(self, row: int) -> None:
        """Go on from a better row that another search found, if that suits this search; by default do nothing."""

    def proposer(self, note: Any) -> str | None:
        """Return the name of the part that proposed the point of a note; by default None: the search has no parts."""

    def state(self) -> dict[str, Any]:
        """Return all progress except `log` as JSON values: numbers, text, lists, dicts; rows by their numbers."""


class Sampler(Protocol):
    """Frozen settings of a kind of local search. A dataclass of plain values; its `repr` is its signature.

    `LocalSampler` and `LocalSession` have the defaults of all hooks.
    """

    @property
    def resumable(self) -> bool:
        """Whether sessions can be restored from their state; journalled runs refuse False (default True)."""

    @property
    def several(self) -> Several:
        """Whether sessions handle several columns: objectives and constraints (default False).

        "constraints": constraints beside one objective. A sampler that does not handle the columns of a problem is
        shown a scalarisation of them (`scalarised.py`).
        """

    @property
    def relocates(self) -> bool:
        """Whether a session restarts elsewhere by itself: by default no tree selects regions then (default False)."""

    @property
    def starts_at_centre(self) -> bool:
        """Whether one first point is enough: by default the initial design is then `x0`, or the centre of the space.

        It holds for one objective without constraints (default False).
        """

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        """Begin a search in `region`. The session keeps `seen` (it grows as results come) and `rng`.

        `region.rows` are offered as first results. None are offered where another search has converged: from the
        same rows it would converge there again. `move` follows at once, with all the rows of the region.
        """

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Session:
        """Return the session whose `state()` and `log` these are: it goes on bit for bit."""
