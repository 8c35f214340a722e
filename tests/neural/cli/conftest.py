"""Commands of the wing run in an empty folder, without tables of the machine."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAMCTS_DATA", raising=False)


@pytest.fixture
def images(_in_an_empty_folder):
    """Write `mine.npz`, 40 images of two classes that differ: 32 are learnt from."""
    y = np.arange(40) % 2
    x = (np.random.default_rng(0).random((40, 4, 4)) * 100 + 100 * y[:, None, None]).astype(np.uint8)
    np.savez("mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
