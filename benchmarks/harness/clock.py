"""What the Cholesky factorisations and triangular solves of a run cost: a clock round LAPACK's and BLAS's routines."""

import functools
import time
from typing import Any

ROUTINES = {"lapack": ("dpotrf", "dpotrs", "dpotri", "dposv", "dtrtrs", "dtrtri"), "blas": ("dtrsm", "dtrsv")}


class Clock:
    """Counts the calls of SciPy's Cholesky and triangular routines, and their CPU seconds, while it is entered."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def __enter__(self) -> "Clock":
        import scipy.linalg.blas
        import scipy.linalg.lapack

        self._kept: list[tuple[Any, str, Any]] = []
        for module, names in ((scipy.linalg.lapack, ROUTINES["lapack"]), (scipy.linalg.blas, ROUTINES["blas"])):
            for name in names:
                routine = getattr(module, name)
                self._kept.append((module, name, routine))
                setattr(module, name, functools.partial(self._timed, routine))
        return self

    def __exit__(self, *error: object) -> None:
        for module, name, routine in self._kept:
            setattr(module, name, routine)

    def _timed(self, routine: Any, *arguments: Any, **settings: Any) -> Any:
        start = time.process_time()
        result = routine(*arguments, **settings)
        self.seconds += time.process_time() - start
        self.calls += 1
        return result
