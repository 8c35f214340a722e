"""Local samplers. Each loads, with the libraries it needs, when it is first used."""

from importlib import import_module
from typing import Any

from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.parts.batch import Batch
from lamcts.samplers.parts.session import LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import AUTO, REGISTRY, default, make, names

__all__ = ["AUTO", "REGISTRY", "default", "make", "names"]
__all__ += ["Batch", "LocalSampler", "LocalSession", "Progress", "Proposal", "Sampler", "Session"]  # to write one with


def __getattr__(name: str) -> Any:
    if name == "Auto":
        return import_module("lamcts.samplers.auto").Auto
    for module, cls, _ in REGISTRY.values():
        if cls == name:
            return getattr(import_module(module), cls)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
