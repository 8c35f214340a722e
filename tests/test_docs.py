"""The reference has a page for what is public, and shows parameters as a list; notebooks come without outputs."""

import json
import re
from pathlib import Path

import pytest

import lamcts
import lamcts.journal
import lamcts.testing
from lamcts.samplers import REGISTRY

ROOT = Path(__file__).parent.parent
SHOWN = {
    name
    for page in (ROOT / "docs").rglob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("module", [lamcts, lamcts.journal, lamcts.testing], ids=lambda module: module.__name__)
def test_every_public_name_has_its_place_in_the_reference(module):
    public = {f"{module.__name__}.{name}" for name in module.__all__} - {"lamcts.samplers"}  # a module: see below
    assert public - SHOWN == set()


def test_every_sampler_has_its_place_in_the_reference():
    assert {f"{module}.{cls}" for module, cls, _ in REGISTRY.values()} - SHOWN == set()


def test_a_parameter_in_running_prose_becomes_an_item_and_other_words_stay():
    pytest.importorskip("griffe", reason="griffe is not installed: pip install 'lamcts[docs]'")
    from docs.parameters import listed

    prose = "What it is.\n\nrows, size: how many.\nkind: what; note: stays. depth: how deep. Warning: stays."
    shown = listed(prose, {"rows", "size", "kind", "note", "depth"})
    items = ["- **rows, size**: how many.", "- **kind**: what; note: stays. ", "- **depth**: how deep. Warning: stays."]
    assert [line for line in shown.splitlines() if line] == ["What it is.", *items]
    assert listed(prose, {"rows"}) == prose  # `size` is no parameter: the pair is prose


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_comes_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert [cell for cell in cells if cell["outputs"] or cell["execution_count"] is not None] == []
