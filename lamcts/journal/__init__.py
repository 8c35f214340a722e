"""The crash-safe record of a run, in one SQLite file or in memory. A journal from a stranger cannot run code."""

from typing import TYPE_CHECKING

from lamcts.journal.journal import Journal, begun_with
from lamcts.utils.removed import refuses

__all__ = ["Journal", "begun_with"]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
