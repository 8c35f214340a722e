"""The package's own exceptions.

Wrong values raise ValueError, unknown arguments TypeError, a wrong order of calls RuntimeError.
"""


class LamctsError(Exception):
    """Base of every exception that only lamcts raises."""


class Exhausted(LamctsError):
    """Every point of a finite space has been handed out; there is nothing left to ask for."""


class JournalError(LamctsError):
    """A journal is corrupt, foreign, of another format, or of another run."""


class InvalidPoint(LamctsError, ValueError):
    """A point that makes no sense: raise it in the function, and such failures are told apart from crashes."""


class EvaluationFailed(LamctsError):
    """An evaluation outside of Python failed, for a reason in words; told to an optimizer instead of a value."""


class Pruned(LamctsError):
    """A trial was stopped since others are ahead of it: `trial.report` raises it, and it is to leave the function.

    Told to an optimizer instead of a value, it marks the trial, which is no failure then.

    Parameters
    ----------
    message : str, default "pruned"
        The reason.
    value : number, or list or dict of numbers for several objectives, optional
        The predicted final value. Gaussian processes learn from it; the trial is never the best. None: unknown.
    sem : number, or list or dict of numbers, optional
        Standard deviation of the prediction.
    """

    def __init__(self, message: str = "pruned", *, value: object = None, sem: object = None) -> None:
        super().__init__(message)
        self.value, self.sem = value, sem


def install(extra: str) -> str:
    """Return the command that installs an extra, in a clone of the repository: the name is not on PyPI."""
    return f"pip install '.[{extra}]'"


class MissingExtra(LamctsError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    @classmethod
    def of(cls, package: str, extra: str) -> "MissingExtra":
        return cls(f"this needs the package {package!r}, which is not installed: {install(extra)} in a clone of lamcts")
