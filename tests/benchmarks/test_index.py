"""The index of benchmarks names every script, and names nothing that does not exist."""

import re
from importlib.util import find_spec
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


def test_every_file_that_the_index_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.(?:py|npz))?|\w+\.py)", TEXT))
    assert len(named) > 60
    assert [name for name in sorted(named) if not (BENCHMARKS / name).exists()] == []


def test_every_command_of_the_index_and_the_notes_names_a_module() -> None:
    pages = [BENCHMARKS / "README.md", *(BENCHMARKS / "notes").glob("*.md")]
    found = {name for page in pages for name in re.findall(r"python -m (benchmarks(?:\.[a-z\d_]+)+)", page.read_text())}
    assert len(found) > 10
    assert [name for name in sorted(found) if find_spec(name) is None] == []


def test_every_link_of_the_index_and_the_notes_leads_to_a_file() -> None:
    for page in [BENCHMARKS / "README.md", *(BENCHMARKS / "notes").glob("*.md")]:
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


def test_the_index_is_short() -> None:
    assert len(TEXT.splitlines()) <= 300
