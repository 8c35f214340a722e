"""What the README shows, runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.strip().splitlines()[-1][:40])
def test_a_snippet_of_the_readme_runs(
    snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "import optuna" in snippet:
        pytest.importorskip("optuna", reason="optuna is not installed: pip install 'lamcts[optuna]'")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip(), "the snippet is expected to print its result"


def test_the_readme_has_its_examples() -> None:
    assert len(SNIPPETS) >= 2
    assert any("lamcts.minimize" in snippet for snippet in SNIPPETS)
    assert any("opt.tell" in snippet for snippet in SNIPPETS)


def test_files_that_the_readme_names_exist() -> None:
    named = re.findall(r"\]\(([^)#:]+)\)", TEXT) + re.findall(r"`((?:lamcts|tests|benchmarks|docs)/[\w./]+)`", TEXT)
    folders = re.search(r"## Map\n```\n(.*?)```", TEXT, re.DOTALL)
    assert folders is not None
    for line in folders.group(1).splitlines():
        named += line.split("  ")[0].split()
    named.remove("lamcts/samplers/yours.py")  # the reader's own, to come
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "lamcts" / name).exists()]
    assert len(named) > 10
    assert missing == []


def test_the_command_that_runs_the_tests_is_the_one_that_ci_runs() -> None:
    assert ".venv/bin/python -m pytest\n" in TEXT
    assert "\npython -m pytest" in (ROOT / ".ci" / "run").read_text()
