"""Sessions are built from their state, by the classes that their sampler names."""

import json
from typing import Any

import pytest

from lamcts.samplers import LocalSampler, Uniform
from lamcts.spaces.box import Box
from lamcts.testing.search import Search

SPACE = Box(0, 1, dim=2)


class Counting(Uniform):
    """Counts its starts."""

    starts = 0

    def start(self, *args: Any) -> Any:
        type(self).starts += 1
        return super().start(*args)


def test_a_restored_session_is_not_started() -> None:
    search = Search(Counting(), SPACE, 0)
    search.go(3, 2)
    assert Counting.starts == 1
    state, log = json.loads(json.dumps([search.session.state(), search.session.log]))
    twin = search.sampler.restore(state, log, search.region(), search.seen)
    assert Counting.starts == 1 and twin.state() == search.session.state()


def test_a_sampler_that_names_no_classes_is_told_how() -> None:
    with pytest.raises(NotImplementedError, match=r"Mine: expected a method classes\(\): return MySession, MyProgress"):
        Search(type("Mine", (LocalSampler,), {})(), SPACE, 0)


def test_a_sampler_with_a_start_alone_is_restored_by_the_classes_of_a_started_session() -> None:
    session_class, progress_class = Uniform().classes()

    class Starting(LocalSampler):
        def start(self, region: Any, seen: Any, rng: Any) -> Any:
            return session_class(self, region, seen, progress_class(rng, None, 0))

    search = Search(Starting(), SPACE, 0)
    search.go(3, 2)
    state = json.loads(json.dumps(search.session.state()))
    twin = search.sampler.restore(state, [], search.region(), search.seen)
    assert type(twin) is session_class and twin.state() == state


def test_a_session_of_other_classes_than_the_sampler_names_is_not_saved() -> None:
    session_class = Uniform().classes()[0]

    class Renamed(Uniform):
        def start(self, *args: Any) -> Any:
            return type("Other", (session_class,), {})(self, *args[:2], self.initial_progress(*args))

    with pytest.raises(TypeError, match=r"Renamed: expected classes\(\) to return Other, UniformProgress, got"):
        Search(Renamed(), SPACE, 0).session.state()
