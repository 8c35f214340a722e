"""One file holds a whole run: settings and state, checked, without pickle."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import ANY

import numpy as np
import pytest

import lamcts
from lamcts import samplers
from lamcts.cli import main
from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.journal.settings import from_identity, identity, is_ours
from lamcts.optimizer import Optimizer
from lamcts.samplers import Coordinate, GpBo, GpCma, LaMcts, LocalGlobal, MixedGp, Quadratic, Turbo, Uniform
from lamcts.spaces import Bool, Box, Choice, Finite, Float, Int, Space
from lamcts.spaces.serialization import from_json, to_json
from lamcts.tree import KMeansSvm, LatentTree, Linear

MIXED = Space({"rate": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8), "act": Choice(["relu", "gelu", None])})
SPACES = [
    Box([0.0, -1e9, 1e-9], [1.0, 1e9, 2e-9]),
    MIXED,
    Space([Int(0, 3), Bool(), Box(0.0, 1.0, dim=2)]),
    Space({"inner": Space({"a": Int(1, 1000, log=True), "b": Bool()}), "c": Choice((1, True, 0.1), ordered=True)}),
    Finite(np.random.default_rng(0).random((50, 3))),
    Finite(np.arange(12).reshape(6, 2)),
    Finite(["a", "b", None], features=[[0, 1], [1, 7], [2, 2]]),
    Finite([(1, "a"), [2], math.inf], features=[[0], [1], [3]]),
    Space({"sizes": Choice([(4,), [4, 2], {"a": None}]), "n": Int(3, 9, step=3, when={"sizes": [(4,)]})}),
]


class Kind(IntEnum):
    A = 1


class Pair(NamedTuple):
    a: int
    b: int


def value(trial: lamcts.Trial) -> float | None:
    return None if trial.id % 7 == 3 else float(((trial.x - 0.3) ** 2).sum())


def busy(space: Any = MIXED, evaluations: int = 18, **settings: Any) -> Optimizer:
    opt = Optimizer(space, **{"seed": 4, "n_init": 6, **settings})
    while len(opt.seen) < evaluations:
        trials = opt.ask(3)
        opt.tell(trials[:2], [value(trial) for trial in trials[:2]])
    return opt


def same_future(opt: Optimizer, other: Optimizer) -> None:
    for _ in range(6):
        trials, others = opt.ask(2), other.ask(2)
        assert [t.x.tobytes() for t in trials] == [t.x.tobytes() for t in others]
        opt.tell(trials, [value(t) for t in trials])
        other.tell(others, [value(t) for t in others])
    assert (opt.best.value, opt.best.trial) == (other.best.value, other.best.trial)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_space_of_ours_is_built_again_equal(space: Any) -> None:
    again = from_json(to_json(space) or {})
    assert again == space and again.signature() == space.signature()
    x = space.sample(5, np.random.default_rng(0))
    assert repr([again.decode(row) for row in x]) == repr([space.decode(row) for row in x])


def test_a_space_that_a_file_cannot_hold_is_not_described() -> None:
    assert to_json(Choice([("a", len), ("c",)])) is None
    assert to_json(Space({"a": Bool(), "b": Choice([object(), 1])})) is None
    assert to_json(Choice([Pair(1, 2), 3])) is to_json(Choice([Kind.A, 2])) is None  # JSON gives others back
    assert to_json(Finite([Kind.A, 5], features=[[0], [1]])) is None


@pytest.mark.parametrize(
    "settings",
    [
        Turbo(n_start=5),
        Quadratic(),
        Coordinate(),
        MixedGp(n_start=4),
        GpBo(),
        Uniform(),
        LocalGlobal(GpCma(), GpBo(n_start=0)),
        LatentTree(cp=0.3, splitter=KMeansSvm(y_weight=2.0)),
        LatentTree.lanas(height=3),
        LatentTree(splitter=Linear()),
        None,
    ],
    ids=repr,
)
def test_settings_of_ours_come_back_equal(settings: Any) -> None:
    assert is_ours(settings) and repr(from_identity(identity(settings))) == repr(settings)


@pytest.mark.parametrize(("name", "settings"), [("cma", {"sigma": 0.2}), ("nevergrad", {"name": "OnePlusOne"})])
def test_settings_over_a_library_come_back_equal(name: str, settings: dict[str, Any]) -> None:
    if find_spec(name) is None:
        pytest.skip(f"needs the package {name}")
    made = getattr(samplers, name.capitalize())(**settings)
    assert is_ours(made) and repr(from_identity(identity(made))) == repr(made)


@pytest.mark.parametrize("space", [MIXED, SPACES[0], SPACES[4]], ids=repr)
def test_a_loaded_optimizer_goes_on_bit_for_bit(tmp_path: Path, space: Any) -> None:
    x0 = [space.decode(space.sample(1, np.random.default_rng(1))[0])]
    opt = busy(space, 20, maximize=True, x0=x0, sampler=LaMcts(Turbo(), LatentTree(leaf_size=6)))
    opt.save(tmp_path / "run.db")
    same_future(opt, Optimizer.load(tmp_path / "run.db"))


def test_settings_that_are_numbers_of_numpy_are_pythons_from_the_start(tmp_path: Path) -> None:
    inner, tree = Turbo(length_min=np.float64(0.005), n_start=np.int64(4)), LatentTree(leaf_size=np.int64(6))  # type: ignore[arg-type]
    opt = busy(sampler=LaMcts(inner, tree))
    assert "np." not in repr(opt.fingerprint())
    opt.save(tmp_path / "run")
    same_future(opt, Optimizer.load(tmp_path / "run"))


def test_a_link_stays_a_link_and_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    busy().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and len(Optimizer.load(tmp_path / "file").seen) == 18
    with pytest.raises(JournalError, match="it is a folder; give the path of a file"):
        busy().save(tmp_path)
    with pytest.raises(ValueError, match="expected the path of a file, got ''"):
        busy().save("")


def test_it_goes_on_in_another_process(tmp_path: Path) -> None:
    opt = busy()
    opt.save(tmp_path / "run")
    code = "import sys, lamcts; print(lamcts.Optimizer.load(sys.argv[1]).ask()[0].x.tobytes().hex())"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == opt.ask()[0].x.tobytes().hex()


@dataclass(frozen=True)
class Mine(Uniform):
    """A sampler of the user's."""


