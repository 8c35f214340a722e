import gzip

import numpy as np
import pytest

from lamcts.neural.train import Data, digits, load
from lamcts.neural.train.data import Part, stratified
from lamcts.neural.train.datasets import shares


def images(path, **more):
    rng = np.random.default_rng(0)
    made = {"x_train": rng.integers(0, 256, (50, 6, 6, 3), np.uint8), "y_train": np.arange(50) % 5}
    made |= {"x_test": rng.integers(0, 256, (10, 6, 6, 3), np.uint8), "y_test": np.arange(10) % 5}
    np.savez(path, **made | more)
    return made


def test_the_digits_have_their_split_for_good():
    data = digits()
    assert data.shape == (1, 8, 8) and data.classes == 10 and data.train.x.max() == 1
    assert [len(part.y) for part in data.parts.values()] == [1078, 360, 359]
    for part in data.parts.values():  # each class has its share of each part, to a row
        assert np.ptp(np.bincount(part.y) / len(part.y)) < 0.02
    assert data.fingerprint == "90ee6f66d833b882"


def test_a_split_by_classes_holds_every_row_once():
    parts = stratified(np.repeat([0, 1], [30, 70]), (0.6, 0.2, 0.2), seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert [(part < 30).sum() for part in parts] == [18, 6, 6]


def test_a_file_of_ones_own_becomes_images_with_mean_0_and_deviation_1(tmp_path):
    made = images(tmp_path / "mine.npz")
    data = load(str(tmp_path / "mine.npz"))
    assert data.name == "mine" and data.classes == 5 and data.shape == (3, 6, 6)
    assert [len(part.y) for part in data.parts.values()] == [40, 10, 10]
    assert data.train.x.mean((0, 2, 3)) == pytest.approx(0, abs=1e-5)
    assert data.train.x.std((0, 2, 3)) == pytest.approx(1, abs=1e-5)
    first = made["x_test"][0, :, :, 1].astype(float)
    assert np.corrcoef(first.ravel(), data.test.x[0, 1].ravel())[0, 1] == pytest.approx(1)
    images(tmp_path / "mine.npz", x_valid=made["x_test"][:4], y_valid=made["y_test"][:4])
    assert [len(part.y) for part in load(str(tmp_path / "mine.npz")).parts.values()] == [50, 4, 10]


def test_a_pixel_of_a_smaller_image_is_the_mean_of_what_it_covers():
    assert shares(4, 2).tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    assert shares(3, 2) == pytest.approx(np.array([[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]]))
    small, whole = load("digits", side=4), digits()
    assert small.shape == (1, 4, 4)
    assert small.train.x[0, 0, 0, 0] == pytest.approx(whole.train.x[0, 0, :2, :2].mean())


def test_a_missing_data_set_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("LAMCTS_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"mnist.npz.*set LAMCTS_DATA"):
        load("mnist")
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"cifar10.npz or cifar10_subset.npz in LAMCTS_DATA="):
        load("cifar10")
    images(tmp_path / "cifar10_subset.npz")
    assert load("cifar10", side=3).shape == (3, 3, 3)
    with pytest.raises(ValueError, match="did you mean 'digits'"):
        load("digit")
    with pytest.raises(FileNotFoundError, match="no file"):
        load("absent.npz")


def test_wrong_files_are_told(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="damaged"):
        load(str(tmp_path / "bad.npz"))
    np.savez(tmp_path / "few.npz", x_train=np.zeros((3, 4, 4)))
    with pytest.raises(ValueError, match="none called y_train, x_test, y_test"):
        load(str(tmp_path / "few.npz"))
    images(tmp_path / "flat.npz", x_train=np.zeros((50, 36)))
    with pytest.raises(ValueError, match="images"):
        load(str(tmp_path / "flat.npz"))
    x, y = np.zeros((3, 1, 2, 2), np.float32), np.array([0, 1, 2])
    with pytest.raises(ValueError, match="classes from 0 to 1"):
        Data("bad", *[Part(x, y)] * 3, classes=2)
    with pytest.raises(ValueError, match="examples and their classes"):
        Data("bad", Part(x, y), Part(x[:2], y), Part(x, y), 3)


def test_texts_are_rows_of_words_with_the_word_that_follows(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    for name, line in (("valid", "a b c d e f g h i"), ("test", "b a z")):
        with gzip.open(tmp_path / f"wikitext2_{name}.txt.gz", "wt") as file:
            file.write(f"{line}\n" * 100)
    data = load("wikitext2")
    assert data.shape == (35,) and data.classes == 11  # nine words, the end of a line, the unknown one
    assert np.array_equal(data.train.x.ravel()[1:], data.train.y.ravel()[:-1])
    words = sorted(["<eos>", "<unk>", *"abcdefghi"])
    assert [words[i] for i in data.test.x[0, :8]] == ["b", "a", "<unk>", "<eos>"] * 2
    with pytest.raises(ValueError, match="no side for texts"):
        load("wikitext2", side=4)
    with gzip.open(tmp_path / "tinyshakespeare.txt.gz", "wt") as file:
        file.write("to be or not\n" * 300)
    assert load("tinyshakespeare").classes == len(set("to be or not\n")) + 1
