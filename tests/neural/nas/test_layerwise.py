"""The layer-by-layer space of Zoph and Le."""

import pytest

from lamcts.neural.nas import Layerwise

SPACE = Layerwise(layers=3)
TEXT = "3x3x24s1 1x7x36s2:0 5x5x64s1:0,1"


def test_a_layer_has_192_shapes_and_any_earlier_layers_as_inputs():
    assert SPACE.space.size == pytest.approx(192**3 * 2**3)
    assert Layerwise(layers=6).space.size == pytest.approx(192**6 * 2**15)


def test_a_text_names_shapes_and_inputs():
    point = SPACE.parse(TEXT)
    assert SPACE.text(point) == TEXT
    assert [point[f"layer1_{field}"] for field in ("height", "width", "filters", "stride")] == [1, 7, 36, 2]
    assert (point["layer1_from0"], point["layer2_from0"], point["layer2_from1"]) == (True, True, True)


@pytest.mark.parametrize("text", [TEXT + ",2", TEXT.replace("24", "25"), TEXT.replace("s2", "s4"), "3x3x24s1"])
def test_a_text_of_no_network_is_refused(text):
    with pytest.raises(ValueError, match="expected 3 layers"):
        SPACE.parse(text)


def test_layers_without_inputs_read_the_image_and_unread_ones_reach_the_classifier():
    point = SPACE.parse("3x3x24s1 3x3x24s1 3x3x24s1:0")
    assert SPACE.sources(point) == [[], [], [0], [1, 2]]
    assert SPACE.graphs(point)["network"].edges == [(0, 1, ""), (0, 2, ""), (1, 3, ""), (2, 4, ""), (3, 4, "")]
