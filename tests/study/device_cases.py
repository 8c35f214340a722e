"""An objective that returns what its module saw of the devices when it was imported."""

import os
import signal
import threading
from pathlib import Path

MEETING = threading.Barrier(2, timeout=300)
SEEN = os.environ.get("CUDA_VISIBLE_DEVICES", "-1")


def seen(point, worker):
    """Return ten times the device, and the number of the worker."""
    assert worker.device == SEEN == os.environ["CUDA_VISIBLE_DEVICES"]
    return 10 * int(SEEN) + worker.index


def seen_alone(point):
    return int(SEEN)


def seen_now(point, worker):
    """Return the device; the numbers of workers do not count."""
    assert worker.device is None
    return int(os.environ["CUDA_VISIBLE_DEVICES"])


def meeting(point, worker):
    """Return the number of the worker once another evaluation runs at the same time."""
    MEETING.wait()
    return worker.index


class SeenAfterDeath:
    """Kills its process at the first evaluation of all, and leaves a note so as not to do so again."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def __call__(self, point, worker):
        try:
            self.note.touch(exist_ok=False)
        except FileExistsError:
            return seen(point, worker)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0
