import pytest

from lamcts.neural.nas import ConvNet


def test_there_are_59049_networks_all_different():
    space = ConvNet()
    rows = space.space.rows()
    assert space.space.size == len(rows) == 3**10 == 59_049
    small = ConvNet(layers=4)
    assert len({small.key(small.space.decode(x)) for x in small.space.rows()}) == 81


def test_a_text_is_the_numbers_of_filters():
    space = ConvNet(layers=3)
    assert space.parse("96-32-64") == {"layer0": 96, "layer1": 32, "layer2": 64}


@pytest.mark.parametrize("text", ["32-64", "32-64-65", "32,64,96", "32-64-96-96"])
def test_other_numbers_are_refused(text):
    with pytest.raises(ValueError, match="expected 3 numbers"):
        ConvNet(layers=3).parse(text)


@pytest.mark.parametrize("layers", [0, 2.5, "ten"])
def test_a_network_has_a_whole_number_of_layers(layers):
    with pytest.raises(ValueError, match="layers: expected a whole number of at least 1"):
        ConvNet(layers=layers)


def test_more_filters_are_further_away():
    space = ConvNet(layers=1)
    near, far = (abs(space.features({"layer0": n}) - space.features({"layer0": 32}))[0] for n in (64, 96))
    assert near == far / 2 == 0.5
