"""Objectives to try a search on, by name: `lamcts.objectives.make("ackley", dim=20, shift=0)`.

An objective knows its space and how to score a point. It knows no optimiser and writes no file.
"""

from lamcts.objectives.base import Entry, Measured, Objective, entry, families, make, names, register
from lamcts.objectives.programs.command import Command
from lamcts.objectives.programs.function import Function

__all__ = ["Command", "Entry", "Function", "Measured", "Objective", "entry", "families", "make", "names", "register"]
