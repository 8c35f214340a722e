"""One device for each worker process, and what an objective learns of the worker that runs it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np

from lamcts.spaces.values import brief

VISIBLE = "CUDA_VISIBLE_DEVICES"  # CUDA shows a process the devices that are listed there
_environment = Lock()  # the environment is that of the whole process


@dataclass(frozen=True)
class Worker:
    """What an objective gets as its parameter `worker`.

    Attributes
    ----------
    index : int
        Number of the worker, from 0. Evaluations that run at the same time have different numbers. A process of
        `workers=n` keeps its number, also when it is started again.
    device : str or None
        The device of this process, as in its `CUDA_VISIBLE_DEVICES`; None without `devices=`.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.minimize(lambda x, worker: worker.index, [(0, 1)], budget=3, seed=0).fun
    0.0
    """

    index: int
    device: str | None = None


def devices_of(given: object) -> tuple[str, ...] | None:
    """Return the devices, one for each worker process; ValueError where they are none."""
    if given is None:
        return None
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1:
        return _first(int(given))
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given):
        return tuple(map(_device, given))
    raise ValueError(
        f"devices: expected a number of devices, a list of them such as [0, 1], or None, got {brief(given)}"
    )


def check_devices(devices: object, workers: object) -> None:
    """Raise ValueError where `devices` are none, or fewer than workers."""
    found = devices_of(devices)
    if found is not None and isinstance(workers, int) and workers > len(found):
        raise ValueError(
            f"devices: expected at least {workers}, one for each of {workers} workers, got {len(found)}; to share "
            f"them, list each several times, such as devices={[*found, *found]}"
        )


def _first(count: int) -> tuple[str, ...]:
    """Return the first devices that this process sees."""
    if (shown := os.environ.get(VISIBLE)) is None:
        return tuple(map(str, range(count)))
    listed = [each.strip() for each in shown.split(",") if each.strip()]
    if count > len(listed):
        raise ValueError(
            f"devices: expected at most {len(listed)}, since {VISIBLE}={shown!r} here, got {count}; change the variable"
        )
    return tuple(listed[:count])


def _device(given: object) -> str:
    text = str(given).strip() if isinstance(given, (str, int, np.integer)) and not isinstance(given, bool) else ""
    if not text or text.startswith("-"):
        raise ValueError(
            f"devices: expected numbers or names of devices, such as 0 or 'GPU-8932f937', got {brief(given)}"
        )
    return text


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a moment: a process that starts meanwhile keeps them from its first import on."""
    with _environment:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
