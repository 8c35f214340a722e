"""Objectives to try a search on, by name: `lamcts.objectives.make("ackley", dim=20, shift=0)`.

An objective knows its space and how to score a point. It knows no optimiser and writes no file.
"""

from lamcts.objectives.base import Entry, Objective, entry, make, names, register

__all__ = ["Entry", "Objective", "entry", "make", "names", "register"]
