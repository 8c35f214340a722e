import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytest.importorskip("nevergrad")

from lamcts.samplers.nevergrad import Nevergrad
from lamcts.spaces import Box, Choice, Int, Space
from lamcts.spaces.regions.region import Step
from lamcts.testing.samplers import Ball
from lamcts.testing.search import Search

CUBE = Box(np.zeros(4), np.ones(4))


def best(search: Search) -> float:
    return float(search.seen.y[search.seen.best])


@pytest.mark.dear
@pytest.mark.parametrize("name", ["CMA", "TwoPointsDE", "OnePlusOne", "NGOpt"])
def test_a_method_learns(name: str) -> None:
    search = Search(Nevergrad(name), CUBE, 0)
    search.go(60, 5)
    chance = Search(Nevergrad("RandomSearch"), CUBE, 0)
    chance.go(60, 5)
    assert best(search) < 0.5 * best(chance)


def test_a_method_that_goes_one_by_one_learns_beside_points_that_it_did_not_propose() -> None:
    search = Search(Nevergrad("Cobyla"), CUBE, 0)
    search.go(60, 3)
    assert best(search) < 1e-4
    assert sum(entry[0] == "ask" for entry in search.session.log[1:]) == 60
    assert not search.sampler.resumable


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(ValueError, match=r"'OnePlusOn'.*OnePlusOne"):
        Nevergrad("OnePlusOn")


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"workers": 0}, {"budget": 2.5}])
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected .* got"):
        Nevergrad("CMA", **wrong)  # type: ignore[arg-type]


def test_the_whole_space_is_searched_from_the_middle_and_a_region_from_its_best_row() -> None:
    whole = Search(Nevergrad("CMA"), CUBE, 0)
    whole.ask(2)
    assert whole.session.log[0]["start"] == [0.5] * 4
    assert whole.session.log[0]["sigma"] == 1 / 6
    part = Search(Nevergrad("CMA"), CUBE, 0, steps=[Step(Ball(np.full(4, 0.5), 0.4), True)], given=200)
    part.ask(2)
    assert part.session.log[0]["start"] == part.seen.x[part.session.incumbent].tolist()
    assert 0.1 < part.session.log[0]["sigma"] < 0.25


def test_candidates_evaluated_before_are_told_without_another_evaluation() -> None:
    search = Search(Nevergrad("TwoPointsDE"), Space({"a": Int(0, 4), "b": Choice(("x", "y"))}), 0, given=0)
    search.go(4, 2)
    known = [entry[1] for entry in search.session.log[1:] if entry[0] == "known"]
    assert known  # ten points, eight proposals: the method repeats itself
    assert set(known) <= set(range(len(search.seen)))


def test_a_forgotten_point_does_not_stop_a_method_that_waits_for_it() -> None:
    search = Search(Nevergrad("Cobyla"), CUBE, 0)
    for _ in range(5):
        search.forget(search.ask(1))
    assert [entry[0] for entry in search.session.log[1:]] == ["ask", "lost"] * 5


def test_the_session_ends_with_its_budget() -> None:
    search = Search(Nevergrad("CMA", budget=12), CUBE, 0)
    search.go(3, 4)
    assert search.session.done
    assert len(search.ask(5)) == 5  # draws of the region


def test_a_plan_made_in_advance_is_not_asked_for_more_than_it_holds() -> None:
    search = Search(Nevergrad("ScrHammersleySearch", budget=10), CUBE, 0)
    search.go(5, 4)
    assert search.session.done


def test_a_method_that_fails_is_given_up_with_a_warning_and_the_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(Nevergrad("CMA"), CUBE, 0)
    search.go(3, 4)

    def fail() -> None:
        raise TypeError("out of date")

    monkeypatch.setattr(search.session._method._optimizer, "ask", fail)  # type: ignore[attr-defined]
    with pytest.warns(RuntimeWarning, match="nevergrad's CMA failed and is given up .TypeError: out of date"):
        search.go(1, 4)
    assert search.session.done
    copy = search.resumed()
    assert np.array_equal(search.go(2, 3), copy.go(2, 3))


def test_it_is_never_told_that_it_works_alone() -> None:
    """NGOpt then picks a method that seeds itself by the clock."""
    search = Search(Nevergrad("NGOpt", workers=1), CUBE, 0)
    search.ask(1)
    assert search.session._method._optimizer.num_workers == 2  # type: ignore[attr-defined]


@pytest.mark.dear
def test_the_interpreter_ends_while_a_thread_of_the_library_waits() -> None:
    script = """
        import numpy as np
        from lamcts.samplers.nevergrad import Nevergrad
        from lamcts.spaces import Box
        from lamcts.testing.search import Search
        search = Search(Nevergrad("Cobyla"), Box(0.0, 1.0, dim=3), 0)
        search.go(2, 1)
        print(len(search.ask(1)))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "1"), run.stderr
