"""One BLAS thread during our own calls: with several, small matrices on a busy machine take fifty times as long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

LIBRARIES = ("scipy.linalg.lapack", "sklearn.utils", "torch")  # modules that load a BLAS or a thread pool

_lock = threading.Lock()
_depth = 0  # calls under way, in any thread
_usual: dict[str, int] = {}  # by path of a BLAS: its number of threads before the first of them
_found: dict[tuple[bool, ...], list["LibController"]] = {}  # by which of LIBRARIES are loaded


class _Inside(threading.local):
    """Whether this thread is in such a call already."""

    here = False


_inside = _Inside()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, then restore the number of threads.

    Some builds of BLAS keep this number for each thread, others for the process. So each call sets it, and restores the
    larger of what it found and what the first of concurrent calls found. OpenBLAS obeys in the main thread alone.
    """
    global _depth
    if _inside.here:
        yield
        return
    _inside.here, libraries = True, _blas()
    with _lock:
        _depth += 1
        before = {library.filepath: library.num_threads for library in libraries}
        for path, threads in before.items():
            _usual[path] = max(threads, _usual.get(path, 1)) if _depth > 1 else threads
    for library in libraries:
        library.set_num_threads(1)
    try:
        yield
    finally:
        _inside.here = False
        with _lock:
            _depth -= 1
            for library in libraries:
                path = library.filepath
                library.set_num_threads(max(before[path], _usual.get(path, 1)))


def _blas() -> list["LibController"]:
    """Return what controls each BLAS that is loaded."""
    from threadpoolctl import ThreadpoolController

    loaded = tuple(name in sys.modules for name in LIBRARIES)
    if loaded not in _found:
        _found[loaded] = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    return _found[loaded]
