"""The search of a run: its session, the next one, what that is offered, and its state."""

import json

import numpy as np
import pytest

import lamcts
from lamcts.journal.state import Mark, SearchState
from lamcts.optimizer.sessions import Searches, TrialResult
from lamcts.outcomes.observations import Observations
from lamcts.samplers import LocalSampler, Proposal
from lamcts.spaces.regions.region import Region

SPACE = lamcts.Box(0, 1, dim=1)


class Note(LocalSampler):
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
        self.incumbent, self.done, self.spent, self.region = None, False, False, None

    def ask(self, n):
        if self.spent:
            return Proposal(np.empty((0, 1)), [])
        x = np.linspace(0.001, 0.999, 1000)[:, None]
        x = x[self.region.contains(x) & self.seen.unseen(x)][:n]
        return Proposal(x, [round(float(v), 3) for v in x[:, 0]])

    def tell(self, notes, rows):
        self.log += [int(r) for r in rows]
        self.incumbent = min(self.log, key=lambda r: self.seen.y[r])

    def forget(self, notes):
        self.log.append("forgot")

    def move(self, region):
        self.region = region

    def recenter(self, row):
        pass

    def proposer(self, note):
        return None

    def state(self):
        return {"offered": self.offered, "incumbent": self.incumbent}


@pytest.fixture
def seen():
    return Observations(1)


def note(seen, x, y, source=-1):
    return int(seen.append(np.array([[x]]), np.array([y]), np.array([0.1]), np.array([0]), np.array([source]))[0])


def whole(seen):
    return Region(SPACE, (), seen.good)


def ask(searches, n):
    """Return points, the search that proposes them, and its notes, as the optimizer asks."""
    (x, notes, _), number = searches.propose(whole(searches.seen), n)
    return x, number, notes


def tell(searches, number, note, row):
    searches.tell([TrialResult(number, note, row)])


def test_the_session_goes_on_and_is_given_all_rows(seen):
    searches = Searches(Note(), seen, 0)
    _, number, notes = ask(searches, 1)
    tell(searches, number, notes[0], note(seen, 0.2, 1.0, number))
    assert ask(searches, 1)[1] == number
    assert searches.live[number].session.region.rows.tolist() == [0]


def test_rows_are_offered_except_after_a_search_that_has_converged(seen):
    sampler = Note()
    for x in (0.1, 0.2, 0.8):
        note(seen, x, x)
    searches = Searches(sampler, seen, 0)
    _, number, notes = ask(searches, 1)
    sampler.started[0].done = True
    tell(searches, number, notes[0], note(seen, 0.3, 0.0, number))
    assert searches.converged == [3]
    assert ask(searches, 1)[1] == 1
    assert [s.offered for s in sampler.started] == [[0, 1, 2], []]


def test_a_spent_session_is_ended(seen):
    sampler = Note()
    searches = Searches(sampler, seen, 0)
    ask(searches, 1)
    sampler.started[0].spent = True
    assert len(ask(searches, 1)[0]) == 0
    assert searches.live == {}


def test_a_search_that_raises_on_its_results_is_ended_with_a_warning(seen):
    searches = Searches(Note(), seen, 0)
    ask(searches, 1)
    searches.live[0].session.seen = None  # its tell fails
    searches.tell([TrialResult(0, None, note(seen, 0.2, 5.0, 0))])
    (text,) = searches.take_warnings()
    assert "failed and is given up" in text and not searches.take_warnings()
    assert searches.live == {} and ask(searches, 1)[1] == 1


def test_a_converged_session_is_ended_and_late_results_reach_nobody(seen):
    sampler = Note()
    searches = Searches(sampler, seen, 0)
    _, number, notes = ask(searches, 2)
    sampler.started[0].done = True
    tell(searches, number, notes[0], note(seen, 0.3, 1.0, number))
    tell(searches, number, notes[1], note(seen, 0.4, 1.0, number))
    assert searches.live == {}
    assert sampler.started[0].log == [0]


def test_the_state_travels_as_text_and_what_is_new_holds_each_log_entry_once_however_often_one_looks(seen):
    searches = Searches(Note(), seen, 0)
    note(seen, 0.9, 9.0)
    _, number, notes = ask(searches, 2)
    tell(searches, number, notes[0], note(seen, 0.2, 2.0, number))
    mark = Mark(searches=searches.mark())
    assert searches.states()[0].log == [1]
    assert searches.states(mark) == {}
    tell(searches, number, notes[1], note(seen, 0.3, 3.0, number))
    for _ in range(2):
        new = searches.states(mark)[0]
        assert (new.logged, new.log) == (1, [2])
    states = {0: SearchState(**json.loads(json.dumps(vars(searches.states()[0]))))}
    twin = Searches(Note(), seen, 0)
    twin.load(states, whole(seen))
    assert twin.states() == searches.states()
    assert ask(twin, 1)[1] == number


def test_a_search_that_cannot_go_on_from_what_was_saved_says_so_and_a_new_one_begins(seen):
    class Spoilt(Note):
        def restore(self, state, log, region, seen):
            session = super().restore(state, log, region, seen)
            session.ask = lambda n: [][0]
            return session

    searches = Searches(Spoilt(), seen, 0)
    searches.load({0: SearchState({"offered": [], "incumbent": None}, 0, [])}, whole(seen))
    searches.next = 1
    with pytest.raises(ValueError, match=r"state: search 0 cannot go on from what was saved \(IndexError: "):
        searches.propose(whole(seen), 1)
    assert len(ask(searches, 1)[0]) == 1 and 0 not in searches.live
