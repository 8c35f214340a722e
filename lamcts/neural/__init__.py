"""What needs torch (extra: torch). Each part loads it when it is first used."""

from typing import TYPE_CHECKING

from lamcts.utils.removed import refuses

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
