"""Convert the official records of NAS-Bench-101 into a table.

    python -m benchmarks.tools.nasbench101_table nasbench_only108.tfrecord nasbench101_test108.npz

A file of records (TensorFlow's TFRecord): of each its length (8 bytes), the length's checksum (4), the content, the
content's checksum (4), all little-endian. The content is JSON: hash, epochs, adjacency matrix row by row, operations,
and the metrics, a protocol buffer in base64 (`model_metrics.proto` of google-research/nasbench): 1 evaluations, each
with the numbers (doubles) 2 training time in seconds, 4 validation and 5 test accuracy; 2 the number of parameters.
Neither TensorFlow nor protobuf is needed. The 499 MB take some minutes, most of them for the checksums.
"""

import argparse
import base64
import json
import os
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from lamcts.neural.nas.nasbench101 import CODE_DIGITS, OPERATIONS

# Checksums: CRC-32C with the reflected polynomial of Castagnoli, turned by 15 bits and moved (TFRecord's definition).
POLYNOMIAL, MASK_TURN, MASK_ADD = 0x82F63B78, 15, 0xA282EAD8
EPOCHS = 108  # of the schedule that papers report; the full file has 4, 12 and 36 too
FINAL = 2  # number of the evaluation at the end of training, after those at its begin and half-way
VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5  # wire types of protocol buffers
TRAINING_SECONDS, VALID, TEST = 2, 4, 5  # numbers of fields


class Training(NamedTuple):
    """One training of one cell."""

    hash: str
    epochs: int
    matrix: str
    ops: tuple[str, ...]
    params: int
    test_acc: float
    val_acc: float
    seconds: float


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], epochs: int = EPOCHS) -> int:
    """Write a table of the means over the runs of `epochs` epochs, and return how many cells it has.

    ValueError where the file is damaged or another.
    """
    runs: dict[str, list[Training]] = {}
    for run in records(source):
        if run.epochs == epochs:
            runs.setdefault(run.hash, []).append(run)
    if not runs:
        raise ValueError(f"{source}: expected runs of {epochs} epochs, got none")
    ordered = [runs[name] for name in sorted(runs)]
    np.savez_compressed(target, **_columns(ordered))
    return len(ordered)


def records(source: str | os.PathLike[str]) -> Iterator[Training]:
    """Yield the runs of a file of records, in its order."""
    with open(source, "rb") as file:
        for number, content in enumerate(_contents(file, str(source))):
            try:
                yield _run(content)
            except (ValueError, TypeError, KeyError, IndexError, struct.error) as error:
                raise ValueError(f"{source}: record {number}: expected a run of NAS-Bench-101, got {error}") from None


def _columns(ordered: list[list[Training]]) -> dict[str, Any]:
    first = [runs[0] for runs in ordered]
    return {
        "hash64": np.array([int(run.hash[:CODE_DIGITS], 16) for run in first], np.uint64),
        "num_vertices": np.array([len(run.ops) for run in first], np.uint8),
        "adjacency_bits": np.array([_bits(run.matrix, len(run.ops)) for run in first], np.uint32),
        "ops_base3": np.array([_base3(run.ops) for run in first], np.uint8),
        "test_acc": np.array([np.mean([run.test_acc for run in runs]) for runs in ordered]),
        "val_acc": np.array([np.mean([run.val_acc for run in runs]) for runs in ordered]),
        "training_time_s": np.array([np.mean([run.seconds for run in runs]) for runs in ordered]),
        "trainable_params": np.array([run.params for run in first], np.int32),
    }


def _bits(matrix: str, n: int) -> int:
    return sum(1 << i + j * (j - 1) // 2 for j in range(n) for i in range(j) if matrix[i * n + j] == "1")


def _base3(ops: tuple[str, ...]) -> int:
    return sum(OPERATIONS.index(op) * len(OPERATIONS) ** t for t, op in enumerate(ops[1:-1]))


def _contents(file: BinaryIO, name: str) -> Iterator[bytes]:
    while head := file.read(12):
        if len(head) < 12 or _checksum(head[:8]) != int.from_bytes(head[8:], "little"):
            raise ValueError(f"{name}: expected records with lengths, got a damaged file or another format")
        length = int.from_bytes(head[:8], "little")
        content, check = file.read(length), file.read(4)
        if len(content) < length or _checksum(content) != int.from_bytes(check, "little"):
            raise ValueError(f"{name}: expected a record of {length} bytes, got a damaged one: download it again")
        yield content


def _run(content: bytes) -> Training:
    name, epochs, matrix, operations, packed = json.loads(content)
    ops = tuple(operations.split(","))
    if len(matrix) != len(ops) ** 2 or not set(ops[1:-1]) <= set(OPERATIONS):
        raise ValueError(f"a matrix of {len(matrix)} numbers for {len(ops)} operations")
    evaluations, params = [], 0
    for number, value in _fields(base64.b64decode(packed)):
        if number == 1:
            evaluations.append(dict(_fields(value)))
        elif number == 2:
            params = value
    final = evaluations[FINAL]
    return Training(name, epochs, matrix, ops, params, final[TEST], final[VALID], final[TRAINING_SECONDS])


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field of a message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, size = key & 7, {DOUBLE: 8, FLOAT: 4}.get(key & 7, 0)
        if kind == VARINT:
            value: Any
            value, at = _varint(message, at)
        elif kind in (DOUBLE, FLOAT):
            value = struct.unpack_from("<d" if kind == DOUBLE else "<f", message, at)[0]
        elif kind == BYTES:
            size, at = _varint(message, at)
            value = message[at : at + size]
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        at += size
        yield key >> 3, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the least first, and where the next field begins."""
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at


def _checksum(content: bytes) -> int:
    table, crc = _table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> MASK_TURN | crc << 32 - MASK_TURN) + MASK_ADD) & 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    """Return the checksum's remainder for each byte."""
    remainders = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ POLYNOMIAL * (byte & 1)
        remainders.append(byte)
    return tuple(remainders)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("source", help="nasbench_only108.tfrecord or nasbench_full.tfrecord")
    given.add_argument("target", help="the table to write, .npz")
    given.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = given.parse_args()
    cells = convert(arguments.source, arguments.target, arguments.epochs)
    sys.stdout.write(f"{cells} cells in {arguments.target}\n")


if __name__ == "__main__":
    main()
