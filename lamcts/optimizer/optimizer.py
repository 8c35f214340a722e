"""The optimiser: ask for points, tell their values. START HERE: `ask`, `_search`, `tell` and `_take` are the loop."""

import os
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from lamcts.errors import Exhausted
from lamcts.observations import Observations
from lamcts.optimizer import arguments, records, saving
from lamcts.optimizer.design import Design, Kind, centred, encoded
from lamcts.optimizer.placement import REASONS, place
from lamcts.optimizer.records import Best
from lamcts.optimizer.saving import PARTS, arguments_of, design_of, settings_of
from lamcts.optimizer.sessions import LocalSearches
from lamcts.optimizer.settings import identity
from lamcts.optimizer.state import FORMAT, Core, Delta, Mark, State, check_consistent
from lamcts.optimizer.trials import Told, Trials
from lamcts.outcomes.front import Front
from lamcts.outcomes.goals import Goals
from lamcts.regions.fill import draw_unseen, nothing_left
from lamcts.regions.region import Region
from lamcts.rng import Purpose, restore, save, stream
from lamcts.samplers.base import Proposal, Sampler
from lamcts.spaces.base import identity_of
from lamcts.threads import one_blas_thread
from lamcts.tree import LatentTree
from lamcts.tree.node import Node
from lamcts.trial import Trial
from lamcts.types import whole_number


