"""Expectations of a contract, and checks of global state that must stay untouched."""

import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class ContractError(AssertionError):
    """A part breaks its contract; the message has what was expected and what came."""


def expect(condition: object, expected: str, got: object = "otherwise") -> None:
    """Raise ContractError unless `condition` holds."""
    if not condition:
        raise ContractError(f"expected {expected}, got {got}")


@contextmanager
def watched(what: str) -> Iterator[None]:
    """Expect of the code inside: no exception, no warning, and global random generators left as they were."""
    before = _global_generators()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except ContractError as error:
        raise ContractError(f"{what}: {error}") from error
    except Warning as warning:
        raise ContractError(f"{what}: expected no warning, got {type(warning).__name__}: {warning}") from warning
    except Exception as error:
        raise ContractError(f"{what}: expected no exception, got {type(error).__name__}: {error}") from error
    after = _global_generators()
    touched = [name for name in before if before[name] != after[name]]
    if touched:
        raise ContractError(f"{what}: expected global random generators to stay untouched, got draws from {touched}")


def _global_generators() -> dict[str, object]:
    """Return the states of the global generators in a form that `==` compares."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002  (only looked at)
    states: dict[str, object] = {"random": random.getstate(), "numpy.random": (name, bytes(np.asarray(keys)), rest)}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes()
    return states
