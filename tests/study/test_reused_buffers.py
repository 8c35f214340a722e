"""Arrays, lists and dicts that the user's code changes after it has handed them over, or after it was handed them."""

import copy
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import lamcts
import lamcts.scipy
from lamcts.objectives.protocol import TradeOff

CASES: dict[str, Callable[[bool], str]] = {}
SQUARE = [(0, 1)] * 2
LISTS = [[float(i), [i]] for i in range(12)]
SPACES = {
    "box": lambda: lamcts.Box(0, 1, dim=2),
    "tuple": lambda: lamcts.Space([lamcts.Float(0, 1), lamcts.Box(0, 1, dim=2)]),
    "dict": lambda: lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Choice([[1, 2], {"q": [1]}, [3, [4]]])}),
    "choice": lambda: lamcts.Choice([[1, 2], {"q": [1]}, np.arange(3.0), {1, 2}]),
    "finite": lambda: lamcts.Finite(copy.deepcopy(LISTS), features=[[i] for i in range(12)]),
    "rows": lambda: lamcts.Finite(np.arange(20.0).reshape(10, 2)),
    "orders": lambda: lamcts.Permutation([[1], [2], [3]]),
    "subsets": lambda: lamcts.Subset([[1], [2], [3], [4]], 2),
}


def case(made: Callable[[bool], str]) -> Callable[[bool], str]:
    """Add a function of whether buffers are overwritten; its text must not depend on that."""
    CASES[made.__name__] = made
    return made


def spoil(given: Any) -> None:
    """Overwrite a value and all its parts."""
    if isinstance(given, np.ndarray):
        if given.flags.writeable:
            given[...] = 3
        return
    for part in given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else ():
        spoil(part)
    if isinstance(given, dict):
        given.update(dict.fromkeys(given, 3), new=1)
    elif isinstance(given, list):
        given[:] = [3] * (len(given) + 1)
    elif isinstance(given, set):
        given.clear()


def text(found: Any) -> str:
    return repr([{name: each for name, each in row.items() if name != "seconds"} for row in found.rows()])


def went_on(opt: lamcts.Optimizer, changes: bool = False, n: int = 12) -> str:
    """Return the rows after some evaluations; whatever the optimizer returns is overwritten, if it `changes`."""
    for _ in range(n):
        try:
            (trial,) = opt.ask()
        except lamcts.Exhausted:
            break
        value = float(sum(map(ord, repr(trial.point))) % 17)
        if changes:
            for each in (trial, *opt.pending):
                spoil(each.point)
        opt.tell(trial, value)
        if changes:
            spoil(opt.best.point)
            spoil(opt.rows())
            spoil([*opt.history.points])
            spoil([opt.history.x, opt.history.values, opt.history.trial])
    return text(opt)


@pytest.mark.parametrize("name", SPACES)
def test_a_point_that_was_handed_out_may_be_changed(name: str) -> None:
    assert went_on(lamcts.Optimizer(SPACES[name](), seed=0), True) == went_on(lamcts.Optimizer(SPACES[name](), seed=0))

    def run(changes: bool) -> str:
        def f(point: Any) -> float:
            value = float(sum(map(ord, repr(point))) % 17)
            if changes:
                spoil(point)
            return value

        return text(lamcts.minimize(f, SPACES[name](), budget=10, seed=0))

    assert run(True) == run(False)


def overwritten(changes: bool, make: Callable[..., Any], *buffers: Any) -> str:
    """Return how an optimizer goes on that was made of buffers."""
    buffers = copy.deepcopy(buffers)
    opt = made if isinstance(made := make(*buffers), lamcts.Optimizer) else lamcts.Optimizer(made, seed=0)
    if changes:
        spoil(list(buffers))
    return went_on(opt)


ARRAYS = np.array([-1.0, 0.0]), np.array([2.0, 1.0])
MADE_OF: Mapping[str, tuple[Any, ...]] = {
    "box": (lamcts.Box, *ARRAYS),
    "choice": (lamcts.Choice, LISTS),
    "finite": (lambda points: lamcts.Finite(points, features=[[i] for i in range(12)]), LISTS),
    "features": (lamcts.Finite, np.arange(20.0).reshape(10, 2), np.random.default_rng(0).random((10, 3))),
    "when": (lambda when: {"a": lamcts.Int(0, 3), "b": lamcts.Int(0, 3, when=when)}, {"a": [1, 2]}),
    "pairs": (lambda pairs: lamcts.Optimizer(pairs, seed=0), [[0, 1], [2, 3]]),
    "x0": (lambda x0: lamcts.Optimizer(SQUARE, seed=0, x0=x0), np.array([[0.1, 0.2], [0.3, 0.7]])),
    "related": (
        lambda x, y: lamcts.Optimizer(SQUARE, seed=0, related=[[*zip(x, y, strict=True)]]),
        np.random.default_rng(0).random((9, 2)),
        np.arange(9.0),
    ),
}


@pytest.mark.parametrize("name", MADE_OF)
def test_what_a_space_or_an_optimizer_was_made_of_may_be_changed(name: str) -> None:
    assert overwritten(True, *MADE_OF[name]) == overwritten(False, *MADE_OF[name])


@case
def values_told_from_one_buffer(changes: bool) -> str:
    value, note, point = np.zeros(1), {"a": np.zeros(1)}, np.zeros(2)
    opt = lamcts.Optimizer(SQUARE, seed=0)
    for i in range(12):
        (trial,) = opt.ask()
        value[0] = note["a"][0] = i % 5
        point[:] = i / 12, 0.1
        told = (value, note, point) if changes else copy.deepcopy((value, note, point))
        opt.tell(trial, lamcts.Measured(told[0], told[0]) if i % 2 else told[0], told[0], metrics=told[1])
        opt.tell_points([told[2]], [told[0]])
        if i == 3:
            opt.correct(1, told[0], point=told[2])
        if changes:
            spoil([value, note["a"], point])
    return repr(opt.rows()) + went_on(opt)


