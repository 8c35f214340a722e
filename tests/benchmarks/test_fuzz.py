"""What is drawn at random is taken or refused in our own words; and what would be neither is found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import lamcts
import lamcts.cli.show
from benchmarks.harness import sheet
from benchmarks.robustness import fuzz
from benchmarks.robustness.attacks.verdict import Broken
from benchmarks.robustness.fuzzing import called, command_lines, journals, known_files, space_files
from lamcts.journal import Journal

FEW = settings(
    max_examples=40, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@FEW
@given(space_files.files())
def test_a_space_file_becomes_a_space_or_an_error_of_ours(drawn: tuple[str, bytes]) -> None:
    assert fuzz.attempt(fuzz.KINDS["spaces"], drawn) in (True, False)


@FEW
@given(known_files.files())
@pytest.mark.filterwarnings("ignore:known. .* has no evaluation:RuntimeWarning")
def test_a_known_file_is_read_in_full_or_refused(drawn: tuple[int, int, bytes, bool]) -> None:
    assert fuzz.attempt(fuzz.KINDS["known"], drawn) or not drawn[3]


@settings(FEW, max_examples=4)
@given(journals.inputs)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_journal_with_other_values_is_read_or_refused(drawn: tuple[int, object]) -> None:
    assert fuzz.attempt(fuzz.KINDS["journals"], drawn) in (True, False)


@settings(FEW, max_examples=8)
@given(command_lines.lines())
@pytest.mark.filterwarnings("ignore")
def test_a_command_line_works_or_says_why_not(drawn: list[str]) -> None:
    assert fuzz.attempt(fuzz.KINDS["commands"], drawn) in (True, False)


# A fuzz that finds something -----------------------------------------------------------------------------------------


def test_a_raw_error_a_traceback_and_a_second_line_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(kind: type[Exception]) -> None:
        def show(args: object) -> int:
            raise kind("raw")

        monkeypatch.setattr(lamcts.cli.show, "main", show)

    planted(KeyError)
    with pytest.raises(Broken, match="expected an exit code, got KeyError"):
        called.called(["show", "x"], tmp_path)
    planted(ValueError)
    assert not called.called(["show", "x"], tmp_path)  # in one line, which cannot be told from ours
    with pytest.raises(Broken, match="expected ValueError or LamctsError of the package's own"):
        called.called(["show", "x", called.TRACE], tmp_path)
    monkeypatch.setattr(lamcts.cli.show, "main", lambda args: 7)
    with pytest.raises(Broken, match="expected an exit code out of"):
        called.called(["show", "x"], tmp_path)


def test_results_that_are_read_as_others_are_found(tmp_path: Path) -> None:
    columns, rows = known_files.table(2, 0, 1)
    text = ",".join(columns) + "\n" + ",".join(rows[0]) + "\n"
    assert known_files.check((2, 0, text.encode(), True), tmp_path)
    with pytest.raises(Broken, match="expected the point"):
        known_files.check((2, 0, text.replace(rows[0][0], "0.125").encode(), True), tmp_path)
    with pytest.raises(Broken, match="expected a well-formed file read"):
        known_files.check((2, 0, text.replace("value", "worth").encode(), True), tmp_path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_lost_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = (3, [("cell", "reports", 0, 0, None, None, 0.0)])  # changes nothing
    assert journals.check(drawn, tmp_path)

    def forgetful(which: int, path: Path, more: int = 0) -> None:
        Journal.read(path)
        path.write_bytes(journals.whole(0))

    journals.record(3)
    monkeypatch.setattr(journals, "run", forgetful)
    with pytest.raises(Broken, match="expected the rows that were there"):
        journals.check(drawn, tmp_path)


def test_every_edit_changes_a_journal_and_leaves_right_checksums(tmp_path: Path) -> None:
    before = journals.whole(3)
    for kind in ("cell", "leaf", "numbers", "drop", "swap"):
        path = tmp_path / f"{kind}.db"
        journals.spoilt(before, path, [(kind, "rows" if kind != "leaf" else "meta", 1, 4, b"other", {"a": 1}, 0.25)])
        assert path.read_bytes() != before
        with pytest.raises(lamcts.JournalError) as refused:
            Journal.read(path)
            raise lamcts.JournalError("read")
        assert "checksum" not in str(refused.value)
    for pages in (("cut", 3, 1), ("swap", 2, 5), ("double", 2, 5), ("append", 2, 5), ("front", 2, 5)):
        journals.spoilt(before, tmp_path / "pages.db", pages)
        assert (tmp_path / "pages.db").read_bytes() != before


def test_rounds_are_counted_and_a_failure_is_told_with_its_input(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def picky(drawn: tuple[str, bytes], folder: Path) -> bool:
        if drawn[0] == ".toml":
            raise KeyError("raw")
        return True

    kinds = {"spaces": fuzz.KINDS["spaces"]._replace(round=30), "picky": fuzz.Kind(space_files.files(), picky, 30)}
    tallies = fuzz.fuzz(kinds, 0, 0.0)
    assert (tallies["spaces"].taken + tallies["spaces"].refused, tallies["spaces"].failures) == (30, [])
    assert len(tallies["picky"].failures) == 1 and tallies["picky"].failures[0].startswith(
        "KeyError: 'raw'\n    ('.toml'"
    )
    assert "picky: KeyError" in capsys.readouterr().out
    fuzz.report(tallies, 0, tmp_path / "fuzz.csv")
    assert [(row["kind"], row["failures"]) for row in sheet.read(tmp_path / "fuzz.csv")] == [
        ("spaces", "0"),
        ("picky", "1"),
    ]


def test_what_never_ends_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "HANG", 0.05)
    endless = fuzz.Kind(space_files.files(), lambda drawn, folder: __import__("time").sleep(60), 1)
    with pytest.raises(Broken, match="expected an end within 0 s"):
        fuzz.attempt(endless, None)
