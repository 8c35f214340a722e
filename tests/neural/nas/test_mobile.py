import os
from pathlib import Path

import numpy as np
import pytest

from lamcts.neural.nas import AccelNasBench, EfficientNet
from lamcts.spaces import Finite

DATA = Path(os.environ.get("LAMCTS_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.fixture(scope="module")
def path():
    if not (DATA / "accel_nasbench.npz").exists():
        pytest.skip("no data: accel_nasbench.npz is not there")
    return DATA / "accel_nasbench.npz"


@pytest.fixture
def made_up(tmp_path):
    """A table of four measurements of three networks."""
    names = list(AccelNasBench().space.names)
    archs = np.array([[6] * 7 + [3] * 7 + [1] * 7 + [0] * 7] * 4, np.int8)
    archs[:, names.index("block5_l")] = [4, 2, 4, 1]
    platform = np.array([[1.0], [np.nan], [2.0], [3.0]], np.float32)
    columns = {"val_top1": np.array([60, 50, 62, 40], np.float32), "platform_metrics": ["tpu"], "platform": platform}
    np.savez(tmp_path / "table.npz", arch=archs, arch_fields=names, **columns)
    return tmp_path / "table.npz"


def test_the_spaces_have_as_many_networks_as_their_blocks_allow():
    assert EfficientNet().space.size == (3 * 3 * 3 * 2) ** 5 == 459_165_024
    assert EfficientNet(blocks=2).space.size == 54**2
    assert AccelNasBench().space.size == pytest.approx((3 * 2 * 3 * 2) ** 6 * (3 * 2 * 4 * 2), rel=1e-12)


def test_a_network_measured_twice_has_the_mean_of_its_values(made_up):
    points, values = AccelNasBench().rows(made_up)
    assert [point["block5_l"] for point in points] == [1, 2, 4]
    np.testing.assert_allclose(values, [40, 50, 61])


def test_what_was_not_measured_is_left_out(made_up):
    points, values = AccelNasBench().rows(made_up, metric="tpu")
    assert [point["block5_l"] for point in points] == [1, 4]
    np.testing.assert_allclose(values, [3, 1.5])


def test_an_unknown_metric_is_refused_with_those_there_are(made_up):
    with pytest.raises(ValueError, match="expected a metric of the table, got 'speed': there are val_top1, tpu"):
        AccelNasBench().rows(made_up, metric="speed")


def test_the_rows_of_the_real_table_are_points_of_the_space_and_can_be_searched(path):
    space = AccelNasBench()
    points, values = space.rows(path)
    assert len(points) == len(values) == 5125
    assert values.min() == pytest.approx(42.85, abs=0.01) and values.max() == pytest.approx(67.05, abs=0.01)
    table = Finite(points, np.array([space.features(point) for point in points]))
    best = points[int(values.argmax())]
    assert table.decode(table.encode(best)) == best
    assert all(isinstance(value, int) for value in best.values())


def test_every_platform_of_the_real_table_was_measured_on_nearly_all_networks(path):
    space = AccelNasBench()
    with np.load(path) as table:
        metrics = table["platform_metrics"].tolist()
    for metric in [*metrics, "mparams"]:
        points, values = space.rows(path, metric=metric)
        assert 5125 - 44 <= len(points) <= 5125 and np.isfinite(values).all()


def test_a_text_is_that_of_efficientnets_code():
    point = EfficientNet(blocks=2).parse("r2_k3_s1_e6 r4_k7_s2_e3")
    assert point["block1_l"] == 4 and point["block1_k"] == 7 and point["block1_s"] == 2 and point["block1_e"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "r2_k3_s1_e6",
        "r2_k3_s1_e6 r4_k7_s2",
        "r2_k3_s1_e6 r4_k4_s2_e3",
        "r2_k3_s1_e6 r4_k7_s2_e3_x1",
        "r2_k3_s1_e6 r4_k7_s2_k7",
        "r2_k3_s1_e6 r4_k7_s2_!e3",
    ],
)
def test_a_text_of_other_blocks_is_refused(text):
    with pytest.raises(ValueError, match="expected 2 blocks r<n>_k<n>_s<n>_e<n>"):
        EfficientNet(blocks=2).parse(text)


def test_a_blocks_label_says_what_it_is():
    point = AccelNasBench().parse("r3_k3_e4_se1 " + " ".join(["r1_k5_e1_se0"] * 6))
    nodes = AccelNasBench().graphs(point)["network"].nodes
    assert nodes[1] == "MBConv4\n3x3\n3 layers\nsqueeze" and nodes[2] == "MBConv1\n5x5\n1 layer"
