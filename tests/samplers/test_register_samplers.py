"""A sampler is found by its file: nothing else lists it."""

import importlib
from pathlib import Path

import pytest

import lamcts
from lamcts import samplers
from lamcts.samplers import registry
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


def test_every_removed_name_is_in_the_list_of_changes() -> None:
    _, _, changes = (Path(__file__).parents[2] / "CHANGELOG.md").read_text().partition("**Removed**")
    missing = [name for names in REMOVED.values() for name in names if name not in changes]
    assert not missing
