"""One run of an optimizer on a function. `Study._search` is the loop."""

import os
import shutil
import tempfile
import uuid
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lamcts.errors import Exhausted
from lamcts.journal.intermediate_values import Report
from lamcts.optimizer.again import reserve
from lamcts.optimizer.history import RunState
from lamcts.optimizer.losses import with_missing_names
from lamcts.outcomes.constrained_rank import FAILED
from lamcts.outcomes.observations import CONFIRMING, Observations
from lamcts.outcomes.trial import Trial
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis, configuration
from lamcts.study import progress
from lamcts.study.combinations import check_combination
from lamcts.study.evaluation import Job, Outcome
from lamcts.study.executors import Pool
from lamcts.study.known import add, known_results, untold
from lamcts.study.options import RunSettings
from lamcts.study.problem import RunProblem, problem_of
from lamcts.study.pruning import Pruning
from lamcts.study.result import Evaluation, Result
from lamcts.study.resume import begin, warn_of_small_budget
from lamcts.study.shared_state import SharedState
from lamcts.study.spending import Spending
from lamcts.study.stopping import MESSAGES, Stopping, warn_if_nothing_works
from lamcts.study.summary import evaluated, summarise
from lamcts.study.workers import pool_of
from lamcts.utils import interrupts

if TYPE_CHECKING:
    from lamcts.journal import Journal
    from lamcts.optimizer.optimizer import Optimizer

T = TypeVar("T")
SUFFIX = ".folders"  # of the folders next to the journal
FOUND = ("target", "patience", "min_gain")  # reasons to end a search before its budget


