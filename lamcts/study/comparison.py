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
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import samplers
from lamcts.errors import JournalError, LamctsError, MissingExtra
from lamcts.journal import Journal
from lamcts.journal.journal import recorded_in
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.study.evaluation import Job, Outcome
from lamcts.study.function_identity import identity_of
from lamcts.study.options import RunSettings
from lamcts.study.peers import PEERS, Enough
from lamcts.study.problem import RunProblem, problem_of
from lamcts.study.recorded_search import Place, RecordedSearch
from lamcts.study.study import Study, evaluated_jobs
from lamcts.study.workers import pool_of
from lamcts.text import columns
from lamcts.types import Floats, Json, whole_number
from lamcts.utils import interrupts
from lamcts.utils.wings import searches

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

OURS = "lamcts"
DEFAULT = ("cobyla", "cobyqa", "tpe", "cma", "random")  # peers, if they are installed
MARKS = (0.25, 0.5, 1.0)  # shares of the budget at which methods are ranked
MOST_EXACT = 8  # seeds up to which p-values are exact, as in SciPy without ties; 12,870 permutations take 0.4 s
LEGEND = "won : lost and p (Mann-Whitney) are of lamcts against the method, by final values"
AGAIN = 10  # further evaluations of each best point under noise: their mean has a third of the noise of one
LEGEND_AGAIN = f"final values are means of {AGAIN} further evaluations of best points; the budget does not count them"
OPTIONS = ("constraints", "objectives", "fix", "x0", "valid", "check_first", "reference", "noisy")  # of all methods
_EARLIER: dict[str, str] = {}  # identity after a comparison in this process -> before it, since runs may change data


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
    methods = [OURS, *dict.fromkeys(_known(peers))]
    seed_numbers = _seeds(seeds)
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
    cases = [(method, seed) for seed in seed_numbers for method in methods]  # a seed of all methods before the next one
    places = {case: _place(place, *case, key) for case in cases}
    run = OneRun(f, space, maximize, budget, places, options)
    try:
        failed = _run_all(run, workers)
    finally:
        if key is not None and (now := identity_of(what)) is not None:
            _EARLIER[now] = key
    completed = [method for method in methods if method not in failed]
    runs = {m: [Journal.read(places[m, seed].path) for seed in seed_numbers] for m in completed}
    again = {m: [recorded_in(places[m, seed].again.path) for seed in seed_numbers] for m in completed}
    return Comparison(budget, runs, again if options.get("noisy") else None)


