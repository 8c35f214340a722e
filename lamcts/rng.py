"""Random streams. One seed governs a run; each use draws from a stream of its own, named by a key."""

import hashlib
import importlib
import random
from enum import IntEnum
from typing import Any

import numpy as np

from lamcts.types import Json


class Purpose(IntEnum):
    """First part of a stream's key. Numbers are part of the format: never reuse or renumber them."""

    DESIGN = 0
    SELECT = 1
    SESSION = 2
    TREE = 3
    EVALUATION = 4
    GAIN = 5


def imported(module: str) -> Any:
    """Return a module of scikit-learn, whose first import seeds Python's global generator: it is the user's."""
    state = random.getstate()
    found = importlib.import_module(module)
    random.setstate(state)
    return found


def fresh_seed() -> int:
    """Return a new seed from the operating system, below 2**63 so that SQLite and JSON keep it."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator named by `key` under `seed`; other keys give independent streams."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=tuple(map(int, key)))))


def keyed(key: bytes) -> np.random.Generator:
    """Return the generator of a key, which depends on its bytes alone."""
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little"))


def derive(seed: int, *key: int) -> int:
    """Return the seed in [0, 2**31) named by `key` under `seed`, for libraries that want a number."""
    return int(np.random.SeedSequence(seed, spawn_key=tuple(map(int, key))).generate_state(1)[0] >> 1)


def child(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator of its own, seeded by one draw of `rng`.

    `rng.spawn` would do, but a restored generator has no seed to spawn from.
    """
    return np.random.default_rng(int(rng.integers(2**63)))


def save(rng: np.random.Generator) -> Json:
    """Return the state of `rng` as JSON values (Python integers of up to 128 bits)."""
    state: Json = dict(rng.bit_generator.state)
    return state


def restore(state: Json) -> np.random.Generator:
    """Return a generator that goes on from where `save` looked."""
    bits: Any = np.random.PCG64()  # numpy's stubs want a TypedDict that JSON cannot promise
    bits.state = state
    return np.random.Generator(bits)
