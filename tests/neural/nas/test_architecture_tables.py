"""Where a table is found, and which files are refused."""

import numpy as np
import pytest

from lamcts import objectives
from lamcts.neural.nas import formats, tables
from tests.neural.nas import made_up

NAMES = {
    "nasbench101": formats.NASBENCH101,
    "nasbench201": formats.NASBENCH201,
    "nats-size": formats.SIZE,
    "nasbench-macro": formats.MACRO,
    "transnas": formats.TRANSNAS,
    "nasbench-graph": formats.GRAPH,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_found_by_file_by_folder_and_by_the_environment(name, tables, monkeypatch):
    monkeypatch.setenv("LAMCTS_DATA", str(tables))
    file = tables / NAMES[name].file
    made = [objectives.make(name, table=place) for place in (file, str(file), tables, None)]
    assert all(f.fingerprint() == made[0].fingerprint() for f in made)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_table_the_error_says_where_to_look_and_where_it_comes_from(name, tmp_path, monkeypatch):
    monkeypatch.delenv("LAMCTS_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"pass table=FILE, or set LAMCTS_DATA .* made from https://"):
        objectives.make(name)
    with pytest.raises(FileNotFoundError, match=r"got no file at .* made from https://"):
        objectives.make(name, table=tmp_path / "nowhere.npz")
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"in LAMCTS_DATA=.* made from https://"):
        objectives.make(name)


def test_a_damaged_file_is_a_value_error(tables, tmp_path):
    whole = (tables / formats.MACRO.file).read_bytes()
    for broken in (b"", b"no table", whole[: len(whole) // 2], whole[:200] + b"\0" * 2000 + whole[2200:]):
        (tmp_path / "broken.npz").write_bytes(broken)
        with pytest.raises(ValueError, match="expected"):
            objectives.make("nasbench-macro", table=tmp_path / "broken.npz")


def test_a_file_with_pickles_is_not_opened(tmp_path):
    np.savez(tmp_path / "pickled.npz", ops=np.array([{"a": 1}], object))
    with pytest.raises(ValueError, match="damaged file or another"):
        objectives.make("nasbench-macro", table=tmp_path / "pickled.npz")
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("pickled", "text"):  # numpy's own words advise to run what is in the file
        with pytest.raises(ValueError, match=f"{name}.npz: expected the table .* no arrays of numbers or texts$"):
            objectives.make("nasbench-macro", table=tmp_path / f"{name}.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ValueError, match="damaged file or another"):
        objectives.make("nasbench-macro", table=tmp_path / "one.npy")


CHANGED = {
    "no operations": ({"ops": None}, "expected an array 'ops'"),
    "too few layers": (
        {"ops": np.zeros((6561, 7), int)},
        r"ops: expected shape \(N, 8\) .* damaged, or of another table$",
    ),
    "an unknown operation": (
        {"ops": np.full((6561, 8), 3)},
        "expected whole numbers from 0 to 2, got int64 from 3 to 3",
    ),
    "broken numbers": ({"ops": np.full((6561, 8), 0.5)}, "expected whole numbers from 0 to 2"),
    "fewer values than networks": ({"test_acc": np.zeros((9, 3))}, r"test_acc: expected shape \(N, 3\)"),
    "texts": ({"test_acc": np.full((6561, 3), "93")}, "test_acc: expected numbers"),
    "a network twice": ({"ops": np.zeros((6561, 8), int)}, r"expected one row a network, got rows \[0, 1\]"),
    "no values": ({"test_acc": np.full((6561, 3), np.nan)}, "none that is finite"),
    "no rows": ({"ops": np.zeros((0, 8), int), "test_acc": np.zeros((0, 3))}, "expected shape"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_table_that_holds_something_else_is_refused_with_the_reason(case, tmp_path):
    changes, message = CHANGED[case]
    arrays = {name: values for name, values in (made_up.macro() | changes).items() if values is not None}
    file = made_up.write(tmp_path, formats.MACRO, arrays)
    with pytest.raises(ValueError, match=message):
        objectives.make("nasbench-macro", table=file)


def test_codes_beyond_those_of_the_space_are_refused(tmp_path):
    for form, make, name, array, wrong in (
        (formats.NASBENCH101, made_up.nasbench101, "nasbench101", "adjacency_bits", 2**21),
        (formats.NASBENCH101, made_up.nasbench101, "nasbench101", "ops_base3", 243),
        (formats.NASBENCH101, made_up.nasbench101, "nasbench101", "num_vertices", 8),
        (formats.NASBENCH201, made_up.nasbench201, "nasbench201", "ops", 5),
        (formats.TRANSNAS, made_up.transnas, "transnas", "ops", 4),
        (formats.GRAPH, made_up.graph, "nasbench-graph", "hash", 90_000),
    ):
        arrays = make()
        arrays[array] = arrays[array].astype(np.int64)
        arrays[array].flat[-1] = wrong
        with pytest.raises(ValueError, match=f"{array}: expected whole numbers from 0 to {wrong - 1}"):
            objectives.make(name, table=made_up.write(tmp_path, form, arrays))


def test_operations_in_another_order_are_refused(tmp_path):
    for form, make, name in (
        (formats.NASBENCH201, made_up.nasbench201, "nasbench201"),
        (formats.GRAPH, made_up.graph, "nasbench-graph"),
        (formats.DIGITS4096, made_up.digits4096, "digits4096"),
    ):
        arrays = make()
        arrays["op_names"] = arrays["op_names"][::-1]
        with pytest.raises(ValueError, match="op_names: expected"):
            objectives.make(name, table=made_up.write(tmp_path, form, arrays))


def test_a_table_is_read_once_until_its_file_changes(tmp_path):
    arrays = made_up.transnas()
    file = made_up.write(tmp_path, formats.TRANSNAS, arrays)
    first = tables.read(formats.TRANSNAS, file)
    assert tables.read(formats.TRANSNAS, file) is first
    with pytest.raises(ValueError, match="read-only"):
        first["val_top1"][0] = 0
    made_up.write(tmp_path, formats.TRANSNAS, {**arrays, "val_top1": arrays["val_top1"] + 1, "more": np.zeros(3)})
    assert tables.read(formats.TRANSNAS, file)["val_top1"][0] == first["val_top1"][0] + 1
