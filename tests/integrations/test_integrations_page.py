"""The programs on the page of other libraries run."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from lamcts.samplers.nevergrad.method import preserved_globals

PAGE = (Path(__file__).parent.parent.parent / "docs" / "integrations.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
OTHERS = ("ray",)  # they start processes, or load for many seconds: tests of their own run the like


@pytest.mark.dear
@pytest.mark.parametrize("title", SECTIONS)
@pytest.mark.filterwarnings("ignore")  # of the libraries
def test_a_program_of_the_page_runs(title, tmp_path, monkeypatch, capsys):
    program = SECTIONS[title]
    for name in re.findall(r"^(?:from|import) (?:lamcts\.integrations\.)?(\w+)", program, re.MULTILINE):
        if name in OTHERS or find_spec(name) is None:
            pytest.skip(f"{name} is not installed, or starts too much for a quick test")
    monkeypatch.chdir(tmp_path)
    with preserved_globals():  # scikit-learn draws from numpy's
        exec(compile(program, title, "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.strip()


def test_each_library_has_its_section():
    assert {*SECTIONS} >= {"SciPy", "scikit-learn", "ConfigSpace", "Optuna", "Ray Tune"}
    assert 'examples/botorch_region.py"' in PAGE
