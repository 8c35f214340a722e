"""REINFORCE over I/O cells: probabilities, what the policy learns, its loss, resuming, and spaces that it refuses."""

import json

import numpy as np
import pytest

import lamcts
from lamcts import testing
from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build.weights import initialised  # noqa: E402
from lamcts.neural.searches.graph_reinforce import GraphPolicy, GraphReinforce  # noqa: E402
from lamcts.testing.search import Search  # noqa: E402

CELL = nas.IoCell(nodes=5)


def policy(nodes):
    """Return a policy whose probabilities differ."""
    return initialised(lambda: GraphPolicy(nodes), 0).double()


def every_cell(nodes=3):
    return torch.tensor([[pair, one, two] for pair in range(4) for one in range(4) for two in range(4)])


def run(objective, budget, **settings):
    opt = lamcts.Optimizer(CELL.space, sampler=GraphReinforce(**settings), n_init=0, seed=0)
    for _ in range(budget):
        (trial,) = opt.ask()
        opt.tell(trial, objective(trial.point))
    return opt


def poolings(point):
    return float(sum("pool" in name for edges in CELL.computed(point) for name, _ in edges))


@torch.no_grad()
def test_probabilities_of_all_cells_sum_to_one_and_draws_have_them():
    net = policy(3)
    shares = net(every_cell()).exp().numpy()
    assert shares.sum() == pytest.approx(1, abs=1e-12) and shares.max() > 1.5 * shares.min()
    z = net.draw(6_000, 1.0, np.random.default_rng(0))
    found = np.bincount((z @ [16, 4, 1]).astype(int), minlength=64) / len(z)
    np.testing.assert_allclose(found, shares, atol=0.015)


@torch.no_grad()
def test_the_first_policy_is_uniform():
    z = torch.from_numpy(policy(5).draw(10, 1.0, np.random.default_rng(0)).astype(np.int64))
    net = policy(5).uniform()
    logs = [-np.log(16 * len(pairs)) for pairs in CELL.pairs]
    found = net(z).numpy()
    assert found.min() == pytest.approx(sum(logs)) and (found <= logs[-1]).all()


@torch.no_grad()
def test_choices_of_dropped_nodes_have_no_score_and_those_of_others_do():
    net = policy(5)
    cell = [0, 0, 0, 0, 1, 2, 3, 1, 1]  # three pairs of inputs, all (0, 0), and six operations: the last node is left
    same, other = cell.copy(), cell.copy()
    same[0], same[3], other[-1] = 3, 2, 2
    one, two, three = net(torch.tensor([cell, same, other]))
    assert one == two != three


def test_operations_depend_on_the_drawn_links():
    net = policy(5)
    labels = net.labels(torch.tensor([[0, 0, 0], [3, 8, 15]]))
    assert not torch.allclose(labels[0, -1], labels[1, -1])


def test_the_policy_moves_towards_better_cells():
    opt = run(poolings, 80, rate=0.03)
    found = [poolings(CELL.space.decode(x)) for x in opt.seen.x]
    assert np.mean(found[-20:]) < 0.5 * np.mean(found[:20])


@torch.no_grad()
def test_a_step_raises_the_probability_of_a_good_cell_and_lowers_that_of_a_bad_one():
    losses = iter([0.0, 1.0, -5.0, 5.0])
    sampler = GraphReinforce(rate=1e-3, best=0)
    search = Search(sampler, CELL.space, 0, given=0, loss=lambda x: next(losses))
    search.go(2, 1)
    session = search.session
    for sign in (1, -1):
        before = [each.clone() for each in session.policy.parameters()]
        search.go(1, 1)
        z = torch.from_numpy(session.parameters.codes(search.seen.x[-1:]).astype(np.int64))
        after = session.policy(z)
        for weight, old in zip(session.policy.parameters(), before, strict=True):
            weight.copy_(old)
        assert sign * float(after - session.policy(z)) > 0


def test_alpha_is_the_reciprocal_of_the_first_cost_and_the_best_cells_are_kept():
    goals = {"loss": "min", "io": "min"}
    opt = lamcts.Optimizer(CELL.space, sampler=GraphReinforce(best=2), objectives=goals, n_init=0, seed=0)
    for loss, io in ((1.0, 4.0), (0.5, 8.0), (2.0, 1.0), (0.1, 2.0)):  # L: 2, 2.5, 2.25, 0.6
        (trial,) = opt.ask()
        opt.tell(trial, {"loss": loss, "io": io})
    state = opt.state_dict()["searches"]["0"]["session"]
    assert state["scales"] == [0.25] and state["best"] == [3, 0]
    assert state["losses"] == pytest.approx([0.6, 2.0])


def test_a_run_goes_on_from_its_state():
    def told(opt, rounds):
        points = []
        for _ in range(rounds):
            trials = opt.ask(2)
            for trial in trials:
                opt.tell(trial, {"loss": poolings(trial.point), "io": float(len(CELL.reads(trial.point)))})
            points += [trial.point for trial in trials]
        return points

    how = {"sampler": GraphReinforce(rate=0.01), "objectives": {"loss": "min", "io": "min"}, "n_init": 0, "seed": 1}
    one, two = (lamcts.Optimizer(CELL.space, **how) for _ in range(2))
    told(one, 6)
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert told(one, 4) == told(two, 4)


@pytest.mark.parametrize(
    "space", [nas.NasNet().space, nas.Digits4096().space, lamcts.Box(0, 1, dim=2)], ids=lambda space: repr(space)[:20]
)
def test_other_spaces_are_refused(space):
    opt = lamcts.Optimizer(space, sampler=GraphReinforce(), n_init=0, seed=0)
    with pytest.raises(ValueError, match=r"graph_reinforce: expected the space of IoCell, got .*; use the search"):
        opt.ask()


@pytest.mark.parametrize(("settings", "told"), [({"rate": 0}, "rate: expected"), ({"best": -1}, "best: expected")])
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ValueError, match=f"GraphReinforce: {told}"):
        GraphReinforce(**settings)


@pytest.mark.dear
def test_it_keeps_the_contract_of_samplers():
    testing.check_sampler(GraphReinforce(), nas.IoCell(nodes=4).space)
