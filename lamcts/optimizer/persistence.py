"""State of an optimizer: fingerprint, files, and deltas for a journal."""

import os
from typing import Any, Self

import numpy as np

from lamcts.observations import Observations
from lamcts.optimizer import arguments, records, saving
from lamcts.optimizer.design import Design
from lamcts.optimizer.exact import exact_points
from lamcts.optimizer.placement import REASONS
from lamcts.optimizer.sessions import LocalSearches
from lamcts.optimizer.settings import identity
from lamcts.optimizer.state import FORMAT, Core, Delta, Mark, State, check_consistent
from lamcts.optimizer.trials import Trials
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.metrics import Metrics
from lamcts.regions.region import Region
from lamcts.related import RelatedTasks
from lamcts.rng import restore, save
from lamcts.samplers.base import Sampler
from lamcts.spaces.base import SearchSpace
from lamcts.tree import LatentTree
from lamcts.types import Json


class Persistent:
    """The part of `Optimizer` that reads and writes its state. The loop is in `optimizer.py`."""

    space: SearchSpace
    maximize: bool
    repeat: bool
    goals: Goals
    seed: int
    sampler: Sampler
    tree: LatentTree | None
    design: Design
    related: RelatedTasks
    seen: Observations
    failures: dict[int, str]
    metrics: dict[int, Metrics]
    placements: dict[str, int]
    _widths: tuple[int, int]
    _designed: int
    _searches: LocalSearches
    _trials: Trials
    _rng: np.random.Generator

    def _begin(self) -> None:
        """Forget everything but the settings."""
        raise NotImplementedError

    @property
    def n_init(self) -> int:
        """Number of points in the initial design."""
        return self.design.n

    def fingerprint(self) -> Json:
        """Return the settings that two runs must share for one to continue the other, as JSON values."""
        return {
            "format": FORMAT,
            "space": self.space.signature(),
            "maximize": self.maximize,
            "sampler": identity(self.sampler),
            "tree": identity(self.tree),
            "seed": self.seed,
            "design": self.design.signature(),
            "repeat": self.repeat,
            **({"related": self.related.digest()} if self.related else {}),
        } | self.goals.signature()

    def state_dict(self) -> Json:
        """Return the state as JSON values; an optimizer that loads it continues bit for bit.

        Returns
        -------
        dict
            `json.dumps` writes it and `json.loads` reads it. nan is an unknown number, which `json` writes as NaN.
        """
        return self._state().to_json()

    def _state(self) -> State:
        parts = dict(self.failures), self._trials.state(), self._searches.states(), dict(self.seen.predicted)
        notes = dict(self.seen.exact), dict(self.metrics), dict(self.seen.sems)
        return State(self.fingerprint(), self._core(), self.seen.columns(), *parts, *notes)

    def load_state_dict(self, state: Json) -> None:
        """Load the state of an optimizer with equal settings; only a fresh optimizer can.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        ValueError
            For a state of other settings, or anything else. The optimizer is then as fresh as before.
        RuntimeError
            If this optimizer was used.
        """
        if isinstance(theirs := (state if isinstance(state, dict) else {}).get("fingerprint"), dict):
            arguments.check_fingerprint(theirs, self.fingerprint())  # first: a space of another width has other columns
        self.restore(State.of(state, self.space.dim, *self._widths))

    def restore(self, state: State) -> None:
        """Load a state as `load_state_dict` does, from a journal."""
        if len(self.seen) or self._trials.issued or self._designed:
            raise RuntimeError("expected a fresh optimizer, this one was used; make a new one")
        arguments.check_fingerprint(state.fingerprint, self.fingerprint())
        check_consistent(state := state.widened(self.space.dim), self.design.n, REASONS)
        try:
            self._load(state)
        except Exception as error:  # a user's sampler may raise anything
            self._begin()
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"state: expected what state_dict() returned, it cannot be taken over ({what})") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and state into one file, which `Optimizer.load` reads. It contains no pickle.

        Parameters
        ----------
        path : str or path
            The file, replaced if it exists.

        Examples
        --------
        >>> import lamcts, tempfile
        >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     opt.save(f"{folder}/run.npz")
        ...     again = lamcts.Optimizer.load(f"{folder}/run.npz")
        >>> again.ask()[0].point.tolist() == opt.ask()[0].point.tolist()
        True
        """
        rest = {"maximize": self.maximize, "seed": self.seed, "repeat": self.repeat, "goals": self.goals.arguments()}
        rest |= {"related": self.related.to_json()} if self.related else {}
        saving.write(path, saving.settings_of(self.space, self.sampler, self.tree, self.design, **rest), self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parts: Any) -> Self:
        """Return the optimizer that `save` wrote; it continues bit for bit.

        Parameters
        ----------
        path : str or path
            The file.
        **parts : space, sampler or tree
            Parts of that run that the file does not hold (own classes); `save` warned about them.

        Raises
        ------
        ValueError
            For other parts, or a file that `save` did not write.
        """
        arguments.refuse_unknown(parts, saving.PARTS, "Optimizer.load")
        settings, state = saving.read(path)
        opt = cls(**saving.arguments_of(settings, parts))
        opt.design = saving.design_of(settings, opt.space, opt.design.centred)
        opt._begin()
        opt.load_state_dict(state)
        return opt

    def delta(self, since: Mark) -> Delta:
        """Return what is new since a mark (`Mark()`: everything), with the next mark. Changes nothing."""
        new, pending = range(since.rows, len(self.seen)), frozenset(self._trials.pending)
        until = Mark(len(self.seen), self._trials.issued, pending, self.seen.best, self._searches.mark())
        return Delta(
            since=since,
            until=until,
            columns=self.seen.columns(since.rows),
            failures={row: self.failures[row] for row in new if row in self.failures},
            issued=self._trials.state(besides=since.pending),
            closed=sorted(since.pending - until.pending),
            searches=self._searches.states(since),
            ended=sorted(since.known.keys() - self._searches.live.keys()),
            core=self._core(),
            leaders=records.leaders(self.space, self.seen, since),
            proposers=self._searches.named(new),
            predicted={row: self.seen.predicted[row] for row in new if row in self.seen.predicted},
            points={row: self.seen.exact[row] for row in new if row in self.seen.exact},
            metrics={row: self.metrics[row] for row in new if row in self.metrics},
            sems={row: self.seen.sems[row] for row in new if row in self.seen.sems},
        )

    def _core(self) -> Core:
        counts = self._trials.issued, self._designed, save(self._rng), self._searches.next, [*self._searches.converged]
        return Core(*counts, placements=dict(self.placements))

    def _load(self, state: State) -> None:
        core = state.core
        self.seen.append(*state.columns)
        self.failures |= state.failures
        self.metrics |= state.metrics
        self.seen.predicted |= state.predicted
        self.seen.sems |= state.sems
        self.seen.exact |= exact_points(self.space, self.seen.x, state.points)
        self.placements |= core.placements
        self._designed, self._rng = core.designed, restore(core.rng)
        self._trials.load(core.trials, state.out)
        self._searches.next, self._searches.converged = core.searches, list(core.converged)
        self._searches.load(state.searches, Region(self.space, (), self.seen.good), state.lost)
