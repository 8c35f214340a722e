"""Pickles of published tables are read without running anything that they name."""

import bz2
import os
import pickle
import pickletools
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.neural.nas import plain_pickle

VALUES = {"a": [1, 2.5, "text", None, True], ("b", 7): OrderedDict(x={1, 2}), "c": (b"bytes", 2**70)}


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL))
def test_plain_values_and_numbers_of_numpy_come_back(protocol):
    array = np.arange(6, dtype=">f4").reshape(2, 3)
    held = {"plain": VALUES, "number": np.float64(0.25), "array": array, "columns": np.asfortranarray(array)}
    found = plain_pickle.loads(pickle.dumps(held, protocol))
    assert found["plain"] == held["plain"] and found["number"] == 0.25 and type(found["number"]) is float
    assert np.array_equal(found["array"], array) and np.array_equal(found["columns"], array)
    assert len(found["array"]) == 2


def test_old_names_of_numpy_are_known():
    old = pickle.dumps(np.float64(0.5), 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core" in old and plain_pickle.loads(old) == 0.5


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (Runs(os.mkdir, "made"), "posix.mkdir"),
        (Runs(eval, "1 + 1"), "builtins.eval"),
        (Runs(getattr, "", "join"), "builtins.getattr"),
        (np.array([{}], object), "numbers of the type 'O8'"),
        (np.zeros(1, [("a", "f8")]), "numbers of the type 'V8'"),
        (Runs(np.ndarray, (2,)), "expected"),
    ],
)
def test_what_would_run_code_is_refused_by_name(thing, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.pickle").write_bytes(pickle.dumps({"rows": [thing]}, 4))
    if name == "expected":  # an array that is called directly has no values: nothing is allocated
        assert len(plain_pickle.load(tmp_path / "file.pickle", "X")["rows"][0]) == 0
        return
    with pytest.raises(
        ValueError, match=r"file.pickle: expected a pickle of numbers and texts, got .*from X"
    ) as caught:
        plain_pickle.load(tmp_path / "file.pickle", "X")
    assert name in str(caught.value) and not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", [b"cnumpy\ndtype\n", b"c_codecs\nencode\n", b"ccollections\nOrderedDict\n"])
def test_the_replacements_cannot_be_changed_by_a_pickle(name):
    state = b"}X\x08\x00\x00\x00__call__K\x01s"
    for build in (name + state + b"b.", name + b"(N" + state + b"tb."):
        assert [*pickletools.genops(build)][-1][0].name == "STOP"
        with pytest.raises((TypeError, AttributeError, pickle.UnpicklingError)):
            plain_pickle.loads(build)


def test_a_file_that_grows_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_pickle, "LARGEST", 1000)
    (tmp_path / "large.pickle.pbz2").write_bytes(bz2.compress(pickle.dumps("x" * 2000)))
    with pytest.raises(ValueError, match="got more than 1000 bytes"):
        plain_pickle.load(tmp_path / "large.pickle.pbz2", "X")


@pytest.mark.parametrize("size", [2**40, 2**63])
def test_a_size_beyond_all_memory_is_refused(size, tmp_path):
    (tmp_path / "huge.pickle").write_bytes(b"\x80\x04\x8e" + size.to_bytes(8, "little") + b"x.")
    with pytest.raises(ValueError, match="expected a pickle of numbers and texts"):
        plain_pickle.load(tmp_path / "huge.pickle", "X")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_an_error_in_words(data, tmp_path_factory):
    content = bytearray(pickle.dumps({"plain": VALUES, "number": np.float64(0.25), "array": np.arange(3)}, 4))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("damaged") / "file.pickle"
    file.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        plain_pickle.load(file, "X")
    except ValueError as error:
        assert "expected a pickle of numbers and texts" in str(error)
