"""What the pages of the documentation show, compiles, and what is whole there runs; every page is in the navigation."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
LIBRARIES = "optuna|cma|lightgbm|ray|ax|dask|distributed|ConfigSpace|botorch|gymnasium|matplotlib|pandas|nevergrad"
WHOLE = (
    "getting-started",
    "index",
    "choosing",
    "coming-from",
    "constraints",
    "known-results",
    "write-a-sampler",
)  # pages of whole programs; others show pieces
FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [(page.stem, i, block) for page in PAGES for i, block in enumerate(FENCED.findall(page.read_text()))]
PROGRAMS = [pytest.param(block, id=f"{page}-{i}") for page, i, block in BLOCKS if page.startswith(WHOLE)]


def test_every_block_of_every_page_compiles() -> None:
    for page, i, block in BLOCKS:
        compile(block, f"{page}.md, block {i}", "exec")


@pytest.mark.parametrize("block", PROGRAMS)
def test_a_block_of_a_page_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in re.findall(rf"^(?:import|from) ({LIBRARIES})\b", block, re.MULTILINE):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "a page", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.strip(), "the block is expected to print its result"


def test_there_is_a_page_for_users_of_other_packages() -> None:
    names = {page.stem for page in PAGES}
    assert {"choosing", "coming-from"} <= names and len(PROGRAMS) > 5


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in PAGES if f": {page.name}\n" not in navigation] == []


def test_the_glossary_is_in_order() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    terms = re.findall(r"^([^\s#:].*)\n: +.+", text, re.MULTILINE)
    assert len(terms) >= 40 and terms == sorted(terms, key=str.lower)
