"""Failed trainings. A run records them as failed evaluations with the reason."""

from lamcts.errors import LamctsError

NO_MEMORY = ("out of memory", "can't allocate memory")  # out-of-memory messages of torch on CUDA and on the CPU


class TrainingFailed(LamctsError, RuntimeError):
    """A training without a result."""


class Diverged(TrainingFailed):
    """The loss is not finite."""


class OutOfMemory(TrainingFailed):
    """The device, or the memory budget, is too small for a step of this network at this batch size."""
