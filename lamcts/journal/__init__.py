"""The crash-safe record of a run, in one SQLite file or in memory. A journal from a stranger cannot run code."""

from lamcts.journal.journal import Journal, begun_with

__all__ = ["Journal", "begun_with"]
