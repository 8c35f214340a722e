"""Sessions and regions: who is found again, who starts afresh, and what a newcomer is offered."""

import json
from itertools import pairwise

import numpy as np
import pytest

import lamcts
from lamcts.lineages import MOST_LIVE, Lineages
from lamcts.observations import Observations
from lamcts.region import Region, Step

SPACE = lamcts.Box(0, 1, dim=1)


class Below:
    """The split `x < at`."""

    def __init__(self, at):
        self.at = at

    def good(self, x):
        return x[:, 0] < self.at

    def halfspace(self):
        return None


class Note:
    """A sampler whose sessions propose the middle of what is asked for, and remember what they are told."""

    resumable = True

    def __init__(self):
        self.started = []

    def start(self, region, seen, rng):
        session = NoteSession(seen, [int(r) for r in region.rows])
        self.started.append(session)
        return session

    def restore(self, state, log, region, seen):
        session = NoteSession(seen, state["offered"])
        session.incumbent, session.log = state["incumbent"], log
        return session


class NoteSession:
    def __init__(self, seen, offered):
        self.seen, self.offered, self.log = seen, offered, []
        self.incumbent, self.done, self.settled, self.spent, self.region = None, False, False, False, None

    def ask(self, n):
        if self.spent:
            return np.empty((0, 1)), []
        x = np.linspace(0.001, 0.999, 1000)[:, None]
        x = x[self.region.contains(x) & self.seen.fresh(x)][:n]
        return x, list(range(len(x)))

    def tell(self, tags, rows):
        self.log += [int(r) for r in rows]
        self.incumbent = min(self.log, key=lambda r: self.seen.y[r])

    def forget(self, tags):
        self.log.append("forgot")

    def move(self, region):
        self.region = region

    def state(self):
        return {"offered": self.offered, "incumbent": self.incumbent}


@pytest.fixture
def seen():
    return Observations(1)


def note(seen, x, y, source=-1):
    return int(seen.append(np.array([[x]]), np.array([y]), np.array([0.1]), np.array([0]), np.array([source]))[0])


def region(seen, at=None, good=True):
    steps = () if at is None else (Step(Below(at), good),)
    whole = Region(SPACE, steps, seen.good)
    return Region(SPACE, steps, seen.good[whole.contains(seen.x[seen.good])])


def test_a_session_is_found_by_its_incumbent_when_the_region_changes(seen):
    crew = Lineages(Note(), seen, 0)
    _, number, tags = crew.search(region(seen), 1)
    crew.tell([(number, tags[0], note(seen, 0.2, 1.0, number))])
    assert crew.search(region(seen, 0.5), 1)[1] == number
    assert crew.live[number].region.steps
    assert crew.search(region(seen, 0.5, good=False), 1)[1] != number


def test_before_its_first_success_a_session_is_found_by_its_first_point(seen):
    crew = Lineages(Note(), seen, 0)
    _, number, _ = crew.search(region(seen, 0.5), 1)
    assert crew.search(region(seen, 0.5), 1)[1] == number
    assert crew.search(region(seen, 0.5, good=False), 1)[1] != number


def test_of_two_sessions_inside_the_better_goes_on(seen):
    crew = Lineages(Note(), seen, 0)
    for at, good, x, y in ((0.5, True, 0.2, 5.0), (0.5, False, 0.8, 1.0)):
        _, number, tags = crew.search(region(seen, at, good), 1)
        crew.tell([(number, tags[0], note(seen, x, y, number))])
    assert crew.search(region(seen), 1)[1] == 1


def test_rows_are_offered_except_where_a_search_has_converged(seen):
    sampler = Note()
    for x in (0.1, 0.2, 0.8):
        note(seen, x, x)
    crew = Lineages(sampler, seen, 0)
    _, number, tags = crew.search(region(seen, 0.5), 1)
    sampler.started[0].done = True
    crew.tell([(number, tags[0], note(seen, 0.3, 0.0, number))])
    assert crew.spent(region(seen, 0.5))
    assert not crew.spent(region(seen, 0.5, good=False))
    crew.search(region(seen, 0.5), 1)
    crew.search(region(seen, 0.5, good=False), 1)
    assert [s.offered for s in sampler.started] == [[0, 1], [], [2]]
    assert not crew.spent(region(seen, 0.5))  # a new search is live there


