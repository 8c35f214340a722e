"""Protocols of samplers, which are frozen settings, and of their sessions, which propose points in a region."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Json, JsonValue, Note, Rows


@dataclass(frozen=True)
class Supports:
    """Kinds of problems that the sessions of a sampler handle, apart from one objective.

    Parameters
    ----------
    constraints : bool, default False
        Whether they handle constraints.
    fronts : bool, default False
        Whether they handle several objectives.
    centre : bool, default False
        Whether a single first point is enough for one objective: the default design is then `x0` or the centre.
    """

    constraints: bool = False
    fronts: bool = False
    centre: bool = False


class Proposal(NamedTuple):
    """Points proposed by a session.

    Attributes
    ----------
    x : ndarray of shape (k, d)
        Points in the unit cube, snapped to the space.
    notes : list of JSON values
        A note for each point, which the session gets back with the result. Only the session reads it.
    gains : list of (float or None) or None, default None
        Expected improvement of each point, in the unit of the loss, None where unknown; None: no gains are known.
    """

    x: Floats
    notes: list[Note]
    gains: list[float | None] | None = None


class Session(Protocol):
    """Protocol of a local search. A session knows its region, and nothing else of the tree."""

    log: list[JsonValue]
    """Append-only part of the state, as JSON entries; the journal stores each once. Often empty."""

    @property
    def incumbent(self) -> int | None:
        """Row of the point around which the session searches; None before its first success."""

    @property
    def done(self) -> bool:
        """Whether the search has converged; the optimizer then ends it and starts another."""

    def ask(self, n: int) -> Proposal:
        """Propose points, which are pending from then on.

        Parameters
        ----------
        n : int
            Largest number of points.

        Returns
        -------
        Proposal
            Snapped, unevaluated points inside the region. Fewer than `n` (or none) only where the sampler finds no more
            such points. A session never waits for pending results: an empty proposal ends it, and the optimizer draws
            at random.
        """

    def tell(self, notes: list[Note], rows: Rows) -> None:
        """Take results, in any order.

        Parameters
        ----------
        notes : list of JSON values
            Notes of the points, as proposed.
        rows : ndarray of shape (k,)
            Rows of the results in `seen`; `seen.y[rows]` is nan for a failed evaluation.
        """

    def forget(self, notes: list[Note]) -> None:
        """Drop pending points that will never be evaluated."""

    def move(self, region: Region) -> None:
        """Continue inside `region`, which contains the incumbent."""

    def recenter(self, row: int) -> None:
        """Continue from a better row of another search; by default do nothing."""

    def proposer(self, note: Note) -> str | None:
        """Return the name of the part that proposed a point, given its note; None (default): no parts."""

    def state(self) -> Json:
        """Return the state except `log` as JSON values; rows are numbers."""


class Sampler(Protocol):
    """Protocol of samplers: frozen settings of a local search.

    A sampler is a dataclass of plain values; its `repr` identifies it. `LocalSampler` and `LocalSession` have the
    defaults of all hooks.
    """

    @property
    def resumable(self) -> bool:
        """Whether sessions can be restored from their state; journalled runs refuse False (default True)."""

    @property
    def supports(self) -> Supports:
        """Kinds of problems that sessions handle (default: one objective); others are scalarised (`scalarised.py`)."""

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        """Return a new session.

        Parameters
        ----------
        region : Region
            Region of the search. `region.rows` are its first results, none where another search has converged. A call
            of `move` follows, with all rows of the region.
        seen : Observations
            The evaluations, which grow during the run. The session keeps them.
        rng : numpy.random.Generator
            Source of randomness, which the session keeps.

        Returns
        -------
        Session
            The session.
        """

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> Session:
        """Return the session with a `state()` and `log`, which continues bit for bit."""


@runtime_checkable
class DesignDependent(Protocol):
    """Optional part of the protocol: a sampler whose settings depend on the size of the initial design, as LaNAS."""

    def after_design(self, n_init: int | None) -> tuple[int, Sampler]:
        """Return the size of the initial design (`n_init`, or the sampler's own for None) and the sampler after it."""
