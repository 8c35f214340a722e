"""One BLAS thread during our own calls: with several, small matrices on a busy machine take fifty times as long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LIBRARIES = ("scipy.linalg.lapack", "sklearn.utils", "torch")  # modules that load a BLAS or a thread pool

_lock = threading.Lock()
_depth = 0  # calls under way, in any thread
_controllers: dict[tuple[bool, ...], Any] = {}  # by which of LIBRARIES are loaded: a search takes milliseconds
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this process until the last of concurrent calls has left; then restore the limits.

    Evaluations in other threads of this process see the limit for as long.
    """
    global _depth, _limit
    with _lock:
        _depth += 1
        if _depth == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                _limit.restore_original_limits()
                _limit = None


def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    loaded = tuple(name in sys.modules for name in LIBRARIES)
    if loaded not in _controllers:
        _controllers[loaded] = ThreadpoolController()
    return _controllers[loaded]
