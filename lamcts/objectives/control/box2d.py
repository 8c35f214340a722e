"""Box2D, the physics of the lander and of the pushed objects, imported without a word."""

import threading
import warnings
from functools import cache
from types import ModuleType

from lamcts.errors import MissingExtra

_alone = threading.Lock()  # the filters of warnings belong to the process


@cache
def box2d() -> ModuleType:
    """Return the module Box2D. MissingExtra if it is not installed."""
    with _alone, warnings.catch_warnings():
        # its bindings warn at import that their types name no module: nothing that a user could cure
        warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)
        try:
            import Box2D
        except ImportError:
            raise MissingExtra.of("gymnasium[box2d]", "mujoco") from None
    module: ModuleType = Box2D
    return module