def _run_all(run: "OneRun", workers: int | str | None) -> set[str]:
    """Run all cases, and return the peers that raised, with a warning."""
    pool = pool_of(run, RunSettings.of({"budget": len(run.places), "workers": workers}))
    waiting = iter(run.places)
    failed: set[str] = set()

    def job() -> Job | None:
        case = next((case for case in waiting if case[0] not in failed), None)
        return None if case is None else Job(case, case, 0)

    def ended(job: Job, outcome: Outcome) -> None:
        if outcome.error is None:
            return
        method, seed = job.what
        text = ": ".join(outcome.error)
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


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds; ValueError for a repeated seed."""
    if isinstance(seeds, (int, np.integer)):
        return list(range(whole_number(seeds, "seeds")))
    numbers = [whole_number(seed, "seeds", least=0) for seed in seeds]
    if not numbers or len({*numbers}) < len(numbers):
        raise ValueError(
            f"seeds: expected different numbers, at least one, got {numbers}: equal seeds are no replicates"
        )
    return numbers


def _check(problem: RunProblem) -> None:
    """Raise ValueError for several objectives or a fidelity, which peers lack."""
    if len(problem.goals.objectives) > 1:
        raise ValueError("compare: expected one objective, got several: the peers take one")
    if (axis := FidelityAxis.of(problem.space)) is not None:
        cure = f"fix={{{axis.name!r}: {axis.fidelity.high}}} compares at the full one, an Int searches it"
        raise ValueError(f"compare: expected evaluations of equal costs, got the Fidelity {axis.name!r}: {cure}")


def _known(peers: Iterable[str] | None) -> list[str]:
    """Return the names of the peers; an error for one that is unknown or not installed."""
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


def _place(folder: Path, method: str, seed: int, comparison: str | None) -> Place:
    """Return the journal of a run, with a longer name if another comparison has the short one."""
    plain = re.sub(r"[^a-z0-9_]+", "-", method)
    name = plain if plain == method else f"{plain}-{identity_of(method)}"  # names may differ in case or signs
    short = folder / f"{name}-seed{seed}.db"
    if comparison is None and short.exists():
        raise ValueError(
            f"folder: expected one without runs, got {folder}: they may be of another function, as this one has data "
            "that cannot be compared, such as an open file: give folder=..., or the function a method fingerprint()"
        )
    package = PEERS[method].package if method in PEERS else method.partition(":")[0]
    versions = [metadata.version("lamcts")]
    with suppress(metadata.PackageNotFoundError):  # samplers of this package have no package
        versions.append(metadata.version(package))
    key = str(identity_of((comparison, method, PEERS.get(method), versions)))
    long = folder / f"{name}-seed{seed}-{key}.db"
    with suppress(JournalError):  # the run raises for a file that is no journal
        is_used = short.exists() and Journal.read(short).about.get("comparison") != key
        return Place(long if long.exists() or is_used else short, key)
    return Place(short, key)


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
        method, seed = case
        place = self.places[case]
        memory = None
        options: Json = {"budget": self.budget, **self.options}
        problem = problem_of(self.f, self.space, self.maximize, RunSettings.of(options))
        if method in PEERS:
            search = RecordedSearch(problem, method, seed, self.budget, place)
            with suppress(Enough):
                PEERS[method].run(search)
            point = None if search.opt.best is None else search.opt.best.point
        else:
            if method.partition(":")[0] in samplers.names() or method == OURS:
                options["sampler"] = "auto" if method == OURS else method
            else:
                options |= searches()[method].settings(problem.space)
            options |= {"seed": seed, "journal": place.path, "progress": False, "about": {"comparison": place.key}}
            result = Study(self.f, self.space, self.maximize, **options).solve()
            point = result.x
            memory = result.get("memory")
        if self.options.get("noisy") and point is not None:
            place.again.path.parent.mkdir(exist_ok=True)
            again = RecordedSearch(problem, method, seed, AGAIN, place.again, self.budget, memory)
            for _ in range(AGAIN):
                again.loss(problem.space.encode(point))


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of a comparison, whose repr is a table with a line for each method.

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
        ours = losses[OURS][:, -1]
        rows = []
        for (name, curve), rank in zip(curves.items(), ranks, strict=True):
            final = losses[name][:, -1]
            records = self.runs[name]
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
            ranks = " / ".join(f"{rank:.1f}" for rank in row["rank"])
            milliseconds = f"{1000 * row['own_seconds']:.1f}"
            line = [row["method"], f"{row['median']:.6g}", f"{low:.6g} to {high:.6g}", ranks, *pair, milliseconds]
            lines.append([*line, f"{row['best_value']:.6g}"] if noise else line)
        return "\n".join([*(f"  {line}" for line in columns(lines)), LEGEND, *[LEGEND_AGAIN] * noise])


def _p_value(ours: Floats, theirs: Floats) -> float:
    """Return the two-sided p-value of the Mann-Whitney test of two samples [n]."""
    from scipy.stats import PermutationMethod, mannwhitneyu

    has_ties = len(np.unique(np.r_[ours, theirs])) < 2 * len(ours)  # SciPy's default is then approximate for any n
    is_exact = has_ties and 1 < len(ours) <= MOST_EXACT
    splits = PermutationMethod(n_resamples=comb(2 * len(ours), len(ours)), rng=0)  # all permutations, without draws
    return float(mannwhitneyu(ours, theirs, method=splits if is_exact else "auto").pvalue)


def _curve(run: "Recorded", budget: int) -> Floats:
    """Return the best feasible loss after each evaluation, [budget]; inf before the first."""
    losses = np.where(run.feasible, run.columns.f[:, 0], np.inf)[:budget]
    losses = np.where(np.isfinite(losses), losses, np.inf)
    return np.minimum.accumulate(np.append(losses, np.full(budget - len(losses), np.inf)))


def _mean_loss(run: "Recorded | None") -> float:
    """Return the mean loss of successful further evaluations of a point; inf without any."""
    losses = np.empty(0) if run is None else run.columns.f[:, 0]
    return float(np.mean(losses[np.isfinite(losses)])) if np.isfinite(losses).any() else np.inf


def _own_seconds(run: "Recorded") -> float:
    """Return the mean seconds between evaluations, without the longest pause, after which a run may have resumed."""
    pauses = np.sort(np.diff(run.times) - run.seconds[1:])
    return float(max(0.0, pauses[:-1].mean())) if len(pauses) > 1 else float("nan")
