"""Bases of local searches: settings, sessions whose progress is a record, and the batch of points of one ask.

Points of a batch are snapped, inside the region, and never known already.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal, Supports
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.spaces.base import distance
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Json, JsonValue, Note, Rows
from lamcts.utils.removed import refuse_removed

if TYPE_CHECKING:
    from typing import Self

    from lamcts.outcomes.goals import Goals
    from lamcts.spaces.base import SearchSpace

UNIFORM_SPREAD = 12**-0.5  # standard deviation of a coordinate that is uniform in [0, 1]
MIN_WIDTH = 2**-7  # of the space's width, as TuRBO's smallest box: a region whose rows all coincide is no narrower
MAX_PENDING = 200  # pending points that a model takes as evaluated, the latest: bounds the factor (untuned)
MAX_GAIN = 1e300  # that a point promises, or makes: JSON has no infinity, and sums of gains do not overflow
FILL_DRAWS = 10  # draws for each point that is to lie far from pending ones: more take time, fewer leave holes
PROPOSAL_ROUNDS = 3  # before the rest of a batch is drawn from the region (untuned)
HALVINGS = 30  # 2**-30 of the way is nearer than any boundary matters; on a grid the anchor is reached long before


@dataclass
class Progress:
    """The state of a session. A search with more state adds fields.

    Attributes
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    incumbent : int or None
        Row of the best result.
    """

    rng: np.random.Generator
    incumbent: int | None


Settings = TypeVar("Settings", bound="LocalSampler")
P = TypeVar("P", bound=Progress)


class LocalSession(Generic[Settings, P]):
    """Base of sessions: all of `lamcts.samplers.base.Session` except `ask`.

    It keeps the best of its results as incumbent, and never converges. Override `done` by a property or a class
    attribute.

    Parameters
    ----------
    settings : LocalSampler
        Settings of the search.
    region : Region
        Where to search.
    seen : Observations
        The evaluations, which grow during the run.
    progress : Progress
        The state.
    """

    def __init__(self, settings: Settings, region: Region, seen: Observations, progress: P) -> None:
        self.settings, self.region, self.seen, self.progress = settings, region, seen, progress
        self.log: list[JsonValue] = []

    def replay(self) -> None:
        """Rebuild the state that the progress lacks from the log."""

    def ask(self, n: int) -> Proposal:
        raise NotImplementedError

    @property
    def done(self) -> bool:
        return False

    @property
    def incumbent(self) -> int | None:
        return self.progress.incumbent

    def tell(self, notes: list[Note], rows: Rows) -> None:
        self.progress.incumbent = self.seen.best_row(rows, self.progress.incumbent)

    def forget(self, notes: list[Note]) -> None:
        pass

    def move(self, region: Region) -> None:
        self.region = region

    def recenter(self, row: int) -> None:
        pass

    def proposer(self, note: Note) -> str | None:
        return None

    def state(self) -> Json:
        if (type(self), type(self.progress)) != (classes := self.settings.classes()):
            names = ", ".join(cls.__name__ for cls in (type(self), type(self.progress)))
            raise TypeError(f"{type(self.settings).__name__}: expected classes() to return {names}, got {classes}")
        state: Json = to_json(self.progress)
        return state


AnySession = LocalSession[Any, Any]


class LocalSampler:
    """Base of frozen settings that start a `LocalSession`; see `base.Sampler` for the hooks."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        refuse_removed("LocalSampler", vars(cls))

    def __new__(cls, *_: object, **given: object) -> "Self":
        refuse_removed(cls.__name__, given)
        return super().__new__(cls)

    @property
    def resumable(self) -> bool:
        return True

    @property
    def supports(self) -> Supports:
        return Supports()

    @classmethod
    def suited(cls, space: "SearchSpace", goals: "Goals | None", detail: str) -> "Self | None":
        """Return the settings for a space and goals; `detail` follows a colon in the name. None: unknown detail."""
        return None if detail else cls()

    def classes(self) -> tuple[type["AnySession"], type[Progress]]:
        """Return the class of the sessions and that of their progress."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method classes(): return MySession, MyProgress")

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> Progress:
        """Return the progress with which a session starts."""
        return self.classes()[1](rng, seen.best_row(region.rows))

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "AnySession":
        session_class, _ = self.classes()
        return session_class(self, region, seen, self.initial_progress(region, seen, rng))

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> "AnySession":
        session_class, progress_class = self.classes()
        session = session_class(self, region, seen, from_json(progress_class, state))
        session.log = list(log)
        session.replay()
        return session


class Batch:
    """The points of one ask: snapped, inside the region, unevaluated and distinct.

    Parameters
    ----------
    region : Region
        Where points may lie.
    seen : Observations
        Evaluated and pending points, which are not taken.
    size : int
        Largest number of points.

    Attributes
    ----------
    x : ndarray of shape (k, d)
        The points taken so far.

    Examples
    --------
    >>> import lamcts, numpy as np
    >>> from lamcts.samplers import Batch
    >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
    >>> batch = Batch(opt.region(), opt.seen, 3)
    >>> batch.take(np.array([[0.5, 0.5], [0.5, 0.5]])).tolist()
    [True, False]
    >>> batch.fill(np.random.default_rng(0))
    >>> batch.x.shape
    (3, 2)
    """

    def __init__(self, region: Region, seen: Observations, size: int) -> None:
        self.region, self.seen, self.size = region, seen, size
        self.x = np.empty((0, seen.dim))

    @property
    def missing(self) -> int:
        return self.size - len(self.x)

    @property
    def open(self) -> bool:
        """Whether the batch has room, and the space has unevaluated points."""
        left = self.seen.repeat or self.seen.distinct + len(self.x) < self.region.space.size
        return bool(self.missing) and left

    def take(self, x: Floats) -> NDArray[np.bool_]:
        """Take the rows that are inside, unevaluated and distinct, in order, while there is room.

        Parameters
        ----------
        x : ndarray of shape (k, d)
            Snapped points.

        Returns
        -------
        ndarray of bool of shape (k,)
            Which rows were taken.
        """
        taken = np.zeros(len(x), bool)
        inside = np.flatnonzero(self.region.contains(x))
        fresh = self.seen.unseen(np.vstack([self.x, x[inside]]))[len(self.x) :]
        taken[inside[fresh][: self.missing]] = True
        self.x = np.vstack([self.x, x[taken]])
        return taken

    def fill(self, rng: np.random.Generator) -> None:
        """Fill the remaining room with draws of the region; fewer where it has no more unevaluated points.

        Before the first evaluation they are the draws farthest from pending points and from each other.
        """
        known = math.isfinite(self.region.space.size)  # draws of a small region may repeat what the batch holds
        blind = not len(self.seen) and len(self.seen.pending) > 0
        while self.open:
            wanted = self.missing + known * len(self.x)
            drawn = fill(self.region, wanted * (FILL_DRAWS if blind else 1), rng, self.seen).x
            if blind:
                drawn = farthest(drawn, np.vstack([self.seen.pending_x(), self.x]), wanted)
            if not self.take(drawn).any():
                break

    def begin(self, n: int, rng: np.random.Generator) -> None:
        """Take at most `n` draws of the whole region."""
        first = Batch(self.region, self.seen, min(self.size, n))
        first.fill(rng)
        self.take(first.x)


def farthest(x: Floats, known: Floats, n: int) -> Floats:
    """Return at most `n` rows of `x` [k, d], one by one that which is farthest from `known` and from those before."""
    nearest, chosen = distance(x, known).min(1, initial=np.inf), list[int]()
    for _ in range(min(n, len(x))):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, distance(x, x[chosen[-1:]])[:, 0])
    return x[chosen]


def centre(region: Region, seen: Observations, incumbent: int | None) -> int | None:
    """Return the row of the incumbent, or the region's best row where it lies outside; None: no row inside."""
    if incumbent is not None and region.contains(seen.x[[incumbent]])[0]:
        return incumbent
    return seen.best_row(region.rows)


def bisect_into(x: Floats, anchor: Floats, region: Region) -> Floats:
    """Halve the way from each row of `x` [k, d] to `anchor` [d] until it lies inside; return them snapped, [k, d].

    Rows that stay outside after all halvings come back outside.
    """
    x = x.copy()
    snapped = region.space.snap(x)
    for _ in range(HALVINGS):
        outside = np.flatnonzero(~region.contains(snapped))
        if not len(outside):
            break
        x[outside] = (x[outside] + anchor) / 2
        snapped[outside] = region.space.snap(x[outside])
    return snapped


def width(region: Region, seen: Observations) -> float:
    """Return the width of a region as a share of the space's, by the spread of the rows inside."""
    if not region.steps or len(region.rows) < 2:
        return 1.0
    spread = math.sqrt(float(seen.x[region.rows].var(0).mean()))
    return min(max(spread / UNIFORM_SPREAD, MIN_WIDTH), 1.0)
