"""One BLAS thread during our own calls: with several, small matrices on a busy machine take fifty times as long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

LIBRARIES = ("scipy.linalg.lapack", "sklearn.utils", "torch")  # modules that load a BLAS or a thread pool

_calls: dict[object, dict[str, int]] = {}  # under way, in any thread: by path of a BLAS, its usual number of threads
_found: dict[tuple[bool, ...], list["LibController"]] = {}  # by which of LIBRARIES are loaded


class _Inside(threading.local):
    """Whether this thread is in such a call already."""

    here = False


_inside = _Inside()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, then restore the number of threads.

    Some builds of BLAS keep this number for each thread, others for the process. So each call sets it, and restores the
    larger of what it found and what concurrent calls found. OpenBLAS obeys in the main thread alone. There is no lock
    that an interrupt could leave taken.
    """
    if _inside.here:
        yield
        return
    libraries, usual, call = _blas(), dict[str, int](), object()
    try:
        _inside.here = True
        for library in libraries:
            others = (found.get(library.filepath, 1) for found in list(_calls.values()))
            usual[library.filepath] = max(library.num_threads, *others, 1)
        _calls[call] = usual  # before the first of concurrent calls sets 1, so that the others know what it found
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        _inside.here = False
        for library in libraries:
            library.set_num_threads(usual.get(library.filepath, library.num_threads))
        _calls.pop(call, None)


def _blas() -> list["LibController"]:
    """Return what controls each BLAS that is loaded."""
    from threadpoolctl import ThreadpoolController

    loaded = tuple(name in sys.modules for name in LIBRARIES)
    if loaded not in _found:
        _found[loaded] = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    return _found[loaded]
