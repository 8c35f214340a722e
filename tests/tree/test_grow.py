import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.outcomes.observations import Observations
from lamcts.spaces.box import Box
from lamcts.tree import KMeansSvm, LatentTree, Linear, Node, paths, walk
from lamcts.tree.select import ranks, ucb, upper_bound

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL = LatentTree(leaf_size=10, splitter=KMeansSvm(kernel="linear"))


def bowl(x: np.ndarray) -> np.ndarray:
    return np.square(x - 0.7).sum(1) + 0.3 * np.cos(9 * x).sum(1)


def observed(x: np.ndarray, y: np.ndarray | None = None) -> Observations:
    seen = Observations(x.shape[1])
    append(seen, x, bowl(x) if y is None else y)
    return seen


def append(seen: Observations, x: np.ndarray, y: np.ndarray) -> None:
    nobody = np.full(len(x), -1)
    seen.append(x, y, np.full(len(x), np.nan), nobody, nobody)


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d))


def grown(tree: LatentTree, seen: Observations, seed: int = 0) -> Node:
    return tree.incremental(Box(0, 1, dim=seen.dim), seen, seed).root()


def shape(root: Node) -> list[Any]:
    """Everything that a tree says: rows, values, visits and the sides of some points, node by node."""
    probe = points(50, root.space.dim, seed=77)
    return [
        (n.rows.tolist(), n.value, n.visits, n.depth, n.split.good(probe).tolist() if n.split else None)
        for n in walk(root)
    ]


RELEARNED = LatentTree(height=4, refit=50, splitter=Linear(min_share=0.0))


@pytest.mark.parametrize(
    "tree", [LatentTree(), SMALL, LatentTree.lanas(5), LatentTree(values="raw"), RELEARNED], ids=repr
)
def test_every_row_lies_in_the_region_of_its_node_and_in_one_kid(tree: LatentTree) -> None:
    seen = observed(points(300, 5))
    root = grown(tree, seen)
    assert root.rows.tolist() == list(range(300))
    assert len(root.kids) == 2
    for steps, node in paths(root):
        region = node.region(steps)
        assert np.flatnonzero(region.contains(seen.x)).tolist() == node.rows.tolist()
        assert node.depth == len(steps)
        if node.kids:
            assert sorted([*node.kids[0].rows, *node.kids[1].rows]) == node.rows.tolist()
            assert min(len(kid.rows) for kid in node.kids) >= 2
            assert node.split is not None
            assert node.split.good(seen.x[node.kids[0].rows]).all()


def test_values_are_mean_ranks_among_all_rows_or_raw_means() -> None:
    seen = observed(points(200, 3))
    utility = ranks(seen.y)
    for node in walk(grown(LatentTree(), seen)):
        assert np.isclose(node.value, utility[node.rows].mean())
    for node in walk(grown(LatentTree(values="raw"), seen)):
        assert np.isclose(node.value, -seen.y[node.rows].mean())


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=7), st.integers(0, 5), st.booleans())
def test_the_tree_that_follows_the_data_equals_the_one_grown_from_nothing(
    batches: list[int], seed: int, failures: bool
) -> None:
    space, d = Box(0, 1, dim=3), 3
    seen = Observations(d)
    growth = SMALL.incremental(space, seen, seed)
    rng = np.random.default_rng(seed)
    for size in batches:
        x = rng.random((size, d))
        y = np.where(rng.random(size) < 0.2, np.nan, bowl(x)) if failures else bowl(x)
        append(seen, x, y)
        if rng.random() < 0.5:
            ucb(growth.root(), rng, 0.0)  # look at one path only
        elif rng.random() < 0.5:
            shape(growth.root())
    assert shape(growth.root()) == shape(SMALL.incremental(space, seen, seed).root())


@pytest.mark.parametrize("more", [35, 400], ids=["the same splits", "new splits"])
def test_an_old_root_stays_as_it_was_when_rows_arrive(more: int) -> None:
    seen = observed(points(110, 3))
    before = shape(grown(SMALL, seen))
    growth = SMALL.incremental(Box(0, 1, dim=3), seen, 0)
    looked, not_looked = growth.root(), growth.root()
    assert looked.kids
    x = points(more, 3, seed=5)
    append(seen, x, bowl(x))
    now = shape(growth.root())
    assert shape(looked) == before
    assert shape(not_looked) == before
    append(seen, x[:1] / 2, bowl(x[:1] / 2))
    assert shape(growth.root()) == shape(grown(SMALL, seen)) != now


