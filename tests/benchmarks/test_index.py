"""The index of benchmarks names every script; tests/test_paths.py checks what it names."""

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXT = (BENCHMARKS / "README.md").read_text()
PARTS = ("harness/", "robustness/attacks/", "report.py", "run.py")  # shared code, and what the text describes


def scripts() -> list[str]:
    """Return the files that can be run, by path; a folder with a `__main__.py` by its name."""
    files = [path for path in BENCHMARKS.rglob("*.py") if "\nif __name__ ==" in path.read_text()]
    names = [path.relative_to(BENCHMARKS).as_posix().removesuffix("__main__.py") for path in files]
    return sorted(name for name in names if not name.startswith(PARTS))


def test_every_script_is_in_the_index() -> None:
    assert len(scripts()) > 50
    assert [name for name in scripts() if f"`{name}" not in TEXT] == []


def test_every_link_of_the_index_and_the_notes_leads_to_a_file() -> None:
    for page in [BENCHMARKS / "README.md", *(BENCHMARKS / "notes").glob("*.md")]:
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


def test_the_index_is_short() -> None:
    assert len(TEXT.splitlines()) <= 300
