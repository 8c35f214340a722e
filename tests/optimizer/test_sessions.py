"""Sessions and regions: who is found again, who starts afresh, and what a newcomer is offered."""

import json
from itertools import pairwise

import numpy as np
import pytest

import lamcts
from lamcts.optimizer.placement import place
from lamcts.optimizer.sessions import MOST_LIVE, LocalSearches, TrialResult
from lamcts.optimizer.state import Mark, SearchState
from lamcts.outcomes.observations import Observations
from lamcts.samplers import LocalSampler, Proposal
from lamcts.spaces.regions.region import Region, Step

SPACE = lamcts.Box(0, 1, dim=1)


class Below:
    """The split `x < at`."""

    def __init__(self, at):
        self.at = at

    def good(self, x):
        return x[:, 0] < self.at

    def halfspace(self):
        return None


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
        self.incumbent, self.done, self.scope, self.spent, self.region = None, False, "selected", False, None

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


def region(seen, at=None, good=True):
    steps = () if at is None else (Step(Below(at), good),)
    whole = Region(SPACE, steps, seen.good)
    return Region(SPACE, steps, seen.good[whole.contains(seen.x[seen.good])])


def ask(searches, region, n):
    """Return points, the search that proposes them, and its notes, as the optimizer asks."""
    (x, notes), number = searches.propose(region, searches.inside(region), n)
    return x, number, notes


def tell(searches, number, note, row):
    searches.tell([TrialResult(number, note, row)])


def test_a_session_is_found_by_its_incumbent_when_the_region_changes(seen):
    searches = LocalSearches(Note(), seen, 0)
    _, number, notes = ask(searches, region(seen), 1)
    tell(searches, number, notes[0], note(seen, 0.2, 1.0, number))
    assert ask(searches, region(seen, 0.5), 1)[1] == number
    assert searches.live[number].session.region.steps
    assert ask(searches, region(seen, 0.5, good=False), 1)[1] != number


def test_before_its_first_success_a_session_is_found_by_its_first_point(seen):
    searches = LocalSearches(Note(), seen, 0)
    _, number, _ = ask(searches, region(seen, 0.5), 1)
    assert ask(searches, region(seen, 0.5), 1)[1] == number
    assert ask(searches, region(seen, 0.5, good=False), 1)[1] != number


def test_of_two_sessions_inside_the_better_goes_on(seen):
    searches = LocalSearches(Note(), seen, 0)
    for at, good, x, y in ((0.5, True, 0.2, 5.0), (0.5, False, 0.8, 1.0)):
        _, number, notes = ask(searches, region(seen, at, good), 1)
        tell(searches, number, notes[0], note(seen, x, y, number))
    assert ask(searches, region(seen), 1)[1] == 1


def test_rows_are_offered_except_where_a_search_has_converged(seen):
    sampler = Note()
    for x in (0.1, 0.2, 0.8):
        note(seen, x, x)
    searches = LocalSearches(sampler, seen, 0)
    _, number, notes = ask(searches, region(seen, 0.5), 1)
    sampler.started[0].done = True
    tell(searches, number, notes[0], note(seen, 0.3, 0.0, number))
    assert searches.converged_inside(region(seen, 0.5))
    assert not searches.converged_inside(region(seen, 0.5, good=False))
    ask(searches, region(seen, 0.5), 1)
    ask(searches, region(seen, 0.5, good=False), 1)
    assert [s.offered for s in sampler.started] == [[0, 1], [], [2]]
    assert searches.inside(region(seen, 0.5)) == 1  # a new search is live there


def test_a_spent_session_is_ended(seen):
    sampler = Note()
    searches = LocalSearches(sampler, seen, 0)
    ask(searches, region(seen), 1)
    sampler.started[0].spent = True
    assert len(ask(searches, region(seen), 1)[0]) == 0
    assert searches.live == {}


def test_where_a_search_finds_nothing_the_next_one_looks_one_step_up(seen):
    searches = LocalSearches(Note(), seen, 0)
    ask(searches, region(seen, 0.5), 1)
    searches.live[0].session.spent = True
    x, number, _ = ask(searches, region(seen, 0.5), 3)
    assert (len(x), number, list(searches.live)) == (3, 1, [1])
    assert searches.live[1].session.region.steps == ()


def test_a_search_that_raises_on_its_results_is_ended_once_the_others_have_theirs(seen):
    searches = LocalSearches(Note(), seen, 0)
    for at, good in ((0.5, True), (0.5, False)):
        ask(searches, region(seen, at, good), 1)
    searches.live[0].session.seen = None  # its tell fails
    results = [TrialResult(0, None, note(seen, 0.2, 5.0, 0)), TrialResult(1, None, note(seen, 0.8, 1.0, 1))]
    with pytest.warns(RuntimeWarning, match="failed and is given up"):
        searches.tell(results)
    assert list(searches.live) == [1]
    assert searches.live[1].session.log == [1]


def test_a_converged_session_is_ended_and_late_results_reach_nobody(seen):
    sampler = Note()
    searches = LocalSearches(sampler, seen, 0)
    _, number, notes = ask(searches, region(seen), 2)
    sampler.started[0].done = True
    tell(searches, number, notes[0], note(seen, 0.3, 1.0, number))
    tell(searches, number, notes[1], note(seen, 0.4, 1.0, number))
    assert searches.live == {}
    assert sampler.started[0].log == [0]