def test_parts_of_ones_own_are_named_given_again_and_compared(tmp_path: Path) -> None:
    space = Space({"a": Choice([len, (3,)]), "b": Float(0, 1)})
    opt = busy(space, sampler=Mine())
    words = r"does not hold the space and the sampler; load it by Optimizer\.load\(path, space=\.\.\., sampler=\.\.\.\)"
    with pytest.warns(UserWarning, match=words) as told:
        opt.save(tmp_path / "run")
    assert told[0].filename == __file__
    with pytest.raises(ValueError, match=r"space: expected the run's.*does not hold it; pass load\(path, space"):
        Optimizer.load(tmp_path / "run")
    with pytest.raises(ValueError, match="sampler: expected the run's"):
        Optimizer.load(tmp_path / "run", space=space)
    with pytest.raises(JournalError, match="of another run: sampler is"):
        Optimizer.load(tmp_path / "run", space=space, sampler="uniform")
    with pytest.raises(TypeError, match=r"Optimizer\.load: unknown argument 'seeds'; there are space, sampler"):
        Optimizer.load(tmp_path / "run", seeds=3)
    same_future(opt, Optimizer.load(tmp_path / "run", space=space, sampler=Mine()))


def test_a_sampler_of_ones_own_that_is_named_like_one_of_ours_is_not_taken_for_it(tmp_path: Path) -> None:
    impostor = type("Uniform", (Uniform,), {"__module__": "elsewhere"})
    with pytest.warns(UserWarning, match="does not hold the sampler"):
        busy(sampler=impostor()).save(tmp_path / "run")
    with pytest.raises(ValueError, match="sampler: expected the run's"):
        Optimizer.load(tmp_path / "run")


@dataclass(frozen=True)
class Fleeting(Uniform):
    """A sampler that cannot be resumed."""

    resumable = False


def test_a_sampler_that_cannot_be_resumed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"save: the sampler Fleeting\(\) cannot be resumed; .* opt\.to_dataframe\(\)"):
        busy(sampler=Fleeting()).save(tmp_path / "run")
    assert not any(tmp_path.iterdir())


def test_a_table_of_points_is_in_the_file(tmp_path: Path) -> None:
    space = Space({"a": Finite(np.random.default_rng(0).random((50, 3))), "b": Bool()})
    opt = busy(space)
    opt.save(tmp_path / "run")
    assert lamcts.load(tmp_path / "run").space == space
    same_future(opt, Optimizer.load(tmp_path / "run"))


@pytest.mark.parametrize("recorded", [True, False])
def test_a_reference_point_is_in_the_file(recorded: bool, tmp_path: Path) -> None:
    opt = Optimizer([(0, 1)], seed=0, objectives=2, reference=[1, 2], journal=tmp_path / "run.db" if recorded else None)
    opt.save(tmp_path / "run.db")
    assert Optimizer.load(tmp_path / "run.db").goals == opt.goals == Journal.read(tmp_path / "run.db").goals


