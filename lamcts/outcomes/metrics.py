"""Metrics: numbers and texts of an evaluation next to its value, by name. No search uses them."""

import warnings
from collections.abc import Mapping

from lamcts.text import safe_repr
from lamcts.types import scalar_of

Metric = bool | int | float | str | None  # what JSON has as a single value; nan and infinities are numbers
Metrics = dict[str, Metric]


def metrics_of(given: object) -> Metrics:
    """Return metrics by name; ValueError for what is no name, or no single value.

    Values are numbers, arrays and tensors of one number, texts, booleans and None.

    >>> import numpy as np
    >>> from lamcts.outcomes.metrics import metrics_of
    >>> metrics_of({"accuracy": np.float32(0.5), "epochs": 3, "device": "cpu"})
    {'accuracy': 0.5, 'epochs': 3, 'device': 'cpu'}
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"metrics: expected a dict of values by name, got {type(given).__name__}")
    return {_name(name): _value(name, value) for name, value in given.items()}


def storable(given: object, reserved: Mapping[str, str]) -> Metrics:
    """Return those metrics that can be stored, and warn of the others, since no metric is worth an evaluation.

    `reserved` describes the owner of each name that is no metric. ValueError if `given` is no dict.
    """
    found: Metrics = {}
    for name, value in given.items() if isinstance(given, Mapping) else metrics_of(given).items():
        try:
            if name in reserved:
                owner = f"which is {reserved[name]}"
                raise ValueError(f"metrics: expected a name of its own, got {name!r}, {owner}; rename it")
            found |= metrics_of({name: value})
        except ValueError as error:
            warnings.warn(f"{error}; it is not stored", RuntimeWarning, stacklevel=2)
    return found


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"metrics: expected names that are texts, got {safe_repr(name):.60}")
    return str.__str__(name)


def _value(name: object, value: object) -> Metric:
    if value is None:
        return None
    if isinstance(value, str):
        return str.__str__(value)
    try:
        return scalar_of(value)
    except TypeError:
        expected = f"metrics: expected a number, a text, True, False or None for {name!r}"
        cure = "store one number of it, or the path of a file"
        raise ValueError(f"{expected}, got {type(value).__name__}; {cure}") from None
