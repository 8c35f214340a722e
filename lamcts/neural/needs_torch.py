"""Imported first by the parts that load torch as they are imported: says which extra brings it where it is missing."""

from importlib.util import find_spec

from lamcts.errors import MissingExtra

if find_spec("torch") is None:
    raise MissingExtra.of("torch", "torch")
