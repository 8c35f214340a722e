"""Test problems and other objectives by name: `lamcts.objectives.make("ackley", dim=20, shift=0)`."""

from lamcts.objectives.base import Entry, entry, families, find, make, names, register
from lamcts.objectives.programs.command import Command
from lamcts.objectives.programs.function import Function
from lamcts.objectives.protocol import Costed, DictObjective, Objective, TradeOff

__all__ = [
    "Command",
    "Costed",
    "DictObjective",
    "Entry",
    "Function",
    "Objective",
    "TradeOff",
    "entry",
    "families",
    "find",
]
__all__ += ["make", "names", "register"]
