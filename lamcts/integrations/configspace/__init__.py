"""A ConfigSpace as a space of ours: `lamcts.minimize(f, space_of(cs), budget=100)`. ConfigSpace is not loaded here."""

from lamcts.integrations.configspace.reader import space_of

__all__ = ["space_of"]
