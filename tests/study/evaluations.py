"""Functions that tests send to other processes, where only what can be imported arrives."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from lamcts.spaces import Box
from lamcts.study.reporting import Reporter


def sphere(point: np.ndarray) -> float:
    return float(((point - 0.3) ** 2).sum())


def noisy(point: np.ndarray, seed: int) -> float:
    return sphere(point) + 0.3 * float(np.random.default_rng(seed).normal())


def failing(point: np.ndarray) -> float:
    raise ZeroDivisionError("always")


class Awkward(Exception):
    """An exception that does not survive pickling."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__("awkward")
        self.trap = lambda: (a, b)


def awkward(point: np.ndarray) -> float:
    raise Awkward(1, 2)


def deadly(point: np.ndarray) -> float:
    """Kills its process wherever the first coordinate is below -0.4."""
    if point[0] < -0.4:
        os.kill(os.getpid(), signal.SIGKILL)
    return sphere(point)


class DeadlyOnce:
    """Kills its process at the first evaluation of all, and leaves a note so as not to do so again."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def __call__(self, point: np.ndarray) -> float:
        try:
            self.note.touch(exist_ok=False)
        except FileExistsError:
            return sphere(point)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0


def slow(point: np.ndarray) -> float:
    time.sleep(0.02)
    return sphere(point)


def endless(point: np.ndarray) -> float:
    time.sleep(3600)
    return 0.0


class Deaf:
    """Ignores SIGTERM from then on, leaves the number of its process in a file, and takes ten minutes to its end."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def __call__(self, point: np.ndarray) -> float:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.note.with_suffix(".draft").write_text(str(os.getpid()))
        self.note.with_suffix(".draft").rename(self.note)
        time.sleep(600)
        self.note.with_suffix(".ended").touch()
        return 0.0


def left_running(point: np.ndarray) -> float:
    """Leaves a thread that keeps its process from ending by itself."""
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return sphere(point)


def listening(point: np.ndarray) -> float:
    """Return 0 where this process ignores Ctrl-C and does not block it, so that its child processes may listen."""
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return float(blocked or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN)


class Diary:
    """A learner whose memory is the list of all notes, and whose values depend on how many there are."""

    name, maximize, optimum = "diary", False, None
    space = Box(0.0, 1.0, dim=2)
    x0 = np.zeros(2)

    def __init__(self, fails: int | None = None) -> None:
        self.fails = fails
        self.memory: list[list[int]] = []
        self.given: list[list[list[int]]] = []
        self.seeds: list[int] = []

    def __call__(self, point: np.ndarray, *, seed: int | None = None) -> float:
        raise AssertionError("a study asks a learner to recall")

    def recall(self, point: np.ndarray, *, seed: int, memory: list[list[int]]) -> tuple[float, list[int]]:
        self.given.append(memory)
        self.seeds.append(seed)
        if len(self.given) - 1 == self.fails:
            raise ArithmeticError("out of ink")
        return float(point.sum()) + 0.1 * (len(memory) % 3), [seed]

    def learn(self, memory: list[list[int]], note: list[int]) -> list[list[int]]:
        return [*memory, note]


def not_unicode(point: np.ndarray) -> float:
    raise OSError("no file '\udcff.txt'")  # what os.listdir gives for a file name in Latin-1


class Mute(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        return str(self.args[0]["missing"])


def mute(point: np.ndarray) -> float:
    raise Mute({})


def long_winded(point: np.ndarray) -> float:
    raise ValueError("x" * 1_000_000)


def beam(point: np.ndarray) -> dict[str, np.float64]:
    """Cost and range rise with the size of the point, and so does stress."""
    return {"cost": np.square(point).sum(), "range": point.sum(), "stress": 10 * np.abs(point).max()}


def cheap(point: np.ndarray) -> dict[str, float]:
    found = beam(point)
    return {"cost": float(found["cost"]), "stress": float(found["stress"])}


def descent(point: np.ndarray, trial: Reporter) -> float:
    """Falls in ten steps to the value of `sphere`: who is ahead early is ahead at the end."""
    value = sphere(point)
    for step in range(10):
        trial.report(step, value + 1.0 / (1 + step))
    return value


def both(point: np.ndarray, trial: Reporter) -> list[float]:
    """Two objectives, to minimise and to maximise: both get better in ten steps, and are best at opposite points."""
    cost, gain = sphere(point), -sphere(-point)
    for step in range(10):
        trial.report(step, [cost + 1.0 / (1 + step), gain - 1.0 / (1 + step)])
    return [cost, gain]


def sleeping(point: np.ndarray) -> float:
    """Takes an hour wherever the first coordinate is below -0.4, and deaf to exceptions and SIGTERM."""
    if point[0] < -0.4:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)
    return sphere(point)


def lingering(point: np.ndarray) -> float:
    """Takes half a second, whatever SIGTERM asks for."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    time.sleep(0.5)
    return sphere(point)


def noting(point: dict[str, Any], trial: Reporter) -> dict[str, Any]:
    """Notes metrics before it fails at high rates, and returns others."""
    trial.note(device="cpu", early=bool(point["lr"] < 0.5))
    if point["lr"] > 0.9:
        raise RuntimeError("too high")
    return {"value": point["lr"], "epochs": 3, "loss": point["lr"] / 2}


def measured(point: np.ndarray, seed: int) -> tuple[float, float]:
    """A value with its standard error, which grows along the first coordinate."""
    error = 0.05 + abs(float(point[0]))
    return sphere(point) + error * float(np.random.default_rng(seed).normal()), error
