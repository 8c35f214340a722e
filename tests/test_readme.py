"""What the README shows, runs."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import lamcts
import lamcts.plot
from benchmarks.harness.comparison import KEY
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.optimizer import public, public_summary
from lamcts.study.options import RunSettings
from lamcts.study.result import Result

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.strip().splitlines()[-1][:40])
def test_a_snippet_of_the_readme_runs(
    snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "import optuna" in snippet:
        pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip(), "the snippet is expected to print its result"


def test_the_readme_has_its_examples() -> None:
    assert len(SNIPPETS) >= 2
    assert any("lamcts.minimize" in snippet for snippet in SNIPPETS)
    assert any("opt.tell" in snippet for snippet in SNIPPETS)


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(TEXT.splitlines()) <= 200


def test_the_output_of_the_first_example_is_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(SNIPPETS[0], "README.md", "exec"), {"__name__": "readme"})
    loss, _, point = capsys.readouterr().out.partition(" ")
    shown, _, shown_point = TEXT.partition(SNIPPETS[0])[2].split("```\n")[2].partition(" ")
    assert point == shown_point
    assert max(float(loss), float(shown)) < 1e-6  # the digits depend on the BLAS


def test_the_table_of_ranks_is_that_of_the_rows_of_the_claims() -> None:
    rows = Sheet(RESULTS / "public.csv", KEY, public.COLUMNS).rows()
    assert public_summary.table(rows) in TEXT
    assert ": place 1: 37, place 2: 11, place 3: 2; 510 problems\n" in public_summary.places(
        rows, public_summary.SEQUENTIAL
    )
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert public_summary.table(rows, public_summary.BATCHES) in page


def test_files_that_the_readme_names_exist() -> None:
    named = re.findall(r"\]\(([^)#:]+)\)", TEXT) + re.findall(r"`((?:lamcts|tests|benchmarks|docs)/[\w./]+)`", TEXT)
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "lamcts" / name).exists()]
    assert len(named) > 10
    assert missing == []


def test_the_command_that_runs_the_tests_is_the_one_that_ci_runs() -> None:
    assert ".venv/bin/python -m pytest\n" in TEXT
    assert "\npython -m pytest" in (ROOT / ".ci" / "run").read_text()


def test_what_the_table_of_options_names_is_there() -> None:
    table = TEXT.partition("## Options")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    spans = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    options = {match[1] for span in spans if (match := re.match(r"(\w+)=", span))}
    assert len(options) > 12 and options <= {field.name for field in fields(RunSettings)}
    names = [span for span in spans if re.fullmatch(r"\w+(\.\w+)+", span)]
    places = {"lamcts": lamcts, "plot": lamcts.plot, "result": Result}
    assert len(names) > 6 and all(hasattr(places[span.split(".")[0]], span.split(".")[1]) for span in names)
