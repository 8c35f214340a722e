"""Checks of the arguments of an optimizer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from lamcts import samplers
from lamcts.journal.settings import difference
from lamcts.optimizer.again import share_of
from lamcts.optimizer.losses import outcomes_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.related import RelatedTask, RelatedTasks
from lamcts.rng import fresh_seed
from lamcts.samplers.base import Sampler
from lamcts.samplers.default import with_fidelity
from lamcts.spaces.base import SearchSpace, when_of
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.values import brief
from lamcts.types import Json, array_of
from lamcts.utils.argument_hints import hint_range, hint_stepwise
from lamcts.utils.removed import refuse_removed


def refuse_in_order(extra: Sequence[object]) -> None:
    """Raise TypeError for positional options, such as a starting point after the space."""
    if extra:
        raise TypeError(
            f"Optimizer: expected the space in order and options by name, got {1 + len(extra)} arguments in order; "
            "write Optimizer(space, x0=...)"
        )


def refuse_unknown(names: Iterable[str], accepted: Iterable[str], function: str, hints_stepwise: bool = False) -> None:
    """Raise TypeError for the first name that a function does not accept, with the nearest name that it accepts."""
    accepted = list(accepted)
    for name in names:
        if name in accepted:
            continue
        nearest = get_close_matches(name, accepted, 1)
        cure = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(accepted)}"
        raise TypeError(
            f"{function}: unknown argument {name!r}; {(hints_stepwise and hint_stepwise(name, accepted)) or cure}"
        )


def checked_space(space: Any) -> SearchSpace:
    """Return the space of an argument; ValueError where it lacks a part of the protocol."""
    checked: SearchSpace = space_of(space)
    needed = ("dim", "size", "encode", "decode", "snap", "spread", "sample")
    missing = [name for name in needed if not hasattr(checked, name)]
    if missing:
        got = f"{type(checked).__name__} without {missing[0]}"
        raise ValueError(f"space: expected a lamcts space such as Box(-5, 10, dim=20), got {got}")
    if when_of(checked):
        raise ValueError(f"space: expected no conditions on the whole of it, got {brief(checked)}; put it into a Space")
    return checked


def space_of(space: Any) -> Any:
    """Return a space: a Box of pairs [(low, high), ...] or SciPy's `Bounds`, a Space of a dict."""
    if isinstance(space, Mapping):
        from lamcts.spaces.product import Space

        return Space(space)
    if hasattr(space, "lb") and hasattr(space, "ub"):
        low = np.atleast_1d(space.lb)
        high = np.atleast_1d(space.ub)
    elif isinstance(space, (list, tuple, np.ndarray)):
        try:
            pairs = array_of(space).astype(float)
        except Exception:  # the items of the user are no pairs of numbers, and may raise anything
            pairs = np.empty(0)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
            cure = "; a starting point is given by name: x0=..." if pairs.ndim == 1 and len(pairs) else ""
            calls = [hint_range(pair) for pair in space]
            cure = f"; write lamcts.Space([{', '.join(call or '...' for call in calls)}])" if any(calls) else cure
            raise ValueError(f"space: expected a lamcts space or pairs [(low, high), ...], got {brief(space)}{cure}")
        low, high = pairs.T
    else:
        return space
    from lamcts.spaces.box import Box

    return Box(low, high)


def checked_seed(seed: int | None) -> int:
    """Return the seed, or a fresh seed for None."""
    if seed is None:
        return fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
        raise ValueError(f"seed: expected a whole number in [0, 2**63) or None, got {brief(seed)}")
    return int(seed)


def checked_noisy(noisy: object, space: SearchSpace, goals: Goals) -> float:
    """Return the share of a budget for re-evaluations, 0 without noise."""
    if share := share_of(noisy):
        got = "a Fidelity" if FidelityAxis.of(space) is not None else "" if goals.plain else "constraints"
        got = "several objectives" if len(goals.objectives) > 1 else got
        if got:
            raise ValueError(f"noisy: expected False with {got}, got {brief(noisy)}; leave it out")
    return share


SAMPLER_HAS = ("start", "restore", "resumable", "supports")


def checked_sampler(sampler: object, space: SearchSpace, goals: Goals, related: bool) -> Sampler:
    """Return the sampler of a name, or `sampler` itself if it follows the protocol."""
    if isinstance(sampler, str):
        return samplers.make(sampler, space, goals, related)
    refuse_removed("LocalSampler", () if isinstance(sampler, type) else dir(sampler))
    missing = [name for name in SAMPLER_HAS if not hasattr(sampler, name)]
    if missing or isinstance(sampler, type):
        what = f"the class {sampler.__name__}" if isinstance(sampler, type) else brief(sampler)
        raise ValueError(f"sampler: expected a name such as 'turbo' or a Sampler such as Turbo(), got {what}")
    settings: Sampler = with_plain_numbers(sampler)
    return with_fidelity(settings, space, goals)


def with_plain_numbers(settings: Any) -> Any:
    """Return frozen settings with Python's numbers instead of numpy's: the identity of a run depends on their repr."""
    if not is_dataclass(settings) or isinstance(settings, type):
        return settings
    values = {field.name: _plain_number(getattr(settings, field.name)) for field in fields(settings) if field.init}
    changed = {name: value for name, value in values.items() if value is not getattr(settings, name)}
    return replace(settings, **changed) if changed else settings


def _plain_number(value: Any) -> Any:
    if isinstance(value, tuple):
        values = tuple(map(_plain_number, value))
        return values if any(new is not old for new, old in zip(values, value, strict=True)) else value
    return value.item() if isinstance(value, np.generic) else with_plain_numbers(value)


def related_tasks(related: Any, space: SearchSpace, goals: Goals) -> RelatedTasks:
    """Return the evaluations of related tasks, given as lists of (point, value) or (point, value, constraints)."""
    if isinstance(related, RelatedTasks):
        return related
    try:
        tasks = [_task([(*row, None)[:3] for row in task], space, goals) for task in related or ()]
    except (TypeError, ValueError) as error:
        expected = "lists of pairs of a point and its value, a list for each task"
        raise ValueError(f"related: expected {expected}: {error}") from None
    if tasks and FidelityAxis.of(space) is not None:
        raise ValueError("related: expected no related tasks with a Fidelity, got some; fix the fidelity (fix=)")
    return RelatedTasks(task for task in tasks if len(task.y) > 1)  # a single evaluation has no order


def _task(rows: Sequence[Any], space: SearchSpace, goals: Goals) -> RelatedTask:
    """Return the ranked evaluations of a task."""
    points, values, constraints = zip(*rows, strict=True) if rows else ((), (), ())
    seen = Observations(space.dim, True, None, len(goals.objectives), goals.columns)
    outcomes = outcomes_of(values, constraints, goals)
    unknown = np.full(len(rows), -1)
    x = np.array([space.encode(point) for point in points]).reshape(-1, space.dim)
    seen.append(x, outcomes.f, np.full(len(rows), np.nan), unknown, unknown, outcomes.g, outcomes.kind)
    return RelatedTask(seen.x[seen.good], np.array(seen.y[seen.good]))


REUSE = "known='its path' passes its evaluations to a new run"  # cure for a run that cannot be resumed


def check_fingerprint(theirs: Json, ours: Json) -> None:
    """Raise ValueError naming the first setting in which a saved run differs from this one."""
    if setting := difference(theirs, ours):
        raise ValueError(
            f"{setting.name} differs from the saved run's: expected {setting.theirs}, got {setting.ours}; "
            f"use the settings of the saved run; {REUSE}"
        )
