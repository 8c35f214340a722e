"""Find an OpenGL that renders offscreen, in a subprocess, since a driver may crash."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from lamcts.errors import LamctsError

PROBE = "import mujoco; context = mujoco.GLContext(8, 8); context.make_current(); context.free()"
PATIENCE_SECONDS = 60.0  # for a probe, which takes one second; a driver may hang
NAME = "MUJOCO_GL"  # the variable by which MuJoCo and gymnasium choose


class NoOpenGL(LamctsError):
    """No OpenGL for MuJoCo was found; the message names packages that provide it."""


@contextmanager
def drawing() -> Iterator[None]:
    """Let MuJoCo draw by what works here. NoOpenGL where nothing does."""
    with setting(NAME, backend(os.environ.get(NAME))):
        yield


@contextmanager
def setting(name: str, value: str) -> Iterator[None]:
    """Set a variable of the process, and put back what was there."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@cache
def backend(wanted: str | None = None) -> str:
    """Return the first that works: what MUJOCO_GL asks for, else a GPU without a screen, software, a window system."""
    tried = [wanted] if wanted else _candidates()
    for name in tried:
        if _works(name):
            return name
    raise NoOpenGL(
        f"expected an OpenGL that draws without a screen, got none (tried {', '.join(tried)}): install one, such as "
        "Debian's libosmesa6 or libegl1 (apt-get install libosmesa6), and set MUJOCO_GL=osmesa or egl if need be"
    )


def _candidates() -> list[str]:
    if not sys.platform.startswith("linux"):
        return ["glfw"]
    return ["egl", "osmesa", *(["glfw"] if os.environ.get("DISPLAY") else [])]


def _works(name: str) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env={**os.environ, NAME: name}, capture_output=True, timeout=PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
