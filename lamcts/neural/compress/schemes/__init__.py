"""Compression schemes by name."""

from dataclasses import fields
from typing import Any

from lamcts.neural.compress.schemes.base import Dense, Scheme
from lamcts.neural.compress.schemes.power_sgd import PowerSgd
from lamcts.neural.compress.schemes.quantised import Qsgd, TernGrad
from lamcts.neural.compress.schemes.top_k import Fft, SharedTopK, TopK

SCHEMES: dict[str, Any] = {one.name: one for one in (Dense, TopK, SharedTopK, Fft, Qsgd, TernGrad, PowerSgd)}


def make(scheme: str | Scheme, options: dict[str, Any]) -> Scheme:
    """Return a scheme by name, with options; ValueError or TypeError if there is no such name or option."""
    if not isinstance(scheme, str):
        if options:
            raise TypeError(f"expected options with a scheme's name alone, got {sorted(options)} with {scheme}")
        return scheme
    if scheme not in SCHEMES:
        raise ValueError(f"expected a scheme, one of {', '.join(map(repr, SCHEMES))}, got {scheme!r}")
    takes = [one.name for one in fields(SCHEMES[scheme])]
    if unknown := sorted(set(options) - set(takes)):
        known = " and ".join(f"{name}=" for name in takes) or "no options"
        raise TypeError(f"expected {known} for the scheme {scheme!r}, got {', '.join(unknown)}")
    made: Scheme = SCHEMES[scheme](**options)
    return made
