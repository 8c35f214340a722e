from dataclasses import replace

import pytest

from lamcts.neural import nas
from lamcts.neural.train import Recipe, Seeds, TransferObjective

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build import build  # noqa: E402
from lamcts.neural.train.inherit import Archive, inherit  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

CHAIN = nas.ConvNet(layers=3)
SIZES = {"stages": 2}


@pytest.fixture
def f(tmp_path):
    data, recipe = few_digits(60, 40, 20), Recipe(epochs=7, batch=20)
    return TransferObjective(CHAIN, data, recipe, sizes=SIZES, folder=tmp_path, within=1)


class Steps(list):
    def report(self, step, value):
        self.append(step)


def network(text, seed):
    return build(CHAIN, CHAIN.parse(text), channels=1, seed=seed, **SIZES)


def test_a_child_takes_over_what_has_its_path_and_shape_and_nothing_else():
    parent, child = network("32-32-32", 0), network("32-32-64", 1)
    before = {name: value.clone() for name, value in child.state_dict().items()}
    found = inherit(child, parent)
    theirs, mine = parent.state_dict(), child.state_dict()
    assert set(found.copied) | set(found.fresh) == set(mine) and found.copied and found.fresh
    assert all(torch.equal(mine[name], theirs[name]) for name in found.copied)
    assert all(torch.equal(mine[name], before[name]) for name in found.fresh)
    assert {name for name in mine if mine[name].shape != theirs[name].shape} == set(found.fresh)
    sizes = {name: value.numel() for name, value in mine.items()}
    assert found.share == sum(sizes[name] for name in found.copied) / sum(sizes.values())


def test_nasnet_cells_that_differ_in_one_operation_share_the_rest():
    space = nas.NasNet()
    cells = {"normal": [[("sep_conv_3x3", 0), ("skip_connect", 1)]] * 5}
    point = space.from_edges(cells | {"reduction": cells["normal"]})
    parent, child = (
        build(space, each, width=4, cells=1) for each in (point, point | {"normal_layer0": "max_pool_3x3"})
    )
    assert not any(".nodes.0.sep_conv" in name for name in child.state_dict())
    assert inherit(child, parent).fresh == ()
    back = inherit(parent, child)
    assert back.fresh and all(".nodes.0.sep_conv_3x3_0" in name for name in back.fresh)


def test_the_nearest_network_is_the_one_with_the_fewest_edits(tmp_path):
    archive = Archive(CHAIN, tmp_path)
    assert archive.nearest(CHAIN.parse("32-32-32")) is None
    for code, text in (("a", "96-96-96"), ("b", "32-64-64"), ("c", "32-32-32")):
        archive.add(CHAIN.parse(text), network(text, 0), code)
    near = Archive(CHAIN, tmp_path).nearest(CHAIN.parse("32-32-32"))
    assert near == (tmp_path / "b.npz", 2)  # its own point is no ancestor
    assert archive.nearest(CHAIN.parse("64-32-32")) == (tmp_path / "c.npz", 1)
    weights = archive.weights(tmp_path / "b.npz")
    assert all(torch.equal(weights[name], value) for name, value in network("32-64-64", 0).state_dict().items())


def test_the_first_network_trains_in_full_and_its_neighbours_shorter_from_its_weights(f):
    steps = Steps(), Steps(), Steps()
    for text, heard in zip(("32-32-32", "32-32-64", "96-96-96"), steps, strict=True):
        f(CHAIN.parse(text), seed=0, trial=heard)
    assert steps[0] == [1, 2, 3, 4, 5, 6, 7]
    assert steps[1] == [6, 7]  # two epochs of 7, as 20 of 70; they end at the step at which all end
    assert steps[2] == steps[0]  # nothing is near
    assert f.shorter.epochs == 2 and replace(f, again=Recipe(epochs=3)).shorter.epochs == 3


def test_a_child_begins_with_the_weights_of_the_parent_and_its_own_elsewhere(f):
    parent = f.train(CHAIN.parse("32-32-32"), seed=0).net.state_dict()
    begun = f.begin(CHAIN.parse("32-32-64"), Seeds.of(5))
    fresh = network("32-32-64", Seeds.of(5).weights).state_dict()
    for name, value in begun.net.state_dict().items():
        assert torch.equal(value, parent[name] if parent[name].shape == value.shape else fresh[name])
    assert f.begin(CHAIN.parse("64-64-32"), Seeds.of(5)).recipe == f.recipe  # two edits are too many


def test_a_killed_training_with_inherited_weights_goes_on(f):
    f(CHAIN.parse("32-32-32"), seed=0)

    class Killed(Steps):
        def report(self, step, value):
            super().report(step, value)
            if step == 6:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f(CHAIN.parse("32-32-64"), seed=1, trial=Killed())
    again = replace(f)
    heard = Steps()
    value = again(CHAIN.parse("32-32-64"), seed=1, trial=heard)
    assert heard == [6, 7] and len(list(f.place.glob("*.npz"))) == 2
    assert value == again(CHAIN.parse("32-32-64"), seed=1)


def test_a_folder_is_needed_and_settings_are_part_of_the_journal(f):
    with pytest.raises(ValueError, match="pass folder='trained'"):
        replace(f, folder=None)
    assert replace(f, within=2).fingerprint() != f.fingerprint() != replace(f, again=Recipe()).fingerprint()
