"""Devices of worker processes, and the parameter `worker` of an objective."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np

from lamcts.spaces.values import brief

VISIBLE = "CUDA_VISIBLE_DEVICES"  # the devices that CUDA shows to a process
_environment = Lock()  # all threads share the environment of the process


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


def devices_of(devices: object) -> tuple[str, ...] | None:
    """Return the devices, one for each worker process; ValueError for an invalid argument."""
    if devices is None:
        return None
    if isinstance(devices, (int, np.integer)) and not isinstance(devices, bool) and devices >= 1:
        return _first(int(devices))
    if isinstance(devices, Sequence) and not isinstance(devices, str) and len(devices):
        return tuple(map(_device, devices))
    raise ValueError(
        f"devices: expected a number of devices, a list of them such as [0, 1], or None, got {brief(devices)}"
    )


def check_devices(devices: object, workers: object) -> None:
    """Raise ValueError for invalid devices, or fewer devices than workers."""
    names = devices_of(devices)
    if names is not None and isinstance(workers, int) and workers > len(names):
        raise ValueError(
            f"devices: expected at least {workers}, one for each of {workers} workers, got {len(names)}; to share "
            f"them, list each several times, such as devices={[*names, *names]}"
        )


def _first(count: int) -> tuple[str, ...]:
    """Return the first `count` devices that are visible to this process."""
    if (shown := os.environ.get(VISIBLE)) is None:
        return tuple(map(str, range(count)))
    listed = [name.strip() for name in shown.split(",") if name.strip()]
    if count > len(listed):
        raise ValueError(
            f"devices: expected at most {len(listed)}, since {VISIBLE}={shown!r} here, got {count}; change the variable"
        )
    return tuple(listed[:count])


def _device(device: object) -> str:
    text = str(device).strip() if isinstance(device, (str, int, np.integer)) and not isinstance(device, bool) else ""
    if not text or text.startswith("-"):
        raise ValueError(
            f"devices: expected numbers or names of devices, such as 0 or 'GPU-8932f937', got {brief(device)}"
        )
    return text


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Return a context with environment variables, which a process started inside has from its first import on."""
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