class Study:
    """One run of `minimize`, `maximize` or `run`."""

    optimizer: "Optimizer"  # from the first evaluation on, as `result()`
    _journal: "Journal | None"
    _stopping: Stopping

    def __init__(
        self, f: Callable[..., object], space: Any, maximize: bool | None, budget: int, **options: Any
    ) -> None:
        self.settings = RunSettings.of({"budget": budget, **options})
        self.problem: RunProblem = problem_of(f, space, maximize, self.settings)
        check_combination(self.settings, self.problem)
        self.pruning = Pruning(self.problem, self.settings.pruner, self.settings.executor)
        self.spending = Spending(self.problem.space, self.settings)
        self.folders = TrialFolders(self.problem.space, self.settings.journal)
        known = known_results(self.settings.known, self.problem)
        self.known = [] if self.settings.related else [result for source in known for result in source]
        self.related = (
            [[result for result in task if not result.pruned] for task in known] if self.settings.related else []
        )
        self.reason: str | None = None  # key of MESSAGES
        self.memory: SharedState | None = None  # of a `StatefulObjective`
        self._done = 0  # number of evaluations
        self._asks = 0
        self._exhausted = ""
        self._queue: deque[Trial] = deque()  # trials before their start
        self._progress: progress.Bar | progress.Lines | progress.Widget | None = None

    def solve(self) -> Result:
        """Run all evaluations until the end or Ctrl-C, and return the result."""
        evaluations = self.evaluations()
        try:
            for _ in evaluations:
                pass
        except KeyboardInterrupt:
            if not hasattr(self, "optimizer"):
                raise  # there is nothing to return yet
            self.reason = "interrupted"
        return self.result()

    def evaluations(self) -> Generator[Evaluation, None, Result]:
        """Yield each evaluation as it ends."""
        with ExitStack() as stack:
            stack.enter_context(interrupts.recorded())
            pool = self._begin(stack)
            yield from self._search(pool)
        result = self.result()
        progress.ended(result)
        return result

    # The loop -------------------------------------------------------------------------------------------------------

    def _search(self, pool: Pool) -> Generator[Evaluation, None, None]:
        """Evaluate points until there is a reason to stop, and then wait for running evaluations."""
        seen = self.optimizer.seen
        self.reason = self._stopping.reason(seen, self.spending.over)

        def job() -> Job | None:
            trial = self._next(pool) if self.reason is None or self._confirms else None
            return None if trial is None else self._job(trial)

        def tell(job: Job, outcome: Outcome) -> Evaluation:
            evaluation = self._tell(job, outcome)
            stopped = self._show(evaluation)
            if self._confirms:
                self.reason = self._stopping.late() or stopped or self.reason
            else:
                self.reason = self.reason or self._stopping.reason(seen, self.spending.over) or stopped
            return evaluation

        yield from evaluated_jobs(pool, job, tell)
        self.reason = self.reason or ("budget" if self.spending.over else "exhausted")

    # Helpers, in order of call --------------------------------------------------------------------------------------

    def _begin(self, stack: ExitStack) -> Pool:
        """Create or resume the optimizer, add known results, and return the pool of workers."""
        settings = self.settings
        start = begin(self.problem, settings, stack, self.spending.evaluations, self.related)
        self.optimizer = start.optimizer
        self._journal = start.journal
        self._asks = start.asks
        self.memory = start.memory
        self.pruning.restore(start.curves, self.optimizer.seen)
        self.pruning.refresh(self.optimizer.seen)
        stack.callback(self.pruning.close)
        stack.callback(self.folders.close)
        new = untold(self.known, self.optimizer)
        n_added = add(new, self.optimizer)
        if n_added:
            self._record(self.pruning.known(new, self.optimizer.seen))
            self.pruning.refresh(self.optimizer.seen)
        self._queue.extend(self.optimizer.pending)  # pending trials of an earlier session are evaluated first
        self._done = int(np.count_nonzero(self.optimizer.seen.trial >= 0))
        self.spending.load(self.optimizer.seen)
        self.folders.load(self.optimizer.seen)
        if not self._done:
            warn_of_small_budget(self.spending.evaluations, self.optimizer)
        self._stopping = Stopping(settings, self.optimizer)
        several = len(self.problem.goals.objectives) > 1
        progress.begun(self.problem.name, settings.budget, self._done, n_added, self.optimizer.seed)
        self._progress = progress.make(settings.progress, settings.budget, self.spending.spent or self._done, several)
        if self._progress is not None:
            stack.callback(self._progress.close)
        pool = pool_of(self.problem.call, settings)
        stack.callback(pool.close)
        return pool

    def _next(self, pool: Pool) -> Trial | None:
        """Return the next trial to start, None if the budget or the space is exhausted, or a result is ready."""
        room = self.spending.room
        if self._confirms:
            self._queue = deque(trial for trial in self._queue if trial.session == CONFIRMING)
        if room > 0 and not self._queue and not pool.ready:  # ready results are told first
            self._queue.extend(self._ask(min(max(self.settings.batch, pool.free), room)))
        affordable = self._queue and self.spending.affords(self._queue[0])
        return self.spending.start(self._queue.popleft()) if affordable else None

    def _ask(self, n: int) -> list[Trial]:
        """Return new trials, which are recorded first; none after a finite space is exhausted."""
        if self._exhausted:
            return []
        try:
            trials = (
                self._confirming_trials(n)
                if self._confirms
                else self.spending.ask(self.optimizer, n, self._stopping.hurry)
            )
        except Exhausted as error:
            self._exhausted = str(error)
            return []
        self._asks += bool(trials)  # the budget may afford none
        self._record()
        return trials

    @property
    def _confirms(self) -> bool:
        """Whether the search has ended before its budget, and re-evaluations follow under noise."""
        return bool(self.optimizer.noisy) and self.reason in FOUND

    def _confirming_trials(self, n: int) -> list[Trial]:
        """Return at most `n` re-evaluations, within their share of the budget."""
        run = self.optimizer
        done = int(run.confirmed.sum()) + sum(trial.session == CONFIRMING for trial in run.pending)
        most = reserve(self.settings.budget, run.noisy) - done
        return run.confirm(min(n, most)) if most > 0 else []

    def _tell(self, job: Job, outcome: Outcome) -> Evaluation:
        """Tell the optimizer a result, and record it."""
        trial: Trial = job.what
        constraints = None if outcome.constraints is None else [outcome.constraints]
        self.pruning.check(trial.id)  # after a failure of the pruner, the trial stays pending
        pruned = self.pruning.ended(trial.id, outcome)
        details = {"seconds": [outcome.seconds], "constraints": constraints, "metrics": [outcome.metrics]}
        try:
            value = pruned or with_missing_names(outcome.value_or_error, outcome.constraints, self.optimizer.goals)
            self.optimizer.tell([trial], [value], **details)
        except ValueError as malformed:
            if not self._done:  # a malformed first value is likely a mistake in the function
                raise
            self.optimizer.tell([trial], [malformed], **details)
        self._done += 1
        row = len(self.optimizer.seen) - 1
        self.spending.tell(trial, self.optimizer.seen.kind[row] == FAILED)
        if self.memory is not None:
            self.memory.tell(outcome.note, job.memory, is_best=self.optimizer.seen.best == row)
        self._record(self.pruning.tell(trial.id, self.optimizer.seen))
        self.pruning.refresh(self.optimizer.seen)
        evaluation = evaluated(RunState.of(self.optimizer), row, trial.point, self._done, self.spending.spent)
        self._stopping.tell(evaluation)
        self.pruning.check()  # raises for other trials, too, whose evaluations may take hours
        return evaluation

    def _job(self, trial: Trial) -> Job:
        """Return the job of a trial that starts now."""
        reporter = self.pruning.reporter(trial, self.folders.of(trial))
        if self.memory is None:
            return Job(trial, trial.point, trial.seed, None, reporter)
        return Job(trial, trial.point, trial.seed, self.memory.now, reporter, self.memory.packed(trial.point))

    def _record(self, reports: Iterable[Report] = ()) -> None:
        if self._journal is not None:
            memory = None if self.memory is None else self.memory.state()
            self._journal.write(self.optimizer.delta(self._journal.mark), memory, reports)

    def _show(self, evaluation: Evaluation) -> str | None:
        """Show an evaluation as progress and to the callback; return a reason to stop if the callback asks to."""
        progress.evaluated(evaluation)
        if self._progress is not None:
            self._progress.update(evaluation)
        if evaluation.failed and not self._stopping.failing:
            warn_if_nothing_works(self.optimizer)
        if self.settings.callback is None:
            return None
        try:
            with interrupts.raised():
                return "callback" if self.settings.callback(self.result()) else None
        except StopIteration:  # as in SciPy
            return "callback"

    def result(self) -> Result:
        """Return the result so far."""
        status = self.reason or "running"
        settings = self.settings
        words = {name: getattr(settings, name) for name in ("target", "patience", "give_up", "min_gain")}
        words["budget"] = self.spending.words
        message = MESSAGES[status].format(**words, seconds=settings.seconds, exhausted=self._exhausted)
        result = summarise(RunState.of(self.optimizer), self._asks, status, message, self.pruning.losses)
        if self.optimizer.noisy or self.problem.declared.noisy:
            result["noisy"] = True
        if self.memory is not None:  # candidates were re-evaluated with the latest state
            result["memory"] = self.memory.now if "candidates" in result else self.memory.best
        return result