class Optimizer:
    """Minimise (or maximize) a black box over `space` by learning where to look (LA-MCTS; Wang, Fonseca, Tian 2020).

    space: the points to choose from, such as `Box(-5, 10, dim=20)`, a dict of parameters, or (low, high) pairs.
    maximize: whether higher values are better (False).
    sampler: the local search inside the region that the tree selects: a name or a `Sampler` ("auto": see
        `samplers.default`; ours); paper: TuRBO-1.
    tree: how the space is split: a `LatentTree`, or None ("auto": one; beside the default for reals it is but a map).
    seed: one number governs every draw (None: a fresh one, kept in `self.seed`).
    n_init: size of the initial design (None: 1, the centre, for `GpCma`; else 2 d as TuRBO, 10 to 100, of d parameters;
        d + 2, 8 to 12, if half, or some of at most 20, are discrete; d + 1 under constraints; points); paper: 30.
    design: its kind ("sobol"; or "lhs", "uniform"); untuned; paper: TuRBO's is "lhs".
    x0: a point, or several, to evaluate first; they count in `n_init` (None; points of the space).
    repeat: whether points may be proposed again, which is useful only under noise (False).
    objectives: names, a dict of names and "min" or "max", or how many there are (None: one).
    constraints: texts such as "stress <= 250" or "gap == 0 +- 1e-3", or how many numbers there are that have to be at
        most 0 (None: none).
    reference: a number for each objective, which the front's hypervolume is measured from and no search uses (None).
    """

    def __init__(
        self,
        space: Any,
        *,
        maximize: bool = False,
        sampler: str | Sampler = "auto",
        tree: LatentTree | str | None = "auto",
        seed: int | None = None,
        n_init: int | None = None,
        design: Kind = "sobol",
        x0: Any = None,
        repeat: bool = False,
        objectives: Any = None,
        constraints: Any = None,
        reference: Any = None,
        **unknown: Any,
    ) -> None:
        arguments.refuse_unknown(unknown, ("space", *(Optimizer.__init__.__kwdefaults__ or ())), "Optimizer", True)
        self.space, self.maximize, self.repeat = arguments.checked_space(space), bool(maximize), bool(repeat)
        self.goals = Goals.of(self.maximize, objectives, constraints, reference)
        self.maximize = self.goals.objectives[0].maximize if self.goals.plain else self.maximize
        self.seed = arguments.checked_seed(seed)
        self.sampler = arguments.checked_sampler(sampler, self.space, self.goals)
        self.tree = arguments.checked_tree(tree, self.sampler)
        given, centre = encoded(self.space, x0), centred(self.sampler)
        self.design = Design(self.space, design, n_init, given, self.seed, self.goals, centre)
        self._begin()

    def _begin(self) -> None:
        self._widths = len(self.goals.objectives), self.goals.columns
        self.seen = Observations(self.space.dim, self.repeat, identity_of(self.space), *self._widths)
        self.failures: dict[int, str] = {}  # row -> what went wrong
        self.placements: dict[str, int] = dict.fromkeys(REASONS, 0)  # how often each reason said where to search
        self._designed = 0  # points of the design that were issued or skipped
        self._growth = self.tree.incremental(self.space, self.seen, self.seed) if self.tree else None
        self._searches = LocalSearches(self.sampler, self.seen, self.seed)
        self._trials = Trials(self.space, self.seen, self.seed, self.goals)
        self._rng = stream(self.seed, Purpose.SELECT)

    # The loop -------------------------------------------------------------------------------------------------------

    @one_blas_thread()
    def ask(self, n: int = 1) -> list[Trial]:
        """Return `n` new trials to evaluate, all distinct; fewer, then `Exhausted`, when a finite space runs out."""
        n, trials = whole_number(n, "ask"), list[Trial]()
        while len(trials) < n:
            try:
                (x, notes), search = self._designed_points(n - len(trials)) or self._search(n - len(trials))
            except Exception:  # of a sampler of anybody's; the trials that are out already are not kept from the caller
                if not trials:
                    raise
                break
            if not len(x):
                break
            trials += [self._trials.issue(point, search, note) for point, note in zip(x, notes, strict=True)]
        if not trials:
            raise Exhausted(nothing_left(self.space, self.seen))
        return trials

    def _search(self, n: int) -> tuple[Proposal, int]:
        """Data -> tree -> region, and the search that goes on there -> points, and that search's number."""
        whole = Region(self.space, (), self.seen.good)
        where = place(self._growth, whole, self._searches, self._rng)
        proposal, search = self._searches.propose(where.region, where.search, n)
        if not len(proposal.x):
            return self._leftovers(n)
        self.placements[where.why] += 1
        return proposal, search

    def tell(
        self, trials: Trial | Sequence[Trial], values: Any, seconds: Any = None, *, constraints: Any = None
    ) -> None:
        """Take the values of some pending trials, in any order.

        A value of None, nan, infinity or an exception says that the evaluation failed (`Pruned`: that it was stopped);
        a failed one may be told once more with a value. `seconds`: what each took. Nothing is taken in if anything is
        wrong; a search that raises on its results is ended with a RuntimeWarning, and the results stay.

        With several objectives or constraints a value is a dict by name, or numbers in the order of the objectives;
        `constraints` the same of the quantities that constraints bound. A value of None beside them says that the
        point was checked and not run.
        """
        self._take(self._trials.told(trials, values, constraints, seconds))

    @one_blas_thread()
    def _take(self, told: Told) -> None:
        """What was told -> rows -> the searches that asked."""
        f, g, kind, messages, floors = told.outcome
        rows = self.seen.append(told.x, f, told.seconds, told.numbers, told.sources, g, kind)
        self.failures |= {int(row): text for row, text in zip(rows, messages, strict=True) if text is not None}
        self.seen.floors |= {int(rows[i]): floor for i, floor in floors.items()}
        self._searches.tell(self._trials.settle(told, rows))

    # The same in other words ----------------------------------------------------------------------------------------

    def tell_point(self, point: Any, value: Any, constraints: Any = None) -> None:
        """Take the value of a point that nobody asked for; equal to a pending trial's point, it closes that trial."""
        self.tell_points([point], [value], None if constraints is None else [constraints])

    def tell_points(self, points: Sequence[Any], values: Sequence[Any], constraints: Any = None) -> None:
        """Take many points and their values at once (warm start). Nothing is taken in if anything is wrong."""
        self._take(self._trials.told_points(points, values, constraints))

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told, such as one whose worker is lost."""
        trial = self._trials.own_record(trial)
        if trial.id in self._trials.late:
            raise ValueError(f"trial {trial.id} was told as failed or checked: it is not pending any more")
        self._trials.close([trial])
        self._searches.forget(trial.session, trial.note)

    @property
    def best(self) -> Best:
        """The best evaluation so far, before a feasible one the least infeasible; RuntimeError before any success.

        With several objectives no evaluation is the best: RuntimeError, and `front` has those that none is better than.
        """
        return records.best(self.space, self.seen, self.goals)

    @property
    def front(self) -> Front:
        """The feasible evaluations that no other one dominates, by the first objective; empty before the first."""
        return records.front(self.space, self.seen, self.goals)

    @property
    def n_init(self) -> int:
        """Number of points in the initial design."""
        return self.design.n

    @property
    def pending(self) -> list[Trial]:
        """Trials that were asked for and not yet told, in the order of their numbers."""
        return list(self._trials.pending.values())

    def tree_root(self) -> Node | None:
        """Return the root of the tree over all rows seen, or None where the optimizer has no tree."""
        return self._growth.root() if self._growth else None

    def region(self) -> Region:
        """Return the region that the next `ask` searches, the initial design apart; a pure look."""
        return place(self._growth, Region(self.space, (), self.seen.good), self._searches, deepcopy(self._rng)).region

    # State; `restore` and `delta` are what a journal works with ------------------------------------------------------

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {
            "format": FORMAT,
            "space": self.space.signature(),
            "maximize": self.maximize,
            "sampler": identity(self.sampler),
            "tree": identity(self.tree),
            "seed": self.seed,
            "design": self.design.signature(),
            "repeat": self.repeat,
        } | self.goals.signature()

    def state_dict(self) -> dict[str, Any]:
        """Return everything that goes on bit for bit after a restart, as JSON values and plain arrays."""
        return self._state().to_dict()

    def _state(self) -> State:
        parts = dict(self.failures), self._trials.state(), self._searches.states(), dict(self.seen.floors)
        return State(self.fingerprint(), self._core(), self.seen.columns(), *parts)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of an optimizer of equal settings; only a fresh optimizer can.

        ValueError for a state of other settings, or for anything else: the optimizer is as fresh as before then.
        """
        if isinstance(theirs := (state if isinstance(state, dict) else {}).get("fingerprint"), dict):
            arguments.check_fingerprint(theirs, self.fingerprint())  # first: a space of another width has other columns
        self.restore(State.of(state, self.space.dim, *self._widths))

    def restore(self, state: State) -> None:
        """Take over a state as `load_state_dict` does: what a journal has recorded."""
        if len(self.seen) or self._trials.issued or self._designed:
            raise RuntimeError("expected a fresh optimizer, this one was used; make a new one")
        arguments.check_fingerprint(state.fingerprint, self.fingerprint())
        check_consistent(state := state.widened(self.space.dim), self.design.n, REASONS)
        try:
            self._load(state)
        except Exception as error:  # of a sampler of anybody's
            self._begin()
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"state: expected what state_dict() returned, it cannot be taken over ({what})") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and state into one file; `Optimizer.load(path)` goes on from it. No pickle is in it."""
        rest = {"maximize": self.maximize, "seed": self.seed, "repeat": self.repeat, "goals": self.goals.arguments()}
        saving.write(path, settings_of(self.space, self.sampler, self.tree, self.design, **rest), self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parts: Any) -> "Optimizer":
        """Return the optimizer that `save` wrote; it goes on bit for bit.

        parts: space, sampler, tree of that run, where `save` warns (own classes). ValueError for others, or no file.
        """
        arguments.refuse_unknown(parts, PARTS, "Optimizer.load")
        settings, state = saving.read(path)
        opt = cls(**arguments_of(settings, parts))
        opt.design = design_of(settings, opt.space, opt.design.centred)
        opt.load_state_dict(state)
        return opt

    def delta(self, since: Mark) -> Delta:
        """Return what is new since a mark (`Mark()`: everything), and the mark to go on from. Nothing changes."""
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
            floors={row: self.seen.floors[row] for row in new if row in self.seen.floors},
        )

    def _core(self) -> Core:
        counts = self._trials.issued, self._designed, save(self._rng), self._searches.next, [*self._searches.converged]
        return Core(*counts, placements=dict(self.placements))

    def _load(self, state: State) -> None:
        core = state.core
        self.seen.append(*state.columns)
        self.failures |= state.failures
        self.seen.floors |= state.floors
        self.placements |= core.placements
        self._designed, self._rng = int(core.designed), restore(core.rng)
        self._trials.load(int(core.trials), state.out)
        self._searches.next, self._searches.converged = int(core.searches), list(core.converged)
        self._searches.load(state.searches, Region(self.space, (), self.seen.good), state.lost)

    # Helpers, in order of call --------------------------------------------------------------------------------------

    def _designed_points(self, n: int) -> tuple[Proposal, int] | None:
        """Return at most `n` points of the initial design that are not known yet; None where it is used up."""
        x, self._designed = self.design.fresh(self.seen, self._designed, n)
        return (Proposal(x, [None] * len(x)), -1) if len(x) else None

    def _leftovers(self, n: int) -> tuple[Proposal, int]:
        """Return unseen points from anywhere in the space: no search found one near its incumbent."""
        x = draw_unseen(self.space, self.seen, n, self._rng)
        return Proposal(x, [None] * len(x)), -1
