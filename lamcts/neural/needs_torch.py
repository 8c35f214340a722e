"""Raise `MissingExtra` without torch; parts that load torch import this first."""

from importlib.util import find_spec

from lamcts.errors import MissingExtra

if find_spec("torch") is None:
    raise MissingExtra.of("torch", "torch")
