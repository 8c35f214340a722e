"""Training of elastic supernets: which networks a step trains, what they learn from, and when choices open."""

import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build.noise import reseed  # noqa: E402
from lamcts.neural.supernet import OnceForAll, extreme, supernet  # noqa: E402
from lamcts.neural.train import Recipe  # noqa: E402
from lamcts.neural.train.augment import Targets  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE = nas.EfficientNet(blocks=1)
LARGEST = {"block0_l": 4, "block0_e": 6, "block0_k": 7, "block0_s": 1}
SMALLEST = {"block0_l": 2, "block0_e": 3, "block0_k": 3, "block0_s": 2}
MIDDLE = {"block0_l": 3, "block0_e": 4, "block0_k": 5, "block0_s": 1}
AT_ONCE = OnceForAll(stages=())


def of(seed=0):
    net = supernet(SPACE, channels=1, classes=3, width=0.25, stem_stride=1, seed=seed)
    reseed(net, 0)
    return net


def batch():
    generator = torch.Generator().manual_seed(0)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    return torch.rand((6, 1, 6, 6), generator=generator), Targets(y, y, 1.0)


def gradients(net, loss):
    net.zero_grad()
    loss.backward()
    return {name: each.grad.clone() for name, each in net.named_parameters() if each.grad is not None}


@pytest.fixture(scope="module")
def data():
    return few_digits(32, 24, 16)


def test_the_extremes_of_a_region_compute_most_and_least():
    net = of()
    assert extreme(net.region, largest=True) == LARGEST
    assert extreme(net.region, largest=False) == SMALLEST
    accel = supernet(nas.AccelNasBench(), width=0.25)
    ends = [extreme(accel.region, largest=largest) for largest in (True, False)]
    assert [ends[0][f"block5_{name}"] for name in ("l", "e", "k", "se")] == [4, 6, 5, 1]
    assert [ends[1][f"block5_{name}"] for name in ("l", "e", "k", "se")] == [1, 1, 3, 0]


def test_a_sandwich_has_the_largest_the_smallest_and_random_networks():
    net = of()
    steps = [AT_ONCE.points(net, net.region) for _ in range(10)]
    assert all(points[:2] == [LARGEST, SMALLEST] and 2 <= len(points) <= 4 for points in steps)
    assert len({SPACE.text(point) for points in steps for point in points[2:]}) > 10
    random = OnceForAll(subnets=3, sandwich=False, distillation=False, stages=())
    assert [LARGEST, SMALLEST] not in [random.points(net, net.region)[:2] for _ in range(10)]


def test_equal_seeds_draw_equal_networks():
    drawn = []
    for _ in range(2):
        net = of()
        drawn.append([AT_ONCE.points(net, net.region) for _ in range(3)])
    assert drawn[0] == drawn[1]


def test_choices_open_in_the_order_of_the_stages():
    net, fields = of(), ("block0_k", "block0_l", "block0_e")
    opened = [[len(OnceForAll().region(net, done).allowed[name]) for name in fields] for done in (0, 0.25, 0.5, 0.75)]
    assert opened == [[1, 1, 1], [3, 1, 1], [3, 3, 1], [3, 3, 3]]
    first = OnceForAll(stages=("width",)).region(net, 0.49)
    assert first.allowed["block0_e"] == (6,) and len(first.allowed["block0_k"]) == 3  # depth and kernel are always open
    assert OnceForAll().region(net, 0.0).allowed["block0_s"] == (1, 2)
    assert OnceForAll().region(net, 0.99).allowed == AT_ONCE.region(net, 0.0).allowed == net.region.allowed


def test_smaller_networks_learn_from_the_scores_of_the_largest_which_get_no_gradient():
    net, (x, targets) = of().train(), batch()
    alone = gradients(net, targets.loss(net(x, LARGEST), 0.0))
    soft = net(x, LARGEST).detach().softmax(-1)
    student = gradients(net, -(soft * net(x, MIDDLE).log_softmax(-1)).sum(1).mean())
    both = gradients(net, AT_ONCE.loss(net, x, targets, [LARGEST, MIDDLE], 0.0))
    for name, gradient in both.items():
        wanted = alone[name] + student.get(name, torch.zeros(()))
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-6)


def test_without_distillation_all_networks_learn_from_the_labels():
    net, (x, targets) = of().train(), batch()
    plain = OnceForAll(distillation=False, stages=())
    found = plain.loss(net, x, targets, [LARGEST, MIDDLE], 0.1)
    wanted = targets.loss(net(x, LARGEST), 0.1) + targets.loss(net(x, MIDDLE), 0.1)
    assert float(found.detach()) == pytest.approx(float(wanted.detach()), rel=1e-6)
    assert float(AT_ONCE.loss(net, x, targets, [LARGEST, MIDDLE], 0.1).detach()) != pytest.approx(float(found.detach()))


def test_a_trained_supernet_still_shares_weights_exactly(data):
    net = of_digits()
    epochs = OnceForAll(subnets=1).fit(net, data, Recipe(epochs=4, batch=16))
    assert [epoch.epoch for epoch in epochs] == [1, 2, 3, 4]
    net.eval()
    x = torch.tensor(data.valid.x)
    for point in (LARGEST, MIDDLE, SMALLEST):
        assert torch.equal(net(x, point), net.subnet(point)(x))


def of_digits():
    return supernet(SPACE, channels=1, width=0.25, stem_stride=1)


def test_before_the_first_stage_the_largest_network_is_trained_and_so_are_all_weights(data):
    net = of_digits()
    before = {name: value.clone() for name, value in net.named_parameters()}
    OnceForAll(subnets=0).fit(net, data, Recipe(epochs=1, batch=32, decay=0.0))
    assert not any(torch.equal(value, before[name]) for name, value in net.named_parameters())


def test_a_training_resumes_bit_for_bit_and_refuses_other_settings(data, tmp_path):
    recipe, settings = Recipe(epochs=2, batch=16), OnceForAll(subnets=1, stages=("kernel",))
    whole = of_digits()
    settings.fit(whole, data, recipe, seed=3)

    class Stopped(Exception):
        pass

    def stop(epoch):
        raise Stopped

    file = tmp_path / "net.npz"
    with pytest.raises(Stopped):
        settings.fit(of_digits(), data, recipe, seed=3, checkpoint=file, report=stop)
    resumed = of_digits()
    assert len(settings.fit(resumed, data, recipe, seed=3, checkpoint=file)) == 2
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    with pytest.raises(ValueError, match="once_for_all"):
        OnceForAll(subnets=2).fit(of_digits(), data, recipe, seed=3, checkpoint=file)


def test_settings_that_contradict_each_other_are_refused(data):
    with pytest.raises(ValueError, match="expected a sandwich for distillation"):
        OnceForAll(sandwich=False)
    with pytest.raises(ValueError, match="stages: expected each of kernel, depth, width once, got"):
        OnceForAll(stages=("kernel", "kernel"))
    with pytest.raises(ValueError, match="subnets"):
        OnceForAll(subnets=0, sandwich=False, distillation=False)
    with pytest.raises(ValueError, match="without averages"):
        OnceForAll().fit(of_digits(), data, Recipe(average=0.9))
