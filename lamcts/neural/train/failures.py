"""Failed trainings. A run records them as failed evaluations with the reason."""

from lamcts.errors import LamctsError


class TrainingFailed(LamctsError, RuntimeError):
    """A training without a result."""


class Diverged(TrainingFailed):
    """The loss is not finite."""


class OutOfMemory(TrainingFailed):
    """The device has too little memory for a step of this network at this batch size."""