def test_the_number_of_live_sessions_is_bounded(seen):
    searches = LocalSearches(Note(), seen, 0)
    edges = np.linspace(0, 1, MOST_LIVE + 5)
    for low, high in pairwise(edges):
        inside = Region(SPACE, (Step(Below(low), False), Step(Below(high), True)), seen.good)
        _, number, notes = ask(searches, inside, 1)
        tell(searches, number, notes[0], note(seen, (low + high) / 2, -float(number), number))
    assert len(searches.live) == MOST_LIVE
    assert max(searches.live) == MOST_LIVE + 3
    assert 0 not in searches.live  # its incumbent was the worst


def test_the_state_travels_as_text_and_what_is_new_holds_each_log_entry_once_however_often_one_looks(seen):
    searches = LocalSearches(Note(), seen, 0)
    note(seen, 0.9, 9.0)
    _, number, notes = ask(searches, region(seen), 2)
    tell(searches, number, notes[0], note(seen, 0.2, 2.0, number))
    mark = Mark(searches=searches.mark())
    assert searches.states()[0].log == [1]
    assert searches.states(mark) == {}
    tell(searches, number, notes[1], note(seen, 0.3, 3.0, number))
    for _ in range(2):
        new = searches.states(mark)[0]
        assert (new.logged, new.log) == (1, [2])
    states = {0: SearchState(**json.loads(json.dumps(vars(searches.states()[0]))))}
    twin = LocalSearches(Note(), seen, 0)
    twin.load(states, region(seen))
    assert twin.states() == searches.states()
    assert ask(twin, region(seen, 0.5), 1)[1] == number


# Where to search next -----------------------------------------------------------------------------------------------


class Halves:
    """A tree of two leaves that selects the lower one, and keeps both halves round a point."""

    def __init__(self, seen, chooses=True):
        self.seen, self.asked, self.chooses = seen, [], chooses

    def select(self, rng):
        self.asked.append("select")
        return region(self.seen, 0.5)

    def around(self, x):
        self.asked.append(float(x[0]))
        return region(self.seen, 0.5, good=bool(x[0] < 0.5))


def started(seen, x=0.8):
    """Return a tree, and searches of which one lives, in the upper half."""
    searches = LocalSearches(Note(), seen, 0)
    _, number, notes = ask(searches, region(seen, 0.5, good=False), 1)
    tell(searches, number, notes[0], note(seen, x, 1.0, number))
    return Halves(seen), searches


def where(tree, searches):
    return place(tree, region(searches.seen), searches, np.random.default_rng(0))


def test_the_tree_selects_the_region_and_the_search_that_is_there_goes_on(seen):
    tree, searches = started(seen)
    placement = where(tree, searches)
    assert (placement.why, placement.search, len(placement.region.steps)) == ("selected", None, 1)
    _, _, notes = ask(searches, placement.region, 1)
    tell(searches, 1, notes[0], note(seen, 0.1, 7.0, 1))
    assert where(tree, searches).search == 1


def test_a_search_that_has_found_its_place_is_held_in_the_region_round_its_incumbent(seen):
    tree, searches = started(seen)
    searches.newest.scope = "incumbent"
    placement = where(tree, searches)
    assert (placement.why, placement.search, tree.asked) == ("held", 0, [0.8])
    assert not placement.region.contains(np.array([[0.2]]))[0]


def test_a_search_of_the_whole_space_gets_it_and_the_tree_is_not_asked(seen):
    tree, searches = started(seen)
    searches.newest.scope = "space"
    assert where(tree, searches)[1:] == (0, "space")
    assert tree.asked == []
    assert where(None, searches)[1:] == (0, "space")  # as without any tree


def test_a_tree_that_chooses_nothing_is_not_asked(seen):
    _, searches = started(seen)
    tree = Halves(seen, chooses=False)
    for scope in ("selected", "incumbent"):
        searches.newest.scope = scope
        assert where(tree, searches)[1:] == (0, "space")
    assert tree.asked == []


def test_only_the_newest_search_says_where(seen):
    tree, searches = started(seen)
    searches.newest.scope = "space"
    ask(searches, region(seen, 0.5), 1)
    assert where(tree, searches).why == "selected"
    searches.end(1)
    assert where(tree, searches).why == "space"


def test_where_a_search_has_converged_and_none_lives_the_next_begins_in_the_whole_space(seen):
    tree, searches = started(seen, x=0.2)
    searches.newest.done = True
    tell(searches, 0, None, note(seen, 0.1, 0.5, 0))
    placement = where(tree, searches)
    assert (placement.why, placement.search, placement.region.steps) == ("restart", None, ())
    ask(searches, region(seen, 0.5), 1)
    assert where(tree, searches)[1:] == (1, "selected")


def test_a_search_that_cannot_go_on_from_what_was_saved_says_so_and_a_new_one_begins(seen):
    class Spoilt(Note):
        def restore(self, state, log, region, seen):
            session = super().restore(state, log, region, seen)
            session.ask = lambda n: [][0]
            return session

    searches = LocalSearches(Spoilt(), seen, 0)
    searches.load({0: SearchState({"offered": [], "incumbent": None}, [0.5], 0, [])}, region(seen))
    searches.next = 1
    with pytest.raises(ValueError, match=r"state: search 0 cannot go on from what was saved \(IndexError: "):
        searches.propose(region(seen), 0, 1)
    assert len(ask(searches, region(seen), 1)[0]) == 1 and 0 not in searches.live
    with pytest.raises(ValueError, match="reshape"):
        searches.load({1: SearchState({"offered": [], "incumbent": None}, [0.5, 0.5], 0, [])}, region(seen))
