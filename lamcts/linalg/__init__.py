"""LU factorisation that pivots across blocks, and the words that it moves."""

from lamcts.linalg.lu import lu
from lamcts.linalg.result import LU
from lamcts.linalg.words import Words

__all__ = ["LU", "Words", "lu"]