@case
def several_values_from_one_buffer(changes: bool) -> str:
    values, held = np.zeros(2), np.zeros(1)
    opt = lamcts.Optimizer(SQUARE, seed=0, objectives=2, constraints=1)
    for _ in range(12):
        (trial,) = opt.ask()
        values[:], held[0] = trial.point, trial.point.sum() - 1
        opt.tell(trial, values if changes else values.tolist(), constraints=held if changes else held.tolist())
        spoil([values, held])
    return text(opt) + repr(opt.front)


@case
def results_of_a_function_in_one_dict(changes: bool) -> str:
    own = {"a": np.zeros(1), "b": np.zeros(1)}

    def f(point: np.ndarray, trial: Any) -> dict[str, Any]:
        used = own if changes else copy.deepcopy(own)
        for step in range(3):
            used["a"][0], used["b"][0] = point * (step + 1)
            trial.report(step, used)
        trial.note(first=used["a"])
        return used

    found = lamcts.minimize(f, SQUARE, budget=14, seed=0, objectives=["a", "b"], batch=3, pruner="median")
    return text(found) + repr([found.history.reports_of(row) for row in range(14)])


@case
def a_metric_next_to_a_changed_point(changes: bool) -> str:
    def f(point: dict[str, float]) -> dict[str, float]:
        a = point["a"]
        if changes:
            point.update(a=7.0, extra=1.0)
        return {"value": a, "extra": 1.0}

    return text(lamcts.minimize(f, {"a": lamcts.Float(0, 1)}, budget=8, seed=0, objectives=["value"]))


@case
def points_of_constraints_and_rules(changes: bool) -> str:
    def changing(point: np.ndarray) -> float:
        value = float(point[0])
        if changes:
            spoil(point)
        return value

    held = [{"type": "ineq", "fun": changing}, {"type": "ineq", "fun": lambda point: point[1] - 0.2}]
    run: dict[str, Any] = {"constraints": held, "known": [(np.array([0.3, 0.4]), 0.7)], "budget": 12, "seed": 0}
    space = lamcts.Valid(lamcts.Box(0, 1, dim=2), [lambda point: changing(point) < 0.8, lambda point: point[1] < 0.9])
    linear = LinearConstraint(np.eye(2), 0, 0.9)
    return text(lamcts.minimize(lambda x: float(x.sum()), space, **run)) + text(
        lamcts.minimize(
            lambda x: float(x.sum()), SQUARE, valid=lambda p: changing(p) < 0.8, constraints=linear, budget=9, seed=0
        )
    )


@case
def points_of_a_trade_off(changes: bool) -> str:
    def f(point: np.ndarray, seed: int | None = None) -> float:
        value = float(point.sum())
        if changes:
            spoil(point)
        return value

    class Costed(SimpleNamespace):
        def __call__(self, point: np.ndarray, *, seed: int | None = None) -> float:
            return f(point)

    objective = Costed(
        name="f", maximize=False, space=lamcts.Box(0, 1, dim=2), cost=lambda point: {"c": float(point[0])}
    )
    return repr([TradeOff(objective, "c")(np.array([0.1, 0.2])) for _ in range(2)])  # type: ignore[arg-type]


@case
def results_of_scipys_map(changes: bool) -> str:
    own = np.zeros(1)

    def f(x: np.ndarray) -> np.ndarray:
        own[0] = x.sum()
        spoil(x)
        return own if changes else own.copy()

    return text(lamcts.scipy.minimize(f, SQUARE, maxfev=12, rng=0, workers=map, batch=3).history)


@case
def what_callbacks_are_given(changes: bool) -> str:
    def callback(found: Any) -> None:
        history = found.history
        for each in (found.x, history.x, history.values, history.constraints, [*history.points], found.rows()):
            if changes:
                spoil(each)

    found = lamcts.minimize(
        lambda x: {"v": float(x.sum()), "g": float(x[0])},
        SQUARE,
        budget=14,
        seed=0,
        x0=[0.1, 0.7],
        objectives=["v"],
        constraints=["g >= 0.1"],
        callback=callback,
    )
    return text(found)


@case
def states_as_dicts(changes: bool) -> str:
    found = ""
    for sampler in ("auto", "coordinate", "bo"):
        opt, again = (lamcts.Optimizer(SQUARE, seed=0, sampler=sampler) for _ in range(2))
        went_on(opt, n=14)
        opt.ask(2)
        state = opt.state_dict()
        kept = copy.deepcopy(state)
        again.load_state_dict(kept)
        if changes:
            spoil(state)
            spoil(kept)
        found += went_on(opt) + went_on(again)
    return found


@case
def memories_of_evaluations(changes: bool) -> str:
    class Learner:
        space, maximize, memory = lamcts.Box(0, 1, dim=2), False, {"n": [0.0]}

        def recall(self, point: np.ndarray, *, seed: int, memory: dict[str, list[float]]) -> tuple[float, list[float]]:
            value = float(point.sum()) + memory["n"][0] / 1000
            if changes:
                spoil(memory)
            return value, [1.0]

        def learn(self, memory: dict[str, list[float]], note: list[float]) -> dict[str, list[float]]:
            return {"n": [memory["n"][0] + note[0]]}

        def __call__(self, point: np.ndarray) -> float:
            return float(point.sum())

    return text(lamcts.minimize(Learner(), budget=10, seed=0))


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_kept_depends_on_later_changes(name: str) -> None:
    assert CASES[name](True) == CASES[name](False)
