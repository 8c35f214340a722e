"""One BLAS thread during our own calls, and what the user had set afterwards."""

import threading

import numpy as np
import pytest
import scipy.linalg
import threadpoolctl

import lamcts
from lamcts.utils.numerics import one_blas_thread


def blas_threads() -> list[int]:
    return [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    scipy.linalg.cholesky(np.eye(2))  # its BLAS is loaded
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


def test_calls_have_one_thread_and_the_limit_of_the_user_comes_back():
    assert set(blas_threads()) == {2}
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            pass
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_the_limit_comes_back_where_a_call_raises():
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert set(blas_threads()) == {2}


def test_calls_in_several_threads_leave_the_limit_of_the_user():
    inside, leave = threading.Event(), threading.Event()

    def call() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=call)
    other.start()
    assert inside.wait(10)
    with one_blas_thread():  # ends after the other one: it must not restore the limit of that call
        leave.set()
        other.join()
    assert set(blas_threads()) == {2}


def test_a_sampler_is_asked_and_told_with_one_thread():
    seen: list[int] = []

    class Watching(lamcts.samplers.LocalSampler):
        def classes(self):
            return Session, lamcts.samplers.Progress

    class Session(lamcts.samplers.LocalSession):
        def ask(self, n):
            seen.extend(blas_threads())
            batch = lamcts.samplers.Batch(self.region, self.seen, n)
            batch.fill(self.progress.rng)
            return lamcts.samplers.Proposal(batch.x, [None] * n)

        def tell(self, notes, rows):
            seen.extend(blas_threads())
            super().tell(notes, rows)

    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), sampler=Watching(), n_init=0, seed=0)
    trial = opt.ask()[0]
    opt.tell(trial, float(np.sum(trial.point)))
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}