def evaluated_jobs(
    pool: Pool, job: Callable[[], Job | None], tell: Callable[[Job, Outcome], T]
) -> Generator[T, None, None]:
    """Yield the result of `tell` for each ended job, until none is running and `job` returns None."""
    while True:
        interrupts.check()
        while pool.free and (next_job := job()) is not None:
            interrupts.check()
            pool.start(next_job)
        if not pool.running:
            return
        if (ended := pool.wait()) is not None:
            evaluation = tell(*ended)
            with interrupts.passed_on():
                yield evaluation


class TrialFolders:
    """The folders of trials: next to the journal, or temporary without one."""

    def __init__(self, space: SearchSpace, journal: str | os.PathLike[str] | None) -> None:
        self._axis = FidelityAxis.of(space)
        temporary = Path(tempfile.gettempdir()) / f"lamcts-{uuid.uuid4().hex}"
        self.root = temporary if journal is None else Path(os.path.abspath(journal) + SUFFIX)
        self._temporary = journal is None
        self._first: dict[Hashable, int] = {}  # configuration -> its first trial

    def load(self, seen: Observations) -> None:
        """Add the trials of an earlier session, told and pending."""
        evaluated_trials = [(number, x) for number, x in zip(seen.trial.tolist(), seen.x, strict=True) if number >= 0]
        for number, x in sorted([*evaluated_trials, *seen.pending.items()], key=lambda pair: pair[0]):
            self._first.setdefault(configuration(self._axis, x), number)

    def of(self, trial: Trial) -> Path:
        """Return the folder of a trial's configuration, or a folder of its own for a re-evaluation."""
        if self._axis is None and trial.session == CONFIRMING:
            return self.root / str(trial.id)
        return self.root / str(self._first.setdefault(configuration(self._axis, trial.x), trial.id))

    def close(self) -> None:
        if self._temporary:
            shutil.rmtree(self.root, ignore_errors=True)
