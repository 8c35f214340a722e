"""Lamcts inside other libraries; each module needs its library when it is imported."""

from typing import TYPE_CHECKING

from lamcts.utils.removed import refuses

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