def test_the_newest_session_is_found_where_it_has_settled(seen):
    sampler = Note()
    crew = Lineages(sampler, seen, 0)
    assert crew.settled_at is None
    _, number, tags = crew.search(region(seen), 1)
    assert crew.settled_at is None
    crew.tell([(number, tags[0], note(seen, 0.3, 0.0, number))])
    sampler.started[0].settled = True
    assert crew.settled_at == [0.3]


def test_a_spent_session_is_ended(seen):
    sampler = Note()
    crew = Lineages(sampler, seen, 0)
    crew.search(region(seen), 1)
    sampler.started[0].spent = True
    assert len(crew.search(region(seen), 1)[0]) == 0
    assert crew.live == {}
    assert crew.changes()[1] == [0]


def test_a_converged_session_is_ended_and_late_results_reach_nobody(seen):
    sampler = Note()
    crew = Lineages(sampler, seen, 0)
    _, number, tags = crew.search(region(seen), 2)
    sampler.started[0].done = True
    crew.tell([(number, tags[0], note(seen, 0.3, 1.0, number))])
    crew.tell([(number, tags[1], note(seen, 0.4, 1.0, number))])
    assert crew.live == {}
    assert sampler.started[0].log == [0]


def test_the_number_of_live_sessions_is_bounded(seen):
    crew = Lineages(Note(), seen, 0)
    edges = np.linspace(0, 1, MOST_LIVE + 5)
    for low, high in pairwise(edges):
        inside = Region(SPACE, (Step(Below(low), False), Step(Below(high), True)), seen.good)
        _, number, tags = crew.search(inside, 1)
        crew.tell([(number, tags[0], note(seen, (low + high) / 2, -float(number), number))])
    assert len(crew.live) == MOST_LIVE
    assert max(crew.live) == MOST_LIVE + 3
    assert 0 not in crew.live  # its incumbent was the worst


def test_the_state_travels_as_text_and_changes_hold_each_log_entry_once(seen):
    crew = Lineages(Note(), seen, 0)
    note(seen, 0.9, 9.0)
    _, number, tags = crew.search(region(seen), 2)
    crew.tell([(number, tags[0], note(seen, 0.2, 2.0, number))])
    assert crew.changes()[0]["0"]["log"] == [1]
    crew.tell([(number, tags[1], note(seen, 0.3, 3.0, number))])
    assert crew.changes()[0]["0"]["log"] == [2]
    assert crew.changes() == ({}, [])
    core, sessions = json.loads(json.dumps([crew.core(), crew.sessions()]))
    twin = Lineages(Note(), seen, 0)
    twin.load(core, sessions, region(seen))
    assert twin.core() == crew.core()
    assert twin.sessions() == crew.sessions()
    assert twin.search(region(seen, 0.5), 1)[1] == number


def test_only_the_newest_session_roams_only_once_it_has_settled_and_no_longer_when_it_has_ended(seen):
    sampler = Note()
    crew = Lineages(sampler, seen, 0)
    assert not crew.roams
    _, number, tags = crew.search(region(seen, 0.5), 2)
    session = sampler.started[0]
    session.settled = True
    assert not crew.roams  # it has settled, but does not say that it roams
    session.settled, session.roams = False, True
    assert not crew.roams
    session.settled = True
    assert crew.roams
    crew.search(region(seen, 0.5, good=False), 1)
    assert not crew.roams  # another is newer
    crew.end(1)
    assert crew.roams
    session.done = True
    crew.tell([(number, tags[0], note(seen, 0.3, 0.0, number))])
    assert not crew.roams
