"""Functions on their way to another process: by name where that will do, else by value, with cloudpickle.

Python sends a function as the name under which the other process can import it. A lambda has none, nor has a function
of a notebook or a prompt: `__main__` is there no file that another process could read.
"""

import sys
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from lamcts.text import safe_text


class Carried:
    """A function as bytes, which arrives as the function itself."""

    def __init__(self, data: bytes, load: Callable[[bytes], Any]) -> None:
        self._data, self._load = data, load

    def __reduce__(self) -> Any:
        return self._load, (self._data,)


def sendable(f: Callable[..., Any], option: str) -> Any:
    """Return what arrives as `f` in a new process; ValueError, which begins with `option`, where nothing does."""
    try:
        data = bytes(ForkingPickler.dumps(f))
        if b"__main__" not in data or _main_is_a_file():
            return f
        reason = "it was defined where no other process can import it from"
    except Exception as error:
        reason = safe_text(error)
    try:
        import cloudpickle

        return Carried(cloudpickle.dumps(f), cloudpickle.loads)
    except ImportError:
        cure = "define it at the top of a module, pip install 'lamcts[cloudpickle]'"
    except Exception:
        cure = "define it at the top of a module"
    name = getattr(f, "__qualname__", type(f).__name__)
    raise ValueError(
        f"{option}: expected a function that can be sent to another process, got {name} ({reason}); {cure}, "
        "or pass workers='threads', or executor=ThreadPoolExecutor(...), to use threads"
    )


def _main_is_a_file() -> bool:
    main = sys.modules["__main__"]
    return getattr(main, "__file__", None) is not None or getattr(main, "__spec__", None) is not None
