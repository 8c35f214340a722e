"""The official records, read from a file that is written here, byte by byte."""

import base64
import json
import struct
import sys

import numpy as np
import pytest

from benchmarks.tools import nasbench101_table as tfrecord
from lamcts import objectives
from lamcts.neural.nas.nasbench101 import OPERATIONS, NasBench101

CHAIN = "010001000"  # input -> one vertex -> output
SKIP = "0100"  # input -> output


def number(value):
    """Return a whole number as seven bits a byte."""
    parts = []
    while True:
        parts.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(parts)


def double(field, value):
    return number(field << 3 | 1) + struct.pack("<d", value)


def message(field, content):
    return number(field << 3 | 2) + number(len(content)) + content


def metrics(test, valid, seconds, params):
    """Return the metrics of a run: three evaluations, the last of which counts, and a total time that does not."""
    evaluations = [(0.1, 0.1, 0.0), (0.5, 0.5, seconds / 2), (test, valid, seconds)]
    return (
        b"".join(
            message(
                1, double(1, epoch) + double(2, s) + double(3, 1.0) + double(4, v) + double(5, t) + message(6, b"a")
            )
            for epoch, (t, v, s) in enumerate(evaluations)
        )
        + number(2 << 3)
        + number(params)
        + double(3, 9e9)
    )


def record(matrix, ops, packed, epochs=108):
    space = NasBench101()
    n = len(ops) + 2
    cell = {"matrix": [[int(c) for c in matrix[i * n : i * n + n]] for i in range(n)], "ops": ["input", *ops, "output"]}
    key = space.key(space.parse(json.dumps(cell)))
    return json.dumps([key, epochs, matrix, ",".join(cell["ops"]), base64.b64encode(packed).decode()]).encode()


def written(path, contents):
    with path.open("wb") as file:
        for content in contents:
            length = struct.pack("<Q", len(content))
            for part in (length, content):
                file.write(part + struct.pack("<I", tfrecord._checksum(part)))
    return path


@pytest.fixture
def source(tmp_path):
    conv, pool = OPERATIONS[0], OPERATIONS[2]
    return written(
        tmp_path / "some.tfrecord",
        [
            record(CHAIN, [conv], metrics(0.90, 0.91, 1000.0, 300)),
            record(SKIP, [], metrics(0.5, 0.6, 10.0, 200)),
            record(CHAIN, [conv], metrics(0.92, 0.95, 2000.0, 300)),
            record(CHAIN, [pool], metrics(0.7, 0.8, 100.0, 8_555_530)),
            record(CHAIN, [pool], metrics(0.1, 0.2, 1.0, 8_555_530), epochs=4),
        ],
    )


def test_the_checksum_is_the_one_of_the_format():
    # CRC-32C of "123456789" is 0xE3069283; masked as the format says
    crc = 0xE3069283
    assert tfrecord._checksum(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_records_become_a_table_of_means_over_the_runs(source, tmp_path):
    assert tfrecord.convert(source, tmp_path / "table.npz") == 3
    f = objectives.make("nasbench101", table=tmp_path / "table.npz", guide="val")
    assert f.optimum == pytest.approx(93)
    best = f.best()
    assert f.architectures.graphs(best)["cell"].nodes == ["input", OPERATIONS[0], "output"]
    assert f.report(best) == pytest.approx({"test_accuracy_percent": 91, "val_accuracy_percent": 93})
    assert f.cost(best) == pytest.approx({"trainable_params": 300, "training_time_s": 1500})
    assert sorted(f(point) for point in f.cells()) == pytest.approx([60, 80, 93])
    assert max(f.cost(point)["trainable_params"] for point in f.cells()) == 8_555_530


def test_other_schedules_are_tables_of_their_own(source, tmp_path):
    assert tfrecord.convert(source, tmp_path / "four.npz", epochs=4) == 1
    with np.load(tmp_path / "four.npz") as table:
        assert table["val_acc"].tolist() == [0.2]
    with pytest.raises(ValueError, match="expected runs of 36 epochs, got none"):
        tfrecord.convert(source, tmp_path / "none.npz", epochs=36)


def test_a_record_that_was_damaged_on_the_way_is_noticed(source, tmp_path):
    whole = source.read_bytes()
    for at in (3, 9, 40, len(whole) - 2):
        broken = bytearray(whole)
        broken[at] ^= 1
        (tmp_path / "broken").write_bytes(broken)
        with pytest.raises(ValueError, match="damaged"):
            tfrecord.convert(tmp_path / "broken", tmp_path / "table.npz")
    for end in (5, 60, len(whole) - 1):
        (tmp_path / "broken").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="damaged"):
            tfrecord.convert(tmp_path / "broken", tmp_path / "table.npz")


@pytest.mark.parametrize(
    "content",
    [
        b"no json",
        b"[1, 2]",
        json.dumps(["00", 108, "0100", "input,conv9x9,output", ""]).encode(),
        json.dumps(["00", 108, "0100", "input,output", ""]).encode(),
        json.dumps(["00", 108, "0100", "input,output", base64.b64encode(b"\x0b").decode()]).encode(),
        json.dumps(["00", 108, "0100", "input,output", base64.b64encode(b"\x0a\xff").decode()]).encode(),
    ],
)
def test_records_of_something_else_are_refused_by_number(content, tmp_path):
    with pytest.raises(ValueError, match="record 0: expected a run of NAS-Bench-101"):
        tfrecord.convert(written(tmp_path / "other", [content]), tmp_path / "table.npz")


def test_the_command_writes_the_table(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tfrecord", str(source), str(tmp_path / "made.npz")])
    tfrecord.main()
    assert "3 cells in" in capsys.readouterr().out and (tmp_path / "made.npz").exists()
