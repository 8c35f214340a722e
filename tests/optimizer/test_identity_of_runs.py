"""Two runs are the same if their classes, versions and the settings that differ from the defaults are the same."""

import json
from dataclasses import dataclass, field, make_dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import lamcts
from lamcts import Box, LatentTree, Optimizer
from lamcts.errors import JournalError
from lamcts.journal.settings import difference, from_identity, identity, is_ours, shown
from lamcts.samplers import LaMcts, LocalGlobal, MixedGp, Turbo, Uniform

SPACE = Box(0, 1, dim=3)


@dataclass(frozen=True)
class Sampler:
    """The least that an optimizer takes as a sampler."""

    step: float = 0.1
    names: tuple[str, ...] = field(default_factory=tuple)
    memo: int = field(default=0, compare=False)
    resumable: ClassVar[bool] = True

    def start(self, region: Any, seen: Any, rng: Any) -> Any: ...
    def restore(self, state: Any, log: Any, region: Any, seen: Any) -> Any: ...


def test_only_what_differs_from_the_defaults_is_said() -> None:
    assert identity(Turbo()) == {"class": "Turbo", "version": Turbo.version}
    assert identity(Uniform()) == {"class": "Uniform"}
    assert identity(LocalGlobal(Turbo(n_start=5), Uniform())) == {
        "class": "LocalGlobal",
        "version": LocalGlobal.version,
        "local": {"class": "Turbo", "version": Turbo.version, "n_start": 5},
        "whole": {"class": "Uniform"},
    }
    assert identity(Sampler(memo=7)) == {"class": "Sampler"}
    assert identity(Sampler(np.float64(0.5), ("a",))) == {"class": "Sampler", "step": 0.5, "names": ["a"]}
    assert shown(identity(Turbo(n_start=5))) == "Turbo(n_start=5)"


def test_the_identity_of_the_default_is_short() -> None:
    fingerprint = Optimizer(SPACE, seed=0).fingerprint()
    assert len(json.dumps(fingerprint["sampler"])) < 250 and "tree" not in fingerprint


def test_the_same_in_another_process_whatever_is_among_the_settings() -> None:
    made = make_dataclass("Made", ["rule", "part"], frozen=True)
    assert "0x" not in json.dumps(identity(made(lambda x: x, object())))
    assert identity(partial(sorted, [1])) == "functools.partial(<built-in function sorted>, [1])"
    assert "0x" not in identity(partial(lambda x: x))
    assert identity(made(sorted, object)) == {
        "class": "Made",
        "rule": {"class": "sorted"},
        "part": {"class": "object"},
    }


def test_a_setting_that_is_new_at_its_default_changes_nothing() -> None:
    newer = make_dataclass("Sampler", [("more", int, field(default=3))], bases=(Sampler,), frozen=True)
    assert identity(newer(step=0.2)) == identity(Sampler(step=0.2))
    assert identity(newer(more=4)) == {"class": "Sampler", "more": 4}


def test_a_method_of_another_version_is_another() -> None:
    later = type("Uniform", (Uniform,), {"version": 2})()
    found = difference({"sampler": identity(Uniform())}, {"sampler": identity(later)})
    assert found == ("sampler.version", "1", "2")


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (Turbo(n_start=5), Turbo(n_start=7), ("sampler.n_start", "5", "7")),
        (Turbo(), Turbo(n_start=7), ("sampler.n_start", "None", "7")),
        (Turbo(n_start=7), Turbo(), ("sampler.n_start", "7", "None")),
        (
            LaMcts(Uniform()),
            LaMcts(MixedGp(n_start=9)),
            ("sampler.inner", "Uniform()", "MixedGp(n_start=9)"),
        ),
        (LaMcts(Turbo(n_start=2)), LaMcts(Turbo(n_start=3)), ("sampler.inner.n_start", "2", "3")),
        (Uniform(), Turbo(), ("sampler", "Uniform()", "Turbo()")),
        (Sampler(), Sampler(0.3), ("sampler.step", "the default", "0.3")),
        (None, LatentTree(cp=0.3), ("sampler", "None", "LatentTree(cp=0.3)")),
    ],
    ids=repr,
)
def test_a_difference_names_the_setting_and_both_values(theirs: Any, ours: Any, expected: Any) -> None:
    assert difference({"sampler": identity(theirs)}, {"sampler": identity(ours)}) == expected


def test_a_setting_that_is_gone_is_said_to_be_unknown() -> None:
    theirs = {"class": "Turbo", "gone": 3}
    assert difference(theirs, identity(Turbo())) == ("gone", "3", "unknown")


def test_equals_do_not_differ_even_where_they_are_nan() -> None:
    for settings in (Turbo(), Sampler(float("nan")), LaMcts(Turbo()), None):
        copy = json.loads(json.dumps(identity(settings)))
        assert difference(copy, identity(settings)) is None


def test_only_known_classes_are_made_of_an_identity() -> None:
    with pytest.raises(KeyError):
        from_identity({"class": "Popen", "args": "true"})
    with pytest.raises(KeyError):
        from_identity(identity(LatentTree(splitter=Turbo())), {"LatentTree": "lamcts.tree.grow"})  # type: ignore[arg-type]
    impostor = type("Turbo", (Turbo,), {"__module__": "elsewhere"})()
    assert is_ours(Turbo()) and not is_ours(impostor) and not is_ours(Sampler())


def test_a_journal_and_a_file_outlive_a_new_setting_and_notice_a_changed_one(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def value(x: Any) -> float:
        return float((x**2).sum())

    options: dict[str, Any] = {"seed": 0, "sampler": Uniform(), "journal": tmp_path / "run.db"}
    whole = lamcts.minimize(value, SPACE, budget=12, seed=0, sampler=Uniform())
    lamcts.minimize(value, SPACE, budget=6, **options)
    opt = Optimizer(SPACE, seed=0, sampler=Uniform())
    opt.ask(3)
    opt.save(tmp_path / "saved.db")
    place, more = "lamcts.samplers.uniform", [("more", int, field(default=3))]
    newer = make_dataclass("Uniform", more, bases=(Uniform,), frozen=True)
    newer.__module__ = place
    monkeypatch.setattr(f"{place}.Uniform", newer)
    assert lamcts.minimize(value, SPACE, budget=12, **options | {"sampler": newer()}).fun == whole.fun
    assert [t.x.tolist() for t in Optimizer.load(tmp_path / "saved.db").ask(3)] == [t.x.tolist() for t in opt.ask(3)]
    with pytest.raises(JournalError, match=r"of another run: sampler.more is 3 there and 4 here"):
        lamcts.minimize(value, SPACE, budget=12, **options | {"sampler": newer(more=4)})
    state = json.loads(json.dumps(opt.state_dict()))
    with pytest.raises(ValueError, match=r"sampler.more differs from the saved run's: expected 3, got 4"):
        Optimizer(SPACE, seed=0, sampler=newer(more=4)).load_state_dict(state)
