"""A sampler is found by its file, and by its class in FILES of the registry."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import lamcts
from lamcts import samplers
from lamcts.outcomes.observations import Observations
from lamcts.samplers import registry
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.utils.removed import REMOVED

SOURCE = '''
"""A sampler of one file."""

from dataclasses import dataclass

from lamcts.samplers.registry import register
from lamcts.samplers.uniform import Uniform


@register("added", "uniform draws, by another name")
@dataclass(frozen=True)
class Added(Uniform):
    """Uniform draws."""
'''


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Put one more file beside the samplers, for one test."""
    samplers.names()  # all others have registered
    (tmp_path / "added.py").write_text(SOURCE)
    monkeypatch.setattr(samplers, "__path__", [*samplers.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    monkeypatch.setattr(registry, "_lines", dict(registry._lines))
    importlib.invalidate_caches()
    registry.files.cache_clear()
    yield
    registry.files.cache_clear()


def test_a_file_with_a_registered_class_is_a_sampler(added: None) -> None:
    assert samplers.names()["added"] == "uniform draws, by another name"
    found = lamcts.minimize(lambda x: float((x**2).sum()), [(-1, 1)] * 2, budget=8, seed=0, sampler="added")
    assert found.nfev == 8
    assert samplers.Added is samplers.classes()["added"]


def test_every_name_is_that_of_its_file() -> None:
    for name, cls in samplers.classes().items():
        assert cls.__module__ == f"lamcts.samplers.{name}"
    assert list(samplers.names()) == ["auto", *samplers.classes()]
    assert {cls.__name__: name for name, cls in samplers.classes().items()} == registry.FILES


def test_a_class_is_looked_up_without_loading_other_samplers() -> None:
    code = "import sys; from lamcts.samplers import Mutate; from lamcts.journal.settings import module_of; "
    code += "print(module_of('HillClimb'), *(name for name in sys.modules if name.startswith('lamcts.samplers.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    module, *loaded = done.stdout.split()
    assert module == "lamcts.samplers.hillclimb"
    names = {name.split(".")[2] for name in loaded}
    assert names & {*registry.FILES.values()} == {"mutate"}


@pytest.mark.parametrize("wrong", ["turbos", "turbo:x", "base", "registry", "local_global:x", "auto:x", "a.b"])
def test_other_names_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"sampler: expected one of auto, .*, got"):
        samplers.make(wrong, lamcts.Box(0, 1, dim=2))


def test_a_name_of_other_libraries_is_answered_by_ours() -> None:
    for theirs, ours in (("random", "uniform"), ("cmaes", "cma"), ("unifrom", "uniform")):
        with pytest.raises(ValueError, match=f"got '{theirs}'; did you mean '{ours}'"):
            samplers.make(theirs, lamcts.Box(0, 1, dim=2))


def test_a_removed_name_is_refused_with_what_replaces_it() -> None:
    with pytest.raises(ValueError, match=r"got 'portfolio'; 'portfolio' was removed: use 'coordinate' for many"):
        samplers.make("portfolio", lamcts.Box(0, 1, dim=2))
    with pytest.raises(AttributeError, match="'Portfolio' was removed: use LocalGlobal"):
        samplers.Portfolio  # noqa: B018
    with pytest.raises(
        TypeError, match="Turbo: expected no option 'device', got one; 'device' was removed: leave it out,"
    ):
        samplers.Turbo(device="cpu")
    assert not {*samplers.names(), *dir(samplers)} & {*REMOVED["sampler"]}


@pytest.mark.parametrize("name", ["multi_output", "starts_at_centre"])
def test_a_removed_attribute_of_a_sampler_is_refused_with_what_replaces_it(name: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}' was removed: write supports = Supports"):
        type("Mine", (samplers.LocalSampler,), {name: True})
    with pytest.raises(TypeError, match=f"'{name}' was removed: write supports = Supports"):
        lamcts.Optimizer([(0, 1)], sampler=type("Other", (), {name: True})())


@pytest.mark.parametrize("constraints", [False, True])
@pytest.mark.parametrize("fronts", [False, True])
def test_columns_that_a_sampler_does_not_support_are_scalarised(constraints: bool, fronts: bool) -> None:
    sampler = type("Mine", (samplers.LocalSampler,), {"supports": samplers.Supports(constraints, fronts)})()
    for losses, over, fits in ((1, 0, True), (1, 2, constraints), (2, 0, fronts), (2, 1, constraints and fronts)):
        adapted = adapt_to_goals(sampler, Observations(2, losses=losses, constraints=over))
        assert (adapted is sampler) == fits


def test_every_removed_name_is_in_the_list_of_changes() -> None:
    _, _, changes = (Path(__file__).parents[2] / "CHANGELOG.md").read_text().partition("**Removed**")
    missing = [name for names in REMOVED.values() for name in names if name not in changes]
    assert not missing