@pytest.mark.parametrize("change", [lambda y: 4 * y, lambda y: y / 1024, lambda y: 3 * y + 7, lambda y: np.exp(y)])
def test_the_tree_and_the_selection_see_the_order_of_values_alone(change: Any) -> None:
    x = points(250, 4)
    one, two = observed(x), observed(x, change(bowl(x)))
    assert shape(grown(LatentTree(), one)) == shape(grown(LatentTree(), two))
    rng = np.random.default_rng
    regions = [LatentTree().select(grown(LatentTree(), seen), rng(0)) for seen in (one, two)]
    assert regions[0].rows.tolist() == regions[1].rows.tolist()


def test_a_node_is_fitted_on_the_largest_size_of_a_geometric_row() -> None:
    sizes = [LatentTree().fit_size(n, 5) for n in (39, 40, 59, 60, 89, 90, 134, 135, 202, 1000)]
    assert sizes == [0, 40, 40, 60, 60, 90, 90, 135, 202, 683]


def splits(root: Node) -> list[Any]:
    return [node.split for node in walk(root) if node.split]


def test_a_tree_with_refit_keeps_its_splits_until_so_many_rows_have_come_and_learns_all_anew_then() -> None:
    x = points(300, 3)
    seen = observed(x[:249])
    growth = RELEARNED.incremental(Box(0, 1, dim=3), seen, 0)
    first = splits(growth.root())
    assert len(first) == 15
    append(seen, x[249:250], bowl(x[249:250]))
    second = splits(growth.root())
    assert not set(second) & set(first)
    append(seen, x[250:299], bowl(x[250:299]))
    root = growth.root()
    assert splits(root) == second  # the same objects
    assert len(root.rows) == sum(len(node.rows) for node in walk(root) if not node.kids) == 299


def test_what_grew_row_by_row_with_refit_equals_what_is_grown_from_nothing() -> None:
    x = points(170, 3)
    seen = observed(x[:0])
    growth = RELEARNED.incremental(Box(0, 1, dim=3), seen, 0)
    for i in range(len(x)):
        append(seen, x[i : i + 1], bowl(x[i : i + 1]))
        root = growth.root()
        assert bool(root.kids) == (i + 1 >= 50)
    assert shape(root) == shape(grown(RELEARNED, observed(x)))


def test_an_old_root_with_refit_keeps_its_splits_when_the_tree_is_learned_anew() -> None:
    x = points(100, 3)
    seen = observed(x[:60])
    growth = RELEARNED.incremental(Box(0, 1, dim=3), seen, 0)
    old = growth.root()
    append(seen, x[60:], bowl(x[60:]))
    growth.root()
    assert shape(old) == shape(grown(RELEARNED, observed(x[:60])))


def test_splits_are_fitted_only_where_somebody_looks() -> None:
    class Counting(Linear):
        fits = 0

        def fit(self, *args: Any) -> Any:
            type(self).fits += 1
            return super().fit(*args)

    seen = observed(points(600, 3))
    tree = LatentTree(leaf_size=10, splitter=Counting())
    growth = tree.incremental(Box(0, 1, dim=3), seen, 0)
    root = growth.root()
    assert Counting.fits == 0
    region = tree.select(root, np.random.default_rng(0))
    assert Counting.fits <= len(region.steps) * 2 + 1
    first = Counting.fits
    append(seen, points(1, 3, seed=8), np.array([0.5]))
    growth.root().kids  # noqa: B018
    assert Counting.fits == first


def test_pending_points_count_as_visits() -> None:
    seen = observed(points(100, 3))
    good = grown(LatentTree(), seen).kids[0]
    inside = seen.x[good.rows[:7]] + 1e-12
    for number, x in enumerate(inside):
        seen.expect(number, x)
    root = grown(LatentTree(), seen)
    assert root.visits == 107
    assert root.kids[0].visits == good.visits + 7
    assert len(root.kids[1].rows) == root.kids[1].visits


