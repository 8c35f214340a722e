"""The tree around a sampler: which region is searched, which search goes on there, and its state."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.outcomes.observations import Observations
from lamcts.samplers import Coordinate, LaMcts, LocalSampler, Proposal, Uniform, make
from lamcts.samplers.la_mcts import MAX_LIVE, LaMctsSession
from lamcts.spaces.regions.region import Region, Step
from lamcts.tree import LatentTree

SPACE = lamcts.Box(0, 1, dim=1)


class Below:
    """The split `x < at`."""

    def __init__(self, at: float) -> None:
        self.at = at

    def good(self, x: np.ndarray) -> np.ndarray:
        return x[:, 0] < self.at

    def halfspace(self) -> None:
        return None


class Note(LocalSampler):
    """A sampler whose sessions propose a grid of what they are given, and remember what they are told."""

    def __init__(self) -> None:
        self.started: list[Any] = []

    def start(self, region: Any, seen: Any, rng: Any) -> Any:
        self.started.append(NoteSession(seen, region.rows.tolist()))
        return self.started[-1]

    def restore(self, state: Any, log: Any, region: Any, seen: Any) -> Any:
        session = NoteSession(seen, state["offered"])
        session.incumbent, session.log = state["incumbent"], log
        return session


class NoteSession:
    def __init__(self, seen: Any, offered: list[int]) -> None:
        self.seen, self.offered, self.region = seen, offered, None
        self.log: list[Any] = []
        self.incumbent: int | None = None
        self.done, self.spent = False, False

    def ask(self, n: int) -> Proposal:
        assert self.region is not None
        x = np.linspace(0.001, 0.999, 1000)[:, None]
        x = x[self.region.contains(x) & self.seen.unseen(x)][: 0 if self.spent else n]
        return Proposal(x, [round(float(v), 3) for v in x[:, 0]])

    def tell(self, notes: Any, rows: Any) -> None:
        self.log += rows.tolist()
        self.incumbent = min((row for row in self.log if row != "forgot"), key=lambda row: self.seen.y[row])

    def forget(self, notes: Any) -> None:
        self.log.append("forgot")

    def move(self, region: Any) -> None:
        self.region = region

    def proposer(self, note: Any) -> None:
        return None

    def state(self) -> Any:
        return {"offered": self.offered, "incumbent": self.incumbent}


class Search:
    """A session of `LaMcts` around `Note`, whose tree is one split that a test moves."""

    def __init__(self) -> None:
        self.seen, self.inner = Observations(1), Note()
        self.session = LaMctsSession(LaMcts(self.inner), self.region(), self.seen, self.progress())
        self.session._tree = self  # type: ignore[assignment]
        self.at: tuple[float, bool] | None = None

    def progress(self) -> Any:
        return LaMcts(Note()).start(Region(SPACE, (), np.empty(0, int)), self.seen, np.random.default_rng(0)).progress

    def region(self, at: float | None = None, good: bool = True) -> Region:
        steps = () if at is None else (Step(Below(at), good),)
        whole = Region(SPACE, steps, self.seen.good)
        return Region(SPACE, steps, self.seen.good[whole.contains(self.seen.x[self.seen.good])])

    def select(self, rng: Any) -> Region:
        return self.region() if self.at is None else self.region(*self.at)

    def ask(self, at: tuple[float, bool] | None = None, n: int = 1) -> tuple[np.ndarray, list[Any]]:
        self.at = at
        self.session.move(self.region())
        x, notes, _ = self.session.ask(n)
        return x, notes

    def tell(self, note: Any, x: float, y: float) -> None:
        row = self.seen.append(np.array([[x]]), np.array([y]), np.array([0.1]), np.array([0]), np.array([0]))
        self.session.tell([note], row)

    @property
    def live(self) -> dict[int, Any]:
        return self.session._live


LOW, HIGH = (0.5, True), (0.5, False)


def test_a_search_is_found_by_its_incumbent_when_the_region_changes() -> None:
    search = Search()
    _, notes = search.ask()
    search.tell(notes[0], 0.2, 1.0)
    assert search.ask(LOW)[1][0][0] == 0 and search.live[0].region.steps
    assert search.ask(HIGH)[1][0][0] == 1


def test_before_its_first_success_a_search_is_found_by_its_first_point() -> None:
    search = Search()
    assert [search.ask(at)[1][0][0] for at in (LOW, LOW, HIGH)] == [0, 0, 1]


def test_of_two_searches_inside_the_better_goes_on() -> None:
    search = Search()
    for at, x, y in ((LOW, 0.2, 5.0), (HIGH, 0.8, 1.0)):
        search.tell(search.ask(at)[1][0], x, y)
    assert search.ask()[1][0][0] == 1


def test_rows_are_offered_except_where_a_search_has_converged_and_the_next_begins_in_the_whole_space() -> None:
    search = Search()
    for x in (0.1, 0.2, 0.8):
        search.tell([7, None], x, x)  # of no search
    _, notes = search.ask(LOW)
    search.inner.started[0].done = True
    search.tell(notes[0], 0.3, 0.0)
    assert search.session.progress.converged == [3] and not search.live
    search.ask(LOW)
    assert search.live[1].region.steps == ()
    search.tell([1, None], 0.9, 3.0)
    search.ask(HIGH)
    assert [each.offered for each in search.inner.started] == [[0, 1], []]


def test_where_a_search_finds_nothing_the_next_one_looks_one_step_up() -> None:
    search = Search()
    search.ask(LOW)
    search.live[0].spent = True
    x, notes = search.ask(LOW, 3)
    assert (len(x), notes[0][0], list(search.live)) == (3, 1, [1])
    assert search.live[1].region.steps == ()


def test_a_spent_search_of_the_whole_space_proposes_nothing() -> None:
    search = Search()
    search.ask()
    search.live[0].spent = True
    assert len(search.ask()[0]) == 0 and not search.live


def test_late_results_of_an_ended_search_reach_nobody() -> None:
    search = Search()
    _, notes = search.ask(n=2)
    search.inner.started[0].done = True
    search.tell(notes[0], 0.3, 1.0)
    search.tell(notes[1], 0.4, 1.0)
    assert not search.live and search.inner.started[0].log == [0]
    search.session.forget([notes[1]])


def test_the_number_of_live_searches_is_bounded() -> None:
    search = Search()
    for low, high in pairwise(np.linspace(0, 1, MAX_LIVE + 5)):
        inside = Region(SPACE, (Step(Below(low), False), Step(Below(high), True)), search.seen.good)
        search.select = lambda rng, inside=inside: inside  # type: ignore[method-assign, misc]
        _, notes = search.ask()
        search.tell(notes[0], (low + high) / 2, -float(notes[0][0]))
    assert len(search.live) == MAX_LIVE and max(search.live) == MAX_LIVE + 3
    assert 0 not in search.live  # its incumbent was the worst


def test_the_state_travels_as_text_with_the_log_of_every_search() -> None:
    search = Search()
    for at, x in ((LOW, 0.2), (HIGH, 0.8)):
        search.tell(search.ask(at)[1][0], x, x)
    state = json.loads(json.dumps(search.session.state()))
    assert search.session.log == [[0, 0], [1, 1]]
    twin = search.session.settings.restore(
        state, json.loads(json.dumps(search.session.log)), search.session.region, search.session.seen
    )
    assert twin.state() == search.session.state() and twin.log == search.session.log
    assert [own.log for own in twin._live.values()] == [[0], [1]]


# In an optimizer ------------------------------------------------------------------------------------------------------


def value(point: Any) -> float:
    return float(np.square(point - 1).sum() + 5 * np.sin(3 * point).sum())


def run(sampler: Any, n: int, dim: int = 3, batch: int = 1) -> lamcts.Optimizer:
    opt = lamcts.Optimizer([(-5, 10)] * dim, sampler=sampler, seed=1)
    for _ in range(n):
        trials = opt.ask(batch)
        opt.tell(trials, [value(trial.point) for trial in trials])
    return opt


@pytest.mark.parametrize(
    "sampler",
    [
        LaMcts(),
        LaMcts(Uniform(), LatentTree(leaf_size=5)),
        LaMcts.paper(theta=10),
        LaMcts(Coordinate(), LatentTree(leaf_size=8)),
    ],
    ids=lambda sampler: type(sampler.inner).__name__ + sampler.tree.values,
)
def test_a_run_goes_on_bit_for_bit(sampler: LaMcts) -> None:
    opt = run(sampler, 50)
    twin = lamcts.Optimizer([(-5, 10)] * 3, sampler=sampler, seed=1)
    twin.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    for _ in range(25):
        (one,), (other,) = opt.ask(), twin.ask()
        assert np.array_equal(one.x, other.x)
        opt.tell(one, value(one.point))
        twin.tell(other, value(other.point))
    one, other = (made.state_dict() for made in (opt, twin))
    assert json.dumps(one["searches"]) == json.dumps(other["searches"]) and one["core"] == other["core"]


def test_the_published_search_begins_with_new_points_in_its_leaf_and_stays_there_until_it_has_converged() -> None:
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0, n_init=20, sampler=LaMcts.paper(theta=10))
    opt.tell(trials := opt.ask(20), [float(((trial.point - 0.3) ** 2).sum()) for trial in trials])
    regions, proposed = {}, {}
    for _ in range(200):
        (trial,) = opt.ask()
        (search,) = opt._searches.live.values()
        ((number, turbo),) = search.session._live.items()  # type: ignore[attr-defined]
        kept = regions.setdefault(number, turbo.region)
        assert turbo.region.contains(trial.x[None]).all() and len(kept.rows) == len(turbo.region.rows)
        grid = np.random.default_rng(1).random((200, 2))
        assert np.array_equal(kept.contains(grid), turbo.region.contains(grid))
        proposed.setdefault(number, []).append(turbo.incumbent)
        opt.tell(trial, float(((trial.point - 0.3) ** 2).sum()))
    assert len(regions) >= 2 and all(region.steps for region in regions.values())
    assert all(rows[0] is None and rows[1] >= 20 for rows in proposed.values())  # none of the rows there


def test_a_tree_of_uniform_draws_is_better_than_draws_alone() -> None:
    alone, within = (run(sampler, 150).seen.y for sampler in (Uniform(), LaMcts(Uniform(), LatentTree(leaf_size=10))))
    assert np.median(within[50:]) < np.median(alone[50:]) - 5


def test_it_is_made_by_name_around_a_sampler_by_name() -> None:
    space = lamcts.Box(0, 1, dim=2)
    assert make("la-mcts", space) == LaMcts() and make("la_mcts:uniform", space) == LaMcts(Uniform())
    assert make("la_mcts:paper", space) == LaMcts.paper()
    with pytest.raises(ValueError, match="expected one of"):
        make("la_mcts:oak", space)
    with pytest.raises(ValueError, match="LaMcts: expected a sampler and a LatentTree"):
        LaMcts("turbo")  # type: ignore[arg-type]


def test_the_option_that_was_says_what_takes_its_place() -> None:
    with pytest.raises(TypeError, match=r"tree.*LaMcts"):
        lamcts.Optimizer([(0, 1)] * 2, tree=LatentTree())
