"""The reference has a page for what is public, and shows parameters as a list."""

import re
from pathlib import Path

import pytest

import lamcts
import lamcts.journal
import lamcts.movement.costs
import lamcts.movement.linalg
import lamcts.neural.nas
import lamcts.plot
import lamcts.testing
from lamcts.samplers import classes

ROOT = Path(__file__).parent.parent
SHOWN = {
    name
    for page in (ROOT / "docs").rglob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
}
INTEGRATIONS = {"optuna.LamctsSampler", "optuna.export_study", "sklearn.LamctsSearchCV"}
INTEGRATIONS |= {"ray.LamctsSearch", "mlflow.MlflowCallback", "wandb.WandbCallback"}
INTEGRATIONS |= {"tensorboard.TensorboardCallback"}


@pytest.mark.parametrize(
    "module",
    [
        lamcts,
        lamcts.movement.costs,
        lamcts.journal,
        lamcts.movement.linalg,
        lamcts.neural.nas,
        lamcts.plot,
        lamcts.testing,
    ],
    ids=lambda module: module.__name__,
)
def test_every_public_name_has_its_place_in_the_reference(module):
    public = {f"{module.__name__}.{name}" for name in module.__all__} - {"lamcts.samplers"}  # a module: see below
    assert public - SHOWN == set()


def test_every_sampler_and_every_integration_has_its_place_in_the_reference():
    assert {f"{cls.__module__}.{cls.__name__}" for cls in classes().values()} - SHOWN == set()
    assert {f"lamcts.integrations.{name}" for name in INTEGRATIONS} - SHOWN == set()


def test_a_parameter_in_running_prose_becomes_an_item_and_other_words_stay():
    pytest.importorskip("griffe", reason="griffe is not installed: pip install '.[docs]'")
    from docs.parameters import listed

    prose = "What it is.\n\nrows, size: how many.\nkind: what; note: stays. depth: how deep. Warning: stays."
    shown = listed(prose, {"rows", "size", "kind", "note", "depth"})
    items = ["- **rows, size**: how many.", "- **kind**: what; note: stays. ", "- **depth**: how deep. Warning: stays."]
    assert [line for line in shown.splitlines() if line] == ["What it is.", *items]
    assert listed(prose, {"rows"}) == prose  # `size` is no parameter: the pair is prose


@pytest.mark.parametrize("pattern", ["notebooks/*.ipynb", "examples/*.py"])
def test_the_page_of_examples_names_all_there_are(pattern):
    page, found = (ROOT / "docs" / "examples.md").read_text(), sorted(ROOT.glob(pattern))
    assert found and not [path.name for path in found if path.relative_to(ROOT).as_posix() not in page]
