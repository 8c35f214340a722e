"""One file holds a whole run: settings and state, checked, without pickle."""

import math
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamcts
from lamcts import samplers
from lamcts.optimizer import Optimizer
from lamcts.optimizer.saving import arguments_of, settings_of
from lamcts.optimizer.settings import from_identity, identity, is_ours
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
    opt.save(tmp_path / "run.npz")
    same_future(opt, Optimizer.load(tmp_path / "run.npz"))


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
    for folder in (tmp_path, ""):
        with pytest.raises(ValueError, match=r"save: expected the path of a file, got '.*', which is a folder"):
            busy().save(folder)


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
    with pytest.raises(ValueError, match=r"space: .* is none that a file can hold; pass load\(path, space"):
        Optimizer.load(tmp_path / "run")
    with pytest.raises(ValueError, match=r"sampler: Mine\(\) is none that a file"):
        Optimizer.load(tmp_path / "run", space=space)
    with pytest.raises(ValueError, match="sampler differs from the saved run's"):
        Optimizer.load(tmp_path / "run", space=space, sampler="uniform")
    with pytest.raises(TypeError, match=r"Optimizer\.load: unknown argument 'seeds'; there are space, sampler"):
        Optimizer.load(tmp_path / "run", seeds=3)
    same_future(opt, Optimizer.load(tmp_path / "run", space=space, sampler=Mine()))


def test_a_file_that_is_another_or_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    busy().save(path)
    whole = path.read_bytes()
    bad = [b"", b"hello", whole[:-9], whole[: len(whole) // 2]]
    rng = np.random.default_rng(0)
    for at in rng.integers(len(whole) // 3, 2 * len(whole) // 3, 40):  # inside the members: the ends are of the zip
        bad.append(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
    with zipfile.ZipFile(tmp_path / "other", "w") as other:
        other.writestr("text.npy", b"\x93NUMPY")
    bad.append((tmp_path / "other").read_bytes())
    expected, refused = Optimizer.load(path).ask()[0].x, 0
    for content in bad:
        path.write_bytes(content)
        try:
            assert np.array_equal(Optimizer.load(path).ask()[0].x, expected)  # a byte that says nothing
        except ValueError as error:
            assert "a file that Optimizer.save wrote" in str(error)
            refused += 1
    assert refused >= 35  # of 45: which bytes say nothing, such as times, depends on the versions of numpy and zlib
    with pytest.raises(ValueError, match="No such file"):
        Optimizer.load(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "table.csv").write_text("a,value\n")
    for name, words in (("pipe", "it is a pipe"), ("/dev/zero", "it is a device"), ("table.csv", "it is a text")):
        with pytest.raises(ValueError, match=f"a file that Optimizer.save wrote, .*{words}"):
            Optimizer.load(tmp_path / name)


def test_a_pickle_in_a_file_is_never_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "run-by-a-pickle"),)

    np.savez(tmp_path / "bomb.npz", text=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Optimizer.load(tmp_path / "bomb.npz")
    assert not (tmp_path / "run-by-a-pickle").exists()


def test_a_write_that_fails_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opt = busy()
    opt.save(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()

    def full(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="disk full"):
        opt.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    "change",
    [
        {"sampler": {"class": "LaMcts", "tree": {"class": "LatentTree", "roots": 3}}},
        {"sampler": {"class": "Subprocess", "args": "ls"}},
        {"sampler": {"class": "Turbo", "length": -1.0}},
        {"space": {"kind": "float", "low": 0}},
    ],
    ids=str,
)
def test_settings_that_this_version_does_not_know_are_refused(change: dict[str, Any]) -> None:
    opt = busy()
    rest = {"maximize": opt.maximize, "seed": opt.seed, "repeat": opt.repeat}
    settings = settings_of(opt.space, opt.sampler, opt.design, **rest)
    assert arguments_of(settings, {})["space"] == opt.space
    with pytest.raises(ValueError, match="expected settings that this lamcts knows"):
        arguments_of(settings | change, {})
    with pytest.raises(
        ValueError, match="registered kinds of parameters, got 'sphere': import the file that registers it"
    ):
        arguments_of(settings | {"space": {"kind": "sphere"}}, {})
