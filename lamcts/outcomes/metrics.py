"""Metrics: numbers and texts by name, stored next to the value of an evaluation. No search uses metrics."""

import warnings
from collections.abc import Mapping

from lamcts.text import safe_repr
from lamcts.types import scalar_of

Metric = bool | int | float | str | None  # a single value of JSON; nan and infinities are numbers
Metrics = dict[str, Metric]


def metrics_of(metrics: object) -> Metrics:
    """Return metrics by name; ValueError for an invalid name or value.

    Values are numbers, arrays and tensors of one number, texts, booleans and None.

    >>> import numpy as np
    >>> from lamcts.outcomes.metrics import metrics_of
    >>> metrics_of({"accuracy": np.float32(0.5), "epochs": 3, "device": "cpu"})
    {'accuracy': 0.5, 'epochs': 3, 'device': 'cpu'}
    """
    if not isinstance(metrics, Mapping):
        raise ValueError(f"metrics: expected a dict of values by name, got {type(metrics).__name__}")
    return {_name(name): _value(name, value) for name, value in metrics.items()}


def storable(metrics: object, reserved: Mapping[str, str]) -> Metrics:
    """Return the metrics that can be stored, and warn of the others; `reserved` describes names that are no metrics."""
    stored: Metrics = {}
    for name, value in metrics.items() if isinstance(metrics, Mapping) else metrics_of(metrics).items():
        try:
            if name in reserved:
                owner = f"which is {reserved[name]}"
                raise ValueError(f"metrics: expected a name of its own, got {name!r}, {owner}; rename it")
            stored |= metrics_of({name: value})
        except ValueError as error:
            warnings.warn(f"{error}; it is not stored", RuntimeWarning, stacklevel=2)
    return stored


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
