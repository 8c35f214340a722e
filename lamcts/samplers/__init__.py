"""Local samplers. Each loads, with the libraries it needs, when it is first used."""

from typing import Any

from lamcts.samplers.base import Proposal, Sampler, Session, Supports
from lamcts.samplers.default import default, make
from lamcts.samplers.parts.session import Batch, LocalSampler, LocalSession, Progress
from lamcts.samplers.registry import AUTO, classes, find, name_of, names, register
from lamcts.utils.removed import hint

__all__ = ["AUTO", "classes", "default", "make", "names", "register"]
# To write a sampler with:
__all__ += ["Batch", "LocalSampler", "LocalSession", "Progress", "Proposal", "Sampler", "Session", "Supports"]


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and (file := name_of(name)) is not None:
        return find(file)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint('sampler', name)}")
