"""Bases of local searches: settings, sessions whose progress is a record, and the batch of points of an ask.

Points of a batch are snapped, inside the region, and unevaluated.
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
MIN_WIDTH = 2**-7  # least width of a region over that of the space, as TuRBO's smallest box: rows may coincide
MAX_PENDING = 200  # latest pending points that are fantasized: more cost time of the factor, fewer are forgotten
FILL_DRAWS = 10  # draws for each point that must lie far from pending ones: more take time, fewer leave holes
PROPOSAL_ROUNDS = 3  # tries before the rest of a batch is drawn from the region: more cost time, fewer fill at random
HALVINGS = 30  # 2**-30 of the way is below any relevant distance; on a grid the anchor is reached before


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

    The incumbent is the best result, and the session never converges. Override `done` by a property or a class
    attribute.

    Parameters
    ----------
    settings : LocalSampler
        Settings of the search.
    region : Region
        Region of the search.
    seen : Observations
        The evaluations, which grow during the run.
    progress : Progress
        State of the session.
    """

    def __init__(self, settings: Settings, region: Region, seen: Observations, progress: P) -> None:
        self.settings = settings
        self.region = region
        self.seen = seen
        self.progress = progress
        self.log: list[JsonValue] = []

    def replay(self) -> None:
        """Rebuild from the log the state that the progress does not contain."""

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

    def merits(self) -> Floats:
        """Return what the search lowers, for all rows, [n]: the loss of feasible rows, else inf."""
        return np.where(self.seen.feasible, self.seen.f[:, 0], np.inf)

    def state(self) -> Json:
        named = self.settings.classes()
        classes = type(self), type(self.progress)
        if named is not None and named != classes:
            names = ", ".join(cls.__name__ for cls in classes)
            raise TypeError(f"{type(self.settings).__name__}: expected classes() to return {names}, got {named}")
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

    def classes(self) -> tuple[type["AnySession"], type[Progress]] | None:
        """Return the class of the sessions and that of their progress.

        None, the default, is for a sampler with a `start` of its own: `restore` then starts a session for its classes.
        """
        return None

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> Progress:
        """Return the progress with which a session starts."""
        return self._named()[1](rng, seen.best_row(region.rows))

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "AnySession":
        session_class, _ = self._named()
        return session_class(self, region, seen, self.initial_progress(region, seen, rng))

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> "AnySession":
        classes = self.classes()
        if classes is None:
            begun = self.start(region, seen, np.random.default_rng(0))
            classes = type(begun), type(begun.progress)
        session_class, progress_class = classes
        session = session_class(self, region, seen, from_json(progress_class, state))
        session.log = list(log)
        session.replay()
        return session

    def _named(self) -> tuple[type["AnySession"], type[Progress]]:
        if (classes := self.classes()) is None:
            cure = "a method classes(): return MySession, MyProgress"
            raise NotImplementedError(f"{type(self).__name__}: expected {cure}, or a method start()")
        return classes


class Batch:
    """The points of one ask: snapped, inside the region, unevaluated and distinct.

    Parameters
    ----------
    region : Region
        Region of the points.
    seen : Observations
        Evaluated and pending points, which are excluded.
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
        self.region = region
        self.seen = seen
        self.size = size
        self.x = np.empty((0, seen.dim))

    @property
    def missing(self) -> int:
        return self.size - len(self.x)

    @property
    def open(self) -> bool:
        """Whether the batch has room, and the space has unevaluated points."""
        has_points = self.seen.repeat or self.seen.distinct + len(self.x) < self.region.space.size
        return bool(self.missing) and has_points

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
        is_taken = np.zeros(len(x), bool)
        inside = np.flatnonzero(self.region.contains(x))
        is_new = self.seen.unseen(np.vstack([self.x, x[inside]]))[len(self.x) :]
        is_taken[inside[is_new][: self.missing]] = True
        self.x = np.vstack([self.x, x[is_taken]])
        return is_taken

    def fill(self, rng: np.random.Generator) -> None:
        """Fill the remaining room with draws of the region, while it has unevaluated points.

        Before the first evaluation, the draws farthest from pending points and from each other are taken.
        """
        is_finite = math.isfinite(self.region.space.size)  # draws may repeat points of the batch
        only_pending = not len(self.seen) and len(self.seen.pending) > 0
        while self.open:
            n_draws = self.missing + is_finite * len(self.x)
            drawn = fill(self.region, n_draws * (FILL_DRAWS if only_pending else 1), rng, self.seen).x
            if only_pending:
                drawn = farthest(drawn, np.vstack([self.seen.pending_x(), self.x]), n_draws)
            if not self.take(drawn).any():
                break

    def begin(self, n: int, rng: np.random.Generator) -> None:
        """Take at most `n` draws of the region."""
        initial = Batch(self.region, self.seen, min(self.size, n))
        initial.fill(rng)
        self.take(initial.x)


def farthest(x: Floats, known: Floats, n: int) -> Floats:
    """Return at most `n` rows of `x` [k, d], each the farthest from `known` and from the rows before it."""
    nearest = distance(x, known).min(1, initial=np.inf)
    chosen: list[int] = []
    for _ in range(min(n, len(x))):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, distance(x, x[chosen[-1:]])[:, 0])
    return x[chosen]


def centre(region: Region, seen: Observations, incumbent: int | None) -> int | None:
    """Return the row of the incumbent, or of the region's best point if it lies outside; None: no row inside."""
    if incumbent is not None and region.contains(seen.x[[incumbent]])[0]:
        return incumbent
    return seen.best_row(region.rows)


def bisect_into(x: Floats, anchor: Floats, region: Region) -> Floats:
    """Halve the way from each row of `x` [k, d] to `anchor` [d] until it lies inside; return the snapped rows [k, d].

    Rows outside after all halvings are returned, too.
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
    """Return the width of a region over that of the space, from the spread of the rows inside."""
    if not region.steps or len(region.rows) < 2:
        return 1.0
    spread = math.sqrt(float(seen.x[region.rows].var(0).mean()))
    return min(max(spread / UNIFORM_SPREAD, MIN_WIDTH), 1.0)