def test_selection_follows_the_upper_bound_and_without_exploration_the_value() -> None:
    seen = observed(points(300, 3))
    root = grown(LatentTree(), seen)
    node, rng = root, np.random.default_rng(0)
    region = ucb(root, rng, 0.0)
    for split, good in region.steps:
        assert split is node.split
        best = max(kid.value for kid in node.kids)
        node = node.kids[0 if good else 1]
        assert node.value == best
    assert not node.kids
    assert region.rows.tolist() == node.rows.tolist()
    far = ucb(root, rng, cp=100.0)  # nothing counts but visits
    node = root
    for _, good in far.steps:
        counts = [kid.visits for kid in node.kids]
        assert counts[0 if good else 1] == min(counts)
        node = node.kids[0 if good else 1]


def test_the_upper_bound_uses_the_mean_once() -> None:
    root = grown(LatentTree(), observed(points(100, 3)))
    kid = root.kids[0]
    expected = kid.value + 2 * 0.3 * np.sqrt(2 * np.log(100) / kid.visits)
    assert upper_bound(root, kid, 0.3) == pytest.approx(expected)


def test_ties_are_broken_by_the_random_numbers() -> None:
    root = grown(LatentTree(), observed(points(100, 3)))
    from lamcts.tree.select import descend

    first = {descend(root, np.random.default_rng(seed), lambda parent, kid: 0.0).steps[0].good for seed in range(12)}
    assert first == {True, False}


def test_the_tree_of_lanas_is_full_to_its_height_and_flat() -> None:
    root = grown(LatentTree.lanas(4), observed(points(400, 3)))
    leaves = [node for node in walk(root) if not node.kids]
    assert len(leaves) == 16
    assert {node.depth for node in leaves} == {4}
    assert all(node.split.halfspace() for node in walk(root) if node.split)
    values = [node.value for node in leaves]  # from the most promising leaf to the least (thesis 4.2.1)
    assert values[0] > values[-1]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (points(100, 3), np.full(100, 2.0)),
        (np.full((100, 3), 0.5), np.arange(100.0)),
        (points(1, 3), np.zeros(1)),
        (np.empty((0, 3)), np.empty(0)),
        (points(100, 3), np.full(100, np.nan)),
    ],
    ids=["equal values", "equal points", "one row", "no row", "failures only"],
)
@pytest.mark.parametrize("tree", [LatentTree(), LatentTree(values="raw"), LatentTree.lanas()], ids=repr)
def test_degenerate_data_is_a_leaf(tree: LatentTree, x: np.ndarray, y: np.ndarray) -> None:
    root = grown(tree, observed(x, y))
    assert not root.kids
    region = tree.select(root, np.random.default_rng(0))
    assert region.steps == ()
    assert region.contains(points(5, 3)).all()


@pytest.mark.parametrize("d", [1, 500])
@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_values_and_widths_never_raise(d: int, scale: float) -> None:
    x = points(130, d)
    for tree in (LatentTree(), LatentTree(values="raw"), LatentTree(splitter=Linear())):
        root = grown(tree, observed(x, scale * (bowl(x) / d - 1)))
        assert np.isfinite(tree.select(root, np.random.default_rng(0)).rows).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"leaf_size": 1}, "leaf_size of at least 2, got 1"),
        ({"cp": -1.0}, "cp of at least 0"),
        ({"selector": "best"}, "selector of ucb, leaf, got 'best'"),
        ({"values": "mean"}, "values ranks, raw or hypervolume, got 'mean'"),
        ({"height": 0}, "height of at least 1"),
        ({"refit": 0}, "refit: expected None or a whole number of at least 1, got 0"),
        ({"refit": 2.5}, "refit: expected None or a whole number of at least 1, got 2.5"),
    ],
)
def test_bad_settings_say_what_was_expected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LatentTree(**settings)


TREES = {
    "rbf": LatentTree(),
    "linear": LatentTree(leaf_size=15, splitter=KMeansSvm(kernel="linear")),
    "lanas": LatentTree.lanas(3),
}


@pytest.mark.parametrize("name", list(TREES))
def test_golden_trees_keep_their_structure(name: str) -> None:
    record = json.loads((GOLDEN / f"tree_{name}.json").read_text())
    x = np.array(record["x"])
    root = grown(TREES[name], observed(x, np.array(record["y"])), seed=record["seed"])
    nodes = [{"depth": n.depth, "rows": n.rows.tolist(), "value": round(n.value, 9)} for n in walk(root)]
    assert nodes == record["nodes"]
    assert len(nodes) >= 5
