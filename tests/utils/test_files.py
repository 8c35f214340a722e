"""Files of users: which are opened, and what they are by their content."""

import gzip
import io
import os
import sqlite3
import zipfile
from pathlib import Path

import pytest

import lamcts
from lamcts.utils.files import FileKind, kind_at, opened, text_of


def archive(name: str) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as made:
        made.writestr(name, "x")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", FileKind.EMPTY),
        (b"lr,value\n0.1,2\n", FileKind.TEXT),
        ("lr;value\n".encode("utf-16"), FileKind.TEXT),
        (b'[lr],value\n"{",2\n', FileKind.TEXT),
        (b'\xef\xbb\xbf {"data": [1]}', FileKind.JSON),
        (b"[\n  [0.1, 2]\n]", FileKind.JSON),
        (b'{"op_code":0,"worker_id":"a","study_name":"s"}\n', FileKind.OPTUNA_LOG),
        (gzip.compress(b"lr,value\n", mtime=0), FileKind.COMPRESSED),
        (archive("xl/workbook.xml"), FileKind.SPREADSHEET),
        (archive("notes.txt"), FileKind.ZIP),
        (b"PAR1\x15\x04\x15", FileKind.PARQUET),
        (b"lr\0value\n1,2", FileKind.BINARY),
        (b"lr,value\n\0\x80\0", FileKind.BINARY),
        (b"name,value\na\0b,1\n", FileKind.TEXT),
    ],
)
def test_a_file_is_recognised_by_its_content(tmp_path: Path, content: bytes, kind: FileKind) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    assert kind_at(tmp_path / "table.csv", "the file") is kind


def test_journals_states_and_other_databases_are_told_apart(tmp_path: Path) -> None:
    opt = lamcts.Optimizer([(0, 1)], seed=0)
    (tmp_path / "state").write_bytes(archive("column x.npy"))
    opt.save(tmp_path / "run.db")
    for name, table in (("optuna.db", "study_directions"), ("other.db", "studies")):
        with sqlite3.connect(tmp_path / name) as database:
            database.execute(f"CREATE TABLE {table} (id INTEGER)")
        database.close()
    found = {path.name: kind_at(path, "the file") for path in tmp_path.iterdir()}
    kinds = FileKind.STATE, FileKind.JOURNAL, FileKind.OPTUNA, FileKind.SQLITE
    assert found == dict(zip(("state", "run.db", "optuna.db", "other.db"), kinds, strict=True))


def test_only_ordinary_files_of_a_bounded_size_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(b"12345")
    for name, message in (
        ("pipe", "the table .*pipe cannot be opened: it is a pipe; give the path of a file"),
        ("link", "it is a device"),
        (".", "it is a folder"),
        ("large", "it has 5 bytes, and at most 4 are read"),
    ):
        with pytest.raises(ValueError, match=message):
            opened(tmp_path / name, "the table", most=4)
    with opened(tmp_path / "large", "the table", most=5) as file:
        assert file.read() == b"12345"
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "none", "the table")


def test_text_is_utf_8_or_utf_16_with_its_mark(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "text").write_bytes("größe".encode(encoding))
        assert text_of(tmp_path / "text", "the file") == "größe"
    (tmp_path / "text").write_bytes("größe".encode("latin-1"))
    with pytest.raises(ValueError, match=r"the file .*text cannot be read: expected text in UTF-8"):
        text_of(tmp_path / "text", "the file")
