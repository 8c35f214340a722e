"""The contracts of spaces, splitters and objectives can fail: each of these breaks one, and is caught for it."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from lamcts.outcomes.observations import Floats
from lamcts.pruners import Curves
from lamcts.spaces import Box, Canonical, Choice, Int
from lamcts.testing import ContractError, check_objective, check_pruner, check_space, check_splitter


class Unsnapped(Int):
    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0)


class Uneven(Box):
    def spread(self, u: Floats) -> Floats:
        return u**2


class Skewed(Int):
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return self.spread(rng.random((n, 1)) ** 2)


class Lossy(Box):
    def decode(self, x: Floats) -> Any:
        return np.round(super().decode(x), 3)


class Lenient(Box):
    def encode(self, point: Any) -> Floats:
        try:
            return super().encode(point)
        except ValueError:
            return np.zeros(self.dim)


class Crude(Box):
    def encode(self, point: Any) -> Floats:
        return super().encode(np.asarray(point, float))  # TypeError for an object


class Endless(Int):
    size = np.inf


class Counting(Int):
    size = 7.0


class Gappy(Box):
    blocks = (slice(0, 1),)


class Entropy(Box):
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return np.random.default_rng().random((n, self.dim))


class Batched(Box):
    """Lets the rows of a call change each other."""

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0) if len(x) == 1 else np.clip(x, 0.0, 0.9)


SPACES = {
    "unsnapped": (lambda: Unsnapped(0, 5), "x again"),
    "uneven": (lambda: Uneven(0.0, 1.0, dim=2), "coordinate 0 uniform"),
    "skewed": (lambda: Skewed(0, 5), "sample: equally likely"),
    "lossy": (lambda: Lossy(0.0, 1.0, dim=2), r"encode\(decode\(x\)\): x again"),
    "lenient": (lambda: Lenient(0.0, 1.0, dim=2), "a ValueError, got"),
    "crude": (lambda: Crude(0.0, 1.0, dim=2), "a ValueError, got TypeError"),
    "miscounted": (lambda: Counting(0, 5), "all 7 points"),
    "gappy": (lambda: Gappy(0.0, 1.0, dim=2), "blocks: slices that cover 0 to 2"),
    "entropy": (lambda: Entropy(0.0, 1.0, dim=2), "sample: the same rows"),
    "batched": (lambda: Batched(0.0, 1.0, dim=2), "does not depend on the other rows"),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_broken_space_is_caught(name: str) -> None:
    make, sentence = SPACES[name]
    with pytest.raises(ContractError, match=sentence):
        check_space(make())


def test_a_correct_space_passes_with_other_seeds() -> None:
    for seed in range(3):
        check_space(Choice(("a", "b", "c")), seed=seed)


@dataclass(frozen=True)
class Cut:
    """Good is a first coordinate of at least `at`."""

    at: float

    def good(self, x: Floats) -> Any:
        return x[:, 0] >= self.at

    def halfspace(self) -> tuple[Floats, float] | None:
        return None


class Cutter:
    """A correct splitter: the median of the first coordinate, where utility grows along it."""

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Any:
        at = float(np.median(x[:, 0]))
        good = x[:, 0] >= at
        if len(x) < 4 or good.all() or np.ptp(utility) == 0:
            return None
        return self.cut(at, rng)

    def cut(self, at: float, rng: np.random.Generator) -> Any:
        return Cut(at)


class Lazy(Cutter):
    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Any:
        return None


class Eager(Cutter):
    """Splits where there is nothing to tell apart."""

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Any:
        return Cut(float(np.median(x[:, 0])) if len(x) else 0.5)


class Upside(Cut):
    def good(self, x: Floats) -> Any:
        return x[:, 0] < self.at


class ByCall(Cut):
    def good(self, x: Floats) -> Any:
        return x[:, 0] >= (self.at if len(x) > 1 else 0.9)


class Mislaid(Cut):
    def halfspace(self) -> tuple[Floats, float] | None:
        return np.array([-1.0, 0.0, 0.0]), self.at


class Empty(Cut):
    def good(self, x: Floats) -> Any:
        return np.ones(len(x), bool)


class Integers(Cut):
    def good(self, x: Floats) -> Any:
        return super().good(x).astype(int)


class Wavers(Cutter):
    """Cuts here and there in turn."""

    cuts = 0

    def cut(self, at: float, rng: np.random.Generator) -> Any:
        self.cuts += 1
        return Cut(at + 0.05 * (self.cuts % 2))


class Sorts(Cutter):
    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Any:
        x.sort(0)
        return super().fit(x, utility, rng)


class Warns(Cutter):
    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Any:
        if len(x) < 4:
            warnings.warn("too few rows", UserWarning, stacklevel=2)
        return super().fit(x, utility, rng)


def with_cut(kind: type[Cut]) -> Cutter:
    class Other(Cutter):
        def cut(self, at: float, rng: np.random.Generator) -> Any:
            return kind(at)

    return Other()


SPLITTERS = {
    "lazy": (Lazy(), "a split of 120 rows"),
    "eager": (Eager(), "both sides, or None|None for"),
    "upside down": (with_cut(Upside), "higher utility on new rows"),
    "by call": (with_cut(ByCall), "for a row alone"),
    "mislaid": (with_cut(Mislaid), "halfspace"),
    "empty": (with_cut(Empty), "both sides"),
    "integers": (with_cut(Integers), "an array of booleans"),
    "wavers": (Wavers(), "the same split"),
    "sorts": (Sorts(), "arguments left as they were"),
    "warns": (Warns(), "no warning, got UserWarning"),
}


def test_a_plain_splitter_holds_the_contract() -> None:
    check_splitter(Cutter())


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_broken_splitter_is_caught(name: str) -> None:
    splitter, sentence = SPLITTERS[name]
    with pytest.raises(ContractError, match=sentence):
        check_splitter(splitter)


class Bowl:
    """A correct objective."""

    name: str = "bowl"
    space = Box(-1.0, 1.0, dim=2)
    maximize: Any = False
    x0: Any = np.zeros(2)
    optimum: float | None = 0.0

    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return float(np.sum(np.square(point)))


class Unseeded(Bowl):
    optimum = None

    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return super().__call__(point) + float(np.random.default_rng().normal())


class Remembers(Bowl):
    calls = 0

    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        self.calls += 1
        return super().__call__(point) + self.calls


class Changes(Bowl):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        value = super().__call__(point)
        point *= 2.0
        return value


class Beaten(Bowl):
    optimum = 10.0


class Whole(Bowl):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return 1


class Infinite(Bowl):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return super().__call__(point) if np.any(point) else float("inf")


class Outside(Bowl):
    x0 = np.full(2, 5.0)


class Writes(Bowl):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        Path("trace.txt").write_text("here")
        return super().__call__(point)


class Undecided(Bowl):
    maximize = 1


class Nameless(Bowl):
    name = ""


OBJECTIVES = {
    Unseeded: "same values from the same points and seeds",
    Remembers: "same values from the same points and seeds",
    Changes: "points left as they were|same values",
    Beaten: "no better than the optimum",
    Whole: "type float",
    Infinite: "x0: a point with a finite value",
    Outside: "no exception, got ValueError",
    Writes: "no files written",
    Undecided: "maximize: True or False",
    Nameless: "name: a text",
}


def test_a_plain_objective_holds_the_contract() -> None:
    check_objective(Bowl())


class Halved(Bowl):
    """Has values for points of the upper half alone; the key says which."""

    space = Canonical(Box(-1.0, 1.0, dim=2), lambda point: None if point[0] < 0 else tuple(point), name="upper")  # type: ignore[assignment]

    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        if point[0] < 0:
            raise RuntimeError("no value here")
        return super().__call__(point, seed=seed)


class Keyless(Bowl):
    space = Canonical(Box(-1.0, 1.0, dim=2), lambda point: None, name="none")  # type: ignore[assignment]


def test_an_objective_need_not_score_points_without_a_key() -> None:
    check_objective(Halved())
    with pytest.raises(ContractError, match="a key for some of"):
        check_objective(Keyless())


class Fenced(Bowl):
    """A correct objective of a quantity that is sought and one that is bounded: the bowl outside of a circle."""

    objectives: ClassVar[Any] = {"depth": "min"}
    constraints: Any = ("radius >= 0.5",)
    reference: ClassVar[Any] = None
    hypervolume: float | None = None
    optimum: float | None = 0.25
    x0 = None

    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return {"depth": float(np.sum(np.square(point))), "radius": float(np.linalg.norm(point))}


class Unfenced(Fenced):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return {"depth": 1.0}


class Lone(Fenced):
    def __call__(self, point: Any, *, seed: int | None = None) -> Any:
        return 1.0


class Senseless(Fenced):
    objectives: ClassVar[Any] = {"depth": "minimise"}


class Garbled(Fenced):
    constraints = ("radius over 0.5",)


class Boundless(Fenced):
    constraints = ("radius == 0.5",)


class Unreachable(Fenced):
    optimum = 10.0


class Split(Fenced):
    objectives: ClassVar[Any] = {"depth": "min", "radius": "max"}


class Unmeasured(Fenced):
    hypervolume = 3.0


class Elsewhere(Fenced):
    reference: ClassVar[Any] = {"width": 1.0}


FENCED = {
    Unfenced: "a dict with depth, radius",
    Lone: "a dict with depth, radius",
    Senseless: "a dict of names to 'min' or 'max'",
    Garbled: "texts like 'stress <= 250'",
    Boundless: "gap == 0 \\+- 0.001",
    Unreachable: "no better than the optimum",
    Split: "optimum: None with several objectives",
    Unmeasured: "hypervolume: None, or",
    Elsewhere: "reference: a number for each of depth",
}


def test_an_objective_of_several_quantities_holds_the_contract() -> None:
    check_objective(Fenced())


@pytest.mark.parametrize("kind", FENCED)
def test_a_broken_objective_of_several_quantities_is_caught(kind: type[Fenced]) -> None:
    with pytest.raises(ContractError, match=FENCED[kind]):
        check_objective(kind())


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_a_broken_objective_is_caught(kind: type[Bowl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ContractError, match=OBJECTIVES[kind]):
        check_objective(kind())


class Undecided:
    def prune(self, number: int, curves: Curves) -> Any:
        return None


class Fickle:
    asked = 0

    def prune(self, number: int, curves: Curves) -> bool:
        self.asked += 1
        return self.asked == 20  # in the first of two runs


class Meddling:
    def prune(self, number: int, curves: Curves) -> bool:
        curves.drop(number)
        return False


class Reckless:
    def prune(self, number: int, curves: Curves) -> bool:
        return curves.at(1)[0] < 0


class OfOneObjective:
    multi_objective = True

    def prune(self, number: int, curves: Curves) -> bool:
        (only,) = curves.objectives
        return only.last(number) is None


@pytest.mark.parametrize(
    ("pruner", "message"),
    [
        (OfOneObjective(), "2 objectives.*no exception, got ValueError"),
        (Undecided(), "True or False, got None"),
        (Fickle(), "the same answers"),
        (Meddling(), "curves left as they were"),
        (Reckless(), "no exception, got IndexError"),
    ],
)
def test_a_pruner_that_breaks_its_contract_is_caught(pruner: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        check_pruner(pruner)