def test_the_file_is_a_journal_for_every_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, opt = tmp_path / "run.db", busy(constraints=["c <= 1"], evaluations=0)
    for trial in opt.ask(7)[:5]:
        opt.tell(trial, {"value": float(trial.id), "c": 2.0 * (trial.id == 0)})
    opt.save(path)
    assert str(lamcts.load(path).rows()) == str(opt.rows()) and Journal.read(path).best == (ANY, 1.0, 1)
    assert main(["show", str(path)]) == 0 and "5 finished (4 feasible, 0 failed), 2 pending" in capsys.readouterr().out
    assert main(["ask", str(path), "--pending"]) == 0 and capsys.readouterr().out.count("\n") == 3
    later = Optimizer(MIXED, seed=4, n_init=6, constraints=["c <= 1"], journal=path)
    assert str(later.rows()) == str(opt.rows()) and [trial.id for trial in later.pending] == [5, 6]
    new = lamcts.minimize(bowl, MIXED, budget=1, known=path, seed=0, constraints=["c <= 1"])
    assert new.history.trial.tolist() == [-1] * 5 + [0]


def bowl(point: Any) -> dict[str, float]:
    return {"value": float(point["rate"]), "c": 0.0}


def test_a_file_of_the_same_run_is_replaced_and_that_of_another_is_left(tmp_path: Path) -> None:
    path, opt = tmp_path / "run.db", busy()
    opt.save(path)
    opt.tell(opt.ask(), [2.0])
    opt.save(path)
    assert Journal.read(path).n == 19
    (tmp_path / "text").write_text("a text")
    busy(seed=5).save(tmp_path / "other.db")
    for name, words in (("text", "is not a lamcts journal but a text"), ("other.db", "another run: seed is 5 there")):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(JournalError, match=words):
            opt.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.db", "run.db", "text"]


def test_a_file_that_others_have_open_is_left(tmp_path: Path) -> None:
    path, opt = tmp_path / "run.db", busy()
    opt.save(path)
    later = Optimizer.load(path)
    opt.tell(opt.ask(), [2.0])
    with pytest.raises(JournalError, match="in use by another run"):
        opt.save(path)
    later.tell(later.ask(), [3.0])
    assert Journal.read(path).n == 19
    with Journal.open(tmp_path / "held.db", opt.fingerprint()), pytest.raises(JournalError, match="in use"):
        opt.save(tmp_path / "held.db")


def test_an_open_journal_is_copied_and_its_own_file_is_up_to_date(tmp_path: Path) -> None:
    opt = busy(journal=tmp_path / "run.db")
    opt.save(tmp_path / "run.db")
    opt.save(tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db?*"))
    whole, copy = Journal.read(tmp_path / "run.db"), Journal.read(tmp_path / "copy.db")
    assert np.array_equal(whole.times, copy.times) and whole.created == copy.created and whole.asks == copy.asks
    same_future(opt, Optimizer.load(tmp_path / "copy.db"))
    assert Journal.read(tmp_path / "run.db").n == 30
    other = Optimizer.load(tmp_path / "run.db")
    other.tell(other.ask(), [1.0])
    with pytest.raises(JournalError, match=r"another process wrote to the journal .*run\.db"):
        opt.save(tmp_path / "copy.db")


def test_what_a_killed_writer_left_in_the_log_of_a_file_does_not_come_back(tmp_path: Path) -> None:
    path, opt = tmp_path / "run.db", busy()
    opt.save(path)
    code = "import os, sys, lamcts; opt = lamcts.Optimizer.load(sys.argv[1]); opt.tell(opt.ask(), [9.0]); os._exit(0)"
    subprocess.run([sys.executable, "-c", code, path], check=True)
    assert Path(f"{path}-wal").stat().st_size and Journal.read(path).n == 19
    opt.save(path)
    assert not Path(f"{path}-wal").exists()
    same_future(opt, Optimizer.load(path))


def test_a_damaged_file_is_refused_and_not_replaced(tmp_path: Path) -> None:
    path, opt = tmp_path / "run", busy()
    opt.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(JournalError, match="damaged"):
        Optimizer.load(path)
    with pytest.raises(JournalError, match="damaged"):
        opt.save(path)
    assert path.read_bytes() == whole[: len(whole) // 2]


def test_a_write_that_fails_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opt = busy()
    opt.save(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()

    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        opt.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sampler": {"class": "LaMcts", "tree": {"class": "LatentTree", "roots": 3}}}, "sampler: expected the run's"),
        ({"sampler": {"class": "Subprocess", "args": "ls"}}, "sampler: expected the run's"),
        ({"sampler": {"class": "Turbo", "length": -1.0}}, "sampler: expected the run's"),
        ({"space": {"kind": "float", "low": 0}}, "space: expected the run's"),
        ({"space": {"kind": "sphere"}}, "registered kinds of parameters, got 'sphere': import the file that regist"),
    ],
    ids=str,
)
def test_settings_that_this_version_does_not_know_are_asked_for(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with Journal.open(tmp_path / "run.db", busy().fingerprint() | change):
        pass
    with pytest.raises(ValueError, match=words):
        Optimizer.load(tmp_path / "run.db")
