"""Trainings that come to nothing. A run records them as failed evaluations, with the reason."""

from lamcts.errors import LamctsError


class TrainingFailed(LamctsError, RuntimeError):
    """A training that has no result."""


class Diverged(TrainingFailed):
    """The loss is no number any more."""


class OutOfMemory(TrainingFailed):
    """The device has no memory for a step of this network at this batch."""
