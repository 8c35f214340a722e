"""The package's own exceptions. Wrong arguments raise ValueError, a wrong order of calls RuntimeError."""


class LamctsError(Exception):
    """Base of every exception that only lamcts raises."""


class Exhausted(LamctsError):
    """Every point of a finite space has been handed out; there is nothing left to ask for."""


class JournalError(LamctsError):
    """A journal is corrupt, foreign, of another format, or of another run."""


class InvalidPoint(LamctsError, ValueError):
    """A point that makes no sense: raise it in the function, and such failures are told apart from crashes."""


class MissingExtra(LamctsError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    @classmethod
    def of(cls, package: str, extra: str) -> "MissingExtra":
        return cls(f"this needs the package {package!r}, which is not installed: pip install 'lamcts[{extra}]'")
