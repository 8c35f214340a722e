"""A failed evaluation stays one, whatever its exception says of itself, and wherever it was raised."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from evaluations import long_winded, mute, not_unicode

import lamcts
from lamcts.journal import Journal
from lamcts.text import safe_text

BOX = lamcts.Box(-1.0, 1.0, dim=2)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (not_unicode, r"OSError: no file '\udcff.txt'"),
        (mute, "Mute: <Mute, whose own text raises KeyError>"),
        (long_winded, f"ValueError: {safe_text('x' * 1_000_000)}"),
    ],
)
@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"executor": ThreadPoolExecutor, "workers": 2}], ids=str)
def test_an_exception_of_any_text_is_a_failed_evaluation_that_a_journal_keeps(f, message, how, tmp_path):
    journal = tmp_path / "run.db"
    given = {"seed": 0, "sampler": "uniform", "progress": False, "n_init": 8, **how}
    lamcts.minimize(f, BOX, budget=2, journal=journal, **given)
    result = lamcts.minimize(f, BOX, budget=4, journal=journal, **given)
    assert list(result.history.messages.values()) == [message] * 4
    assert Journal.read(journal).failures == result.history.messages


class Broken(ThreadPoolExecutor):
    """An executor with an error of its own."""

    def submit(self, *args, **kwargs):
        return super().submit(not_unicode, None)


def test_an_executors_own_error_of_any_text_is_a_failed_evaluation(tmp_path):
    result = lamcts.minimize(
        mute, BOX, budget=2, seed=0, sampler="uniform", journal=tmp_path / "run.db", executor=Broken, progress=False
    )
    assert set(result.history.messages.values()) == {r"OSError: no file '\udcff.txt'"}


class Unsendable:
    """A function that no other process can be sent, for a reason that no text holds."""

    def __call__(self, point):
        return 0.0

    def __reduce__(self):
        return mute(None)


def test_a_function_that_cannot_be_sent_is_refused_whatever_its_error_says():
    with pytest.raises(ValueError, match=r"got Unsendable \(<Mute, whose own text raises KeyError>\)"):
        lamcts.minimize(Unsendable(), BOX, budget=2, workers=2, progress=False)


def test_the_warning_that_nothing_works_shows_escape_sequences():
    def coloured(point):
        raise RuntimeError("\x1b[31mred")

    with pytest.warns(RuntimeWarning, match=r"all failed with: RuntimeError: \\x1b\[31mred; the run goes on"):
        lamcts.minimize(coloured, BOX, budget=6, seed=0, n_init=3, sampler="uniform", progress=False)


def test_a_pool_of_the_users_hands_over_any_text():
    with ProcessPoolExecutor(1) as pool:
        result = lamcts.minimize(
            not_unicode, BOX, budget=2, seed=0, sampler="uniform", executor=pool, progress=False, n_init=4
        )
    assert result.history.messages[0] == r"OSError: no file '\udcff.txt'"
