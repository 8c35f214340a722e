import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.fewshot import FewShot, Rounds, fewshot  # noqa: E402
from lamcts.neural.fewshot.fewshot import mean_loss  # noqa: E402
from lamcts.neural.supernet import SupernetRegion, supernet  # noqa: E402
from lamcts.neural.train import Recipe  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE, SIZES = nas.Digits4096(), {"widths": (2,), "cells": 1}
RECIPE, STEP = Recipe(epochs=1, batch=20), 2  # gradient steps of an epoch: 40 examples


@pytest.fixture(scope="module")
def data():
    return few_digits(40, 12, 12)


@pytest.fixture
def losses(monkeypatch):
    """Give each sub-supernet of a split at the first edge losses by its operation, one a round."""
    found = {"none": [1.0, 0.5, 0.25, 0.24], "skip_connect": [1.0, 0.995], "avg_pool_3x3": [1.0, 0.9, 0.9]}
    left = {operation: iter(values) for operation, values in found.items()} | {"nor_conv_3x3": iter([1.0, 2.0])}
    monkeypatch.setattr(fewshot, "mean_loss", lambda net, data: next(left[net.region.allowed["edge_0_1"][0]]))


@pytest.mark.parametrize(
    ("seen", "goes_on"),
    [([], True), ([1.0], True), ([1.0, 0.9], True), ([1.0, 0.95], False), ([1.0, 0.5, 0.6, 0.44], True)],
)
def test_progress_is_a_decrease_by_the_tolerance_below_the_lowest_loss(seen, goes_on):
    assert Rounds(tolerance=0.1 - 1e-9, patience=1).goes_on(seen) is goes_on


def test_patience_counts_rounds_and_most_ends_all():
    patient = Rounds(tolerance=0.0, patience=2, most=5)
    assert patient.goes_on([1.0, 2.0]) and not patient.goes_on([1.0, 2.0, 1.0])
    assert patient.goes_on([4.0, 3.0, 2.0, 1.0]) and not patient.goes_on([5.0, 4.0, 3.0, 2.0, 1.0])
    assert not Rounds(most=1).goes_on([1.0])


def test_each_sub_supernet_trains_until_its_own_loss_is_flat(data, losses, tmp_path):
    few = FewShot(SPACE, 1, "first", sizes=SIZES).fit(data, RECIPE, rounds=Rounds(0.05), folder=tmp_path)
    assert [len(leaf.losses) for leaf in few.leaves] == [4, 2, 3, 2]
    assert few.steps == STEP + STEP * (4 + 2 + 3 + 2)
    files = {file.name for file in tmp_path.iterdir()}
    assert len(files) == 12 and {"supernet-0.npz", "supernet-0.4.npz", "supernet-1.2.npz"} <= files


def test_a_round_that_all_siblings_cannot_have_is_left_out(data, losses):
    room = STEP + STEP * (4 + 4 + 1)  # two rounds; in the third two of four go on
    few = FewShot(SPACE, 1, "first", sizes=SIZES).fit(data, RECIPE, rounds=Rounds(0.05), budget_steps=room)
    assert [len(leaf.losses) for leaf in few.leaves] == [2, 2, 2, 2] and few.steps == room - STEP


def test_the_mean_loss_is_of_the_networks_of_the_part_and_changes_nothing(data):
    region = SupernetRegion.whole(SPACE).split("edge_0_1", [(operation,) for operation in SPACE.operations])[3]
    net = supernet(SPACE, channels=1, region=region, **SIZES)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with torch.no_grad():
        net.head.linear.weight.zero_()
        net.head.linear.bias.zero_()
    assert mean_loss(net, data) == pytest.approx(torch.log(torch.tensor(10.0)).item(), abs=1e-5)
    kept = {name for name, value in net.state_dict().items() if torch.equal(value, before[name])}
    assert set(before) - kept <= {"head.linear.weight", "head.linear.bias"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tolerance": 1.0}, "tolerance: expected a share of at least 0 and below 1, got 1.0"),
        ({"patience": 0}, "patience: expected"),
        ({"most": 0}, "most: expected"),
    ],
)
def test_stop_rules_without_sense_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        Rounds(**given)
