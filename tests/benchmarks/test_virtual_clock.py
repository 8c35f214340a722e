"""Workers on a simulated clock: who waits for whom, and how busy they are."""

from typing import Any

import numpy as np
import pytest

import lamcts
from benchmarks.harness.virtual import Course, duration, ran

BOX = lamcts.Box(-1, 1, dim=2)


class Recorded:
    """An optimizer that notes how many points it is asked for, and of which trials it is told."""

    def __init__(self) -> None:
        self.optimizer = lamcts.Optimizer(BOX, sampler="uniform", seed=0)
        self.asked: list[int] = []
        self.told: list[int] = []

    def ask(self, n: int) -> Any:
        self.asked.append(n)
        return self.optimizer.ask(n)

    def tell(self, trials: Any, values: Any, seconds: Any) -> None:
        self.told += [trial.id for trial in trials]
        self.optimizer.tell(trials, values, seconds)


def course(opt: Any, workers: int, wait_for_all: bool, own: bool = False) -> Course:
    return ran(opt, lambda point: float(point.sum()), workers, 30, 2.0, wait_for_all=wait_for_all, own=own)


def test_refilled_workers_never_wait_and_are_told_of_in_the_order_in_which_they_end() -> None:
    opt = Recorded()
    found = course(opt, 4, wait_for_all=False)
    assert opt.asked == [4] + [1] * 26 and found.busy(4) == pytest.approx(1)
    ends = [end for _, end in found.spans]
    assert ends == sorted(ends) and sorted(opt.told) == list(range(30)) != opt.told


def test_a_batch_waits_for_its_slowest() -> None:
    opt = Recorded()
    found = course(opt, 4, wait_for_all=True)
    assert opt.asked == [4] * 7 + [2] and found.busy(4) < 0.8
    begins = np.unique([begin for begin, _ in found.spans])
    assert len(begins) == 8
    assert begins[1] == max(end for begin, end in found.spans if begin == 0)


def test_the_optimisers_own_time_passes_only_where_it_counts() -> None:
    free, counted = course(Recorded(), 2, wait_for_all=False), course(Recorded(), 2, wait_for_all=False, own=True)
    assert free.own_seconds > 0 and counted.busy(2) < free.busy(2) == pytest.approx(1)


def test_durations_have_a_heavy_tail_and_the_mean_that_was_asked_for() -> None:
    drawn = np.array([duration(2.0, seed) for seed in range(4000)])
    assert drawn.mean() == pytest.approx(2, rel=0.1) and (drawn > 6).mean() == pytest.approx(0.055, abs=0.01)


def test_what_runs_on_beyond_the_last_start_does_not_count() -> None:
    found = Course([(0.0, 2.0), (0.0, 4.0), (2.0, 100.0)], [3.0, 1.0, 2.0])
    assert found.busy(2) == 1 and found.starts_per_second == 1
    assert found.best.tolist() == [3, 1, 1]
