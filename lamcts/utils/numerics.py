"""The numerical state of our own calls: one BLAS thread, and numpy reports no floating-point errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from lamcts.utils.threads import one_blas_thread

_users: ContextVar[Mapping[str, Any] | None] = ContextVar("users", default=None)  # np.geterr() of who called us


@contextmanager
def own_numerics() -> Iterator[None]:
    """Compute with one BLAS thread, and without floating-point errors whatever np.seterr says.

    An underflow is 0, an overflow is infinite; where that matters, the code that follows looks.
    """
    before = _users.set(_users.get() or np.geterr())
    try:
        with one_blas_thread(), np.errstate(all="ignore"):
            yield
    finally:
        _users.reset(before)


@contextmanager
def users_numerics() -> Iterator[None]:
    """Call a function of the user during our own calls, with the user's handling of floating-point errors."""
    errors = _users.get()
    before = _users.set(None)
    try:
        with np.errstate(**errors or {}):
            yield
    finally:
        _users.reset(before)
