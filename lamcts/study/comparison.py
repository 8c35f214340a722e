"""`compare`: several optimizers on one function of the user's own. Each run is a journal, from which it resumes."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lamcts import samplers
from lamcts.errors import JournalError, LamctsError, MissingExtra
from lamcts.journal import Journal
from lamcts.journal.journal import recorded_in
from lamcts.optimizer.optimizer import Optimizer
from lamcts.outcomes.constrained_rank import total_violation
from lamcts.rng import Purpose, derive
from lamcts.samplers.base import Session, Supports
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.study.evaluation import Job, Outcome, evaluate, takes
from lamcts.study.function_identity import identity_of
from lamcts.study.options import RunSettings
from lamcts.study.peers import PEERS, Enough
from lamcts.study.problem import RunProblem, problem_of
from lamcts.study.study import Study, evaluated_jobs
from lamcts.study.workers import pool_of
from lamcts.text import columns
from lamcts.types import Floats, Json, Mask, whole_number
from lamcts.utils import interrupts
from lamcts.utils.wings import searches

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

OURS = "lamcts"
DEFAULT = ("cobyla", "cobyqa", "tpe", "cma", "random")  # of those, the installed ones
SAME = 1e-9  # of a range: the tolerance of a point that a method asks for again
MARKS = (0.25, 0.5, 1.0)  # shares of the budget at which methods are ranked
MOST_EXACT = 8  # seeds up to which p-values are exact, as SciPy has it without ties; 12,870 permutations take 0.4 s
LEGEND = "won : lost and p (Mann-Whitney) are of lamcts against the method, by final values"
AGAIN = 10  # further evaluations of each best point under noise (untuned): their mean has a third of the noise of one
LEGEND_AGAIN = f"final values are means of {AGAIN} further evaluations of best points; the budget does not count them"
OPTIONS = ("constraints", "objectives", "fix", "x0", "valid", "check_first", "reference", "noisy")  # which all heed
_EARLIER: dict[str, str] = {}  # identity after a comparison in this process -> before it, as runs may change data


def compare(
    f: Callable[..., object],
    space: Any = None,
    *,
    budget: int,
    peers: Iterable[str] | None = None,
    seeds: int | Sequence[int] = 5,
    folder: str | os.PathLike[str] = "comparison",
    workers: int | str | None = None,
    **options: Any,
) -> "Comparison":
    """Compare the default search with other optimizers on a function of your own.

    Parameters
    ----------
    f, space
        As in `minimize`.
    budget : int
        Evaluations of each run.
    peers : list of str or None, default None
        Names of `lamcts.study.peers.PEERS`, of samplers, or of searches of networks such as "lanas". None: "cobyla",
        "cobyqa", "tpe", "cma" and "random", as far as their packages are installed.
    seeds : int or list of int, default 5
        Different seeds, or their number: with 5, 0 to 4. The runs of a seed have the same seeds of the noise.
        Peers but "random" also have the same initial design; samplers and the default have their own.
    folder : path, default "comparison"
        Where each run has a journal. The same call again goes on with what is missing. A call with another function
        (also its data, and what it calls), space, budget or version of a method has journals of its own there.
    workers : int, str or None, default None
        Number of runs at a time, as in `minimize`.
    **options
        `maximize`, `constraints`, `objectives` (one), `fix`, `x0`, `valid` and `noisy` of `minimize`. Where values are
        noisy, also as the objective declares, methods are ranked by 10 further evaluations of each best point, as the
        best single value is lucky. Their journals are in the folder "again"; the budget does not count them.

    Returns
    -------
    Comparison
        A table, and the runs by method, which `lamcts.plot.best_so_far` draws. A peer that raises is left out, with a
        RuntimeWarning.

    Raises
    ------
    ValueError
        For several objectives, a `Fidelity`, and methods that do not exist. Also where `folder` holds runs, and the
        function has data that cannot be compared with theirs, such as an open file.
    MissingExtra
        If the package of a peer is not installed.
    LamctsError
        If the default search raises, or a file in `folder` is no journal.

    Examples
    --------
    >>> import lamcts, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = lamcts.compare(
    ...         lambda x: ((x - 0.3) ** 2).sum(), [(-1, 1)] * 3, budget=20, peers=["random"], seeds=2, folder=folder
    ...     )
    >>> [row["method"] for row in found.rows]
    ['lamcts', 'random']
    """
    methods, numbers = [OURS, *dict.fromkeys(_known(peers))], _seeds(seeds)
    if others := [name for name in options if name not in ("maximize", *OPTIONS)]:
        raise TypeError(f"compare: expected options of {', '.join(OPTIONS)}, got {others[0]!r}, which the peers ignore")
    maximize = options.pop("maximize", None)
    problem = problem_of(f, space, maximize, RunSettings.of({"budget": budget, **options}))
    _check(problem)
    if problem.declared.noisy and options.get("noisy") is None:
        options["noisy"] = problem.noisy
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    what = f, problem.space.signature(), problem.goals.arguments(), problem.maximize, budget, options
    now = identity_of(what)
    key = _EARLIER.get(now, now) if now is not None else None
    cases = [(method, seed) for seed in numbers for method in methods]  # a seed of all methods before the next one
    places = {case: _place(place, *case, key) for case in cases}
    run = OneRun(f, space, maximize, budget, places, options)
    try:
        failed = _run_all(run, workers)
    finally:
        if key is not None and (now := identity_of(what)) is not None:
            _EARLIER[now] = key
    kept = [method for method in methods if method not in failed]
    runs = {m: [Journal.read(places[m, seed].path) for seed in numbers] for m in kept}
    again = {m: [recorded_in(places[m, seed].again.path) for seed in numbers] for m in kept}
    return Comparison(budget, runs, again if options.get("noisy") else None)


def _run_all(run: "OneRun", workers: int | str | None) -> set[str]:
    """Run all cases, and return the peers that raised, which a warning names."""
    pool, waiting = pool_of(run, RunSettings.of({"budget": len(run.places), "workers": workers})), iter(run.places)
    failed: set[str] = set()

    def job() -> Job | None:
        case = next((each for each in waiting if each[0] not in failed), None)
        return None if case is None else Job(case, case, 0)

    def ended(job: Job, outcome: Outcome) -> None:
        if outcome.error is None:
            return
        (method, seed), text = job.what, ": ".join(outcome.error)
        if method == OURS or outcome.error[0] == JournalError.__name__:
            raise LamctsError(f"compare: {method} with seed {seed}: {text}")
        if method not in failed:
            warnings.warn(f"compare: {method} is left out, as it raised with seed {seed}: {text}", RuntimeWarning, 5)
        failed.add(method)

    try:
        with interrupts.recorded():
            for _ in evaluated_jobs(pool, job, ended):
                pass
    finally:
        pool.close()
    return failed


def _seeds(given: int | Sequence[int]) -> list[int]:
    """Return the seeds; ValueError for a seed that occurs twice."""
    if isinstance(given, (int, np.integer)):
        return list(range(whole_number(given, "seeds")))
    seeds = [whole_number(seed, "seeds", least=0) for seed in given]
    if not seeds or len({*seeds}) < len(seeds):
        raise ValueError(f"seeds: expected different numbers, at least one, got {seeds}: equal seeds are no replicates")
    return seeds


def _check(problem: RunProblem) -> None:
    """Raise ValueError for a problem that not all methods can take at an equal cost."""
    if len(problem.goals.objectives) > 1:
        raise ValueError("compare: expected one objective, got several: the peers take one")
    if (axis := FidelityAxis.of(problem.space)) is not None:
        cure = f"fix={{{axis.name!r}: {axis.fidelity.high}}} compares at the full one, an Int searches it"
        raise ValueError(f"compare: expected evaluations of equal costs, got the Fidelity {axis.name!r}: {cure}")


def _known(peers: Iterable[str] | None) -> list[str]:
    """Return the names of methods; an error for one that does not exist, or that is not installed."""
    if peers is None:
        return [name for name in DEFAULT if PEERS[name].installed]
    names = [peers] if isinstance(peers, str) else list(peers)
    for name in names:
        if name not in PEERS and name.partition(":")[0] not in samplers.names() and name not in searches():
            known = ", ".join(dict.fromkeys([*PEERS, *samplers.names(), *searches()]))
            raise ValueError(f"peers: expected names of {known}, got {name!r}")
        if name in PEERS and not PEERS[name].installed:
            raise MissingExtra.of(PEERS[name].package, "peers")
    return names


class Place(NamedTuple):
    """The journal of a run, and what the run shares with those that may go on from it."""

    path: Path
    key: str

    @property
    def again(self) -> "Place":
        """Where further evaluations of the best point are recorded."""
        return Place(self.path.parent / "again" / self.path.name, self.key)


def _place(folder: Path, method: str, seed: int, comparison: str | None) -> Place:
    """Return the journal of a run: one of a longer name where the short one is that of another comparison."""
    plain = re.sub(r"[^a-z0-9_]+", "-", method)
    name = plain if plain == method else f"{plain}-{identity_of(method)}"  # names that differ in case or signs only
    first = folder / f"{name}-seed{seed}.db"
    if comparison is None and first.exists():
        raise ValueError(
            f"folder: expected one without runs, got {folder}: they may be of another function, as this one has data "
            "that cannot be compared, such as an open file: give folder=..., or the function a method fingerprint()"
        )
    package = PEERS[method].package if method in PEERS else method.partition(":")[0]
    versions = [metadata.version("lamcts")]
    with suppress(metadata.PackageNotFoundError):  # a sampler of this package
        versions.append(metadata.version(package))
    key = str(identity_of((comparison, method, PEERS.get(method), versions)))
    own = folder / f"{name}-seed{seed}-{key}.db"
    with suppress(JournalError):  # of a file that is no journal, which the run names
        taken = first.exists() and Journal.read(first).about.get("comparison") != key
        return Place(own if own.exists() or taken else first, key)
    return Place(first, key)


@dataclass(frozen=True)
class OneRun:
    """Runs one method with one seed, and records it."""

    f: Callable[..., object]
    space: Any
    maximize: bool | None
    budget: int
    places: Mapping[tuple[str, int], Place]
    options: Json

    def __call__(self, case: tuple[str, int]) -> None:
        (method, seed), place, memory = case, self.places[case], None
        words: Json = {"budget": self.budget, **self.options}
        problem = problem_of(self.f, self.space, self.maximize, RunSettings.of(words))
        if method in PEERS:
            search = RecordedSearch(problem, method, seed, self.budget, place)
            with suppress(Enough):
                PEERS[method].run(search)
            point = None if search.opt.best is None else search.opt.best.point
        else:
            if method.partition(":")[0] in samplers.names() or method == OURS:
                words["sampler"] = "auto" if method == OURS else method
            else:
                words |= searches()[method].settings(problem.space)
            words |= {"seed": seed, "journal": place.path, "progress": False, "about": {"comparison": place.key}}
            found = Study(self.f, self.space, self.maximize, **words).solve()
            point, memory = found.x, found.get("memory")
        if self.options.get("noisy") and point is not None:
            place.again.path.parent.mkdir(exist_ok=True)
            again = RecordedSearch(problem, method, seed, AGAIN, place.again, self.budget, memory)
            for _ in range(AGAIN):
                again.loss(problem.space.encode(point))


class PeerSampler:
    """Represents another optimizer in a journal."""

    resumable, supports = True, Supports(constraints=True, fronts=True)

    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, region: object, seen: object, rng: object) -> Session:
        """Raise RuntimeError: the other optimizer owns its loop."""
        raise RuntimeError(f"expected no ask: this journal is a record of {self.name}, which owns its loop")

    def restore(self, state: object, log: object, region: object, seen: object) -> Session:
        """Raise RuntimeError, as `start`."""
        return self.start(region, seen, None)

    def __repr__(self) -> str:
        return self.name


class RecordedSearch:
    """The function of a problem on the unit cube, lower is better, recorded in a journal: see `peers.Search`.

    What the journal holds is not evaluated again, as each method asks for the same points in the same order.
    first: number of the first evaluation, which its seed depends on. memory: state of a `StatefulObjective`, if any.
    """

    def __init__(
        self, problem: RunProblem, method: str, seed: int, budget: int, place: Place, first: int = 0, memory: Any = None
    ) -> None:
        self.problem, self.seed, self.budget, self.n = problem, seed, budget, 0
        self.space, self.dim = problem.space, problem.space.dim
        goals = problem.goals
        words = {"objectives": goals.names, "maximize": problem.maximize} if goals.plain else goals.arguments()
        self.opt = Optimizer(problem.space, seed=seed, sampler=PeerSampler(method), n_init=0, **words)
        about = {"objective": problem.name, "budget": budget, "comparison": place.key}
        self.opt._record_in(place.path, about=about)
        self.bounded = bool(goals.constraints)
        self._seeded, self._first, self._memory = takes(problem.call, "seed"), first, memory
        self._last, self._used = b"", set[str]()  # the last point, and what was asked for there

    @property
    def left(self) -> int:
        return self.budget - self.n

    def loss(self, u: ArrayLike) -> float:
        return self._loss(self._row(u, "loss"))

    def _loss(self, row: int) -> float:
        f = self.opt.seen.f[: row + 1, 0]
        return float(f[row]) if np.isfinite(f[row]) else self._worst(np.isfinite(f)) + 1.0  # solvers stop at nan

    def _worst(self, rows: Mask) -> float:
        """Return the largest loss of some of the first rows, 0 of none."""
        return float(np.max(self.opt.seen.f[: len(rows), 0][rows], initial=-np.inf)) if rows.any() else 0.0

    def excesses(self, u: ArrayLike) -> Floats:
        return self._excesses(self._row(u, "excesses"))

    def _excesses(self, row: int) -> Floats:
        g = self.problem.goals.per_constraint(self.opt.seen.g[[row]])[0]
        return np.where(np.isfinite(g), g, 1.0)

    def __call__(self, u: ArrayLike) -> float:
        row = self._row(u, "loss")
        if not self.bounded or self.opt.seen.feasible[row]:
            return self._loss(row)
        over = float(total_violation(self._excesses(row)[None])[0])
        return self._worst(self.opt.seen.feasible[: row + 1]) + over  # behind all feasible ones

    def many(self, u: ArrayLike) -> Floats:
        return np.array([self(row) for row in np.asarray(u, float).reshape(-1, self.dim)])

    def _row(self, u: ArrayLike, what: str) -> int:
        """Return the row of a point, which is evaluated unless it was the last one, asked for something else."""
        x: Floats = self.space.snap(np.clip(np.asarray(u, float).reshape(1, self.dim), 0, 1))[0]
        if self._last == x.tobytes() and what not in self._used:
            self._used.add(what)
            return self.n - 1
        if not self.left:
            raise Enough
        row = self.n
        if row >= len(self.opt.seen):
            point, seed = self.space.decode(x), derive(self.seed, Purpose.EVALUATION, self._first + row)
            outcome = evaluate(self.problem.call, self._seeded, point, seed, self._memory)
            held = None if outcome.held is None else [outcome.held]
            self.opt.tell_points([point], [outcome.told], held, seconds=[outcome.seconds])
        elif not np.allclose(self.opt.seen.x[row], x, atol=SAME):
            raise RuntimeError(f"expected the points of {self.opt.sampler!r} as in its journal; remove the journal")
        self.n, self._last, self._used = row + 1, x.tobytes(), {what}
        return row

    def first(self) -> None:
        if self.problem.x0 is not None:
            self(self.space.encode(self.problem.x0))

    def initial(self, n: int | None = None) -> Floats:
        opt = Optimizer(self.space, seed=self.seed, n_init=n, sampler="uniform", x0=self.problem.x0)
        return np.array([trial.x for trial in opt.ask(max(1, min(opt.n_init, self.budget // 4 if n is None else n)))])

    def start(self) -> Floats:
        x = self.initial()
        return np.asarray(x[int(np.argmin(self.many(x)))])

    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, 1))


@dataclass(frozen=True, repr=False)
class Comparison:
    """What a comparison has found; printed, it is a table with a line for each method.

    Attributes
    ----------
    budget : int
        Evaluations of each run.
    runs : dict of str to list
        By method, the record of each seed; `lamcts.plot.best_so_far(comparison.runs)` draws them.
    again : dict of str to list, or None
        Where values are noisy, by method the record of the further evaluations of each seed's best point, None for a
        seed without a best point. None: values are not noisy.
    """

    budget: int
    runs: "Mapping[str, list[Recorded]]"
    again: "Mapping[str, list[Recorded | None]] | None" = None

    @property
    def rows(self) -> list[Json]:
        """A dict for each method, best first.

        Its final value (median and quartiles), its mean rank among the methods at a quarter, at half and at all of the
        budget, the seeds in which `lamcts` won and lost against it, the p-value of the Mann-Whitney test of the final
        values (exact with up to 8 seeds, also for ties), and its own seconds per evaluation. Where values are noisy,
        final values are means of the evaluations in `again`, ranks are of these alone, and `best_value` is the median
        of the best single values.
        """
        from scipy.stats import rankdata

        curves = {name: np.array([_curve(run, self.budget) for run in runs]) for name, runs in self.runs.items()}
        losses = {name: curve[:, [mark - 1 for mark in self._marks]] for name, curve in curves.items()}
        if self.again is not None:
            losses = {name: np.array([[_mean_loss(run)] for run in self.again[name]]) for name in curves}
        ranks = rankdata(np.array([*losses.values()]), axis=0).mean(1)  # [methods, marks]
        ours, rows = losses[OURS][:, -1], []
        for (name, curve), rank in zip(curves.items(), ranks, strict=True):
            final, records = losses[name][:, -1], self.runs[name]
            sign = float(records[0].goals.signs[0])
            low, middle, high = sorted(sign * np.quantile(final, [0.25, 0.5, 0.75], method="nearest"))
            row: Json = {"method": name, "median": middle, "quartiles": (low, high), "rank": rank.tolist()}
            if self.again is not None:
                row["best_value"] = float(sign * np.quantile(curve[:, -1], 0.5, method="nearest"))
            if name != OURS:
                row |= {"won": int((ours < final).sum()), "lost": int((ours > final).sum())}
                row["p"] = _p_value(ours, final)
            rows.append(row | {"own_seconds": float(np.median([_own_seconds(run) for run in records]))})
        return sorted(rows, key=lambda row: (row["rank"][-1], row["method"]))

    @property
    def _marks(self) -> list[int]:
        """Numbers of evaluations after which methods are ranked."""
        return [max(1, round(share * self.budget)) for share in (MARKS if self.again is None else MARKS[-1:])]

    def __repr__(self) -> str:
        marks = " / ".join(map(str, self._marks))
        head = ["method", "median", "quartiles", f"mean rank at {marks}", "won : lost", "p", "own ms an evaluation"]
        noise = self.again is not None
        lines = [[*head, "best value"] if noise else head]
        for row in self.rows:
            low, high = row["quartiles"]
            pair = [f"{row['won']} : {row['lost']}", f"{round(row['p'], 4):.6g}"] if "won" in row else ["", ""]
            ranks, own = " / ".join(f"{rank:.1f}" for rank in row["rank"]), f"{1000 * row['own_seconds']:.1f}"
            line = [row["method"], f"{row['median']:.6g}", f"{low:.6g} to {high:.6g}", ranks, *pair, own]
            lines.append([*line, f"{row['best_value']:.6g}"] if noise else line)
        return "\n".join([*(f"  {line}" for line in columns(lines)), LEGEND, *[LEGEND_AGAIN] * noise])


def _p_value(ours: Floats, theirs: Floats) -> float:
    """Return the two-sided p-value of the Mann-Whitney test of two samples [n]."""
    from scipy.stats import PermutationMethod, mannwhitneyu

    tied = len(np.unique(np.r_[ours, theirs])) < 2 * len(ours)  # SciPy's default is approximate then, for any n
    exact = tied and 1 < len(ours) <= MOST_EXACT
    splits = PermutationMethod(n_resamples=comb(2 * len(ours), len(ours)), rng=0)  # all of them: nothing is drawn
    return float(mannwhitneyu(ours, theirs, method=splits if exact else "auto").pvalue)


def _curve(run: "Recorded", budget: int) -> Floats:
    """Return the best feasible loss after each evaluation, [budget]; inf before the first."""
    losses = np.where(run.feasible, run.columns.f[:, 0], np.inf)[:budget]
    losses = np.where(np.isfinite(losses), losses, np.inf)
    return np.minimum.accumulate(np.append(losses, np.full(budget - len(losses), np.inf)))


def _mean_loss(run: "Recorded | None") -> float:
    """Return the mean loss of the further evaluations of a point, without those that failed; inf for none."""
    losses = np.empty(0) if run is None else run.columns.f[:, 0]
    return float(np.mean(losses[np.isfinite(losses)])) if np.isfinite(losses).any() else np.inf


def _own_seconds(run: "Recorded") -> float:
    """Return the seconds between evaluations, in the mean without the longest pause: a run may have been resumed."""
    pauses = np.sort(np.diff(run.times) - run.seconds[1:])
    return float(max(0.0, pauses[:-1].mean())) if len(pauses) > 1 else float("nan")
